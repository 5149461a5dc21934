"use strict";
// Who holds which element of a tile, or where it lies in shared or tensor memory, as a grid. Bases are XORed over the bits of a number.

const GROUNDS = ["#dbe9f6", "#fde2d2", "#dff0d8", "#f6dbe9", "#fff3c4", "#e3dcf2", "#d2f0ee", "#ececec"];
const MOST_CELLS = 128 * 256;

function span(bases) {
  let values = [0];
  for (const basis of bases || NOTHING) values = values.concat(values.map((value) => value ^ basis));
  return values;
}

// For each element the first warp, lane and register that hold it, and how many do.
function holders(layout, size) {
  const found = Array.from({length: size}, () => null);
  const [registers, lanes, warps] = [span(layout.reg), span(layout.lane), span(layout.warp)];
  warps.forEach((fromWarp, warp) => lanes.forEach((fromLane, lane) => registers.forEach((fromRegister, register) => {
    const at = fromWarp ^ fromLane ^ fromRegister;
    if (found[at]) found[at].times++;
    else found[at] = {warp, lane, register, times: 1};
  })));
  return found;
}

function offsets(layout) { return span(layout.offset).map((offset) => offset * layout.bytes); }

// Lane, column and bit of the column of each element of a tile in tensor memory.
function placesInTensorMemory(tile) {
  const [lanes, columns, bits] = [0, 1, 2].map((which) => span(tile.bits.map((bit) => bit[which])));
  return lanes.map((lane, at) => ({lane, column: tile.first + columns[at], bit: bits[at], copies: tile.copies || 0}));
}

// What differs between the places that a tile may be in: colours, what a cell says in short and in two lines, and in words.
const KINDS = {
  registers: {
    colours: {"lane / 4": (cell) => cell.lane >> 2, lane: (cell) => cell.lane, warp: (cell) => cell.warp, register: (cell) => cell.register},
    short: (cell) => `${cell.lane}`,
    lines: (cell) => [`w${cell.warp} t${cell.lane}`, `r${cell.register}${cell.times > 1 ? " +" + (cell.times - 1) : ""}`],
    words: (cell) => `warp ${cell.warp}, lane ${cell.lane}, register ${cell.register}${cell.times > 1 ? `, and ${cell.times - 1} more hold it` : ""}`,
    legend: "w warp, t lane, r register, +n: as many more hold it",
  },
  "shared memory": {
    colours: {"16 bytes of a row": (cell) => cell >> 4 & 7, bank: (cell) => cell >> 2 & 31, "row of 128 bytes": (cell) => cell >> 7},
    short: (cell) => `${cell >> 2 & 31}`,
    lines: (cell) => [`@${cell}`, `b${cell >> 2 & 31}`],
    words: (cell) => `byte ${cell}, bank ${cell >> 2 & 31}, row ${cell >> 7}`,
    legend: "@ byte, b bank",
  },
  "tensor memory": {
    colours: {"lanes of a warp": (cell) => cell.lane >> 5, lane: (cell) => cell.lane, column: (cell) => cell.column},
    short: (cell) => `${cell.column}`,
    lines: (cell) => [`l${cell.lane}${cell.copies ? " +" + cell.copies : ""}`, `c${cell.column}${cell.bit ? "." + cell.bit : ""}`],
    words: (cell) => `lane ${cell.lane}${cell.copies ? ` and ${cell.copies} more, 32 apart` : ""}, column ${cell.column}${cell.bit ? `, from bit ${cell.bit}` : ""}`,
    legend: "l lane, c column.bit; a warp reaches the 32 lanes of its number modulo 4",
  },
};

class LayoutPanel {
  constructor(app) {
    this.app = app;
    this.name = "layouts";
    this.wide = true;
    this.count = element("span", {class: "count"});
    this.head = [this.count, element("span", {class: "space"})];
    this.which = element("select", {onchange: () => this.show(...this.which.value.split("|").map(Number)), title: "layout and shape of the tile"});
    this.colour = element("select", {onchange: () => this.paint(), title: "what the colour of a cell says"});
    this.size = element("select", {onchange: () => this.paint(), title: "size of a cell"}, ...["fit", "small", "medium", "large"].map((size) => element("option", {value: size}, `cells: ${size}`)));
    this.under = element("div", {class: "legend"}, "");
    this.text = element("div", {class: "legend code"});
    this.canvas = element("canvas");
    this.canvas.addEventListener("mousemove", (event) => this.hover(event));
    this.grid = element("div", {class: "grid"}, this.canvas);
    this.content = element("div", {class: "body"}, element("div", {class: "controls"}, this.which, this.colour, this.size), this.text, this.under, this.grid);
    this.body = [this.content];
  }

  opened() {
    const {layouts} = this.app.record;
    const order = layouts.map((layout, number) => number).sort((a, b) => (layouts[b].used || NOTHING).length - (layouts[a].used || NOTHING).length || a - b);
    const options = [];
    for (const number of order) {
      const layout = layouts[number];
      (layout.shapes || NOTHING).forEach((shape, at) => {
        const used = (layout.used || NOTHING).some((each) => each.join() === shape.join()) ? " · in the program" : "";
        options.push(element("option", {value: `${number}|${at}`}, `${layout.name}  ${shape.join(" x ")}, ${layout.bytes ? "shared memory" : "registers"}${used}`));
      });
    }
    this.tensor = this.app.record.tensor_tiles || NOTHING;
    options.unshift(...this.tensor.map((tile, at) => element("option", {value: `-1|${at}`}, `${tile.name}  ${tile.shape.join(" x ")}, tensor memory · in the program`)));
    this.which.replaceChildren(...options);
    this.count.textContent = plural(layouts.length + this.tensor.length, "layout");
    if (options.length) this.show(...options[0].value.split("|").map(Number));
    else this.text.textContent = "No tile is held in a layout.";
  }

  // A layout by name, as links in texts give it.
  reveal(name) {
    const number = this.app.record.layoutNumber.get(name);
    if (number === undefined || !(this.app.record.layouts[number].shapes || NOTHING).length) return;
    this.show(number, 0);
  }

  // A layout by its number with its shape by place; -1: a tile of tensor memory by place.
  show(number, at) {
    this.which.value = `${number}|${at}`;
    if (number < 0) {
      const tile = this.tensor[at], end = tile.first + tile.columns * (tile.stages || 1) - 1;
      this.kind = KINDS["tensor memory"];
      this.shape = tile.shape;
      this.cells = placesInTensorMemory(tile);
      const stages = (tile.stages || 1) > 1 ? ` in ${tile.stages} stages, the first is shown` : "";
      this.text.textContent = [`columns ${tile.first} to ${end}${stages}: ${tile.text}`, ...(tile.uses || NOTHING)].join("; ");
    } else {
      const layout = this.app.record.layouts[number];
      this.kind = KINDS[layout.bytes ? "shared memory" : "registers"];
      this.shape = layout.shapes[at];
      this.cells = layout.bytes ? offsets(layout) : holders(layout, this.shape.reduce((product, extent) => product * extent, 1));
      this.text.textContent = layout.text;
    }
    this.colour.replaceChildren(...Object.keys(this.kind.colours).map((kind) => element("option", {value: kind}, `colour: ${kind}`)));
    this.paint();
  }

  key(cell) { return this.kind.colours[this.colour.value](cell); }

  paint() {
    const columns = this.shape[this.shape.length - 1] || 1;
    const shown = Math.min(this.cells.length, MOST_CELLS), rows = Math.ceil(shown / columns);
    const fit = columns > 64 ? "small" : columns > 16 ? "medium" : "large", size = this.size.value === "fit" ? fit : this.size.value;
    const [width, height] = {small: [9, 9], medium: [24, 18], large: [50, 28]}[size];
    Object.assign(this, {columns, cellWidth: width, cellHeight: height, shown});
    this.canvas.width = columns * width;
    this.canvas.height = rows * height;
    const brush = this.canvas.getContext("2d");
    brush.textAlign = "center";
    brush.font = "10px ui-monospace, 'DejaVu Sans Mono', monospace";
    for (let at = 0; at < shown; at++) {
      const cell = this.cells[at], x = at % columns * width, y = Math.floor(at / columns) * height;
      brush.fillStyle = cell === null ? "#fff" : GROUNDS[this.key(cell) % GROUNDS.length];
      brush.fillRect(x, y, width - 0.5, height - 0.5);
      if (width < 20 || cell === null) continue;
      brush.fillStyle = "#1f2933";
      if (width < 40) brush.fillText(this.kind.short(cell), x + width / 2, y + 13, width);
      else {
        const lines = this.kind.lines(cell);
        brush.fillText(lines[0], x + width / 2, y + 12, width - 2);
        brush.fillText(lines[1], x + width / 2, y + 23, width - 2);
      }
    }
    const cut = shown < this.cells.length ? `; the first ${shown.toLocaleString("en")} of ${this.cells.length.toLocaleString("en")} elements` : "";
    this.rest = `${this.kind.legend}; rows of the last dimension${cut}`;
    this.under.textContent = this.rest;
  }

  hover(event) {
    const column = Math.floor(event.offsetX / this.cellWidth), at = Math.floor(event.offsetY / this.cellHeight) * this.columns + column;
    const cell = this.cells[at];
    if (cell === undefined || cell === null || at >= this.shown) return;
    const index = [];
    for (let rest = at, k = this.shape.length - 1; k >= 0; k--) { index.unshift(rest % this.shape[k]); rest = Math.floor(rest / this.shape[k]); }
    this.under.textContent = `[${index.join(", ")}]: ${this.kind.words(cell)}`;
  }

  mark() {}
  *search() {}
}
