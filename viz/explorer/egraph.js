"use strict";
// The e-graph: a heading a value, below it each layout with the ways to make it there, and equal terms.

const MODES = {chosen: "chosen", second: "chosen and second", legal: "all legal ways", all: "all ways"};

class EGraphPanel {
  constructor(app) {
    this.app = app;
    this.name = "e-graph";
    this.wide = true;
    this.mode = "second";
    this.open = new Set();
    this.list = new List((number, row) => this.draw(this.rows[number], row), (number) => this.choose(this.rows[number]));
    this.count = element("span", {class: "count"});
    this.choice = element("select", {title: "which ways are listed", onchange: () => this.show(this.choice.value)},
      ...Object.entries(MODES).map(([key, text]) => element("option", {value: key}, text)));
    this.choice.value = this.mode;
    this.head = [this.count, element("span", {class: "space"}), this.choice,
      element("button", {title: "previous mark", onclick: () => this.list.step(-1)}, "▲"),
      element("button", {title: "next mark", onclick: () => this.list.step(1)}, "▼")];
    this.body = [this.list.element, this.list.strip];
  }

  opened() { this.build(); }

  show(mode) {
    this.mode = mode;
    this.choice.value = mode;
    this.build();
    this.mark(this.app.selection);
  }

  wanted(way) {
    if (way.chosen || this.mode === "all") return true;
    if (this.mode === "legal") return isLegal(way);
    return this.mode === "second" && way.runner_up !== undefined;
  }

  build() {
    const {record} = this.app;
    this.rows = [];
    this.shown = 0;
    record.values.forEach((value, number) => {
      const all = this.open.has(number);
      if (!all && this.mode !== "all" && !record.waysOf[number].some(({way}) => this.wanted(way))) return;
      this.shown++;
      this.rows.push({kind: "value", number});
      if (all) (value.terms || NOTHING).forEach((term) => this.rows.push({kind: "term", number, term}));
      const taken = (form) => (record.forms[form].ways || NOTHING).some((way) => way.chosen && way.op !== "own");
      for (const form of [...value.forms || NOTHING].sort((a, b) => taken(b) - taken(a))) {
        const ways = (record.forms[form].ways || NOTHING).filter((way) => way.op !== "own" && (all || this.wanted(way)));
        if (!ways.length) continue;
        ways.sort((a, b) => rank(a) - rank(b) || (a.cost || 0) - (b.cost || 0));
        for (const way of ways) this.rows.push({kind: "way", number, form, way});
      }
    });
    record.effects.forEach((effect, number) => {
      this.rows.push({kind: "effect", number});
      for (const way of effect.ways || NOTHING) {
        if (this.wanted(way) || this.open.has(`effect ${number}`)) this.rows.push({kind: "effect way", number, way});
      }
    });
    let longest = 0;
    for (const row of this.rows) longest = Math.max(longest, this.length(row));
    this.list.resize(this.rows.length, longest);
  }

  length(row) {
    if (row.kind === "value") {
      const value = this.app.record.values[row.number];
      return Math.min(90, value.name.length + (value.type || "").length + 8);
    }
    return row.way ? row.way.text.length + (row.way.reason || "").length + 34 : 40;
  }

  draw(row, into) {
    const {record} = this.app;
    if (row.kind === "value") {
      const value = record.values[row.number];
      const cost = record.waysOf[row.number].reduce((sum, {way}) => sum + (way.chosen && way.cost || 0), 0);
      const open = this.open.has(row.number) ? "▾" : "▸";
      const loop = value.loop === undefined ? "" : ` <span class="muted">in ${escapeText(record.loops[value.loop].name)}</span>`;
      into.classList.add("value");
      into.innerHTML = `<span class="right">${cost ? cycles(cost) : ""}</span> <span class="muted">${open}</span> ` +
        `<b>${escapeText(value.name)}</b> <span class="muted">${escapeText(value.type || "")}</span>${loop}`;
    } else if (row.kind === "term") {
      into.innerHTML = `      <span class="note">=</span> ${escapeText(this.termText(row.term))}${row.term.rule ? ` <span class="note">by ${escapeText(row.term.rule)}</span>` : ""}`;
    } else if (row.kind === "effect") {
      const effect = record.effects[row.number];
      into.classList.add("value");
      into.innerHTML = ` <span class="muted">■</span> <b>${escapeText(effect.name.split(".").pop())}</b> ` +
        `<span class="muted">${effect.places.map((place) => placeText(record, place)).join(", ")}</span>`;
    } else {
      into.innerHTML = wayText(record, row.way, row.form);
    }
  }

  termText(term) {
    const names = (term.kids || NOTHING).map((kid) => this.app.record.values[kid].name.split(" = ")[0]);
    return `${term.op}(${names.join(", ")}${names.length && term.words ? "; " : ""}${term.words || ""})`;
  }

  choose(row) {
    const {record} = this.app;
    if (row.kind === "effect" || row.kind === "effect way") {
      const key = `effect ${row.number}`;
      if (row.kind === "effect") this.turn(key);
      this.app.select({kind: "effect", number: row.number, way: row.way, places: record.effects[row.number].places});
      return;
    }
    if (row.kind === "value") this.turn(row.number);
    this.app.selectValue(row.number, row.form, row.way);
  }

  turn(key) {
    if (!this.open.delete(key)) this.open.add(key);
    this.build();
  }

  mark(selection) {
    const {record} = this.app, values = new Set(), effects = new Set(), marked = [];
    for (const place of selection.places) for (const value of record.valuesAt.get(place) || NOTHING) values.add(value);
    record.effects.forEach((effect, number) => {
      if (effect.places.some((place) => selection.places.includes(place))) effects.add(number);
    });
    if (selection.kind === "value") values.add(selection.number);
    let at = -1;
    this.rows.forEach((row, number) => {
      const effect = row.kind === "effect" || row.kind === "effect way";
      if ((effect ? effects : values).has(row.number)) marked.push(number);
      if (selection.kind === "value" && row.number === selection.number && !effect && row.way === selection.way &&
        (row.way || row.kind === "value")) at = number;
      if (selection.kind === "effect" && effect && row.number === selection.number && row.way === selection.way) at = number;
    });
    this.list.mark(marked, at);
    const ways = this.rows.filter((row) => row.way).length;
    const total = record.waysOf.reduce((sum, each) => sum + each.length, 0);
    this.count.textContent = `${this.shown} of ${plural(record.values.length, "value")}, ${ways} of ${plural(total, "way")}`;
  }

  *search(wanted) {
    const {record} = this.app;
    for (let number = 0; number < record.values.length; number++) {
      const value = record.values[number];
      if (`${value.name} ${value.type || ""} ${value.op || ""}`.toLowerCase().includes(wanted)) {
        yield {text: `${value.name} : ${value.type || ""}`, go: () => this.reveal(number)};
      }
      for (const {form, way} of record.waysOf[number]) {
        const text = `${way.text} ${way.atom || ""} ${way.mechanism || ""} ${way.reason || ""} ${way.rule || ""}`;
        if (text.toLowerCase().includes(wanted)) {
          yield {text: `${value.name}: ${way.text}${way.reason ? ", not legal: " + way.reason : ""}`,
            go: () => this.reveal(number, form, way)};
        }
      }
    }
  }

  reveal(number, form, way) {
    const {record} = this.app;
    if (way ? !this.wanted(way) : !record.waysOf[number].some((each) => this.wanted(each.way))) this.open.add(number);
    this.build();
    this.app.selectValue(number, form, way);
    if (this.list.at >= 0) this.list.go(this.list.at);
  }
}

function rank(way) {
  if (way.chosen) return 0;
  if (way.runner_up !== undefined) return 1;
  return isLegal(way) ? 2 : 3;
}

function kindOf(way) { return ["chosen", "second", "muted", "illegal"][rank(way)]; }

function bars(way, width) {
  const whole = PIPES.reduce((sum, pipe) => sum + ((way.parts || {})[pipe] || 0), 0);
  if (!whole) return "";
  const parts = PIPES.filter((pipe) => way.parts[pipe]).map((pipe) =>
    `<i class="pipe-${pipe}" style="width:${Math.max(2, width * way.parts[pipe] / whole)}px" title="${pipe} ${cycles(way.parts[pipe])}"></i>`);
  return `<span class="pipes">${parts.join("")}</span>`;
}

// One line for a way: a sign, its layout, what it does, and on the right what it costs.
function wayText(record, way, form) {
  const sign = ["✓", "②", "·", "✕"][rank(way)];
  const layout = form === undefined ? null : layoutOf(record, form);
  const where = layout ? `${layout.name}: ` : "";
  const by = way.mechanism && !way.text.includes(way.mechanism) ? ` by ${way.mechanism}` : "";
  const stages = way.stages ? `, ${way.stages} stages` : "";
  const why = isLegal(way) ? "" : ` — not legal: ${way.reason || ""}`;
  const more = way.runner_up === undefined ? "" : ` <span class="second">+${cycles(way.runner_up)}</span>`;
  const cost = isLegal(way) ? `${bars(way, 26)}${way.cost ? cycles(way.cost) : "free"}${more}` : "";
  return `<span class="right">${cost}</span>   <span class="${kindOf(way)}">${sign} ${rich(where + way.text + by + stages + why)}</span>`;
}
