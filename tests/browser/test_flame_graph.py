"""The flame graph of a Trace with stacks, in a real browser: by pointer, by keyboard, and against the table below it."""

from __future__ import annotations

import re

import pytest
from figures import plain
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select

ROWS = """
  const table = document.querySelector('#figure-stacks table');
  const heads = [...table.querySelectorAll('thead th')].map(head => head.textContent.trim());
  return [...table.querySelectorAll('tbody tr')].map(row => Object.fromEntries(
    heads.map((head, i) => [head, row.cells[i].dataset.key ?? row.cells[i].textContent.trim()])))
"""
BOXES = """
  const whole = document.querySelector('.flame .graph').getBoundingClientRect().width;
  return [...document.querySelectorAll('.flame .graph button')].map(box => ({
    name: box.title, share: box.getBoundingClientRect().width / whole, top: box.offsetTop,
    found: box.classList.contains('found') }))
"""


class Flame:
    """A flame graph, its controls, and the table below it."""

    def __init__(self, driver) -> None:
        self.driver = driver
        self.place = driver.find_element(By.CSS_SELECTOR, ".flame")

    def control(self, name: str):
        return self.place.find_element(By.CSS_SELECTOR, f"[aria-label='{name}']")

    def choose(self, control: str, label: str) -> None:
        Select(self.control(control)).select_by_visible_text(label)

    @property
    def says(self) -> str:
        return plain(self.place.find_element(By.CSS_SELECTOR, "[role=status]").text)

    @property
    def boxes(self) -> list[dict]:
        return self.driver.execute_script(BOXES)

    def names(self) -> list[str]:
        return [box["name"] for box in self.boxes]

    def click(self, name: str) -> None:
        box = self.place.find_element(By.CSS_SELECTOR, f".graph button[title='{name}']")
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", box)
        box.click()

    def press(self, *keys: str) -> str:
        """The box that has the focus afterwards."""
        for key in keys:
            self.driver.switch_to.active_element.send_keys(key)
        return self.driver.switch_to.active_element.get_attribute("title")

    def rows(self) -> list[dict]:
        """Rows of the table that are switches."""
        return [row for row in self.driver.execute_script(ROWS) if row["Reason"] != "wake"]


def switches(rows: list[dict]) -> int:
    return sum(int(float(row["Times"])) for row in rows)


@pytest.fixture
def flame(browser, trace_pages) -> Flame:
    flame = Flame(browser.open(trace_pages["stacks"]))
    flame.choose("Weight", "switches")
    return flame


def test_the_graph_has_the_numbers_of_the_table(flame):
    rows = flame.rows()
    assert flame.says == f"all: {switches(rows):,}, 100.0 %"
    tasks = {row["Task"] for row in rows}
    assert {"producer", "consumer"} <= tasks
    for task in tasks:
        own = [row for row in rows if row["Task"] == task]
        box = next(box for box in flame.boxes if box["name"] == task)
        assert box["share"] == pytest.approx(switches(own) / switches(rows), abs=0.01), task
    # One task alone.
    flame.choose("Task", "consumer")
    own = [row for row in rows if row["Task"] == "consumer"]
    assert flame.says == f"all: {switches(own):,}, 100.0 %"
    assert "queue_pop" in flame.names() and "queue_push" not in flame.names()
    # Another weight: wake-ups are counted apart from switches.
    flame.choose("Weight", "wake-ups of others")
    flame.choose("Task", "all tasks")
    assert (
        re.fullmatch(r"all: [\d,]+, 100\.0 %", flame.says)
        and flame.says != f"all: {switches(rows):,}, 100.0 %"
    )
    flame.choose("Weight", "time off the CPU")
    assert re.fullmatch(r"all: [\d.]+ ms, 100\.0 %", flame.says)


def test_a_search_marks_functions_and_sums_them(flame):
    rows = flame.rows()
    flame.control("Search functions").send_keys("QUEUE_P")
    found = {box["name"] for box in flame.boxes if box["found"]}
    assert found == {"queue_push", "queue_pop"}
    hit = switches([row for row in rows if "queue_p" in row["Stack, the innermost first"]])
    assert 0 < hit < switches(rows)
    assert flame.says == f"“QUEUE_P”: {hit:,}, {100 * hit / switches(rows):.1f} %"
    flame.control("Search functions").send_keys(Keys.BACKSPACE * 7, "nowhere")
    assert flame.says == "“nowhere”: 0, 0.0 %" and not any(box["found"] for box in flame.boxes)


def test_a_chosen_function_is_shown_alone(flame):
    before = flame.names()
    everything = flame.place.find_element(By.CSS_SELECTOR, ".controls button")
    assert not everything.is_enabled()
    flame.click("queue_push")
    alone = flame.boxes
    # Those that call it stay above it, as wide as the graph.
    callers = alone[: [box["name"] for box in alone].index("queue_push") + 1]
    assert [box["name"] for box in callers][:2] == ["all", "producer"] and len(callers) > 3
    assert all(box["share"] == pytest.approx(1, abs=0.01) for box in callers)
    assert "consumer" not in flame.names() and "queue_push: " in flame.says
    everything.click()
    assert flame.names() == before and not everything.is_enabled()


def test_the_keyboard_walks_along_the_functions(flame):
    first = flame.place.find_element(By.CSS_SELECTOR, ".graph button[tabindex='0']")
    flame.driver.execute_script("arguments[0].focus()", first)
    assert flame.press(Keys.ARROW_DOWN) == "producer"
    assert flame.press(Keys.ARROW_RIGHT) == "consumer" and flame.says.startswith("consumer: ")
    assert flame.press(Keys.ARROW_LEFT) == "producer" and flame.press(Keys.ARROW_UP) == "all"
    # No box is above the first one; the focus stays.
    assert flame.press(Keys.ARROW_UP) == "all"
    assert flame.press(Keys.ARROW_DOWN, Keys.ARROW_RIGHT, Keys.ENTER) == "consumer"
    assert "producer" not in flame.names()
    assert flame.press(Keys.ARROW_DOWN, Keys.HOME) == "all"
    assert flame.press(Keys.ESCAPE) == "consumer" and "producer" in flame.names()


def test_without_its_script_the_table_has_the_numbers(browser, trace_pages):
    browser.scripts(on=False)
    driver = browser.open(trace_pages["stacks"])
    place = driver.find_element(By.CSS_SELECTOR, ".flame")
    assert place.is_displayed() and "the table has the numbers" in place.text
    figure = driver.find_element(By.ID, "figure-stacks")
    assert figure.find_elements(By.CSS_SELECTOR, "details table tbody tr")
