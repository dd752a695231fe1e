// What happens during the run: a list, and a time line on which the events can be moved.

import { h } from "../dom.js";
import { base } from "../quantities.js";
import * as state from "../state.js";
import { choice, put, quantity, words } from "./field.js";

const KINDS = {
  dies: { title: "goes down", make: () => ({ down: true }) },
  returns: { title: "comes back", make: () => ({ down: false }) },
  rate: { title: "changes its rate", make: () => ({ rate: "5 Mbit/s" }), quantity: "rate" },
  delay: { title: "changes its delay", make: () => ({ delay: "80 ms" }), quantity: "delay" },
  loss: { title: "changes its loss", make: () => ({ loss: "2 %" }), quantity: "loss" },
};

function kindOf(set) {
  if (set?.down === true) return "dies";
  if (set?.down === false) return "returns";
  return Object.keys(set ?? {}).find((key) => key in KINDS) ?? "dies";
}

export function duration() {
  return base("duration", state.scenario().data.duration) ?? 30;
}

export function eventsCard() {
  const data = state.scenario().data;
  const events = Array.isArray(data.event) ? data.event : [];
  const links = Object.keys(data.link ?? {});
  const cards = events.map((event, number) => {
    const key = ["event", number];
    const kind = kindOf(event.set);
    const named = KINDS[kind];
    return h("fieldset", { class: "event" }, h("legend", {}, `Event ${number + 1}`),
      quantity("At", [...key, "at"], "moment", { most: duration() }),
      choice("Link", [...key, "link"], links),
      choice("What happens", [...key, "set"], Object.entries(KINDS).map(([name, each]) => [name, each.title]), {
        value: () => kind,
        change: (name) => state.edit((all) => put(all, [...key, "set"], KINDS[name].make()), { structure: true }),
      }),
      named.quantity && typeof event.set?.[named.quantity] === "string" ? quantity("To", [...key, "set", named.quantity], named.quantity) : null,
      event.direction ? words("Direction", [...key, "direction"], { optional: true }) : null,
      h("button", { type: "button", class: "plain", onclick: () => remove(number) }, `Remove event ${number + 1}`));
  });
  const add = h("button", { type: "button", class: "plain", disabled: !links.length, onclick: () => insert(links[0]) }, "Add an event");
  return h("details", { class: "card", open: events.length > 0, "data-card": "event" },
    h("summary", {}, h("span", { class: "name" }, "Events"), h("span", { class: "kind" }, String(events.length))), cards, add);
}

function remove(number) {
  state.edit((data) => {
    data.event.splice(number, 1);
    if (!data.event.length) delete data.event;
  }, { structure: true });
}

function insert(link) {
  state.edit((data) => {
    (data.event ??= []).push({ at: `${Math.round(duration() / 2)} s`, link, set: { down: true } });
  }, { structure: true });
}

/** The events on a line from the beginning to the end; with the arrow keys or the pointer they move. */
export function timeline(host) {
  const data = state.scenario()?.data;
  const events = Array.isArray(data?.event) ? data.event : [];
  const whole = duration();
  host.hidden = events.length === 0;
  if (document.activeElement?.closest(".timeline") === host && host.children.length === events.length + 1) {
    events.forEach((event, number) => lay(host.children[number + 1], event, whole));
    return;
  }
  host.replaceChildren(h("div", { class: "track" }), ...events.map((event, number) => {
    const mark = h("div", { class: "mark", role: "slider", tabindex: "0", "aria-label": `Event ${number + 1}: ${event.link} ${KINDS[kindOf(event.set)].title}` },
      h("span", { class: "what" }, `${event.link} ${KINDS[kindOf(event.set)].title}`));
    lay(mark, event, whole);
    const move = (time, commit) => {
      const rounded = Math.round(Math.max(0, Math.min(whole, time)) * 10) / 10;
      state.edit((all) => (all.event[number].at = `${rounded} s`), { commit });
      lay(mark, { ...event, at: `${rounded} s` }, whole);
    };
    mark.addEventListener("keydown", (key) => {
      const step = { ArrowLeft: -1, ArrowRight: 1, PageDown: -5, PageUp: 5 }[key.key];
      if (!step) return;
      key.preventDefault();
      move((base("moment", state.scenario().data.event[number].at) ?? 0) + (step * whole) / 100, true);
    });
    mark.addEventListener("pointerdown", (down) => {
      mark.setPointerCapture(down.pointerId);
      const box = host.getBoundingClientRect();
      const follow = (pointer) => move(((pointer.clientX - box.left) / box.width) * whole, false);
      mark.addEventListener("pointermove", follow);
      mark.addEventListener("pointerup", () => {
        mark.removeEventListener("pointermove", follow);
        state.settle();
        state.tell("structure");
      }, { once: true });
    });
    return mark;
  }));
}

function lay(mark, event, whole) {
  const time = base("moment", event.at) ?? 0;
  const part = Math.max(0, Math.min(1, time / whole));
  mark.style.left = `${100 * part}%`;
  mark.classList.toggle("late", part > 0.7);
  mark.setAttribute("aria-valuemin", "0");
  mark.setAttribute("aria-valuemax", String(whole));
  mark.setAttribute("aria-valuenow", String(time));
  mark.setAttribute("aria-valuetext", `${time} s`);
}
