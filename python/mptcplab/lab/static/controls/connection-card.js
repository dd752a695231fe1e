// The controls of a connection.

import { h, svg, identifier } from "../dom.js";
import { path as shapePath } from "../charts/shapes.js";
import * as state from "../state.js";
import { algorithm } from "./algorithm.js";
import { choice, dotted, put, quantity, rest, tick, valueAt, words } from "./field.js";

const APPLICATIONS = {
  bulk: () => "bulk",
  file: () => ({ kind: "file", size: "2 MB" }),
  requests: () => ({ kind: "requests", size: "64 kB" }),
  rate: () => ({ kind: "rate", rate: "4 Mbit/s" }),
  flows: () => ({ kind: "flows", size: "57 kB", arrivals: { distribution: "poisson", rate: "5 /s" } }),
};
const KNOWN = ["paths", "protocol", "congestion", "scheduler", "path_manager", "application", "direction", "count", "start", "stop", "receive_buffer", "mss", "ecn"];

export function connectionCard(name, catalogue, { remove }) {
  const data = state.scenario().data;
  const key = ["connection", name];
  const held = valueAt(data, key) ?? {};
  const tcp = held.protocol === "tcp";
  const controls = catalogue.families.congestion.filter((entry) => !tcp || !entry.coupled);
  const congestion = typeof held.congestion === "object" ? held.congestion?.name : held.congestion;
  const entry = catalogue.families.congestion.find((each) => each.name === (congestion ?? (tcp ? "reno" : "lia")));
  const fields = [
    paths(key, held, data),
    choice("Protocol", [...key, "protocol"], [["mptcp", "Multipath TCP"], ["tcp", "TCP"]], {
      value: () => held.protocol ?? "mptcp",
      change: (protocol) => state.edit((all) => changeProtocol(valueAt(all, key), protocol, catalogue), { structure: true }),
    }),
    algorithm("Congestion control", [...key, "congestion"], controls, tcp ? "reno" : "lia"),
    tcp ? [] : algorithm("Scheduler", [...key, "scheduler"], catalogue.families.schedulers, "min-rtt"),
    tcp ? [] : algorithm("Path manager", [...key, "path_manager"], catalogue.families["path-managers"], "fullmesh"),
    application(key, held, catalogue, data),
    h("details", { class: "more" }, h("summary", {}, "Times, direction and buffers"),
      choice("Direction", [...key, "direction"], [["down", "down, from the server"], ["up", "up, to the server"]], { value: () => held.direction ?? "down" }),
      words("Connections of this kind", [...key, "count"], { optional: true, type: "number", placeholder: "1" }),
      words("Start", [...key, "start"], { optional: true, placeholder: "0 s", list: true }),
      words("Stop", [...key, "stop"], { optional: true, placeholder: "the end" }),
      words("Receive buffer", [...key, "receive_buffer"], { optional: true, placeholder: "auto" }),
      words("MSS", [...key, "mss"], { optional: true, placeholder: "1460 B" }),
      tick("ECN", [...key, "ecn"]),
      rest(data, key, KNOWN)),
  ];
  const mark = entry && svg("svg", { viewBox: "-7 -7 14 14", width: "14", height: "14", "aria-hidden": "true" }, svg("path", { d: shapePath(entry.shape), fill: entry.colour }));
  return h("details", { class: "card", open: true, "data-card": `connection.${name}`, id: `connection-${name}` },
    h("summary", {}, mark, h("span", { class: "name" }, name), h("span", { class: "kind" }, tcp ? "TCP" : "Multipath TCP")),
    ...fields.flat(2), h("div", { class: "row" }, h("button", { type: "button", class: "plain", onclick: remove }, `Remove ${name}`)));
}

function changeProtocol(connection, protocol, catalogue) {
  connection.protocol = protocol;
  if (protocol !== "tcp") return;
  delete connection.scheduler;
  delete connection.path_manager;
  delete connection.checksum;
  if (Array.isArray(connection.paths)) connection.paths = connection.paths.slice(0, 1);
  const name = typeof connection.congestion === "object" ? connection.congestion?.name : connection.congestion;
  if (catalogue.families.congestion.find((entry) => entry.name === name)?.coupled) connection.congestion = "reno";
}

/** The paths in their order: the first opens the connection. */
function paths(key, held, data) {
  const path = [...key, "paths"];
  const chosen = Array.isArray(held.paths) ? held.paths : [];
  const names = [...new Set([...chosen, ...Object.keys(data.path ?? {}), ...Object.keys(data.link ?? {})])];
  const set = (value) => state.edit((all) => put(all, path, value), { structure: true });
  const wrong = h("p", { class: "wrong", id: identifier("wrong"), hidden: true, "data-errors": dotted(path) });
  const one = held.protocol === "tcp";
  return h("fieldset", { class: "paths", "data-key": dotted(path), tabindex: "-1" }, h("legend", {}, one ? "Path" : "Paths, the first opens"),
    names.map((name) => {
      const id = identifier("path");
      const on = chosen.includes(name);
      const change = () => set(one ? [name] : on ? chosen.filter((each) => each !== name) : [...chosen, name]);
      const first = on && chosen.length > 1 && chosen[0] !== name &&
        h("button", { type: "button", class: "plain", "aria-label": `${name} opens the connection`, onclick: () => set([name, ...chosen.filter((each) => each !== name)]) }, "first");
      return h("div", { class: "tick" }, h("input", { type: one ? "radio" : "checkbox", id, checked: on, name: `${id}-x`, onchange: change }), h("label", { for: id }, name, on && chosen[0] === name && !one ? " (opens)" : ""), first);
    }), wrong);
}

function application(key, held, catalogue, data) {
  const path = [...key, "application"];
  const given = held.application ?? "bulk";
  const kind = typeof given === "object" ? given.kind : given;
  const names = catalogue.families.applications.map((each) => each.name).filter((each) => each !== "program");
  const make = (name) => APPLICATIONS[name]?.() ?? { kind: name };
  const select = choice("Application", path, names, {
    value: () => kind,
    change: (name) => state.edit((all) => put(all, path, make(name)), { structure: true }),
  });
  if (typeof given !== "object") return [select];
  const size = typeof given.size === "string" ? [quantity("Size", [...path, "size"], "size")] : [];
  const rate = typeof given.rate === "string" ? [quantity("Rate", [...path, "rate"], "rate")] : [];
  const known = ["kind", ...(size.length ? ["size"] : []), ...(rate.length ? ["rate"] : [])];
  return [select, ...size, ...rate, ...rest(data, path, known)];
}
