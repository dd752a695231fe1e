// Puts the page together.

import { advice } from "./advice.js";
import { watch } from "./alive.js";
import { get, work, Failed } from "./api.js";
import { Board } from "./charts/board.js";
import { Panel } from "./controls/panel.js";
import { timeline } from "./controls/events.js";
import { announce } from "./dom.js";
import { Handshake } from "./drawing/handshake.js";
import { Network } from "./drawing/network.js";
import { Packets } from "./drawing/packets.js";
import { engines } from "./engines.js";
import { Files, menu, preset, read } from "./files.js";
import * as results from "./results.js";
import * as runner from "./runner.js";
import * as state from "./state.js";
import * as theme from "./theme.js";
import { Tour } from "./tour.js";
import { Why } from "./why.js";

const WINDOW_S = 2;
const find = (id) => document.getElementById(id);

function failure(text) {
  find("failure").textContent = text;
  find("failure").hidden = !text;
}

let stopWith = runner.stop;

/** Marks results of another scenario than the one being run, which stay until there are newer ones. */
function markEarlier(running) {
  const { a } = state.results;
  const title = state.scenario("a").data.title;
  const another = a !== null && title !== undefined && a.complete.title !== title;
  find("results").classList.toggle("earlier", running && another);
}

function progress(part, stop = runner.stop) {
  find("progress").hidden = part === null;
  markEarlier(part !== null);
  if (part === null) return;
  stopWith = stop;
  find("bar").value = part;
  find("part").textContent = `${Math.round(100 * part)} %`;
}

async function begin() {
  const [catalogue, opened] = await Promise.all([get("/api/catalogue"), get("/api/opened")]);
  const colours = theme.colours();
  const board = new Board(find("board"), { colours, moved: (time) => {
    packets.jump(time);
    why.pinned(time);
  } });
  const why = new Why(find("why-place"), board);
  const panel = new Panel(find("panel"), catalogue);
  const network = new Network(find("network"), { chosen: (name) => panel.show(`link.${name}`) });
  const packets = new Packets(network, find("network"), { needed: (time) => details(time), colours: () => board.colours });
  const handshake = new Handshake(find("handshake"));
  const engine = engines(find("engine"), catalogue, { failure, progress });
  advice(find("advice"));
  const files = new Files(find("file-dialog"), { opened, failure, chosen: (held) => state.replace((all) => (all[all.side] = held)) });
  menu(find("files"), files);

  let looking = null;
  async function details(from = packets.time) {
    looking?.abort();
    const own = (looking = new AbortController());
    packets.asked = true;
    const sides = state.now().b ? ["a", "b"] : ["a"];
    try {
      const found = await Promise.all(sides.map((side) => {
        const body = { ...runner.request(side), engine: "sim", from_s: Math.max(0, from), for_s: WINDOW_S };
        return work("packets", body, { signal: own.signal });
      }));
      sides.forEach((side, number) => (state.details[side] = found[number]));
      if (sides.length === 1) state.details.b = null;
      board.update();
      packets.update();
      handshake.update();
      document.documentElement.dataset.details = String(Number(document.documentElement.dataset.details ?? 0) + 1);
    } catch (error) {
      // What cannot be captured (a generated network, a scenario with an error) is simply not shown.
      if (!own.signal.aborted && error instanceof Failed) failure(error.message);
    } finally {
      if (looking === own) packets.asked = false;
    }
  }

  runner.listen({ progress, failure, details: () => details() });
  state.on("structure", () => {
    panel.build();
    engine.update();
  });
  state.on("changed", () => {
    const { side, b } = state.now();
    find("side-a").setAttribute("aria-pressed", String(side === "a"));
    find("side-b").setAttribute("aria-pressed", String(side === "b"));
    find("side-a").hidden = find("side-b").hidden = !b;
    find("compare").textContent = b ? "Leave out B" : "Compare with B";
    find("undo").disabled = !state.canUndo();
    find("redo").disabled = !state.canRedo();
    document.documentElement.classList.toggle("comparing", Boolean(b));
    network.update();
    timeline(find("timeline"));
    runner.schedule();
  });
  let named = "";
  state.on("answered", () => {
    const looks = JSON.stringify(state.results[state.now().side]?.looks);
    if (looks !== named && !document.activeElement?.closest("#panel")) panel.build();
    else panel.mark();
    named = looks;
    results.table(find("table"));
    results.settings(find("difference"));
    why.forget();
    find("results").classList.toggle("stale", state.problems.a.length + state.problems.b.length > 0);
    board.update();
    network.update();
    packets.update();
    board.drawn = () => {
      document.documentElement.dataset.drawn = String(performance.now());
      board.drawn = null;
    };
  });

  const tour = new Tour(find("tour-place"), find("tour"), { failure });

  const choice = find("preset");
  choice.append(new Option("Ready-made scenarios …", ""));
  for (const each of catalogue.presets) choice.append(new Option(`${each.title} (${each.name})`, each.name));
  choice.addEventListener("change", async () => {
    if (!choice.value) return;
    const held = await preset(choice.value);
    choice.value = "";
    state.replace((all) => (all[all.side] = held));
    announce("The scenario was taken over.");
  });
  find("undo").addEventListener("click", state.undo);
  find("redo").addEventListener("click", state.redo);
  find("stop").addEventListener("click", () => stopWith());
  for (const side of ["a", "b"]) find(`side-${side}`).addEventListener("click", () => state.replace((all) => (all.side = side)));
  find("compare").addEventListener("click", () => state.replace((all) => {
    if (all.b) Object.assign(all, { b: null, side: "a" });
    else Object.assign(all, { b: structuredClone(all.a), side: "b" });
  }));
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input[type=text], textarea");
    if (!(event.ctrlKey || event.metaKey) || typing) return;
    if (event.key === "z" && !event.shiftKey) state.undo();
    else if (event.key === "y" || (event.key === "z" && event.shiftKey)) state.redo();
    else return;
    event.preventDefault();
  });
  window.addEventListener("popstate", () => state.fromAddress());
  window.addEventListener("hashchange", () => state.fromAddress());
  theme.begin(find("theme"), () => {
    board.colours = theme.colours();
    board.update();
    packets.draw();
  });
  new ResizeObserver(() => packets.draw()).observe(network.drawing);

  const step = Tour.asked(location.hash);
  const guided = step !== null && (await tour.begin(step));
  if (!guided && !(await state.fromAddress())) {
    const held = opened.text === null ? await preset("wifi-lte") : await read(opened.text, opened.origin);
    state.replace((all) => (all.a = held));
  }
  document.documentElement.dataset.ready = "yes";
  find("loading").textContent = "Running the first simulation …";
  watch({
    gone: failure,
    back: () => {
      failure("");
      runner.schedule();
    },
  });
}

begin().catch((error) => {
  find("loading").hidden = true;
  failure(`The page could not begin: ${error.message}`);
});
