// All controls of the scenario that is edited, and the errors at those that caused them.

import { h } from "../dom.js";
import * as state from "../state.js";
import { connectionCard } from "./connection-card.js";
import { eventsCard } from "./events.js";
import { quantity, rest, words } from "./field.js";
import { linkCard } from "./link-card.js";

const KNOWN = ["title", "duration", "seed", "link", "path", "connection", "event", "measure"];

export class Panel {
  constructor(host, catalogue) {
    Object.assign(this, { host, catalogue, open: new Map() });
    this.general = h("p", { class: "wrong general", role: "alert", hidden: true });
  }

  /** Other controls are needed. */
  build() {
    const held = state.scenario();
    if (!held) return;
    for (const card of this.host.querySelectorAll("details[data-card]")) this.open.set(card.dataset.card, card.open);
    const focused = document.activeElement?.dataset?.key;
    const data = held.data;
    const links = Object.keys(data.link ?? {});
    const looks = state.results[state.now().side]?.looks ?? state.results.a?.looks;
    const colour = (name) => looks?.paths[name]?.colour ?? "#888";
    const many = links.length > 4;
    this.host.replaceChildren(
      this.general,
      ...links.map((name) => linkCard(name, colour(name), this.catalogue, { remove: () => this.removeLink(name) })),
      ...(data.path ? [h("details", { class: "card", "data-card": "paths" }, h("summary", {}, h("span", { class: "name" }, "Paths of several links")), rest(data, ["path"], []))] : []),
      ...Object.keys(data.connection ?? {}).map((name) => connectionCard(name, this.catalogue, { remove: () => this.removeConnection(name) })),
      eventsCard(),
      h("details", { class: "card", open: true, "data-card": "scenario" }, h("summary", {}, h("span", { class: "name" }, "Run")),
        words("Title", ["title"], { optional: true }),
        quantity("Duration", ["duration"], "duration"),
        words("Seed", ["seed"], { optional: true, type: "number", placeholder: "1" }),
        quantity("Warm-up, left out of means", ["measure", "warmup"], "moment", { optional: true, fallback: "0 s" }),
        words("Sample every", ["measure", "sample"], { optional: true, placeholder: "100 ms" }),
        rest(data, [], KNOWN)),
      h("div", { class: "row" },
        h("button", { type: "button", onclick: () => this.addLink() }, "Add a path"),
        h("button", { type: "button", onclick: () => this.addConnection() }, "Add a connection")),
    );
    for (const card of this.host.querySelectorAll("details[data-card]")) {
      const known = this.open.get(card.dataset.card);
      card.open = known ?? (card.open && !(many && card.dataset.card.startsWith("link.")));
    }
    if (focused) this.find(focused)?.focus();
    this.mark();
  }

  find(key) {
    return [...this.host.querySelectorAll("[data-key]")].find((control) => control.dataset.key === key);
  }

  /** Show the card of a part and go there. */
  show(card) {
    const found = [...this.host.querySelectorAll("details[data-card]")].find((each) => each.dataset.card === card);
    if (!found) return;
    found.open = true;
    found.scrollIntoView({ block: "nearest", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
    found.querySelector("summary").focus();
  }

  /** The errors at the controls that caused them; the nearest control, where the very key has none. */
  mark() {
    for (const place of this.host.querySelectorAll(".wrong")) {
      place.hidden = true;
      place.textContent = "";
    }
    for (const control of this.host.querySelectorAll("[aria-invalid]")) control.removeAttribute("aria-invalid");
    const own = state.problems[state.now().side];
    for (const problem of own) {
      const place = this.placeOf(problem.key);
      const said = `Found ${problem.found}; expected ${problem.expected}.`;
      const target = place ?? this.general;
      target.hidden = false;
      target.textContent += `${target.textContent ? " " : ""}${place || !problem.key ? said : `${problem.key}: ${said}`}`;
      const control = place?.parentElement.querySelector("input:not([type=range]), select");
      control?.setAttribute("aria-invalid", "true");
      if (place) place.closest("details.card").open = true;
      for (let more = place?.closest("details.more"); more; more = more.parentElement.closest("details.more")) more.open = true;
    }
  }

  placeOf(key) {
    const places = [...this.host.querySelectorAll("[data-errors]")];
    for (let known = key; known; known = known.slice(0, Math.max(0, known.lastIndexOf(".")))) {
      const found = places.find((place) => place.dataset.errors === known);
      if (found) return found;
    }
    return places.find((place) => key && place.dataset.errors.startsWith(`${key}.`)) ?? null;
  }

  addLink() {
    state.edit((data) => {
      const links = (data.link ??= {});
      let number = Object.keys(links).length + 1;
      while (`path${number}` in links) number += 1;
      links[`path${number}`] = { rate: "20 Mbit/s", delay: "20 ms", queue: "1 BDP" };
      const first = Object.values(data.connection ?? {}).find((each) => each.protocol !== "tcp");
      if (first && Array.isArray(first.paths)) first.paths.push(`path${number}`);
    }, { structure: true });
  }

  removeLink(name) {
    state.edit((data) => {
      delete data.link[name];
      for (const [path, each] of Object.entries(data.path ?? {})) if (each.links?.includes(name)) delete data.path[path];
      const known = (path) => path in data.link || path in (data.path ?? {});
      for (const each of Object.values(data.connection ?? {})) if (Array.isArray(each.paths)) each.paths = each.paths.filter(known);
      if (Array.isArray(data.event)) {
        data.event = data.event.filter((event) => event.link !== name);
        if (!data.event.length) delete data.event;
      }
    }, { structure: true });
  }

  addConnection() {
    state.edit((data) => {
      const held = (data.connection ??= {});
      let number = 1;
      while (`flow${number}` in held) number += 1;
      held[`flow${number}`] = { paths: Object.keys(data.link ?? {}).slice(0, 1), protocol: "tcp", congestion: "reno" };
    }, { structure: true });
  }

  removeConnection(name) {
    state.edit((data) => {
      delete data.connection[name];
    }, { structure: true });
  }
}
