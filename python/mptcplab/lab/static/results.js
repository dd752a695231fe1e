// The results as a table: A, and with two scenarios B and how they differ; and which settings differ.
// Colour says only whether B is better at the goal, and only beyond 1 %: a run of one seed shows no less.

import { h } from "./dom.js";
import { shown } from "./quantities.js";
import * as state from "./state.js";

const ROWS = 24;
const NOTABLE = 0.01;
const NO_GOAL = "none";
/** What a comparison can be about, the likeliest first: times where transfers end, else goodput. */
const GOALS = ["Time of a transfer, mean", "Completed after", "Goodput", "Waiting for earlier data, mean", "Retransmissions"];

/** The goal that was chosen; null as long as nobody did. */
let chosen = null;

/** Choose the goal, as a step of the tour does; null leaves it to what there is to compare. */
export function aim(goal) {
  chosen = goal;
}

function rowsOf(result) {
  const rows = new Map();
  const groups = new Map();
  for (const connection of result.result.connections) {
    const held = groups.get(connection.name) ?? [];
    held.push(connection);
    groups.set(connection.name, held);
  }
  for (const [name, members] of groups) {
    const of = members.length > 1 ? ` (${members.length} together)` : "";
    const sum = (pick) => members.reduce((total, each) => total + (pick(each) ?? 0), 0);
    rows.set(`${name}|Goodput${of}`, [sum((each) => each.goodput_bps), "bit/s", 1]);
    const first = members[0];
    if (members.length === 1 && first.completion_s !== null) rows.set(`${name}|Completed after`, [first.completion_s, "s", -1]);
    if (first.transfers) {
      rows.set(`${name}|Transfers complete`, [sum((each) => each.transfers?.complete), "", 1]);
      rows.set(`${name}|Time of a transfer, mean`, [first.transfers.mean_s, "s", -1]);
    }
    if (members.length === 1 && first.subflows.length > 1) {
      for (const [path, share] of shares(first)) rows.set(`${name}|Share of ${path}`, [share, "%", 0]);
    }
    if (members.length === 1) rows.set(`${name}|Waiting for earlier data, mean`, [first.out_of_order_delay_s.mean, "s", -1]);
    const subflows = members.flatMap((each) => each.subflows);
    const retransmitted = subflows.map((each) => each.retransmissions).filter((value) => value !== null);
    if (retransmitted.length) rows.set(`${name}|Retransmissions`, [retransmitted.reduce((total, value) => total + value, 0), "", -1]);
    if (members.some((each) => each.fallback)) rows.set(`${name}|Fell back to TCP`, [1, "yes", -1]);
  }
  return rows;
}

function shares(connection) {
  const found = new Map();
  for (const subflow of connection.subflows) found.set(subflow.path, (found.get(subflow.path) ?? 0) + (subflow.share ?? 0));
  return found;
}

function cell(entry) {
  if (!entry) return "–";
  return entry[1] === "yes" ? "yes" : shown(entry[0], entry[1]);
}

/** How much B is beside A; at the goal better and worse are said by a sign, not by a colour alone. */
function difference(a, b, isGoal) {
  if (!a || !b || a[0] === null || b[0] === null || a[1] === "yes") return h("td", {}, a && b ? "" : "only one");
  if (a[0] === b[0]) return h("td", { class: "same" }, "=");
  if (a[1] === "%") {
    const points = 100 * (b[0] - a[0]);
    return h("td", {}, `${points > 0 ? "+" : "−"}${Math.abs(points).toFixed(1)} points`);
  }
  const part = a[0] ? b[0] / a[0] - 1 : Infinity;
  const text = Number.isFinite(part) ? `${part > 0 ? "+" : "−"}${Math.abs(100 * part).toFixed(Math.abs(part) < 0.1 ? 1 : 0)} %` : "from 0";
  const better = isGoal && Math.abs(part) > NOTABLE ? Math.sign(b[0] - a[0]) * a[2] : 0;
  const word = better > 0 ? "better" : better < 0 ? "worse" : "";
  return h("td", { class: word }, text, word && h("span", { class: "sign" }, word === "better" ? " ▲ better" : " ▼ worse"));
}

export function table(host) {
  const { a, b } = state.results;
  if (!a) return;
  const [ofA, ofB] = [rowsOf(a), b ? rowsOf(b) : null];
  const keys = [...new Set([...ofA.keys(), ...(ofB?.keys() ?? [])])];
  const what = (key) => key.split("|")[1].replace(/ \(.*\)$/, "");
  const goals = GOALS.filter((goal) => keys.some((key) => what(key) === goal));
  const goal = chosen === NO_GOAL || goals.includes(chosen) ? chosen : goals[0];
  let last = null;
  const rows = keys.slice(0, ROWS * 4).map((key) => {
    const [name, label] = key.split("|");
    const first = name !== last;
    last = name;
    const values = ofB ? [h("td", {}, cell(ofA.get(key))), h("td", {}, cell(ofB.get(key))), difference(ofA.get(key), ofB.get(key), what(key) === goal)] : [h("td", {}, cell(ofA.get(key)))];
    return h("tr", { class: first ? "first" : "" }, h("th", { scope: "row" }, h("span", { class: first ? "who" : "who again" }, name), ` ${label}`), values);
  });
  const heads = ofB ? ["A", "B", "B beside A"] : ["Result"];
  const focused = document.activeElement?.id === "goal";
  host.replaceChildren(
    ...(ofB ? [goalChoice(goals, goal, () => table(host))] : []),
    h("table", { class: "results" },
      h("caption", {}, `${a.partial || b?.partial ? "So far: " : ""}${a.result.title}: ${a.result.duration_s} s on ${a.result.engine}, seed ${a.result.seed}`),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Connection"), heads.map((head) => h("th", { scope: "col" }, head)))),
      h("tbody", {}, rows)),
    ...(a.result.notes ?? []).map((note) => h("p", { class: "note" }, note)));
  if (focused) document.getElementById("goal")?.focus();
}

function goalChoice(goals, goal, drawn) {
  const choice = h("select", { id: "goal", onchange: () => {
    aim(choice.value);
    drawn();
  } }, [...goals, NO_GOAL].map((each) => h("option", { value: each }, each)));
  choice.value = goal;
  return h("div", { class: "goal" }, h("label", { for: "goal" }, "Goal of the comparison"), choice);
}

/** An algorithm or an application with its parameters is one setting. */
function single(value) {
  const { name, kind, ...rest } = value;
  const parameters = Object.entries(rest).map(([key, each]) => `${key} ${typeof each === "object" ? JSON.stringify(each) : each}`);
  return [name ?? kind, ...parameters].join(", ");
}

function flat(value, key, found) {
  if (value !== null && typeof value === "object" && ("name" in value || "kind" in value)) found.set(key, single(value));
  else if (value !== null && typeof value === "object" && !Array.isArray(value)) {
    for (const [name, inner] of Object.entries(value)) flat(inner, key ? `${key}.${name}` : name, found);
  } else found.set(key, typeof value === "string" ? value : JSON.stringify(value));
  return found;
}

/** The settings in which A and B differ, as they are written; what is not written has its default. */
export function settings(host) {
  const { a, b } = state.results;
  host.hidden = !b;
  if (!a || !b) return;
  const sides = [a, b].map((each) => ({ written: flat(each.data, "", new Map()), complete: flat(each.complete, "", new Map()) }));
  const keys = [...new Set(sides.flatMap((side) => [...side.written.keys()]))].filter((key) => differ(sides, key));
  if (!keys.length) {
    host.replaceChildren(h("p", { class: "note" }, "A and B are the same. Choose B and change something."));
    return;
  }
  host.replaceChildren(h("table", { class: "settings" },
    h("caption", {}, "What differs: the random numbers are the same"),
    h("thead", {}, h("tr", {}, ["Setting", "A", "B"].map((head) => h("th", { scope: "col" }, head)))),
    h("tbody", {}, keys.slice(0, 40).map((key) => h("tr", {}, h("th", { scope: "row" }, key), sides.map((side) => h("td", {}, value(side, key))))))));
}

/** A setting that one side leaves at its default, and the other writes out, is the same. */
function differ([a, b], key) {
  if (a.written.get(key) === b.written.get(key)) return false;
  const both = a.written.has(key) && b.written.has(key);
  return both || !a.complete.has(key) || a.complete.get(key) !== b.complete.get(key);
}

function value({ written, complete }, key) {
  if (written.has(key)) return written.get(key);
  // Of an algorithm the name: its parameters are the defaults too.
  return complete.has(key) ? complete.get(key).split(", ")[0] : "–";
}
