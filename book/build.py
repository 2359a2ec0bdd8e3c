"""Builds the book: `python book/build.py SWTCH OUT [links]`, where SWTCH is the built command and OUT the directory of the pages.

The pages of `docs/` are copied, the reference is generated, the pictures are drawn, and Sphinx lays it all out. A broken link, a page that
the index does not name and every other warning of Sphinx fail the build. `cargo xtask book` runs this. With `links`, the pages that swtch
draws are linked instead of photographed, which takes no browser: `cargo xtask dist` runs that.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import links
import notebooks
import pictures
import reference

ROOT = Path(__file__).resolve().parents[1]

GENERATED = "<!-- generated pages -->\n"

# Pages from outside of docs/, and their names in the book.
OUTSIDE = {
    "ARCHITECTURE.md": "project/architecture.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
    "functions/README.md": "project/functions.md",
}


def main() -> int:
    """Builds; returns the exit status."""
    swtch, out = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    has_links = sys.argv[3:] == ["links"]
    source = out.with_name(f"{out.name}-source")
    for directory in (source, out):
        shutil.rmtree(directory, ignore_errors=True)
    source.mkdir(parents=True)
    try:
        pictures.charts(ROOT, swtch)
        stage(source, swtch, out if has_links else None)
    except (reference.GenerateError, links.LinkError, pictures.PictureError) as error:
        print(f"book: {error}", file=sys.stderr)
        return 1
    options = [
        "-W",
        "--keep-going",
        "-q",
        "-b",
        "html",
        "-c",
        str(ROOT / "book"),
        "-d",
        str(source / ".doctrees"),
    ]
    built = subprocess.run([sys.executable, "-m", "sphinx", *options, str(source), str(out)], check=False)
    if built.returncode == 0:
        print(f"The book is {out / 'index.html'}")
    return built.returncode


def stage(source: Path, swtch: Path, linked: Path | None) -> None:
    """Writes every page of the book into `source`, and the pages that it links instead of photographs into `linked`."""
    pages = {
        path.relative_to(ROOT).as_posix(): path.relative_to(ROOT / "docs").as_posix()
        for path in (ROOT / "docs").rglob("*.md")
    }
    pages |= OUTSIDE
    for path in (ROOT / "docs").rglob("*.ipynb"):
        pages[path.relative_to(ROOT).as_posix()] = (
            path.relative_to(ROOT / "docs").with_suffix(".md").as_posix()
        )
    generated = reference.pages(ROOT, swtch)
    pages |= {f"docs/{name}": name for name in generated}
    for origin, name in pages.items():
        text = generated.get(name) or (ROOT / origin).read_text(encoding="utf-8")
        if origin.endswith(".ipynb"):
            text = notebooks.page(text, origin)
        text = links.rewritten(text, origin, pages, ROOT)
        if name == "index.md":
            # In the plain file they would be links to nothing.
            text = text.replace(GENERATED, reference.LISTED)
            text += "\n" + contents(text)
        target = source / name
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = linked and (linked / name).parent
        target.write_text(pictures.drawn(text, target, ROOT, swtch, beside), encoding="utf-8")


def contents(index: str) -> str:
    """The table of contents that Sphinx wants, from the lists of the index: one a heading."""
    trees = []
    for part in re.split(r"^## ", index, flags=re.MULTILINE)[1:]:
        caption, body = part.split("\n", 1)
        names = re.findall(r"^ *[-|] .*?\]\(([^)#:]+)\.md\)", body, re.MULTILINE)
        entries = "\n".join(dict.fromkeys(names))
        if entries:
            trees.append(f"```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{entries}\n```\n")
    return "\n".join(trees)


if __name__ == "__main__":
    sys.exit(main())
