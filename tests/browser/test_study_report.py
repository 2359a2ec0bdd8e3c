"""The page of studies in a real browser."""

from __future__ import annotations

import pytest
from figures import plain
from looks import CUT_OR_TINY, OVERLAPS, VISIBLE_CHARTS, WIDTHS
from selenium.webdriver.common.by import By


def test_no_complaints_and_no_requests(browser, study_pages):
    for page in study_pages.values():
        driver = browser.open(page)
        assert driver.execute_script("return performance.getEntriesByType('resource').map(e => e.name)") == []
        assert driver.get_log("browser") == []


@pytest.mark.parametrize("width", [360, 1100])
def test_every_drawing_can_be_read(browser, study_pages, width):
    for name, page in study_pages.items():
        driver = browser.open(page, width, 740, phone=width < 500)
        charts = driver.execute_script(VISIBLE_CHARTS)
        assert charts and len(charts) == len(driver.find_elements(By.TAG_NAME, "figure")), name
        assert driver.execute_script(OVERLAPS, charts) == [], name
        assert driver.execute_script(CUT_OR_TINY, charts) == [], name
        driver.execute_script("document.querySelectorAll('details').forEach(d => { d.open = true })")
        content, window = driver.execute_script(WIDTHS)
        assert content <= window, f"{name}: {content} px of content in a window of {window} px"


def test_every_figure_has_its_table(browser, study_pages):
    driver = browser.open(study_pages["all"])
    figures = driver.find_elements(By.TAG_NAME, "figure")
    assert len(figures) > 8
    for figure in figures:
        assert figure.find_elements(By.CSS_SELECTOR, "details table tbody tr"), figure.get_attribute("id")


def test_what_to_change_is_the_answer(browser, study_pages):
    driver = browser.open(study_pages["cloud"])
    answer = plain(driver.find_element(By.CSS_SELECTOR, ".answer").text)
    advice = plain(driver.find_element(By.ID, "advice").text)
    assert "threads on 2 CPUs" in answer and "threads on 2 CPUs" in advice
