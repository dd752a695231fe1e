// The controls of a link.

import { h, svg } from "../dom.js";
import * as state from "../state.js";
import { choice, put, quantity, rest, tick, valueAt, words } from "./field.js";

const QUEUES = {
  "drop-tail": () => "1 BDP",
  red: () => ({ kind: "red", min: "20 packets", max: "60 packets", max_probability: 0.1, limit: "200 packets" }),
  "red-ns2": () => ({ kind: "red-ns2", limit: "50 packets" }),
  codel: () => ({ kind: "codel" }),
  "fq-codel": () => ({ kind: "fq-codel" }),
  cake: () => ({ kind: "cake" }),
  pie: () => ({ kind: "pie" }),
};
const LOSSES = {
  bernoulli: () => "0 %",
  "gilbert-elliott": () => ({ kind: "gilbert-elliott", good_to_bad: "0.1 %", bad_to_good: "10 %" }),
  periodic: () => ({ kind: "periodic", every: "1000 packets" }),
};

/** What a kind begins with; one that is not known here may need more, and the errors say what. */
function begun(known, kind) {
  return known[kind]?.() ?? { kind };
}

function names(catalogue, family) {
  return catalogue.families[family].map((entry) => entry.name);
}

const KNOWN = ["rate", "delay", "queue", "loss", "middleboxes", "down", "up"];

export function linkCard(name, colour, catalogue, { remove }) {
  const data = state.scenario().data;
  const key = ["link", name];
  const link = valueAt(data, key) ?? {};
  const ways = ["down", "up"];
  const sided = (part, make) => {
    const own = ways.filter((way) => link[way] && part in link[way]);
    const fields = own.map((way) => make([...key, way, part], `${label(part)}, ${way}`));
    if (part in link || own.length < 2) if (part in link || !own.length) fields.unshift(make([...key, part], label(part)));
    return fields;
  };
  const fields = [
    "trace" in link ? words("Trace", [...key, "trace"]) : sided("rate", (path, text) => quantity(text, path, "rate")),
    sided("delay", (path, text) => quantity(text, path, "delay")),
    sided("queue", (path, text) => queue(path, text, names(catalogue, "queues"))),
    sided("loss", (path, text) => loss(path, text, names(catalogue, "losses"))),
  ];
  const more = [boxes(key, link, names(catalogue, "middleboxes")), rest(data, key, KNOWN), ways.flatMap((way) => (link[way] ? rest(data, [...key, way], KNOWN) : []))];
  const both = "rate" in link && !ways.some((way) => link[way] && "rate" in link[way]);
  const split = both && h("button", { type: "button", class: "plain", onclick: () => apart(key) }, "Rates apart");
  return h("details", { class: "card", open: true, "data-card": `link.${name}`, id: `link-${name}` },
    h("summary", {}, swatch(colour), h("span", { class: "name" }, name), h("span", { class: "kind" }, "link")),
    ...fields.flat(2).filter((field) => field && !field.hasAttribute?.("data-kinds")),
    h("details", { class: "more", open: more.flat(2).some((each) => each?.matches?.(".box")) },
      h("summary", {}, "Kinds of queue and loss, middleboxes"), fields.flat(2).filter((field) => field?.hasAttribute?.("data-kinds")), more.flat(2)),
    h("div", { class: "row" }, split, h("button", { type: "button", class: "plain", onclick: remove }, `Remove ${name}`)));
}

function label(part) {
  return { rate: "Rate", delay: "Delay, one way", queue: "Queue", loss: "Random loss" }[part];
}

export function swatch(colour) {
  return svg("svg", { viewBox: "0 0 12 12", width: "12", height: "12", "aria-hidden": "true" }, svg("rect", { width: "12", height: "12", rx: "3", fill: colour }));
}

function apart(key) {
  state.edit((data) => {
    const link = valueAt(data, key);
    for (const way of ["down", "up"]) (link[way] ??= {}).rate = link.rate;
    delete link.rate;
  }, { structure: true });
}

function queue(path, text, all) {
  const held = valueAt(state.scenario().data, path);
  const kind = typeof held === "object" && held !== null ? (held.kind ?? "drop-tail") : "drop-tail";
  const kinds = choice(`${text} kind`, [...path, "kind"], all, {
    value: () => kind,
    change: (name) => state.edit((data) => put(data, path, begun(QUEUES, name)), { structure: true }),
  });
  kinds.dataset.kinds = "";
  if (typeof held !== "object" || held === null) return [quantity(text, path, "queue", { optional: true, fallback: "1 BDP" }), kinds];
  const limit = "limit" in held ? [quantity(`${text} limit`, [...path, "limit"], "queue")] : [];
  return [...limit, kinds, ...rest(state.scenario().data, path, ["kind", "limit"])];
}

function loss(path, text, all) {
  const held = valueAt(state.scenario().data, path);
  if (typeof held !== "object" || held === null) {
    const kinds = choice(`${text} kind`, [...path, "kind"], all, {
      value: () => "bernoulli",
      change: (name) => state.edit((data) => put(data, path, begun(LOSSES, name)), { structure: true }),
    });
    kinds.dataset.kinds = "";
    return [quantity(text, path, "loss", { optional: true, fallback: "0 %" }), kinds];
  }
  const kinds = choice(`${text} kind`, [...path, "kind"], all, {
    change: (name) => state.edit((data) => put(data, path, begun(LOSSES, name)), { structure: true }),
  });
  return [kinds, ...rest(state.scenario().data, path, ["kind"])];
}

function boxes(key, link, all) {
  const path = [...key, "middleboxes"];
  const held = Array.isArray(link.middleboxes) ? link.middleboxes : [];
  const kindOf = (box) => (typeof box === "object" ? box.kind : box);
  const listed = held.map((box, number) =>
    h("div", { class: "box" },
      h("span", {}, `Middlebox: ${kindOf(box)}`),
      h("button", { type: "button", class: "plain", "aria-label": `Remove the middlebox ${kindOf(box)}`, onclick: () =>
        state.edit((data) => put(data, path, held.length > 1 ? held.filter((_, at) => at !== number) : undefined), { structure: true }) }, "✕"),
      typeof box === "object" ? rest(state.scenario().data, [...path, number], ["kind"]) : null));
  const add = choice("Add a middlebox", path, [["", "none"], ...all], {
    value: () => "",
    change: (name) => name && state.edit((data) => put(data, path, [...held, name]), { structure: true }),
  });
  return [...listed, add];
}

export { tick };
