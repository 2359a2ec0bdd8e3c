"""What both pages are asked about their looks: scripts for the driver."""

from __future__ import annotations

VISIBLE_CHARTS = (
    "return [...document.querySelectorAll('svg.chart')].filter(s => s.getBoundingClientRect().width > 0)"
)
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
