// The engine that computes, and what others say of the same scenario.

import { Wrong, work } from "./api.js";
import { h } from "./dom.js";
import * as runner from "./runner.js";
import { shown } from "./quantities.js";
import * as state from "./state.js";

export function engines(host, catalogue, { failure, progress }) {
  const live = catalogue.engines.filter((each) => !each.live);
  const choice = h("select", { id: "engine-choice", onchange: () => state.replace((all) => (all.engine = choice.value)) },
    live.map((each) => h("option", { value: each.name }, `${each.name}: ${each.summary}`)));
  const buttons = catalogue.engines.filter((each) => each.live).map((each) =>
    h("button", { type: "button", disabled: each.unavailable !== null, title: each.unavailable ?? each.summary, onclick: () => beside(each.name) }, `Run on ${each.name}`));
  const why = catalogue.engines.filter((each) => each.unavailable).map((each) => each.name);
  const others = h("div", { class: "others" });
  host.append(h("label", { for: "engine-choice" }, "Engine "), choice, ...buttons,
    why.length ? h("span", { class: "note" }, ` ${why.join(" and ")} cannot run here: mptcplab doctor says why.`) : "", others);

  async function beside(engine) {
    const stop = new AbortController();
    try {
      const answer = await work("run", { ...runner.request(state.now().side), engine }, { signal: stop.signal, progress: (part) => progress(part, () => stop.abort()) });
      state.overlay(engine, answer);
      const rows = answer.result.connections.map((each) => h("li", {}, `${engine}: ${each.name} ${shown(each.goodput_bps, "bit/s")}`));
      others.replaceChildren(h("ul", {}, rows), ...(answer.result.notes ?? []).map((note) => h("p", { class: "note" }, note)));
    } catch (error) {
      if (!stop.signal.aborted) failure(error instanceof Wrong ? `${engine}: ${error.message}` : error.message);
    } finally {
      progress(null);
    }
  }

  return { update: () => (choice.value = state.now().engine) };
}
