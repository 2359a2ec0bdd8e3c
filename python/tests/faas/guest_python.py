"""A Python that travels into a virtual machine: the interpreter, and of its library what a program imports, with the shared libraries that this needs."""

from __future__ import annotations

import py_compile
import shutil
import subprocess
import sys
from pathlib import Path

_LOOK = """\
import sys, importlib
for name in sys.argv[1].split(","):
    importlib.import_module(name)
print("\\n".join(m.__file__ for m in list(sys.modules.values()) if getattr(m, "__file__", None)))
"""
_ALWAYS = "encodings.aliases,encodings.utf_8,encodings.ascii,encodings.latin_1,encodings.idna,encodings.cp437,runpy,site,os,codecs"


def prepare(into: Path, modules: list[str]) -> list[str]:
    """Puts a `home` for `PYTHONHOME` into a directory, and in `packages` what is not of the library; returns files that must go along too.

    modules: what the program imports, early or late.
    """
    files = _output(sys.executable, "-c", _LOOK, ",".join([*modules, _ALWAYS])).split("\n")
    library = Path(_output(sys.executable, "-c", "import os; print(os.path.dirname(os.__file__))"))
    home = into / "home" / "lib" / library.name
    shared: set[str] = set()
    for name in files:
        path = Path(name)
        if not path.is_file():
            continue
        if library in path.parents and "site-packages" not in path.parts:
            place = home / path.relative_to(library)
        else:
            place = into / "packages" / _below(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".py":
            # Compiled here: a guest takes seconds for it, every time.
            py_compile.compile(
                name,
                str(place.with_suffix(".pyc")),
                invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
            )
        else:
            shutil.copyfile(path, place)
            shared |= _libraries(path)
    (home / "lib-dynload").mkdir(exist_ok=True)
    return sorted(shared)


def _below(path: Path) -> Path:
    """From the package's own directory on."""
    top = path.parent
    while (top / "__init__.py").exists():
        top = top.parent
    return path.relative_to(top)


def _libraries(path: Path) -> set[str]:
    words = [line.split() for line in _output("ldd", str(path)).splitlines()]
    return {row[2] for row in words if len(row) > 2 and row[1] == "=>" and row[2].startswith("/")}


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
