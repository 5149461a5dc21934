"use strict";
// Agents with their barriers, rings of stages, and the reservation table of each innermost loop.

const HUES = ["#9ad0b4", "#f2c28b", "#a9c9ec", "#e3b3d3", "#d8d27f", "#b9b3e6", "#93d5d3", "#e8a9a0", "#c6d8a2", "#cdb79e"];

class SchedulePanel {
  constructor(app) {
    this.app = app;
    this.name = "schedule";
    this.wide = true;
    this.count = element("span", {class: "count"});
    this.head = [this.count, element("span", {class: "space"})];
    this.content = element("div", {class: "body"});
    this.body = [this.content];
    this.items = [];
  }

  opened() {
    const {record} = this.app;
    this.items = [];
    const agents = record.agents.map((agent) => element("div", {class: "agent"},
      element("b", {}, agent.name), ...agent.steps.map((step) => this.step(step))));
    const rings = record.rings.map((ring) => this.remember(element("tr", {class: "go",
      onclick: () => this.choose(ring.text, this.placesOf(ring.line))},
      element("td", {class: "n"}, String(ring.stages)), element("td", {class: "n"}, ring.bytes ? ring.bytes.toLocaleString("en") : ""),
      element("td", {}, ring.text)), this.placesOf(ring.line)));
    this.content.replaceChildren(
      element("h3", {}, "agents, with waits, arrivals, copies and products in order"),
      element("div", {class: "legend", html: legend([["--second", "waits"], ["--chosen", "arrives"], ["--memory", "moves data"], ["--tensor", "product"]])}),
      element("div", {class: "agents"}, ...agents),
      element("h3", {}, "rings and buffers of shared memory"),
      record.rings.length ? element("table", {}, element("tr", {html: "<th class=n>stages</th><th class=n>bytes a stage</th><th></th>"}), ...rings)
        : element("div", {class: "muted"}, "none"),
      ...record.schedules.flatMap((schedule) => this.table(schedule)));
    if (!record.schedules.length) this.content.append(element("p", {class: "muted"}, "No loop has operations that take a unit."));
    this.count.textContent = `${plural(record.agents.length, "agent")}, ${plural(record.schedules.length, "loop")}`;
  }

  placesOf(line) {
    const level = this.app.record.levels.find((each) => each.name === "nv_tileas");
    return level && line >= 0 ? level.places[line] : [];
  }

  remember(item, places) {
    this.items.push([item, places]);
    return item;
  }

  choose(text, places) { this.app.select({kind: "step", text, places}); }

  step(step) {
    return this.remember(element("div", {class: `step ${step.kind || ""}`, style: `padding-left:${10 + 16 * (step.depth || 0)}px`,
      onclick: () => this.choose(step.text, step.places)}, step.text), step.places);
  }

  table(schedule) {
    const hue = (number) => HUES[number % HUES.length];
    const whose = (unit, slot) => {
      let best = -1, most = 0.04;
      schedule.operations.forEach((each, number) => {
        for (let at = each.start; at < each.start + each.span; at++) {
          if (at % schedule.interval === slot && (each.uses[unit] || 0) > most) { best = number; most = each.uses[unit]; }
        }
      });
      return best;
    };
    const rows = Object.entries(schedule.table).map(([unit, slots]) => element("tr", {}, element("th", {}, unit),
      ...slots.map((taken, slot) => {
        const number = whose(unit, slot), each = schedule.operations[number];
        return element("td", {style: each ? `background:${hue(number)}` : "", onclick: () => each && this.choose(each.name, each.places || []),
          title: `${unit}, slot ${slot}: ${Math.round(taken * 100)} % taken${each ? ", most by " + each.name : ""}`}, each ? letter(number) : "");
      })));
    const operations = schedule.operations.map((each, number) => this.remember(element("tr", {class: "go",
      onclick: () => this.choose(each.name, each.places || [])},
      element("td", {html: `<span style="background:${hue(number)};padding:0 5px">${letter(number)}</span>`}),
      element("td", {class: "code"}, each.name),
      element("td", {class: "n"}, String(Math.round(each.start % schedule.interval * schedule.slot))),
      element("td", {class: "n"}, String(Math.floor(each.start / schedule.interval))),
      element("td", {}, Object.entries(each.uses).map(([unit, share]) => `${unit} ${Math.round(share * each.span * schedule.slot)}`).join(", "))),
      each.places || []));
    const interval = Math.round(schedule.interval * schedule.slot);
    return [element("h3", {}, `${schedule.name}: an iteration every ${interval} cycles, ${schedule.proved ? "proved shortest" : "not proved shortest"}`),
      element("div", {class: "legend"}, `${schedule.bounds}; ${schedule.stages} iterations at a time; a slot is ${schedule.slot.toFixed(1)} cycles. ` +
        "Predicted by the target's tables from the chosen operations; the code is not made by this schedule."),
      element("div", {style: "overflow-x:auto"}, element("table", {class: "reserved"}, ...rows)),
      element("table", {}, element("tr", {html: "<th></th><th>operation</th><th class=n>from cycle</th><th class=n>iterations later</th><th>busy cycles</th>"}), ...operations)];
  }

  mark(selection) {
    for (const [item, places] of this.items) {
      item.classList.toggle("marked", places.some((place) => selection.places.includes(place)));
    }
  }

  *search(wanted) {
    for (const agent of this.app.record.agents) {
      for (const step of agent.steps) {
        if (step.text.toLowerCase().includes(wanted)) yield {text: step.text, go: () => this.choose(step.text, step.places)};
      }
    }
  }
}

function letter(number) { return "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[number] || "#"; }

function legend(entries) {
  return entries.map(([colour, text]) => `<i style="background:var(${colour})"></i>${text}`).join("");
}
