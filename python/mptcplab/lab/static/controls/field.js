// A value of the scenario with its label, its slider where it is a quantity, and the error that it caused.

import { h, identifier } from "../dom.js";
import { STEPS, base, place, textAt } from "../quantities.js";
import * as state from "../state.js";

export function valueAt(data, key) {
  return key.reduce((here, part) => (here === undefined || here === null ? undefined : here[part]), data);
}

export function put(data, key, value) {
  let here = data;
  for (const part of key.slice(0, -1)) here = here[part] ??= {};
  if (value === undefined) delete here[key.at(-1)];
  else here[key.at(-1)] = value;
}

/** A key as errors write it. */
export function dotted(key) {
  return key.map((part) => (/^[A-Za-z0-9_-]+$/.test(String(part)) ? part : JSON.stringify(part))).join(".");
}

function error(key) {
  return h("p", { class: "wrong", id: identifier("wrong"), hidden: true, "data-errors": dotted(key) });
}

function row(label, key, control, extra, help) {
  const id = identifier("field");
  control.id = id;
  control.dataset.key = dotted(key);
  const wrong = error(key);
  control.setAttribute("aria-describedby", wrong.id);
  return h("div", { class: "field" }, h("label", { for: id, title: help }, label), extra, control, wrong);
}

/** A text as TOML has it: numbers and booleans need no quotes. */
function written(text, before) {
  if (typeof before === "number" && text.trim() !== "" && Number.isFinite(Number(text))) return Number(text);
  return text;
}

/** A quantity: a slider where it can be one, and its text. `most` bounds the slider. */
export function quantity(label, key, kind, { optional, fallback, most, help } = {}) {
  const now = () => valueAt(state.scenario().data, key);
  const text = h("input", { type: "text", class: "quantity", spellcheck: "false", autocomplete: "off" });
  const slider = h("input", { type: "range", min: "0", max: String(STEPS), "aria-label": `${label}, slider` });
  const shown = () => {
    const value = now();
    text.value = value === undefined ? "" : typeof value === "string" ? value : String(value);
    text.placeholder = value === undefined ? (fallback ?? "") : "";
    const at = place(kind, value ?? fallback, most);
    // The room of a slider stays while its value is wrong, so that nothing moves.
    if (at !== null) slider.dataset.used = "";
    slider.hidden = at === null && slider.dataset.used === undefined;
    slider.style.visibility = at === null ? "hidden" : "";
    slider.value = String(at ?? 0);
    slider.setAttribute("aria-valuetext", text.value || fallback || "");
  };
  slider.addEventListener("input", () => {
    const before = now() ?? fallback;
    const after = textAt(kind, Number(slider.value), before, most);
    state.edit((data) => put(data, key, after), { commit: false });
    text.value = after;
    slider.setAttribute("aria-valuetext", after);
  });
  slider.addEventListener("change", () => state.settle());
  text.addEventListener("change", () => {
    const value = text.value.trim();
    state.edit((data) => put(data, key, value === "" && optional ? undefined : written(value, now())));
    shown();
  });
  shown();
  const made = row(label, key, text, slider, help);
  made.refresh = shown;
  return made;
}

/** A text or a number without a slider. */
export function words(label, key, { optional, placeholder, help, type = "text", list } = {}) {
  const now = () => valueAt(state.scenario().data, key);
  const input = h("input", { type: "text", spellcheck: "false", autocomplete: "off", inputmode: type === "number" ? "decimal" : "text", placeholder });
  const shown = () => {
    const value = now();
    input.value = value === undefined ? "" : value?.$number ?? (typeof value === "object" ? JSON.stringify(value) : String(value));
  };
  input.addEventListener("change", () => {
    const given = input.value.trim();
    let value = given;
    if (given === "" && optional) value = undefined;
    else if (type === "number" && /^-?[0-9]+$/.test(given) && !Number.isSafeInteger(Number(given))) value = { $number: given };
    else if (type === "number" && given !== "" && Number.isFinite(Number(given))) value = Number(given);
    else if (list && given.startsWith("[")) {
      try {
        value = JSON.parse(given);
      } catch {
        value = given;
      }
    } else value = written(given, now());
    state.edit((data) => put(data, key, value));
  });
  shown();
  const made = row(label, key, input, null, help);
  made.refresh = shown;
  return made;
}

/** One of several; each option is a name or [name, what it is]. */
export function choice(label, key, options, { value, change, help } = {}) {
  const now = () => value?.() ?? valueAt(state.scenario().data, key);
  const select = h("select", {});
  for (const option of options) {
    const [name, about] = Array.isArray(option) ? option : [option, option];
    select.append(h("option", { value: name }, about));
  }
  const shown = () => {
    const held = String(now() ?? "");
    if (![...select.options].some((option) => option.value === held)) select.append(h("option", { value: held }, held));
    select.value = held;
  };
  select.addEventListener("change", () => {
    if (change) change(select.value);
    else state.edit((data) => put(data, key, select.value), { structure: true });
  });
  shown();
  const made = row(label, key, select, null, help);
  made.refresh = shown;
  return made;
}

export function tick(label, key, { change, value } = {}) {
  const id = identifier("tick");
  const now = () => value?.() ?? Boolean(valueAt(state.scenario().data, key));
  const box = h("input", { type: "checkbox", id, "data-key": dotted(key) });
  const shown = () => (box.checked = now());
  box.addEventListener("change", () => {
    if (change) change(box.checked);
    else state.edit((data) => put(data, key, box.checked));
  });
  shown();
  const wrong = error(key);
  box.setAttribute("aria-describedby", wrong.id);
  const made = h("div", { class: "field tick" }, box, h("label", { for: id }, label), wrong);
  made.refresh = shown;
  return made;
}

/** Whatever a table holds besides what has a control of its own. */
export function rest(data, key, known) {
  const held = valueAt(data, key);
  if (held === null || typeof held !== "object" || Array.isArray(held)) return [];
  return Object.keys(held)
    .filter((name) => !known.includes(name))
    .flatMap((name) => {
      const inner = held[name];
      const path = [...key, name];
      if (typeof inner === "boolean") return [tick(named(path, key), path)];
      if (inner !== null && typeof inner === "object" && !Array.isArray(inner) && !("$number" in inner))
        return [h("fieldset", {}, h("legend", {}, name.replaceAll("_", " ")), rest(data, path, []))];
      return [words(name.replaceAll("_", " "), path, { type: typeof inner === "number" ? "number" : "text", list: true })];
    });
}

function named(path) {
  return String(path.at(-1)).replaceAll("_", " ");
}

export { base };
