"""What all pages are asked about their looks: scripts for the driver, and the questions themselves."""

from __future__ import annotations

import json

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By

VISIBLE_CHARTS = (
    "return [...document.querySelectorAll('svg.chart')].filter(s => s.getBoundingClientRect().width > 0)"
)
DRAWN = "return document.querySelectorAll('figure:not(:has(.flame))').length"
WIDTHS = "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
CUT_OR_TINY = """
  const found = [];
  for (const svg of arguments[0]) {
    const frame = svg.getBoundingClientRect();
    for (const text of svg.querySelectorAll('text')) {
      const box = text.getBoundingClientRect();
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.bottom > frame.bottom + 1) {
        found.push(`cut: ${text.textContent}`);
      }
      if (text.textContent && box.height < 9) found.push(`tiny: ${text.textContent}`);
    }
  }
  return found;
"""
OVERLAPS = """
  const found = [];
  for (const svg of arguments[0]) {
    const texts = [...svg.querySelectorAll('text')].filter(t => t.textContent.trim());
    const boxes = texts.map(t => t.getBoundingClientRect());
    for (let i = 0; i < texts.length; i++) for (let j = 0; j < i; j++) {
      const [a, b] = [boxes[i], boxes[j]];
      const x = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const y = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      // Boxes include the room of letters that reach below the line.
      if (x > 1 && y > 4) found.push(`${texts[i].textContent} / ${texts[j].textContent}`);
    }
  }
  return found;
"""


def assert_quiet(driver) -> None:
    """Nothing is complained about, and nothing is asked of any network."""
    assert driver.execute_script("return performance.getEntriesByType('resource').map(e => e.name)") == []
    assert driver.get_log("browser") == []
    messages = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    urls = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    assert [url for url in urls if not url.startswith(("file:", "data:", "about:", "chrome:"))] == []


def assert_legible(driver, name: str) -> None:
    """Each figure shows one drawing, nothing in it is cut, tiny or overlaps, and the page does not scroll sideways."""
    charts = driver.execute_script(VISIBLE_CHARTS)
    # Flame graphs are drawn with boxes.
    assert charts and len(charts) == driver.execute_script(DRAWN), name
    found = driver.execute_script(OVERLAPS, charts)
    assert found == [], f"{name}: {found}"
    found = driver.execute_script(CUT_OR_TINY, charts)
    assert found == [], f"{name}: {found}"
    driver.execute_script("document.querySelectorAll('details').forEach(d => { d.open = true })")
    content, window = driver.execute_script(WIDTHS)
    assert content <= window, f"{name}: {content} px of content in a window of {window} px"


def assert_answers_to_the_pointer(driver) -> None:
    """Every chart tells at least a name and a figure where it is pointed at."""
    for chart in driver.execute_script(VISIBLE_CHARTS):
        mark = chart.find_elements(By.CSS_SELECTOR, ".mark")[0]
        driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", mark)
        ActionChains(driver).move_to_element(mark).perform()
        tip = driver.find_element(By.ID, "tip")
        assert tip.is_displayed() and len(tip.text.splitlines()) >= 2, chart.get_attribute("aria-label")


def assert_tables(driver, at_least: int) -> None:
    """Every figure has its numbers as a table."""
    figures = driver.find_elements(By.TAG_NAME, "figure")
    assert len(figures) > at_least
    for figure in figures:
        assert figure.find_elements(By.CSS_SELECTOR, "details table tbody tr"), figure.get_attribute("id")
