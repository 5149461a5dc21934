"use strict";
// A level of the program as text; a click on a line marks its places everywhere.

class TextPanel {
  constructor(app, number) {
    this.app = app;
    this.number = number;
    this.level = app.record.levels[number];
    this.name = levelTitle(this.level);
    this.program = !this.level.name.includes(".") && !["ptx", "sass"].includes(this.level.name);
    this.list = new List((line, row) => this.draw(line, row), (line) => this.choose(line));
    this.count = element("span", {class: "count"});
    this.head = [this.count, element("span", {class: "space"}),
      element("button", {title: "previous mark", onclick: () => this.list.step(-1)}, "▲"),
      element("button", {title: "next mark", onclick: () => this.list.step(1)}, "▼")];
    this.body = [this.list.element, this.list.strip];
  }

  opened() {
    let longest = 0;
    for (const line of this.level.lines) longest = Math.max(longest, line.length);
    this.list.resize(this.level.lines.length, longest);
    const first = this.level.places.findIndex((places) => places.length);
    if (first > 30 && this.list.element.scrollTop === 0) this.list.go(first);  // a file of many kernels
  }

  draw(line, row) {
    const from = this.level.places[line].length;
    const text = this.program ? rich(this.level.lines[line], true) : escapeText(this.level.lines[line]);
    row.innerHTML = `<span class="no">${line + 1}</span>${from ? text : `<span class="nowhere">${text}</span>`}`;
  }

  choose(line) {
    this.app.select({kind: "line", panel: this.name, line, places: this.level.places[line],
      text: this.level.lines[line].trim()});
  }

  mark(selection) {
    const at = this.app.record.linesAt[this.number], rows = new Set();
    for (const place of selection.places) for (const line of at.get(place) || NOTHING) rows.add(line);
    const own = selection.kind === "line" && selection.panel === this.name;
    if (own) rows.add(selection.line);
    this.list.mark(rows, own ? selection.line : -1);
    this.count.textContent = rows.size ? `${rows.size} of ${plural(this.level.lines.length, "line")}`
      : plural(this.level.lines.length, "line");
  }

  *search(wanted) {
    for (let line = 0; line < this.level.lines.length; line++) {
      const text = this.level.lines[line];
      if (text.toLowerCase().includes(wanted)) yield {text: text.trim(), go: () => { this.choose(line); this.list.go(line); }};
    }
  }
}
