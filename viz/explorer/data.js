"use strict";
// The records of the page with what finds things in them again. A record is what viz/record.py writes: fields that hold
// their default are absent.

const NOTHING = Object.freeze([]);
const PIPES = ["tensor", "alu", "memory", "latency"];

function record(plain) {
  const found = Object.assign({figures: {}, places: [], levels: [], values: [], forms: [], effects: [], loops: [],
    layouts: [], agents: [], rings: [], schedules: [], saturation: [], stopped: {}}, plain);
  found.title = `@${found.kernel} for ${found.target}`;
  found.linesAt = found.levels.map((level) => byPlace(level.places));
  found.valuesAt = byPlace(found.values.map((value) => value.places || NOTHING));
  found.layoutNumber = new Map(found.layouts.map((layout, number) => [layout.name, number]));
  found.waysOf = waysOf(found);
  return found;
}

// For each place, the numbers of the things that come from it.
function byPlace(lists) {
  const found = new Map();
  lists.forEach((places, number) => places.forEach((place) => {
    if (!found.has(place)) found.set(place, []);
    found.get(place).push(number);
  }));
  return found;
}

// Of each value its ways with their forms, without those that only give another form its name.
function waysOf(found) {
  return found.values.map((value) => (value.forms || NOTHING).flatMap((form) =>
    (found.forms[form].ways || NOTHING).filter((way) => way.op !== "own").map((way) => ({form, way}))));
}

function layoutOf(found, form) {
  const number = found.forms[form].layout;
  return number === undefined || number < 0 ? null : found.layouts[number];
}

function placeText(found, number) {
  const [file, line, column] = found.places[number];
  const name = file.split("/").pop();
  return line ? `${name}:${line}${column ? ":" + column : ""}` : name;
}

function levelTitle(level) {
  return level.name.includes(".") ? level.name.split("/").pop() : level.name;
}

// A cost with as many digits as a person reads.
function cycles(cost) {
  if (cost === undefined || cost === null) return "";
  return cost >= 100 ? Math.round(cost).toLocaleString("en") : String(Math.round(cost * 10) / 10);
}

function isLegal(way) { return way.cost !== undefined && way.cost !== null; }

function escapeText(text) {
  return String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;");
}

// Text with names of layouts as links and, in programs, names of operations and values in colour.
function rich(text, program) {
  let done = escapeText(text);
  if (program) {
    done = done.replace(/&quot;([\w.]+)&quot;(?=\()/g, '<span class="op">$1</span>').replace(/(%[\w#]+)/g, '<span class="val">$1</span>');
  }
  return done.replace(/(^|[^\w&$.])(#?)L(\d+)\b/g, (all, before, hash, number) =>
    `${before}<span class="lay" data-layout="L${number}">${hash}L${number}</span>`);
}

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "html") made.innerHTML = value;
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function plural(count, what) { return `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`; }
