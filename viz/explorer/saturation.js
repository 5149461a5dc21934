"use strict";
// The growth of the e-graph by iteration, with the rules that matched in the one that the slider is at.

class SaturationPanel {
  constructor(app) {
    this.app = app;
    this.name = "saturation";
    this.count = element("span", {class: "count"});
    this.head = [this.count, element("span", {class: "space"})];
    this.plot = element("div");
    this.slider = element("input", {type: "range", min: "0", step: "1", oninput: () => this.show(Number(this.slider.value)), title: "iteration"});
    this.words = element("div", {class: "legend"});
    this.rules = element("div");
    this.content = element("div", {class: "body"}, this.plot, this.slider, this.words, this.rules);
    this.body = [this.content];
  }

  opened() {
    const {saturation, stopped} = this.app.record;
    this.totals = new Map();
    saturation.forEach((each) => Object.entries(each.rules).forEach(([rule, [matches]]) => this.totals.set(rule, (this.totals.get(rule) || 0) + matches)));
    this.count.textContent = `${plural(saturation.length, "iteration")}; ` + Object.entries(stopped).map(([phase, why]) => `${phase} ${why}`).join(", ");
    this.slider.max = String(Math.max(0, saturation.length - 1));
    this.slider.value = "0";
    if (saturation.length) this.show(0);
  }

  show(number) {
    const {saturation} = this.app.record, here = saturation[number];
    const counted = saturation.map((each, at) => [each.rows, at]).filter(([rows]) => rows !== undefined && rows !== null);
    const most = Math.max(1, ...counted.map(([rows]) => rows)), width = 560, height = 130;
    const x = (at) => 8 + at * (width - 16) / Math.max(1, saturation.length - 1), y = (rows) => height - 8 - rows / most * (height - 16);
    const matches = saturation.map((each) => Object.values(each.rules).reduce((sum, [count]) => sum + count, 0)), top = Math.max(1, ...matches);
    const bars = matches.map((count, at) => `<rect x="${x(at) - 3}" width="6" y="${height - 8 - count / top * (height - 16)}" height="${count / top * (height - 16)}" fill="${at === number ? "#e6a700" : "#c9dcf0"}"/>`);
    const line = counted.map(([rows, at]) => `${x(at)},${y(rows)}`).join(" ");
    const dots = counted.filter(([, at]) => at === number).map(([rows, at]) => `<circle cx="${x(at)}" cy="${y(rows)}" r="4" fill="#0b6e4f"/>`);
    const how = counted.length === saturation.length ? "" : ", counted now and then";
    this.plot.innerHTML = `<svg viewBox="0 0 ${width} ${height}" style="width:100%;max-width:760px" role="img"><g>${bars.join("")}</g>` +
      `<polyline points="${line}" fill="none" stroke="#0b6e4f" stroke-width="1.6"/>${dots.join("")}</svg>` +
      `<div class="legend">line: rows of all tables, at most ${most.toLocaleString("en")}${how}; bars: matches of rules, at most ${top.toLocaleString("en")}</div>`;
    const before = counted.filter(([, at]) => at < number).pop(), now = counted.find(([, at]) => at === number);
    const rows = now ? `${now[0].toLocaleString("en")} rows${before ? ` (${now[0] >= before[0] ? "+" : ""}${(now[0] - before[0]).toLocaleString("en")})` : ""}` : "rows not counted";
    this.words.textContent = `iteration ${number + 1} of ${saturation.length} (${here.phase}: ${here.ruleset}): ${rows}, ` +
      `${matches[number]} matches of ${plural(Object.keys(here.rules).length, "rule")}`;
    const rules = Object.entries(here.rules).sort((a, b) => b[1][0] - a[1][0]);
    this.rules.innerHTML = `<table><tr><th>rule</th><th class="n">matches</th><th class="n">ms</th><th class="n">matches in all</th></tr>` +
      rules.map(([rule, [count, ms]]) => `<tr><td class="code">${escapeText(rule)}</td><td class="n">${count}</td><td class="n">${ms ? ms.toFixed(1) : ""}</td><td class="n">${this.totals.get(rule)}</td></tr>`).join("") + "</table>";
  }

  mark() {}

  *search(wanted) {
    const {saturation} = this.app.record;
    for (const rule of this.totals ? this.totals.keys() : []) {
      if (rule.toLowerCase().includes(wanted)) {
        const first = saturation.findIndex((each) => rule in each.rules);
        yield {text: `rule ${rule}: ${this.totals.get(rule)} matches`, go: () => { this.slider.value = String(first); this.show(first); }};
      }
    }
  }
}
