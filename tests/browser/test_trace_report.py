"""The page of Traces in a real browser."""

from __future__ import annotations

import pytest
from figures import plain
from looks import assert_answers_to_the_pointer, assert_legible, assert_quiet, assert_tables
from selenium.webdriver.common.by import By

FIRST_CELLS = """
  const column = arguments[0];
  return [...document.querySelectorAll('#tasks tbody tr')].map(row => row.cells[column].dataset.key)
"""


def column_of(driver, title: str) -> int:
    """The position of a column of the tasks' table."""
    heads = driver.find_elements(By.CSS_SELECTOR, "#tasks thead th")
    return [plain(head.text).split()[0] for head in heads].index(title)


def test_no_complaints_and_no_requests(browser, trace_pages):
    for page in trace_pages.values():
        assert_quiet(browser.open(page))


def test_the_bill_is_the_answer(browser, trace_pages):
    driver = browser.open(trace_pages["machine"])
    answer = plain(driver.find_element(By.CSS_SELECTOR, ".answer").text)
    assert answer.startswith("Context switches took 0.07 to 0.88 % of all tasks’ CPU time")


def test_slow_spans_are_explained(browser, trace_pages):
    driver = browser.open(trace_pages["spans"])
    answer = plain(driver.find_element(By.CSS_SELECTOR, ".answer").text)
    slow = [
        line
        for line in answer.splitlines()
        if line.startswith("The slowest 5 % of unit took 10.6 ms instead of")
    ]
    assert len(slow) == 1, answer
    section = plain(driver.find_element(By.ID, "spans").text)
    assert "Why the slow ones were slow" in section and slow[0] in section
    assert_answers_to_the_pointer(driver)


@pytest.mark.parametrize("width", [360, 1100])
def test_every_drawing_can_be_read(browser, trace_pages, width):
    for name, page in trace_pages.items():
        assert_legible(browser.open(page, width, 740, phone=width < 500), name)


def test_every_chart_answers_to_the_pointer(browser, trace_pages):
    assert_answers_to_the_pointer(browser.open(trace_pages["machine"]))


def test_every_figure_has_its_table(browser, trace_pages):
    assert_tables(browser.open(trace_pages["all"]), 8)


def test_tasks_can_be_sorted(browser, trace_pages):
    driver = browser.open(trace_pages["machine"])
    column = column_of(driver, "Voluntary")
    before = driver.execute_script(FIRST_CELLS, column)
    head = driver.find_elements(By.CSS_SELECTOR, "#tasks thead th")[column]
    head.find_element(By.TAG_NAME, "button").click()
    falling = [float(key) for key in driver.execute_script(FIRST_CELLS, column)]
    assert falling == sorted(falling, reverse=True)
    assert head.get_attribute("aria-sort") == "descending"
    head.find_element(By.TAG_NAME, "button").click()
    rising = [float(key) for key in driver.execute_script(FIRST_CELLS, column)]
    assert rising == sorted(falling) and len(rising) == len(before)


def test_missing_figures_are_sorted_to_the_end(browser, trace_pages):
    driver = browser.open(trace_pages["machine"])
    column = column_of(driver, "p99")
    button = driver.find_elements(By.CSS_SELECTOR, "#tasks thead th")[column].find_element(
        By.TAG_NAME, "button"
    )
    for _ in range(2):
        driver.execute_script("arguments[0].click()", button)
        keys = driver.execute_script(FIRST_CELLS, column)
        known = [key is not None for key in keys]
        assert known == sorted(known, reverse=True) and not all(known)


def test_the_page_is_whole_without_its_script_and_in_print(browser, trace_pages):
    browser.scripts(on=False)
    driver = browser.open(trace_pages["machine"])
    charts = [c for c in driver.find_elements(By.CSS_SELECTOR, "svg.chart") if c.is_displayed()]
    assert len(charts) > 8 and all(chart.find_elements(By.CSS_SELECTOR, ".mark > title") for chart in charts)
    assert not driver.find_elements(By.CSS_SELECTOR, "thead button")
    browser.scripts(on=True)
    driver = browser.open(trace_pages["machine"])
    browser.media("print", "dark")
    tall = driver.find_element(By.CSS_SELECTOR, ".tall")
    assert tall.size["height"] >= tall.find_element(By.TAG_NAME, "table").size["height"]
