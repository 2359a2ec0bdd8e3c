"""Pictures: diagrams drawn as SVG are put into the page, and pages that swtch draws are photographed by Chromium.

A comment in a page asks for a photograph, so that the plain file has no hole:

    <!-- photograph: report fixtures/profiles/vm.json; 1000x760; The page of a measurement -->

In a book for a package the page itself stands there, so that building it takes no browser.
"""

from __future__ import annotations

import html
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

_PHOTOGRAPH = re.compile(
    r"^<!-- photograph: (?P<words>[^;]+); (?P<width>\d+)x(?P<height>\d+); (?P<text>.+) -->$", re.MULTILINE
)
_DIAGRAM = re.compile(r"^!\[(?P<text>[^\]]*)\]\((?P<path>[^)]+\.svg)\)$", re.MULTILINE)
# Charts that the README shows: of which file, and how their description begins.
_CHARTS = {"docs/pictures/array-size.svg": ("fixtures/profiles/vm.json", "Two curves over the size")}
# `cargo test --lib the_picture_in_the_book` draws it.
_SCREEN = "docs/pictures/top.svg"
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")


class PictureError(Exception):
    """A picture that cannot be drawn."""


def drawn(text: str, target: Path, root: Path, swtch: Path, pages: Path | None = None) -> str:
    """The text with its pictures in it; photographs lie beside the page `target`.

    Where `pages` is given, the pages that would be photographed are written there, and the text links them."""

    def photograph(found: re.Match[str]) -> str:
        name = re.sub(r"[^a-z0-9]+", "-", found["words"].lower()).strip("-")
        words = [
            word if not word.startswith("fixtures/") else str(root / word) for word in found["words"].split()
        ]
        command = [str(swtch), *words]
        if pages is not None:
            pages.mkdir(parents=True, exist_ok=True)
            _page(command, pages / f"{name}.html")
            return f'<p><a href="{name}.html">{html.escape(found["text"])}</a></p>'
        picture = target.with_name(f"{name}.png")
        _photograph(command, int(found["width"]), int(found["height"]), picture)
        return f"![{found['text']}]({picture.name})"

    def diagram(found: re.Match[str]) -> str:
        path = root / found["path"].removeprefix("https://github.com/swtch-tools/swtch/blob/main/")
        if path.relative_to(root).as_posix() in (*_CHARTS, _SCREEN):
            # The style of a chart would be that of the whole page, and a screen shrinks with the page.
            shutil.copy(path, target.with_name(path.name))
            return f"![{found['text']}]({path.name})"
        picture = path.read_text(encoding="utf-8").replace("\n\n", "\n")
        label = html.escape(found["text"])
        return f'<div class="figure" role="img" aria-label="{label}">\n{picture}\n</div>'

    return _DIAGRAM.sub(diagram, _PHOTOGRAPH.sub(photograph, text))


def charts(root: Path, swtch: Path) -> None:
    """Compares the charts in the sources with those that swtch draws; `SWTCH_WRITE_PAGES=1` writes them.

    Raises `PictureError` when one is old."""
    for name, (fixture, label) in _CHARTS.items():
        with tempfile.TemporaryDirectory() as directory:
            page = Path(directory) / "page.html"
            subprocess.run(
                [swtch, "report", root / fixture, "-o", page], check=True, capture_output=True, cwd=directory
            )
            drawn = _chart(page.read_text(encoding="utf-8"), label)
        path = root / name
        if os.environ.get("SWTCH_WRITE_PAGES"):
            path.write_text(drawn, encoding="utf-8")
        if not path.is_file() or path.read_text(encoding="utf-8") != drawn:
            raise PictureError(
                f"{name} is old: swtch draws {fixture} differently; run: SWTCH_WRITE_PAGES=1 make book"
            )


def _chart(page: str, label: str) -> str:
    """A chart of a page as a file of its own, with the page's colours, light and dark."""
    style = "".join(re.findall(r"<style[^>]*>(.*?)</style>", page, re.DOTALL))
    for chart in re.findall(r'<svg class="chart wide".*?</svg>', page, re.DOTALL):
        if f'aria-label="{label}' in chart:
            head, rest = chart.split(">", 1)
            head = head.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
            return f"{head}>\n<style>{style}\nsvg {{ font-family: sans-serif }}</style>\n{rest}\n"
    raise PictureError(f"no chart of the page is called '{label}...'")


def _page(command: list[str], to: Path) -> None:
    subprocess.run([*command, "-o", str(to)], check=True, capture_output=True, cwd=to.parent)


def _photograph(command: list[str], width: int, height: int, to: Path) -> None:
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if browser is None:
        raise PictureError("pictures cannot be drawn: there is no Chromium; run tools/setup book")
    with tempfile.TemporaryDirectory() as directory:
        page = Path(directory) / "page.html"
        _page(command, page)
        options = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            f"--user-data-dir={directory}/browser",
        ]
        size = [f"--window-size={width},{height}", f"--screenshot={to}"]
        subprocess.run(
            [browser, *options, *size, page.as_uri()], check=False, capture_output=True, timeout=120
        )
    if not to.is_file():
        raise PictureError(f"{browser} drew no picture of {' '.join(command)}; start it by hand to see why")
