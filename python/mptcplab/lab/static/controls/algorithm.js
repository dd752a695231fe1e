// An algorithm by its name, with its parameters: all from the registry.

import { h } from "../dom.js";
import * as state from "../state.js";
import { choice, put, rest, tick, valueAt, words } from "./field.js";

function nameOf(value) {
  return typeof value === "object" && value !== null ? value.name : value;
}

/** A field that chooses among the entries of a family; `fallback` is what holds where nothing is said. */
export function algorithm(label, key, entries, fallback) {
  const now = () => nameOf(valueAt(state.scenario().data, key)) ?? fallback;
  const options = entries.map((entry) => [entry.name, entry.name]);
  const chosen = entries.find((entry) => entry.name === now());
  const select = choice(label, key, options, {
    value: now,
    help: chosen?.summary,
    change: (name) => state.edit((data) => put(data, key, name), { structure: true }),
  });
  const about = h("p", { class: "about" }, chosen ? `${chosen.summary}.` : "");
  const parameters = chosen?.parameters.length ? [parametersOf(key, chosen)] : [];
  return [select, about, ...parameters];
}

function parametersOf(key, entry) {
  const set = (name, value) =>
    state.edit((data) => {
      const held = valueAt(data, key);
      const table = typeof held === "object" && held !== null ? held : { name: entry.name };
      if (value === undefined) delete table[name];
      else table[name] = value;
      put(data, key, Object.keys(table).length > 1 ? table : entry.name);
    });
  const fields = entry.parameters.map((parameter) => {
    const path = [...key, parameter.name];
    const held = () => valueAt(state.scenario().data, path) ?? parameter.default;
    const label = parameter.name.replaceAll("_", " ") + (parameter.unit ? ` (${parameter.unit})` : "");
    if (typeof parameter.default === "boolean") return tick(label, path, { value: held, change: (on) => set(parameter.name, on) });
    if (parameter.choices.length) return choice(label, path, parameter.choices, { value: held, change: (name) => set(parameter.name, name), help: parameter.summary });
    const made = words(label, path, { optional: true, type: "number", placeholder: String(parameter.default), help: parameter.summary });
    const input = made.querySelector("input");
    // In place of what `words` does: a name alone must become a table first.
    input.addEventListener("change", (event) => {
      event.stopImmediatePropagation();
      const text = input.value.trim();
      set(parameter.name, text === "" ? undefined : Number.isFinite(Number(text)) ? Number(text) : text);
    }, { capture: true });
    return made;
  });
  const given = typeof valueAt(state.scenario().data, key) === "object";
  return h("details", { class: "more", open: given }, h("summary", {}, `Parameters of ${entry.name}`), fields);
}

export { rest };
