// Draws flame graphs: one box a function, the outermost above, as wide as its weight.
(() => {
  const ROW = 20;
  // Boxes narrower than this share of the graph cannot be seen; the table has them.
  const LEAST = 0.0008;

  function element(name, properties, ...children) {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  }

  function words(value, time) {
    if (!time) return Math.round(value).toLocaleString("en");
    const units = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
    const [size, unit] = units.find(([size]) => value >= size) || units[3];
    return `${(value / size).toPrecision(3)} ${unit}`;
  }

  /** The stacks of a task (all without one) as a tree, by one of their weights. */
  function tree(data, weight, task) {
    const root = { name: "all", value: 0, depth: 0, children: new Map(), parent: null };
    const into = (parent, name) => {
      let child = parent.children.get(name);
      if (!child) {
        child = { name, value: 0, depth: parent.depth + 1, children: new Map(), parent };
        parent.children.set(name, child);
      }
      return child;
    };
    for (const [of, frames, weights] of data.stacks) {
      const value = weights[weight];
      if (value === 0 || (task !== null && of !== task)) continue;
      let at = root;
      root.value += value;
      for (const name of [of, ...frames]) {
        at = into(at, data.names[name]);
        at.value += value;
      }
    }
    return root;
  }

  function draw(place) {
    const data = JSON.parse(place.dataset.stacks);
    const weights = element("select", { ariaLabel: "Weight" });
    weights.append(...data.weights.map((weight, i) => element("option", { value: i, textContent: weight.label })));
    const tasks = element("select", { ariaLabel: "Task" }, element("option", { value: "", textContent: "all tasks" }));
    const named = [...new Set(data.stacks.map(([task]) => task))].sort((a, b) => data.names[a].localeCompare(data.names[b], "en"));
    tasks.append(...named.map((task) => element("option", { value: task, textContent: data.names[task] })));
    const search = element("input", { type: "search", placeholder: "Search functions", ariaLabel: "Search functions" });
    const reset = element("button", { type: "button", textContent: "Show all" });
    const line = element("p", { className: "note" });
    line.setAttribute("role", "status");
    const graph = element("div", { className: "graph" });
    graph.setAttribute("role", "group");
    graph.setAttribute("aria-label", "Flame graph: arrow keys walk along the functions, Enter shows one alone, Escape goes back");
    place.replaceChildren(element("div", { className: "controls" }, weights, tasks, search, reset), line, graph);
    let root, top, boxes;

    const time = () => data.weights[weights.value].time;
    const say = (node) => {
      const share = root.value > 0 ? ((100 * node.value) / root.value).toFixed(1) : "0";
      line.textContent = `${node.name}: ${words(node.value, time())}, ${share} %`;
    };

    function box(node, left, width, row) {
      const label = element("span", { textContent: node.name });
      const made = element("button", { type: "button", tabIndex: -1, title: node.name }, label);
      made.style.cssText = `left:${100 * left}%;width:${100 * width}%;top:${row * ROW}px`;
      if (node.name.endsWith("_[k]")) made.classList.add("kernel");
      made.addEventListener("click", () => zoom(node));
      for (const event of ["focus", "pointerenter"]) made.addEventListener(event, () => say(node));
      made.node = node;
      boxes.set(node, made);
      graph.append(made);
    }

    /** Shows a function alone, below those that call it. */
    function zoom(node) {
      top = node;
      boxes = new Map();
      graph.replaceChildren();
      const callers = [];
      for (let at = node.parent; at; at = at.parent) callers.unshift(at);
      callers.forEach((caller, row) => box(caller, 0, 1, row));
      let deepest = callers.length;
      const place = (node, left, row) => {
        const width = node.value / Math.max(top.value, 1);
        if (width < LEAST && node !== top) return;
        deepest = Math.max(deepest, row);
        box(node, left, width, row);
        let at = left;
        for (const child of [...node.children.values()].sort((a, b) => b.value - a.value)) {
          place(child, at, row + 1);
          at += child.value / Math.max(top.value, 1);
        }
      };
      place(node, 0, callers.length);
      graph.style.height = `${(deepest + 1) * ROW}px`;
      boxes.get(node).tabIndex = 0;
      reset.disabled = node === root;
      mark();
      say(node);
    }

    /** Marks what is searched for, and says what it makes up. */
    function mark() {
      const text = search.value.toLowerCase();
      const hit = (node) => text !== "" && node.name.toLowerCase().includes(text);
      for (const [node, made] of boxes) made.classList.toggle("found", hit(node));
      if (text === "") return;
      // A function in one that was found is in it already.
      const sum = (node) => (hit(node) ? node.value : [...node.children.values()].reduce((all, child) => all + sum(child), 0));
      const found = sum(root);
      const share = root.value > 0 ? ((100 * found) / root.value).toFixed(1) : "0";
      line.textContent = `“${search.value}”: ${words(found, time())}, ${share} %`;
    }

    function renew() {
      root = tree(data, Number(weights.value), tasks.value === "" ? null : Number(tasks.value));
      zoom(root);
    }

    graph.addEventListener("keydown", (event) => {
      const node = document.activeElement.node;
      if (!node) return;
      const shown = (nodes) => nodes.filter((one) => boxes.has(one)).sort((a, b) => b.value - a.value);
      const beside = node.parent ? shown([...node.parent.children.values()]) : [node];
      const steps = {
        ArrowUp: node.parent,
        ArrowDown: shown([...node.children.values()])[0],
        ArrowLeft: beside[beside.indexOf(node) - 1],
        ArrowRight: beside[beside.indexOf(node) + 1],
        Home: root,
      };
      if (event.key === "Escape" && top.parent) {
        const before = top;
        zoom(top.parent);
        boxes.get(before)?.focus();
      } else if (event.key === "Enter" || event.key === " ") {
        zoom(node);
        boxes.get(node).focus();
      } else if (event.key in steps) {
        const to = boxes.get(steps[event.key]);
        if (to) {
          document.activeElement.tabIndex = -1;
          to.tabIndex = 0;
          to.focus();
        }
      } else return;
      event.preventDefault();
    });
    weights.addEventListener("change", renew);
    tasks.addEventListener("change", renew);
    search.addEventListener("input", mark);
    reset.addEventListener("click", () => zoom(root));
    renew();
  }

  document.querySelectorAll(".flame").forEach(draw);
})();
