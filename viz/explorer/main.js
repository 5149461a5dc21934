"use strict";
// The page: which panels are open, what is selected, the search.

const FIRST = ["e-graph", "nv_tileas"];
const MOST_HITS = 200;
const NONE = Object.freeze({kind: "none", places: NOTHING});

class App {
  constructor(plain) {
    this.records = plain.map(record);
    this.selection = NONE;
    this.panelsHost = document.getElementById("panels");
    this.tabs = document.getElementById("tabs");
    this.which = document.getElementById("record");
    this.details = new Details(this);
    this.which.addEventListener("change", () => this.open(Number(this.which.value)));
    document.addEventListener("click", (event) => {
      const layout = event.target.closest("[data-layout]");
      if (layout) this.showLayout(layout.dataset.layout);
    });
    new Search(this);
    dragHandle();
    this.list();
    this.open(0);
  }

  list() {
    this.which.replaceChildren(...this.records.map((each, number) => element("option", {value: number}, each.title)));
  }

  // A compilation of another page.
  add(plain, from) {
    const made = record(plain);
    if (this.records.some((each) => each.title === made.title)) made.title += ` (${from})`;
    this.records.push(made);
    this.list();
    this.which.value = String(this.records.indexOf(this.record));
  }

  open(number) {
    const open = this.panels ? this.panels.filter((each) => each.shown).map((each) => each.name) : null;
    this.record = this.records[number];
    this.which.value = String(number);
    this.selection = NONE;
    const texts = this.record.levels.map((level, at) => new TextPanel(this, at));
    const cut = Math.max(1, texts.findIndex((each) => each.name === "nv_tileas"));
    this.panels = [...texts.slice(0, cut), new EGraphPanel(this), ...texts.slice(cut, cut + 1), new SchedulePanel(this), ...texts.slice(cut + 1),
      new LayoutPanel(this), new SaturationPanel(this), new ComparePanel(this)];
    const last = this.panels.some((each) => each.name === "sass") ? "sass" : "ptx";
    const wanted = open || [texts[0] ? texts[0].name : "", ...FIRST, last];
    this.tabs.replaceChildren(...this.panels.map((panel) => panel.tab = element("button", {onclick: () => this.toggle(panel)}, panel.name)));
    this.panelsHost.replaceChildren();
    for (const panel of this.panels) if (wanted.includes(panel.name)) this.toggle(panel, true);
    this.figures();
    this.details.show(this.selection);
  }

  figures() {
    const {figures} = this.record, names = ["cost", "bound", "warps", "registers", "shared memory", "e-nodes", "not legal", "ptx", "sass"];
    const titles = {ptx: "lines of PTX", sass: "lines of SASS", "not legal": "ways not legal", "shared memory": "bytes shared"};
    document.getElementById("figures").replaceChildren(...names.filter((name) => figures[name] !== undefined).map((name) =>
      element("div", {class: "figure"}, element("b", {}, Number(figures[name]).toLocaleString("en", {maximumFractionDigits: 0})), element("span", {}, titles[name] || name))));
  }

  toggle(panel, on = !panel.shown) {
    if (panel.shown === on) return;
    panel.shown = on;
    panel.tab.classList.toggle("on", on);
    if (!on) {
      panel.element.remove();
      return;
    }
    if (!panel.element) {
      panel.element = element("div", {class: panel.wide ? "panel wide" : "panel", "data-panel": panel.name},
        element("div", {class: "head"}, element("b", {}, panel.name), ...panel.head,
          element("button", {title: "close", onclick: () => this.toggle(panel, false)}, "✕")), ...panel.body);
    }
    const after = this.panels.slice(this.panels.indexOf(panel) + 1).find((each) => each.shown);
    this.panelsHost.insertBefore(panel.element, after ? after.element : null);
    panel.opened();
    panel.mark(this.selection);
  }

  panel(name) { return this.panels.find((each) => each.name === name); }

  select(selection) {
    this.selection = selection;
    for (const panel of this.panels) if (panel.shown) panel.mark(selection);
    this.details.show(selection);
  }

  selectValue(number, form, way) {
    this.select({kind: "value", number, form, way, places: this.record.values[number].places || NOTHING});
  }

  showLayout(name) {
    const panel = this.panel("layouts");
    this.toggle(panel, true);
    panel.reveal(name);
    panel.element.scrollIntoView({inline: "nearest"});
  }
}

class Search {
  constructor(app) {
    this.app = app;
    this.input = document.getElementById("search");
    this.found = document.getElementById("found");
    this.input.addEventListener("input", () => this.show());
    this.input.addEventListener("keydown", (event) => this.key(event));
    this.input.addEventListener("blur", () => setTimeout(() => { this.found.hidden = true; }, 150));
    this.input.addEventListener("focus", () => this.show());
    document.addEventListener("keydown", (event) => {
      if (event.key === "/" && document.activeElement !== this.input) { event.preventDefault(); this.input.focus(); this.input.select(); }
      if (event.key === "Escape") { this.input.blur(); app.select(NONE); }
    });
  }

  hits(wanted) {
    const found = [];
    for (const panel of this.app.panels) {
      let own = 0;
      for (const hit of panel.search(wanted)) {
        found.push({panel, ...hit});
        if (++own >= 40 || found.length >= MOST_HITS) break;
      }
    }
    return found;
  }

  show() {
    const wanted = this.input.value.trim().toLowerCase();
    this.found.hidden = wanted.length < 2;
    if (this.found.hidden) return;
    this.list = this.hits(wanted);
    this.on = -1;
    this.found.replaceChildren(...this.list.map((hit) => element("div", {class: "hit", onmousedown: () => this.go(hit)},
      element("span", {}, hit.panel.name), element("code", {}, hit.text.slice(0, 160)))));
    if (!this.list.length) this.found.append(element("div", {class: "none"}, "nothing found"));
  }

  key(event) {
    if (!this.list || this.found.hidden || !["ArrowDown", "ArrowUp", "Enter"].includes(event.key)) return;
    event.preventDefault();
    if (event.key === "Enter") {
      if (this.list.length) this.go(this.list[Math.max(0, this.on)]);
      return;
    }
    this.on = Math.min(this.list.length - 1, Math.max(0, this.on + (event.key === "ArrowDown" ? 1 : -1)));
    [...this.found.children].forEach((each, number) => each.classList.toggle("on", number === this.on));
    if (this.found.children[this.on]) this.found.children[this.on].scrollIntoView({block: "nearest"});
  }

  go(hit) {
    this.app.toggle(hit.panel, true);
    hit.go();
    hit.panel.element.scrollIntoView({inline: "nearest"});
    this.found.hidden = true;
  }
}

function dragHandle() {
  const handle = document.getElementById("handle"), details = document.getElementById("details");
  handle.addEventListener("pointerdown", (event) => {
    handle.setPointerCapture(event.pointerId);
    const move = (each) => { details.style.height = `${Math.min(innerHeight - 200, Math.max(40, innerHeight - each.clientY - 3))}px`; };
    handle.addEventListener("pointermove", move);
    handle.addEventListener("pointerup", () => handle.removeEventListener("pointermove", move), {once: true});
  });
}

const explorer = new App(JSON.parse(document.getElementById("records").textContent));
window.explorer = explorer;
document.body.dataset.ready = "yes";
