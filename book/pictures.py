"""Pictures: diagrams drawn as SVG are put into the page, and pages that swtch draws are photographed by Chromium.

A comment in a page asks for a photograph, so that the plain file has no hole:

    <!-- photograph: report fixtures/profiles/vm.json; 1000x760; The page of a measurement -->
"""

from __future__ import annotations

import html
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

_PHOTOGRAPH = re.compile(
    r"^<!-- photograph: (?P<words>[^;]+); (?P<width>\d+)x(?P<height>\d+); (?P<text>.+) -->$", re.MULTILINE
)
_DIAGRAM = re.compile(r"^!\[(?P<text>[^\]]*)\]\((?P<path>[^)]+\.svg)\)$", re.MULTILINE)
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")


class PictureError(Exception):
    """A picture that cannot be drawn."""


def drawn(text: str, target: Path, root: Path, swtch: Path) -> str:
    """The text with its pictures in it; photographs lie beside the page `target`."""

    def photograph(found: re.Match[str]) -> str:
        name = re.sub(r"[^a-z0-9]+", "-", found["words"].lower()).strip("-") + ".png"
        words = [
            word if not word.startswith("fixtures/") else str(root / word) for word in found["words"].split()
        ]
        _photograph([str(swtch), *words], int(found["width"]), int(found["height"]), target.with_name(name))
        return f"![{found['text']}]({name})"

    def diagram(found: re.Match[str]) -> str:
        path = root / found["path"].removeprefix("https://github.com/swtch-tools/swtch/blob/main/")
        picture = path.read_text(encoding="utf-8").replace("\n\n", "\n")
        label = html.escape(found["text"])
        return f'<div class="figure" role="img" aria-label="{label}">\n{picture}\n</div>'

    return _DIAGRAM.sub(diagram, _PHOTOGRAPH.sub(photograph, text))


def _photograph(command: list[str], width: int, height: int, to: Path) -> None:
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if browser is None:
        raise PictureError("pictures cannot be drawn: there is no Chromium; run tools/setup book")
    with tempfile.TemporaryDirectory() as directory:
        page = Path(directory) / "page.html"
        subprocess.run([*command, "-o", str(page)], check=True, capture_output=True, cwd=directory)
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
