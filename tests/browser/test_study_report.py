"""The page of studies in a real browser."""

from __future__ import annotations

import pytest
from figures import plain
from looks import assert_legible, assert_quiet, assert_tables
from selenium.webdriver.common.by import By


def test_no_complaints_and_no_requests(browser, study_pages):
    for page in study_pages.values():
        assert_quiet(browser.open(page))


@pytest.mark.parametrize("width", [360, 1100])
def test_every_drawing_can_be_read(browser, study_pages, width):
    for name, page in study_pages.items():
        assert_legible(browser.open(page, width, 740, phone=width < 500), name)


def test_every_figure_has_its_table(browser, study_pages):
    assert_tables(browser.open(study_pages["all"]), 8)


def test_what_to_change_is_the_answer(browser, study_pages):
    driver = browser.open(study_pages["cloud"])
    answer = plain(driver.find_element(By.CSS_SELECTOR, ".answer").text)
    advice = plain(driver.find_element(By.ID, "advice").text)
    assert "threads on 2 CPUs" in answer and "threads on 2 CPUs" in advice
