// Files: opening, saving, and taking away the scenario and its result.

import { Wrong, exported, get, save, work } from "./api.js";
import { announce, h } from "./dom.js";
import * as runner from "./runner.js";
import * as state from "./state.js";
import { theme } from "./theme.js";

/** The scenario of a text, with its data; throws Wrong. */
export async function read(text, origin) {
  const answer = await work("read", { text, data: null, origin });
  return { text: answer.text, data: answer.data, origin };
}

export async function preset(name) {
  const { text, origin } = await get(`/api/presets/${encodeURIComponent(name)}`);
  return read(text, origin);
}

function download(name, content) {
  const link = h("a", { href: URL.createObjectURL(content), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export class Files {
  constructor(dialog, { opened, chosen, failure }) {
    Object.assign(this, { dialog, opened, failure });
    this.text = h("textarea", { id: "toml", rows: "22", cols: "80", spellcheck: "false" });
    this.wrong = h("p", { class: "wrong", role: "alert", hidden: true });
    this.picker = h("input", { type: "file", accept: ".toml,application/toml,text/plain", id: "file" });
    this.picker.addEventListener("change", () => this.pick(chosen));
    const use = h("button", { type: "button", class: "main", onclick: () => this.use(chosen) }, "Use this text");
    const back = h("button", { type: "button", onclick: () => this.download("toml") }, "Download");
    this.keep = opened.writable ? h("button", { type: "button", onclick: () => this.save() }, `Save to ${opened.name}`) : null;
    dialog.append(h("form", { method: "dialog" },
      h("h2", {}, "Scenario file"),
      h("p", { class: "note" }, "This is what mptcplab run reads. Change it here, paste another, or open a file."),
      h("div", { class: "field" }, h("label", { for: "file" }, "Open a file"), this.picker),
      h("div", { class: "field" }, h("label", { for: "toml" }, "Text of the scenario (TOML)"), this.text), this.wrong,
      h("div", { class: "row" }, use, back, this.keep, h("button", { type: "submit" }, "Close"))));
  }

  show() {
    this.text.value = state.scenario().text;
    this.wrong.hidden = true;
    this.dialog.showModal();
  }

  async pick(chosen) {
    const file = this.picker.files[0];
    if (!file) return;
    this.text.value = await file.text();
    this.picker.value = "";
    await this.use(chosen, null);
  }

  async use(chosen, origin = state.scenario().origin) {
    try {
      chosen(await read(this.text.value, origin));
      this.dialog.close();
      announce("The scenario was taken over.");
    } catch (error) {
      if (!(error instanceof Wrong)) return void this.tell(error.message);
      this.tell(error.problems.map((each) => `${each.line ? `line ${each.line}: ` : ""}${each.key ? `${each.key}: ` : ""}found ${each.found}; expected ${each.expected}`).join("\n"));
    }
  }

  tell(text) {
    this.wrong.textContent = text;
    this.wrong.hidden = false;
  }

  async save() {
    try {
      const { saved } = await save(this.text.value);
      announce(`Saved to ${saved}.`);
      this.dialog.close();
    } catch (error) {
      this.tell(error.message);
    }
  }

  /** Take away: "toml", "python", "json", "report", "svg", "png". */
  async download(kind, figure) {
    try {
      const { name, content } = await exported({ ...runner.request(state.now().side), export: kind, figure, theme: theme() });
      download(name, content);
      announce(`${name} is there.`);
    } catch (error) {
      this.failure(error.message);
    }
  }
}

export function menu(host, files) {
  const item = (label, act) => h("li", {}, h("button", { type: "button", onclick: () => {
    host.open = false;
    host.querySelector("summary").focus();
    act();
  } }, label));
  host.append(h("ul", {},
    item("As TOML: show, change, open …", () => files.show()),
    item("Download the TOML", () => files.download("toml")),
    item("As Python", () => files.download("python")),
    item("As figure: goodput, SVG", () => files.download("svg", "goodput")),
    item("As figure: goodput, PNG", () => files.download("png", "goodput")),
    item("As figure: windows, SVG", () => files.download("svg", "windows")),
    item("As figure: RTTs, SVG", () => files.download("svg", "rtts")),
    item("As figure: queues, SVG", () => files.download("svg", "queues")),
    item("As report (HTML)", () => files.download("report")),
    item("Numbers as JSON", () => files.download("json"))));
  document.addEventListener("click", (event) => {
    if (!host.contains(event.target)) host.open = false;
  });
  host.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      host.open = false;
      host.querySelector("summary").focus();
    }
  });
}
