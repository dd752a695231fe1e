// The guided tour: a step loads its two scenarios, and says what there is to see.

import { get } from "./api.js";
import { h } from "./dom.js";
import { aim } from "./results.js";
import * as state from "./state.js";

export class Tour {
  constructor(host, button, { failure }) {
    Object.assign(this, { host, button, failure, at: 0, steps: null, before: null });
    button.addEventListener("click", () => (this.host.hidden ? void this.begin() : this.end()));
    host.hidden = true;
  }

  /** The step that an address asks for, from 0; null when it asks for none. */
  static asked(hash) {
    const found = /^#tour(?:=([0-9]+))?$/.exec(hash);
    return found && Math.max(0, Number(found[1] ?? 1) - 1);
  }

  async begin(at = 0) {
    try {
      this.steps ??= await get("/api/tour");
    } catch (error) {
      this.failure(error.message);
      return false;
    }
    this.button.textContent = "End the tour";
    this.host.hidden = false;
    this.go(Math.min(at, this.steps.length - 1));
    return true;
  }

  end() {
    this.host.hidden = true;
    this.button.textContent = "Guided tour";
    this.button.focus();
  }

  go(at) {
    this.at = at;
    const step = this.steps[at];
    const last = at === this.steps.length - 1;
    const heading = h("h2", { tabindex: "-1", id: "tour-title" }, step.title);
    this.host.replaceChildren(h("section", { class: "tour", "aria-labelledby": "tour-title", "data-step": String(at + 1) },
      h("div", {}, h("p", { class: "note" }, `Guided tour, ${at + 1} of ${this.steps.length}`), heading),
      h("p", { class: "said" }, step.text),
      h("div", { class: "row" },
        h("button", { type: "button", disabled: at === 0, onclick: () => this.go(at - 1) }, "Back"),
        last ? h("button", { type: "button", class: "main", onclick: () => this.end() }, "End the tour")
          : h("button", { type: "button", class: "main", onclick: () => this.go(at + 1) }, "Next"),
        last ? null : h("button", { type: "button", class: "plain", onclick: () => this.end() }, "End the tour"))));
    heading.focus({ preventScroll: true });
    this.host.firstChild.scrollIntoView({ block: "start" });
    aim(step.goal);
    state.replace((all) => Object.assign(all, { a: structuredClone(step.a), b: structuredClone(step.b), side: "b", engine: "sim" }));
  }
}
