"use strict";
// A list of rows of one height, of which only those in sight are in the page: 100,000 rows scroll like 100.

const ROW = 18;
const SPARE = 12;

class List {
  // draw(number, row): fills the element of a row. chosen(number, event): a row was clicked.
  constructor(draw, chosen) {
    this.draw = draw;
    this.count = 0;
    this.width = 0;
    this.marked = new Set();
    this.at = -1;
    this.tall = element("div", {class: "tall"});
    this.element = element("div", {class: "list"}, this.tall);
    this.strip = element("canvas", {class: "strip"});
    this.element.addEventListener("scroll", () => this.show(), {passive: true});
    this.tall.addEventListener("click", (event) => {
      const row = event.target.closest(".row");
      if (row && !event.target.closest(".lay")) chosen(Number(row.dataset.row), event);
    });
    this.watcher = new ResizeObserver(() => this.show(true));
    this.watcher.observe(this.element);
  }

  // How many rows there are; characters of the longest one.
  resize(count, longest) {
    this.count = count;
    this.tall.style.height = `${count * ROW}px`;
    this.tall.style.width = longest ? `max(100%, ${longest + 9}ch)` : "100%";
    this.show(true);
  }

  show(again) {
    const first = Math.max(0, Math.floor(this.element.scrollTop / ROW) - SPARE);
    const end = Math.min(this.count, Math.ceil((this.element.scrollTop + this.element.clientHeight) / ROW) + SPARE);
    if (!again && first === this.first && end === this.end) return;
    this.first = first;
    this.end = end;
    const rows = [];
    for (let number = first; number < end; number++) {
      const row = element("div", {class: "row", "data-row": number, style: `top:${number * ROW}px`});
      this.draw(number, row);
      if (this.marked.has(number)) row.classList.add("marked");
      if (number === this.at) row.classList.add("at");
      rows.push(row);
    }
    this.tall.replaceChildren(...rows);
    if (again) this.drawStrip();
  }

  // Marks rows; goes to the nearest one unless one is in sight. `at`: the row that was clicked.
  mark(rows, at) {
    this.marked = new Set(rows);
    this.sorted = [...this.marked].sort((a, b) => a - b);
    this.at = at;
    const top = this.element.scrollTop / ROW, bottom = top + this.element.clientHeight / ROW - 1;
    if (this.sorted.length && !this.sorted.some((row) => row >= top && row < bottom)) this.go(this.sorted[0]);
    this.show(true);
  }

  go(row) {
    this.element.scrollTop = Math.max(0, row * ROW - this.element.clientHeight / 3);
    this.show(true);
  }

  // To the next or previous mark that is out of sight, round the end.
  step(direction) {
    if (!this.sorted || !this.sorted.length) return;
    const here = (this.element.scrollTop + this.element.clientHeight / 3) / ROW;
    const far = this.element.clientHeight / ROW / 3;
    const next = direction > 0 ? this.sorted.find((row) => row > here + far)
      : [...this.sorted].reverse().find((row) => row < here - far);
    this.go(next ?? this.sorted[direction > 0 ? 0 : this.sorted.length - 1]);
  }

  drawStrip() {
    const {clientHeight: height} = this.element;
    if (!height) return;
    this.strip.width = 7;
    this.strip.height = height;
    this.strip.style.height = `${height}px`;
    const brush = this.strip.getContext("2d");
    brush.fillStyle = "#e6a700";
    for (const row of this.marked) brush.fillRect(0, Math.floor(row / Math.max(1, this.count) * height), 7, 2);
  }
}
