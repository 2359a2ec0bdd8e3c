// Adds to a page that is complete without it. Every mark gets a tooltip, and arrow keys walk along the marks. One
// switch opens all tables, and rows of long tables can be sorted.
"use strict";
(() => {
  const tip = document.getElementById("tip");
  const charts = [...document.querySelectorAll("svg.chart")];
  // How far from a mark a pointer or finger may be, in CSS pixels.
  const REACH = 26;
  let active = null;

  function show(mark) {
    if (active === mark) return;
    hide();
    active = mark;
    mark.classList.add("active");
    const lines = mark.getAttribute("aria-label").split("\n");
    tip.replaceChildren(
      ...lines.map((line, i) => {
        const element = document.createElement(i === 0 ? "b" : "span");
        if (i === 1) element.className = "value";
        element.textContent = line;
        return element;
      }),
    );
    tip.hidden = false;
    place(mark);
  }

  function place(mark) {
    const at = centre(mark);
    const box = tip.getBoundingClientRect();
    const left = Math.min(Math.max(at.x - box.width / 2, 8), document.documentElement.clientWidth - box.width - 8);
    const above = at.y - box.height - 14;
    tip.style.left = `${Math.max(left, 8)}px`;
    tip.style.top = `${above >= 4 ? above : at.y + 18}px`;
  }

  function hide() {
    if (!active) return;
    active.classList.remove("active");
    active = null;
    tip.hidden = true;
  }

  /** Where a mark's point lies in the window. */
  function centre(mark) {
    const svg = mark.ownerSVGElement;
    const box = svg.getBoundingClientRect();
    const scale = box.width / svg.viewBox.baseVal.width;
    return { x: box.left + Number(mark.dataset.x) * scale, y: box.top + Number(mark.dataset.y) * scale };
  }

  /** The nearest mark to a pointer, or the area or row it is in. */
  function under(event, marks) {
    const inside = event.target.closest(".mark.area, .mark.row");
    if (inside) return inside;
    let best = null;
    let least = REACH;
    for (const mark of marks) {
      if (mark.classList.contains("area")) continue;
      const at = centre(mark);
      const distance = Math.hypot(at.x - event.clientX, at.y - event.clientY);
      if (distance < least) [best, least] = [mark, distance];
    }
    return best || event.target.closest(".mark");
  }

  for (const svg of charts) {
    const marks = [...svg.querySelectorAll(".mark")];
    if (marks.length === 0) continue;
    // As an image its parts could not be reached one by one; a group lets a screen reader in.
    svg.setAttribute("role", "group");
    marks.forEach((mark, i) => {
      // The browser's own tooltip would appear next to ours.
      const title = mark.querySelector("title");
      mark.setAttribute("aria-label", title.textContent);
      title.remove();
      mark.setAttribute("role", "img");
      // One stop for the Tab key in each chart; the arrows go on from there.
      mark.setAttribute("tabindex", i === 0 ? "0" : "-1");
      mark.addEventListener("focus", () => show(mark));
      mark.addEventListener("blur", hide);
    });
    const follow = (event) => {
      const mark = under(event, marks);
      if (mark) show(mark);
      else hide();
    };
    svg.addEventListener("pointermove", follow);
    svg.addEventListener("pointerdown", follow);
    svg.addEventListener("pointerleave", (event) => {
      // A finger that is lifted leaves, too; what it asked for should stay to be read.
      if (event.pointerType === "mouse") hide();
    });
    svg.addEventListener("keydown", (event) => {
      const from = marks.indexOf(document.activeElement);
      if (from < 0) return;
      const steps = { ArrowRight: from + 1, ArrowDown: from + 1, ArrowLeft: from - 1, ArrowUp: from - 1, Home: 0, End: marks.length - 1 };
      if (event.key === "Escape") hide();
      const to = steps[event.key];
      if (to === undefined) return;
      event.preventDefault();
      const next = marks[Math.min(Math.max(to, 0), marks.length - 1)];
      marks[from].setAttribute("tabindex", "-1");
      next.setAttribute("tabindex", "0");
      next.focus();
    });
  }

  document.addEventListener("pointerdown", (event) => {
    if (!event.target.closest("svg.chart")) hide();
  });
  // Focus scrolls a mark into view: the tip goes with it, also where a box inside the page scrolls.
  addEventListener("scroll", () => active && place(active), { passive: true, capture: true });
  addEventListener("resize", hide);

  const tables = [...document.querySelectorAll("details")];
  if (tables.length > 1) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "tables-toggle";
    const label = () => {
      button.textContent = tables.every((table) => table.open) ? "Close all tables" : "Open all tables";
    };
    button.addEventListener("click", () => {
      const open = !tables.every((table) => table.open);
      for (const table of tables) table.open = open;
    });
    for (const table of tables) table.addEventListener("toggle", label);
    label();
    document.querySelector("nav").append(button);
  }

  /** What a row is sorted by in a column: a number where there is one, else its text; nothing for a missing figure. */
  function key(row, column) {
    const cell = row.cells[column];
    if (cell.dataset.key !== undefined) return Number(cell.dataset.key);
    return cell.classList.contains("n") ? null : cell.textContent;
  }

  function compare(a, b) {
    return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en");
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const number = head.classList.contains("n");
        // The largest numbers first, and names from A.
        const order = head.getAttribute("aria-sort") || (number ? "ascending" : "descending");
        const down = order !== "descending";
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const body = table.tBodies[0];
        const keyed = [...body.rows].map((row) => ({ row, key: key(row, column) }));
        // Missing figures stay at the end, whatever the order.
        keyed.sort((a, b) => {
          if (a.key === null || b.key === null) return (a.key === null) - (b.key === null);
          return down ? compare(b.key, a.key) : compare(a.key, b.key);
        });
        body.append(...keyed.map((entry) => entry.row));
      });
    });
  }

  // The style opens tables in print where the browser can; this serves those that cannot.
  let closed = [];
  addEventListener("beforeprint", () => {
    hide();
    closed = tables.filter((table) => !table.open);
    for (const table of closed) table.open = true;
  });
  addEventListener("afterprint", () => {
    for (const table of closed) table.open = false;
  });
})();
