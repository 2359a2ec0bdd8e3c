"""The book in a real browser: no page of it is wider than its window."""

from __future__ import annotations

import pytest
from conftest import ROOT
from looks import WIDTHS

BOOK = ROOT / "target" / "book"


@pytest.mark.parametrize("width", [360, 1100, 1400])
def test_no_page_of_the_book_scrolls_sideways(browser, width):
    if not (BOOK / "index.html").exists():
        pytest.skip(f"{BOOK} is not built: make book")
    pages = sorted(BOOK.rglob("*.html"))
    assert len(pages) > 50
    wide = {}
    for page in pages:
        content, window = browser.open(page, width, 740, phone=width < 500).execute_script(WIDTHS)
        if content > window:
            wide[str(page.relative_to(BOOK))] = (content, window)
    assert not wide
