// Advice on the scenario that is shown: what mptcplab advise recommends, why, and a button that puts it into B.

import { Wrong, work } from "./api.js";
import { announce, h } from "./dom.js";
import * as runner from "./runner.js";
import * as state from "./state.js";

const TRAFFIC = [["", "as in the scenario"], ["web", "web pages"], ["bulk", "a download"], ["video", "video"], ["calls", "calls"], ["mix", "web, a download and a call"]];
const PURPOSES = [["both", "a stock Linux kernel, and any where it is better"], ["linux", "a stock Linux kernel"], ["any", "any stack"]];
const PREFERENCES = [["best", "the best, and of equals what survives the loss of a path"], ["survive", "what survives the loss of a path"], ["simple", "what is simple"], ["fair", "what leaves more to others"]];
const FORMS = { ip: "ip and sysctl", networkmanager: "NetworkManager", networkd: "systemd-networkd", uci: "UCI (OpenMPTCProuter, OpenWrt)" };

/** The connections that use several paths: those that there is a choice for. */
function able() {
  const tables = Object.entries(state.scenario()?.data.connection ?? {});
  return tables.filter(([, table]) => Array.isArray(table?.paths) && table.paths.length > 1).map(([name]) => name);
}

/** An error in the words of the command line. */
function words(error) {
  if (!(error instanceof Wrong)) return error.message;
  return error.problems.map((each) => `${each.key ? `${each.key}: ` : ""}found ${each.found}; expected ${each.expected}`).join("\n");
}

function ordered(value) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return value;
  return Object.fromEntries(Object.keys(value).sort().map((key) => [key, ordered(value[key])]));
}

/** What advice was asked for, to see later whether it still holds: the scenario, without the settings that it decides. */
function subject(data, names, decided) {
  const kept = structuredClone(data ?? null);
  for (const name of names) for (const key of decided) delete kept?.connection?.[name]?.[key];
  return JSON.stringify(ordered(kept));
}

export function advice(host) {
  let stop = null;
  let asked = null;
  const button = h("button", { type: "button", onclick: ask }, "Advise");
  const choice = h("select", { id: "advise-on" });
  const of = h("span", { hidden: true }, h("label", { for: "advise-on" }, "for "), choice);
  const traffic = h("select", { id: "advise-traffic" }, TRAFFIC.map(([value, label]) => h("option", { value }, label)));
  const purpose = h("select", { id: "advise-purpose" }, PURPOSES.map(([value, label]) => h("option", { value }, label)));
  const prefer = h("select", { id: "advise-prefer" }, PREFERENCES.map(([value, label]) => h("option", { value }, label)));
  const metered = h("fieldset", { class: "metered" });
  const options = h("details", {}, h("summary", {}, "Options of the advice"), h("div", { class: "row" },
    h("span", {}, h("label", { for: "advise-traffic" }, "Traffic "), traffic),
    h("span", {}, h("label", { for: "advise-purpose" }, "Settings of "), purpose),
    h("span", {}, h("label", { for: "advise-prefer" }, "Prefer "), prefer), metered));
  const bar = h("progress", { max: "1", value: 0, "aria-label": "Progress of the advice" });
  const part = h("span", {}, "0 %");
  const end = h("button", { type: "button", onclick: () => {
    stop?.abort();
    button.focus();
    announce("The advice was stopped.");
  } }, "Stop the advice");
  const progress = h("div", { class: "progress", hidden: true }, bar, part, end);
  const wrong = h("p", { class: "wrong", role: "alert", hidden: true });
  const stale = h("p", { class: "note", hidden: true }, "The scenario has changed since this advice was given.");
  const answer = h("div", {});
  host.append(
    h("div", { class: "row" }, button, of, h("span", { class: "note" }, "which paths to use, with which control, or TCP on one path; takes some ten seconds")),
    options, progress, wrong, stale, answer);

  /** The connection that advice will be on. */
  const subjectName = () => (of.hidden ? able()[0] : choice.value);

  /** A box to tick for each path of that connection; those that were ticked stay so. */
  function offerPaths() {
    const paths = state.scenario()?.data.connection?.[subjectName()]?.paths ?? [];
    const boxes = [...metered.querySelectorAll("input")];
    if (paths.join("\n") === boxes.map((box) => box.value).join("\n")) return;
    const ticked = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    metered.replaceChildren(h("legend", {}, "Paths that cost money"), ...paths.map((path) => h("label", {}, h("input", { type: "checkbox", value: path, checked: ticked.has(path) }), ` ${path}`)));
  }

  function say(text) {
    wrong.textContent = text;
    wrong.hidden = !text;
  }

  async function ask() {
    stop?.abort();
    const own = (stop = new AbortController());
    const { side } = state.now();
    bar.value = 0;
    part.textContent = "0 %";
    progress.hidden = false;
    say("");
    announce("Settings are being compared.");
    try {
      const body = { ...runner.request(side), connection: of.hidden ? null : choice.value,
        traffic: traffic.value || null, purpose: purpose.value, prefer: prefer.value,
        metered: [...metered.querySelectorAll("input:checked")].map((box) => box.value) };
      const sent = structuredClone(body.data);
      const found = await work("advise", body, {
        signal: own.signal,
        progress: (done) => {
          bar.value = done;
          part.textContent = `${Math.floor(100 * done)} %`;
        },
      });
      show(found, side, sent);
    } catch (error) {
      if (!own.signal.aborted) say(words(error));
    } finally {
      if (stop === own) {
        progress.hidden = true;
        stop = null;
      }
    }
  }

  function show(found, side, sent) {
    const names = Object.keys(found.shown[0].changes);
    const decided = Object.keys(found.shown[0].changes[names[0]]);
    asked = { side, names, decided, subject: subject(sent, names, decided) };
    answer.replaceChildren(h("section", { class: "advice", "aria-labelledby": "advice-title" },
      h("h2", { id: "advice-title" }, `Use ${found.shown[0].label}`),
      h("p", { class: "note" }, `For ${names.join(" and ")}${state.now().b ? ` in ${side.toUpperCase()}` : ""}: ${found.compared} settings were compared, as mptcplab advise does.`),
      found.shown.map(card),
      found.closing.map((line) => h("p", { class: "note" }, line))));
    check();
    announce(`Advice: use ${found.shown[0].label}.`);
  }

  function card(each) {
    return h("article", { class: "recommended" },
      h("h3", {}, each.recommended ? each.headline : each.label, each.recommended ? null : h("span", { class: "kind" }, " for comparison: the best single path")),
      h("dl", {}, each.figures.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
      h("ul", {}, each.reasons.map((reason) => h("li", {}, reason))),
      Object.entries(each.commands).map(([form, lines]) => h("details", {}, h("summary", {}, `Commands: ${FORMS[form]}`), h("pre", {}, lines.join("\n")))),
      h("button", { type: "button", "aria-label": `Apply to B: ${each.label}`, onclick: () => apply(each) }, "Apply to B"));
  }

  /** B becomes the scenario that was asked about, with these settings. */
  function apply(each) {
    const from = state.scenario(asked.side) ?? state.scenario("a");
    if (asked.names.some((name) => !from.data.connection?.[name])) return void say("The scenario has no such connection any more; ask again.");
    const held = structuredClone(from);
    for (const [name, keys] of Object.entries(each.changes)) {
      for (const [key, value] of Object.entries(keys)) {
        if (value === null) delete held.data.connection[name][key];
        else held.data.connection[name][key] = structuredClone(value);
      }
    }
    for (const name of each.standing) held.data.link[name].metered = { ...held.data.link[name].metered, use: "backup" };
    say("");
    state.replace((all) => Object.assign(all, { b: held, side: "b" }));
    announce(`B uses ${each.label}.`);
  }

  function check() {
    stale.hidden = !asked || subject(state.scenario(asked.side)?.data, asked.names, asked.decided) === asked.subject;
  }

  choice.addEventListener("change", offerPaths);
  state.on("changed", () => {
    const names = able();
    of.hidden = names.length < 2;
    if (names.join("\n") !== [...choice.options].map((each) => each.value).join("\n")) {
      const before = choice.value;
      choice.replaceChildren(...names.map((name) => h("option", { value: name }, name)));
      if (names.includes(before)) choice.value = before;
    }
    offerPaths();
    check();
  });
}
