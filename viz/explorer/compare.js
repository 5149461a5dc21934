"use strict";
// Two compilations side by side: figures, instructions, what was chosen for each value, and the text of a level.

const MOST_EDITS = 4000;

// Lines that both have, one of them has not, in order (E. W. Myers, An O(ND) Difference Algorithm, 1986). null: too many.
function difference(a, b) {
  const ends = [], reach = new Map([[1, 0]]);
  for (let edits = 0; edits <= Math.min(MOST_EDITS, a.length + b.length); edits++) {
    ends.push(new Map(reach));
    for (let k = -edits; k <= edits; k += 2) {
      let x = k === -edits || (k !== edits && (reach.get(k - 1) ?? -1) < (reach.get(k + 1) ?? -1)) ? reach.get(k + 1) : reach.get(k - 1) + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      reach.set(k, x);
      if (x >= a.length && x - k >= b.length) return backwards(a, b, ends);
    }
  }
  return null;
}

function backwards(a, b, ends) {
  const found = [];
  let x = a.length, y = b.length;
  for (let edits = ends.length - 1; edits >= 0; edits--) {
    const reach = ends[edits], k = x - y;
    const from = k === -edits || (k !== edits && (reach.get(k - 1) ?? -1) < (reach.get(k + 1) ?? -1)) ? k + 1 : k - 1;
    const startX = edits ? reach.get(from) : 0, startY = edits ? startX - from : 0;
    while (x > startX && y > startY && x > 0 && y > 0 && a[x - 1] === b[y - 1]) { found.push([" ", --x, --y]); }
    if (!edits) break;
    if (from === k + 1) found.push(["+", x, --y]);
    else found.push(["-", --x, y]);
  }
  return found.reverse();
}

class ComparePanel {
  constructor(app) {
    this.app = app;
    this.name = "compare";
    this.wide = true;
    this.count = element("span", {class: "count"});
    this.head = [this.count, element("span", {class: "space"})];
    this.other = element("select", {onchange: () => this.show(), title: "the other compilation"});
    this.level = element("select", {onchange: () => this.showLevel(), title: "the level whose text is compared"});
    this.file = element("input", {type: "file", accept: ".html,.json", onchange: () => this.load(), title: "another page of this kind"});
    this.figures = element("div");
    this.instructions = element("div");
    this.choices = element("div");
    this.text = element("div");
    this.content = element("div", {class: "body"}, element("div", {class: "controls"}, "with", this.other, "or with the page", this.file),
      element("h3", {}, "figures"), this.figures, element("h3", {}, "what was chosen otherwise"), this.choices,
      element("h3", {}, "instructions"), this.instructions, element("h3", {}, "text"), element("div", {class: "controls"}, this.level), this.text);
    this.body = [this.content];
  }

  opened() {
    const others = this.app.records.filter((each) => each !== this.app.record);
    this.other.replaceChildren(...others.map((each) => element("option", {value: this.app.records.indexOf(each)}, each.title)));
    this.show();
  }

  async load() {
    const [file] = this.file.files;
    if (!file) return;
    const text = await file.text();
    const page = text.match(/<script type="application\/json" id="records">([\s\S]*?)<\/script>/);
    try {
      const plain = JSON.parse(page ? page[1] : text);
      for (const each of Array.isArray(plain) ? plain : [plain]) {
        if (!each || !Array.isArray(each.levels)) throw new SyntaxError("it holds no compilation");
        this.app.add(each, file.name);
      }
    } catch (error) {
      this.count.textContent = `cannot read ${file.name}: ${error.message}`;
      return;
    }
    this.opened();
    this.other.value = String(this.app.records.length - 1);
    this.show();
  }

  show() {
    const one = this.app.record, two = this.app.records[Number(this.other.value)];
    this.two = this.other.value === "" ? undefined : two;
    this.count.textContent = this.two ? `${one.title} and ${two.title}` : "one compilation so far: open another page, or give explore two targets or files";
    for (const part of [this.figures, this.choices, this.instructions, this.text]) part.replaceChildren();
    this.level.replaceChildren();
    if (!this.two) return;
    const names = Object.keys(one.figures).filter((name) => typeof one.figures[name] !== "object");
    this.figures.append(table(["", one.title, two.title, "change"], names.map((name) => {
      const [a, b] = [one.figures[name], two.figures[name]];
      return [name, a, b, typeof a === "number" && typeof b === "number" && a !== b ? `${b > a ? "+" : ""}${(b - a).toLocaleString("en", {maximumFractionDigits: 1})}${a ? ` (${b > a ? "+" : ""}${Math.round((b - a) / a * 100)} %)` : ""}` : ""];
    }), [1, 2, 3]));
    this.showChoices(one, two);
    this.showInstructions(one, two);
    const shared = one.levels.map(levelTitle).filter((name) => two.levels.some((level) => levelTitle(level) === name));
    this.level.replaceChildren(...shared.map((name) => element("option", {value: name}, name)));
    this.level.value = shared.includes("nv_tileas") ? "nv_tileas" : shared[0];
    this.showLevel();
  }

  showChoices(one, two) {
    const [a, b] = [one, two].map(choices);
    const rows = [...new Set([...a.keys(), ...b.keys()])].filter((name) => a.get(name) !== b.get(name)).map((name) => [name, a.get(name) || "—", b.get(name) || "—"]);
    this.choices.append(rows.length ? table(["value", one.title, two.title], rows, []) : element("div", {class: "muted"}, "the same for every value, but for the names of layouts"));
  }

  showInstructions(one, two) {
    const name = ["sass", "ptx"].find((each) => [one, two].every((which) => which.levels.some((level) => level.name === each)));
    const [a, b] = [one, two].map((which) => mnemonics(which.levels.find((level) => level.name === name)));
    const rows = [...new Set([...a.keys(), ...b.keys()])].map((each) => [each, a.get(each) || 0, b.get(each) || 0, (b.get(each) || 0) - (a.get(each) || 0)])
      .filter((row) => row[3]).sort((x, y) => Math.abs(y[3]) - Math.abs(x[3]));
    this.instructions.append(table([name, one.title, two.title, "change"], rows.map((row) => [...row.slice(0, 3), `${row[3] > 0 ? "+" : ""}${row[3]}`]), [1, 2, 3]));
  }

  showLevel() {
    const [a, b] = [this.app.record, this.two].map((which) => which.levels.find((level) => levelTitle(level) === this.level.value).lines);
    const plain = (lines) => lines.map((line) => line.replace(/%[\w$#]+/g, "%").replace(/#L\d+/g, "#L"));
    const found = difference(plain(a), plain(b));
    if (!found) {
      this.text.replaceChildren(element("div", {class: "muted"}, `more than ${MOST_EDITS} lines differ`));
      return;
    }
    const near = new Set();
    found.forEach(([kind], at) => { if (kind !== " ") for (let k = at - 2; k <= at + 2; k++) near.add(k); });
    const lines = [];
    let skipped = 0;
    found.forEach(([kind, x, y], at) => {
      if (!near.has(at)) { skipped++; return; }
      if (skipped) lines.push(element("div", {class: "skip"}, `… ${plural(skipped, "line")} alike`));
      skipped = 0;
      lines.push(element("div", {class: kind === "+" ? "add" : kind === "-" ? "del" : ""}, `${kind} ${kind === "+" ? b[y] : a[x]}`));
    });
    const changed = found.filter(([kind]) => kind !== " ").length;
    this.text.replaceChildren(element("div", {class: "legend"}, changed ? `${plural(changed, "line")} differ, names of values and layouts aside` : "no line differs, names of values and layouts aside"),
      changed ? element("div", {class: "diff"}, ...lines) : null);
  }

  mark() {}
  *search() {}
}

// What is chosen for each named value, without names of layouts, which are numbers of one compilation.
function choices(which) {
  const found = new Map();
  which.values.forEach((value, number) => {
    const ways = which.waysOf[number].filter(({way}) => way.chosen).map(({way}) => `${way.text.replace(/\bL\d+\b/g, "L")}${way.stages ? `, ${way.stages} stages` : ""}`);
    if (value.names && value.names.length) found.set(value.names[0], [...new Set(ways)].join("; "));
  });
  for (const effect of which.effects) {
    const way = (effect.ways || NOTHING).find((each) => each.chosen);
    if (way) found.set(`${effect.name.split(".").pop()}, ${effect.places.map((place) => `line ${which.places[place][1]}`).join(", ")}`, way.text.replace(/\bL\d+\b/g, "L"));
  }
  return found;
}

function mnemonics(level) {
  const found = new Map();
  for (const line of level.lines) {
    const match = level.name === "sass" ? line.match(/\*\/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)/) : line.match(/^\s+(?:@!?%?\w+\s+)?([a-z][\w.:]*)/);
    if (match) found.set(match[1], (found.get(match[1]) || 0) + 1);
  }
  return found;
}

function table(head, rows, numbers) {
  const cell = (name, text, at) => element(name, {class: numbers.includes(at) ? "n" : ""}, typeof text === "number" ? text.toLocaleString("en") : String(text ?? ""));
  return element("table", {}, element("tr", {}, ...head.map((text, at) => cell("th", text, at))),
    ...rows.map((row) => element("tr", {}, ...row.map((text, at) => cell("td", text, at)))));
}
