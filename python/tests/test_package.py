"""The package as it is installed: the command it brings, its documentation, its exceptions."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pickle
import pkgutil
import subprocess
import sys
from importlib.metadata import requires, version
from pathlib import Path

import pytest

import swtch
from swtch import __main__ as module_command


def test_the_command_comes_along() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "swtch", "--version"], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, f"swtch {version('swtch')}\n"), done.stderr
    assert swtch.__version__ == version("swtch")


def test_its_status_is_passed_on() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "swtch", "measure", "--method", "pip"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2 and "unknown method 'pip'" in done.stderr


def test_an_installation_without_the_command_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module_command, "command", lambda: None)
    with pytest.raises(SystemExit, match="the command is not part of this installation"):
        module_command.main()


def test_it_needs_nothing_else() -> None:
    assert all("extra ==" in requirement for requirement in requires("swtch") or [])
    program = "import sys, swtch; print({'pandas', 'pyarrow', 'numpy'} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "set()"


def test_types_are_part_of_it() -> None:
    directory = Path(swtch.__file__).parent
    assert (directory / "py.typed").exists() and (directory / "_native.pyi").exists()


def public_callables() -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = []
    for name in swtch.__all__:
        thing = getattr(swtch, name)
        if inspect.isfunction(thing) or inspect.isclass(thing):
            found.append((name, thing))
        if inspect.isclass(thing):
            methods = inspect.getmembers(thing, lambda one: inspect.isfunction(one) or inspect.ismethod(one))
            found += [(f"{name}.{key}", one) for key, one in methods if not key.startswith("_")]
    return found


@pytest.mark.parametrize(("name", "thing"), public_callables())
def test_everything_public_is_documented(name: str, thing: object) -> None:
    assert inspect.getdoc(thing)


@pytest.mark.parametrize("name", [module.name for module in pkgutil.iter_modules(swtch.__path__)])
def test_examples_run(name: str) -> None:
    module = importlib.import_module(f"swtch.{name}")
    assert doctest.testmod(module, extraglobs={"swtch": swtch}).failed == 0


def test_exceptions_are_what_python_expects_and_can_be_pickled() -> None:
    assert issubclass(swtch.UsageError, ValueError) and issubclass(swtch.ProfileError, ValueError)
    assert issubclass(swtch.MeasureError, RuntimeError) and issubclass(swtch.Interrupted, KeyboardInterrupt)
    for kind in (swtch.UsageError, swtch.MeasureError, swtch.ProfileError):
        twin = pickle.loads(pickle.dumps(kind("why")))
        assert type(twin) is kind and str(twin) == "why"
    assert str(swtch.Interrupted(None)) == "interrupted before any figure was complete"
