"use strict";
// Who holds which element of a tile, or where it lies in shared memory, as a grid. Bases are XORed over the bits of a number.

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
    this.which.replaceChildren(...options);
    this.count.textContent = plural(layouts.length, "layout");
    if (options.length) this.show(...options[0].value.split("|").map(Number));
    else this.text.textContent = "No tile is held in a layout.";
  }

  // A layout by name, as links in texts give it.
  reveal(name) {
    const number = this.app.record.layoutNumber.get(name);
    if (number === undefined || !(this.app.record.layouts[number].shapes || NOTHING).length) return;
    this.show(number, 0);
  }

  show(number, at) {
    this.layout = this.app.record.layouts[number];
    this.shape = this.layout.shapes[at];
    this.which.value = `${number}|${at}`;
    const kinds = this.layout.bytes ? ["16 bytes of a row", "bank", "row of 128 bytes"] : ["lane / 4", "lane", "warp", "register"];
    this.colour.replaceChildren(...kinds.map((kind) => element("option", {value: kind}, `colour: ${kind}`)));
    const size = this.shape.reduce((product, extent) => product * extent, 1);
    this.cells = this.layout.bytes ? offsets(this.layout) : holders(this.layout, size);
    this.text.textContent = this.layout.text;
    this.paint();
  }

  key(cell) {
    if (!cell && cell !== 0) return 0;
    switch (this.colour.value) {
      case "16 bytes of a row": return cell >> 4 & 7;
      case "bank": return cell >> 2 & 31;
      case "row of 128 bytes": return cell >> 7;
      case "lane": return cell.lane;
      case "warp": return cell.warp;
      case "register": return cell.register;
      default: return cell.lane >> 2;
    }
  }

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
      if (width < 40) brush.fillText(this.layout.bytes ? `${cell >> 2 & 31}` : `${cell.lane}`, x + width / 2, y + 13, width);
      else {
        const lines = this.layout.bytes ? [`@${cell}`, `b${cell >> 2 & 31}`] : [`w${cell.warp} t${cell.lane}`, `r${cell.register}${cell.times > 1 ? " +" + (cell.times - 1) : ""}`];
        brush.fillText(lines[0], x + width / 2, y + 12, width - 2);
        brush.fillText(lines[1], x + width / 2, y + 23, width - 2);
      }
    }
    const cut = shown < this.cells.length ? `; the first ${shown.toLocaleString("en")} of ${this.cells.length.toLocaleString("en")} elements` : "";
    this.rest = `${this.layout.bytes ? "@ byte, b bank" : "w warp, t lane, r register, +n: as many more hold it"}; rows of the last dimension${cut}`;
    this.under.textContent = this.rest;
  }

  hover(event) {
    const column = Math.floor(event.offsetX / this.cellWidth), at = Math.floor(event.offsetY / this.cellHeight) * this.columns + column;
    const cell = this.cells[at];
    if (cell === undefined || cell === null || at >= this.shown) return;
    const index = [];
    for (let rest = at, k = this.shape.length - 1; k >= 0; k--) { index.unshift(rest % this.shape[k]); rest = Math.floor(rest / this.shape[k]); }
    const where = this.layout.bytes ? `byte ${cell}, bank ${cell >> 2 & 31}, row ${cell >> 7}`
      : `warp ${cell.warp}, lane ${cell.lane}, register ${cell.register}${cell.times > 1 ? `, and ${cell.times - 1} more hold it` : ""}`;
    this.under.textContent = `[${index.join(", ")}]: ${where}`;
  }

  mark() {}
  *search() {}
}
