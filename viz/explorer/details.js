"use strict";
// What is known of the thing that was clicked, below the panels.

class Details {
  constructor(app) {
    this.app = app;
    this.element = document.getElementById("details");
    this.element.addEventListener("click", (event) => {
      const value = event.target.closest("[data-value]");
      if (value) app.selectValue(Number(value.dataset.value));
    });
  }

  show(selection) {
    this.element.scrollTop = 0;
    if (selection.kind === "value") this.element.replaceChildren(...this.value(selection));
    else if (selection.kind === "effect") this.element.replaceChildren(...this.effect(selection));
    else if (selection.kind === "none") this.element.replaceChildren(...this.welcome());
    else this.element.replaceChildren(element("h2", {html: `${escapeText(selection.panel || "schedule")}${selection.line === undefined ? "" : `, line ${selection.line + 1}`}`}),
      element("div", {class: "code", html: rich(selection.text, true)}),
      element("h3", {}, "from"), this.places(selection.places),
      element("h3", {}, "values of the source there"), this.valuesAt(selection.places));
  }

  welcome() {
    const {record} = this.app;
    return [element("h2", {}, `${record.title}`, element("small", {}, record.source)),
      element("div", {class: "muted", html: "Click a line, a value or a step of the schedule: what it came from and what became of it is marked at every level. " +
        "Tabs open and close panels; <b>/</b> searches everywhere, <b>Esc</b> takes marks away. Names like <span class='lay'>L219</span> open a layout."}),
      element("h3", {}, "costs"), element("div", {class: "legend", html: PIPES.map((pipe) => `<i class="pipe-${pipe}" style="margin-left:0;margin-right:5px"></i>${pipe}&emsp;`).join("") +
        "SM cycles of one CTA over all iterations, by the target's tables; <span class='chosen'>✓ chosen</span>&emsp;<span class='second'>② came second: what the whole program would cost more</span>&emsp;<span class='illegal'>✕ not legal</span>"})];
  }

  places(places) {
    const {record} = this.app;
    return element("div", {}, places.length ? places.map((place) => placeText(record, place)).join(", ") : "no place of the source");
  }

  link(number) { return `<a data-value="${number}">${escapeText(this.app.record.values[number].name)}</a>`; }

  valuesAt(places) {
    const {record} = this.app;
    const found = new Set(places.flatMap((place) => record.valuesAt.get(place) || NOTHING));
    return element("div", {html: [...found].map((number) => this.link(number)).join(", ") || "none"});
  }

  value(selection) {
    const {record} = this.app, value = record.values[selection.number];
    const {way, form} = selection;
    const columns = [];
    if (way) columns.push(this.way(way, form));
    const held = new Map();
    for (const {form: number, way: each} of record.waysOf[selection.number]) {
      const layout = layoutOf(record, number), name = layout ? layout.name : "all threads";
      if (!held.has(name)) held.set(name, []);
      held.get(name).push(each);
    }
    const here = form === undefined ? "" : (layoutOf(record, form) || {name: "all threads"}).name;
    const taken = ([, ways]) => ways.some((each) => each.chosen);
    const rows = [...held].sort((a, b) => taken(b) - taken(a)).map(([name, ways]) => {
      const legal = ways.filter(isLegal), best = Math.min(...legal.map((one) => one.cost)), chosen = ways.filter((one) => one.chosen);
      return `<tr class="${name === here ? "marked" : ""}"><td>${rich(name)}</td><td class="n">${ways.length}</td><td class="n">${ways.length - legal.length || ""}</td><td class="n">${legal.length ? (best ? cycles(best) : "free") : ""}</td><td class="chosen">${escapeText([...new Set(chosen.map((one) => one.text))].join("; "))}</td></tr>`;
    });
    columns.push(element("div", {}, element("h3", {}, "layouts that it may have"), element("table", {html:
      `<tr><th>layout</th><th class="n">ways</th><th class="n">not legal</th><th class="n">cheapest</th><th>chosen</th></tr>${rows.join("")}`})));
    const terms = (value.terms || NOTHING).map((term) => `${escapeText(term.op)}(${(term.kids || NOTHING).map((kid) => this.link(kid)).join(", ")}${(term.kids || NOTHING).length && term.words ? "; " : ""}${escapeText(term.words || "")})${term.rule ? ` <span class="note" title="${escapeText(term.origin || "")}">by ${escapeText(term.rule)}</span>` : ""}`);
    const users = record.values.map((each, number) => [each, number]).filter(([each]) => (each.terms || NOTHING).some((term) => (term.kids || NOTHING).includes(selection.number)));
    columns.push(element("div", {}, element("h3", {}, "equal terms"), element("div", {class: "code", html: terms.join("<br>")}),
      element("h3", {}, "used by"), element("div", {html: users.map(([, number]) => this.link(number)).join(", ") || "no term"}), ...this.around(selection.number),
      element("h3", {}, "from"), this.places(value.places || NOTHING)));
    return [element("h2", {}, value.name, element("small", {}, `${value.type || ""}${value.loop === undefined ? "" : ", in " + record.loops[value.loop].name}`)),
      element("div", {class: "columns"}, ...columns)];
  }

  // What a value is before, in and after a loop that it goes round.
  around(number) {
    const {record} = this.app, titles = ["before it", "in it", "next", "after it"];
    return record.loops.flatMap((loop) => (loop.around || NOTHING).filter((each) => each.includes(number)).map((each) => element("div", {html:
      `<span class="muted">${escapeText(loop.name)}:</span> ` + each.map((other, at) => other < 0 ? "" : `${titles[at]} ${this.link(other)}`).filter(Boolean).join(", ")})));
  }

  way(way, form) {
    const {record} = this.app, layout = form === undefined ? null : layoutOf(record, form);
    const rows = [["what", `${way.text}`], ["in", layout ? layout.name : ""], ["atom", way.atom], ["data travel by", way.mechanism], ["stages", way.stages],
      ["reads", (way.kids || NOTHING).map((kid) => `${record.values[record.forms[kid].value].name}${layoutOf(record, kid) ? " in " + layoutOf(record, kid).name : ""}`).join("; ")],
      ["not legal", isLegal(way) ? "" : way.reason], ["variants", way.variants > 1 ? `${way.variants}: numbers of stages or warps` : ""],
      ["made by", way.rule ? `${way.rule}${way.origin ? ", " + way.origin : ""}` : ""], ["instead of what was chosen", way.runner_up === undefined ? "" : `the program costs ${cycles(way.runner_up)} more`],
      ["without it", form !== undefined && way.chosen ? record.forms[form].second : ""]].filter(([, text]) => text);
    const parts = PIPES.filter((pipe) => (way.parts || {})[pipe]).map((pipe) =>
      `<tr><td>${pipe}</td><td class="n">${cycles(way.parts[pipe])}</td><td><i class="pipe-${pipe}" style="display:inline-block;height:10px;width:${Math.max(1, 160 * way.parts[pipe] / way.cost)}px"></i></td></tr>`);
    const title = way.chosen ? "chosen" : way.runner_up !== undefined ? "came second" : isLegal(way) ? "another way" : "not legal here";
    return element("div", {style: "max-width:560px"}, element("h3", {}, title),
      element("table", {html: rows.map(([name, text]) => `<tr><td class="muted">${name}</td><td>${rich(text)}</td></tr>`).join("")}),
      isLegal(way) ? element("table", {html: `<tr><td>cost</td><td class="n"><b>${cycles(way.cost) || "free"}</b></td><td></td></tr>${parts.join("")}`}) : null);
  }

  effect(selection) {
    const {record} = this.app, effect = record.effects[selection.number];
    const way = selection.way || (effect.ways || NOTHING).find((each) => each.chosen);
    return [element("h2", {}, effect.name, element("small", {}, plural((effect.ways || NOTHING).length, "way"))),
      element("div", {class: "columns"}, way ? this.way(way) : null, element("div", {}, element("h3", {}, "from"), this.places(effect.places)))];
  }
}
