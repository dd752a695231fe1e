// Why a connection used a path at the cursor: what its ends knew and decided then, and what they had decided before.

import { Wrong, work } from "./api.js";
import { announce, h } from "./dom.js";
import { plain } from "./quantities.js";
import * as runner from "./runner.js";
import * as state from "./state.js";
import { EVERY } from "./charts/lines.js";

export class Why {
  /** The button stands beside the charts' cursor, the answer in a card below them. */
  constructor(host, board) {
    Object.assign(this, { board, asked: null });
    this.button = h("button", { type: "button", class: "plain", hidden: true, onclick: () => this.ask() }, "Why this path?");
    board.readout.after(this.button);
    this.body = h("div", {});
    this.card = h("details", { class: "card", id: "why", hidden: true },
      h("summary", {}, h("span", { class: "name" }, "Why this path?"), h("span", { class: "kind" }, "what the ends knew and decided at the cursor")), this.body);
    host.append(this.card);
  }

  /** The cursor stands, or does not. */
  pinned(time) {
    this.button.hidden = time === null;
  }

  async ask() {
    this.asked?.abort();
    const own = (this.asked = new AbortController());
    const { pinned: at, connection } = this.board;
    const sides = state.now().b ? ["a", "b"] : ["a"];
    this.card.hidden = false;
    this.card.open = true;
    this.body.replaceChildren(h("p", { class: "note" }, "Running the simulation up to the cursor, with a record of its decisions …"));
    try {
      const found = await Promise.all(sides.map((side) => {
        const body = { ...runner.request(side), engine: "sim", at_s: at, connection: connection === EVERY ? null : connection };
        return work("why", body, { signal: own.signal });
      }));
      this.show(sides, found);
    } catch (error) {
      if (own.signal.aborted) return;
      const text = error instanceof Wrong ? error.message : `The question could not be answered: ${error.message}`;
      this.body.replaceChildren(h("p", { class: "wrong", role: "alert" }, text));
    } finally {
      if (this.asked === own) this.asked = null;
    }
  }

  show(sides, found) {
    this.board.decided = Object.fromEntries(sides.map((side, number) => [side, times(found[number])]));
    this.board.update();
    const parts = sides.map((side, number) => h("div", {},
      sides.length > 1 ? h("h3", {}, side.toUpperCase()) : null,
      found[number].ends.length ? found[number].ends.map((end) => this.end(end)) : h("p", { class: "note" }, "Nothing had been sent by then.")));
    this.body.replaceChildren(h("div", { class: sides.length > 1 ? "pair" : "single" }, parts));
    announce("The decisions at the cursor are shown.");
    document.documentElement.dataset.why = String(Number(document.documentElement.dataset.why ?? 0) + 1);
  }

  end({ lines, decisions }) {
    const rows = [...decisions].reverse().map((each) => h("li", {},
      h("button", { type: "button", class: "plain", onclick: () => this.board.pin(each.time_s) }, `${plain6(each.time_s)} s`),
      ` ${each.group}: ${each.text}`));
    return h("div", { class: "end" }, h("pre", { tabindex: "0", "aria-label": lines[0] }, lines.join("\n")),
      rows.length ? h("details", {}, h("summary", {}, `${rows.length} decision${rows.length > 1 ? "s" : ""} before, the latest first`), h("ol", { class: "decisions" }, rows)) : null);
  }

  /** The scenario has changed: what was said is about another one. */
  forget() {
    this.asked?.abort();
    this.card.hidden = true;
    this.board.decided = {};
  }
}

function times(answer) {
  return answer.ends.flatMap((end) => end.decisions.map((each) => each.time_s));
}

function plain6(time) {
  return time === 0 ? plain(0) : time.toFixed(6);
}
