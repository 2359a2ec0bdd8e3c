"""The page of serverless functions in a real browser."""

from __future__ import annotations

import json

import pytest
from conftest import FAAS
from figures import plain
from looks import assert_answers_to_the_pointer, assert_legible, assert_quiet, assert_tables
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

LANGUAGES = ["python", "node", "go", "java", "rust"]


def test_no_complaints_and_no_requests(browser, faas_pages):
    for page in faas_pages.values():
        assert_quiet(browser.open(page))


@pytest.mark.parametrize("width", [320, 400, 1100])
def test_every_drawing_can_be_read(browser, faas_pages, width):
    for name, page in faas_pages.items():
        assert_legible(browser.open(page, width, 740, phone=width < 500), name)


def test_every_chart_answers_to_the_pointer(browser, faas_pages):
    for page in faas_pages.values():
        assert_answers_to_the_pointer(browser.open(page))


def test_every_figure_has_its_table(browser, faas_pages):
    assert_tables(browser.open(faas_pages["gcf"]), 5)
    assert_tables(browser.open(faas_pages["languages"]), 1)


def test_the_answer_is_that_of_the_study(browser, faas_pages):
    driver = browser.open(faas_pages["gcf"])
    answer = plain(driver.find_element(By.CSS_SELECTOR, ".answer").text)
    study = json.loads((FAAS / "gcf" / "tiers.json").read_text())
    assert plain(study["advice"][0]["text"]) in answer
    assert "with its read and write costs" in answer and "Seen from inside" in answer


def test_a_language_each_has_a_colour_of_its_own(browser, faas_pages):
    driver = browser.open(faas_pages["languages"])
    legend = driver.find_element(By.CSS_SELECTOR, "#figure-methods .legend")
    assert [item.text.strip() for item in legend.find_elements(By.TAG_NAME, "li")] == LANGUAGES
    script = "return getComputedStyle(arguments[0]).fill"
    signs = legend.find_elements(By.CSS_SELECTOR, "rect")
    assert len({driver.execute_script(script, sign) for sign in signs}) == len(LANGUAGES)


def test_gaps_are_walked_along_by_keyboard(browser, faas_pages):
    driver = browser.open(faas_pages["gcf"])
    marks = driver.find_elements(By.CSS_SELECTOR, "#figure-gaps svg.wide .mark")
    driver.execute_script("arguments[0].focus()", marks[0])
    tip = driver.find_element(By.ID, "tip")
    first = tip.text
    assert "128 MB" in plain(first)
    driver.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    assert tip.is_displayed() and tip.text != first


def test_the_page_is_whole_without_its_script(browser, faas_pages):
    browser.scripts(on=False)
    driver = browser.open(faas_pages["gcf"])
    charts = [chart for chart in driver.find_elements(By.CSS_SELECTOR, "svg.chart") if chart.is_displayed()]
    assert len(charts) > 5
    for chart in charts:
        assert chart.get_attribute("aria-label") and chart.find_elements(By.CSS_SELECTOR, ".mark > title")
    browser.scripts(on=True)
