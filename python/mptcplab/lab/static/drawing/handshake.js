// The handshake as a sequence: who says what, on which path, with which options; what a middlebox changed is said.

import { h } from "../dom.js";
import { shown } from "../quantities.js";
import * as state from "../state.js";

export class Handshake {
  constructor(host) {
    this.connection = null;
    this.choice = h("select", { id: "handshake-of", onchange: () => this.choose(this.choice.value) });
    this.list = h("ol", { class: "sequence" });
    this.note = h("p", { class: "note" });
    host.append(h("div", { class: "board-head" }, h("label", { for: "handshake-of" }, "Connection "), this.choice), this.note,
      h("div", { class: "ends", "aria-hidden": "true" }, h("span", {}, "Client"), h("span", {}, "Server")), this.list);
  }

  choose(name) {
    this.connection = name;
    this.update();
  }

  update() {
    const side = state.now().side;
    const handshakes = state.details[side]?.handshakes ?? [];
    const names = handshakes.map((each) => each.connection);
    if (!names.includes(this.connection)) this.connection = names[0] ?? null;
    this.choice.replaceChildren(...names.map((name) => h("option", { value: name }, name)));
    if (this.connection) this.choice.value = this.connection;
    const found = handshakes.find((each) => each.connection === this.connection);
    const looks = state.results[side]?.looks.paths ?? {};
    this.note.textContent = found?.messages.length ? "Packets that open the connection and its subflows, in the order of sending." : "No packets yet.";
    this.list.replaceChildren(...(found?.messages ?? []).map((message) => this.message(message, looks)));
  }

  message(message, looks) {
    const flags = message.flags.join("+") || "–";
    const data = message.bytes ? `, ${message.bytes} B of data` : "";
    const lost = message.arrived_s === null;
    const stripped = message.arrived_options ? missing(message.options, message.arrived_options) : [];
    const colour = looks[message.path]?.colour ?? "currentColor";
    return h("li", { class: message.up ? "up" : "down" },
      h("div", { class: "when" }, shown(message.sent_s, "s")),
      h("div", { class: "arrow" },
        h("div", { class: "line", style: { borderColor: colour, color: colour } }),
        h("div", { class: "said" }, h("strong", {}, flags), ` on ${message.path}${data}${lost ? ", lost" : ""}`, h("span", { class: "hidden-text" }, message.up ? " from client to server" : " from server to client"))),
      h("div", { class: "options" }, message.options.map((option) =>
        h("span", { class: `option${option.startsWith("MP_") || option.startsWith("DSS") || option.startsWith("ADD") ? " multipath" : ""}${stripped.includes(option) ? " gone" : ""}` },
          option, stripped.includes(option) ? h("em", {}, " taken out on the way") : null))));
  }
}

function missing(options, arrived) {
  const left = [...arrived];
  return options.filter((option) => {
    const at = left.indexOf(option);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}
