// All charts together: one view and one cursor for all of them, A beside B on the same scale.

import { h } from "../dom.js";
import { plain } from "../quantities.js";
import * as state from "../state.js";
import { Chart } from "./chart.js";
import { CHARTS, EVERY, linesOf } from "./lines.js";
import { path } from "./shapes.js";
import { table } from "./table.js";
import { svg } from "../dom.js";

export class Board {
  constructor(host, { colours, moved }) {
    Object.assign(this, { host, colours, moved, cursor: null, pinned: null, zoom: null, warmup: 0, connection: null });
    /** Times at which ends decided something, by side, once somebody has asked. */
    this.decided = {};
    this.end = 1;
    this.rows = [];
    this.sides = [];
    this.choice = h("select", { id: "shown-connection", onchange: () => this.choose(this.choice.value) });
    this.reset = h("button", { type: "button", class: "plain", hidden: true, onclick: () => this.show(null) }, "Whole run");
    this.readout = h("output", { class: "readout", for: "shown-connection" });
    host.append(
      h("div", { class: "board-head" },
        h("label", { for: "shown-connection" }, "Connection "), this.choice, this.reset, this.readout),
    );
    this.place = h("div", {});
    host.append(this.place);
  }

  get view() {
    return this.zoom ?? [0, this.end];
  }

  choose(name) {
    this.connection = name;
    this.update();
  }

  mostOf(name) {
    return Math.max(...this.charts(name).map((chart) => chart.most), 0);
  }

  charts(name) {
    return this.rows.filter((row) => row.definition.name === name).flatMap((row) => row.charts);
  }

  build(sides) {
    this.sides = sides;
    this.rows = CHARTS.map((definition) => {
      const charts = sides.map((side) => new Chart({ ...definition, board: this, side: sides.length > 1 ? side : null }));
      const legend = h("ul", { class: "legend" });
      const numbers = h("div", {});
      const details = h("details", { class: "numbers", ontoggle: () => details.open && this.fill(row) },
        h("summary", {}, `Numbers of ${definition.title.replace(/^[A-Z](?=[a-z])/, (first) => first.toLowerCase())}`), numbers);
      const row = { definition, charts, legend, numbers, details };
      row.element = h("section", { class: "chart", "data-name": definition.name },
        h("div", { class: "head" }, h("h3", {}, definition.title, h("span", { class: "unit" }, ` ${definition.unit}`)), legend),
        h("div", { class: sides.length > 1 ? "pair" : "single" },
          charts.map((chart) => h("div", {}, sides.length > 1 ? h("div", { class: "side-name" }, chart.side.toUpperCase()) : null, chart.element))),
        details);
      return row;
    });
    this.place.replaceChildren(...this.rows.map((row) => row.element));
  }

  fill(row) {
    row.numbers.replaceChildren(...row.charts.map((chart) => table(chart, this.view)));
  }

  /** Draw what the results say now. */
  update() {
    const sides = ["a", "b"].filter((side) => state.results[side]);
    if (!sides.length) return;
    if (sides.join() !== this.sides.join()) this.build(sides);
    const first = state.results[sides[0]];
    this.end = first.result.duration_s;
    this.warmup = warmupOf(first);
    if (this.zoom && this.zoom[0] >= this.end) this.zoom = null;
    this.choices(sides);
    for (const row of this.rows) {
      row.charts.forEach((chart, number) => {
        const side = sides[number];
        const result = state.results[side];
        const connection = this.known(result) ? this.connection : EVERY;
        const name = row.definition.name;
        const lines = linesOf(name, result, state.details[side], connection, this.colours.ink);
        chart.set([...lines, ...laidOver(name, side, connection, this.colours.ink)], [...events(side), ...this.decisions(side)]);
      });
      const empty = row.charts.every((chart) => chart.lines.length === 0);
      row.element.classList.toggle("empty", empty);
      this.legend(row);
      if (row.details.open) this.fill(row);
    }
    this.draw();
  }

  known(result) {
    return this.connection === EVERY || result.result.connections.some((each) => each.name === this.connection);
  }

  choices(sides) {
    const names = [...new Set(sides.flatMap((side) => state.results[side].result.connections.map((each) => each.name)))];
    if (names.join("\n") === this.names) return;
    this.names = names.join("\n");
    if (this.connection === null || (this.connection !== EVERY && !names.includes(this.connection))) {
      const multipath = state.results[sides[0]].result.connections.find((each) => each.protocol === "mptcp");
      this.connection = multipath?.name ?? names[0] ?? EVERY;
    }
    const options = names.map((name) => h("option", { value: name }, name));
    if (names.length > 1) options.push(h("option", { value: EVERY }, "all connections"));
    this.choice.replaceChildren(...options);
    this.choice.value = this.connection;
  }

  decisions(side) {
    return (this.decided[side] ?? []).map((time) => ({ time, small: true }));
  }

  legend(row) {
    const seen = new Map();
    for (const chart of row.charts) for (const line of chart.lines) if (!seen.has(line.label)) seen.set(line.label, line);
    row.legend.replaceChildren(
      ...[...seen.values()].map((line) =>
        h("li", {},
          svg("svg", { viewBox: "-14 -6 28 12", width: "28", height: "12", "aria-hidden": "true" },
            svg("path", { d: "M-13 0H13", stroke: line.colour, "stroke-width": "2", "stroke-dasharray": (line.dash ?? []).join(" ") }),
            svg("path", { d: path(line.shape), fill: line.colour })),
          line.label, h("span", { class: "value", "data-line": line.label }))),
    );
  }

  point(time) {
    this.cursor = time;
    this.draw();
  }

  leave() {
    this.cursor = this.pinned;
    this.draw();
  }

  pin(time) {
    this.pinned = this.cursor = time;
    this.moved(time);
    this.draw();
  }

  /** Zoom to a view; null shows the whole run. */
  show(view) {
    this.zoom = view && [Math.max(0, view[0]), Math.min(this.end, view[1])];
    if (this.zoom && this.zoom[1] - this.zoom[0] < 1e-3) this.zoom = null;
    this.reset.hidden = this.zoom === null;
    this.update();
  }

  draw() {
    if (this.queued) return;
    this.queued = true;
    requestAnimationFrame(() => {
      this.queued = false;
      for (const row of this.rows) for (const chart of row.charts) chart.draw();
      this.tell();
      this.drawn?.();
    });
  }

  /** The values at the cursor, in the legends. */
  tell() {
    this.readout.textContent = this.cursor === null ? "" : `at ${plain(this.cursor)} s`;
    for (const row of this.rows) {
      const values = new Map();
      if (this.cursor !== null) {
        for (const chart of row.charts) {
          for (const [line, value] of chart.read(this.cursor)) {
            const text = value === null ? "–" : plain(value * chart.scale);
            values.set(line.label, [...(values.get(line.label) ?? []), text]);
          }
        }
      }
      for (const place of row.legend.querySelectorAll(".value"))
        place.textContent = values.has(place.dataset.line) ? ` ${values.get(place.dataset.line).join(" | ")}` : "";
    }
  }
}

/** What an engine in real time said of the same scenario, dotted. */
function laidOver(name, side, connection, ink) {
  const over = state.laidOver;
  if (over?.side !== side || name === "waiting") return [];
  return linesOf(name, over.answer, null, connection, ink).map((line) => ({
    ...line,
    label: `${line.label} on ${over.engine}`,
    dash: [2, 3],
    phase: (line.phase + 0.5) % 1,
  }));
}

function warmupOf(result) {
  const found = /^([0-9.]+) (s|ms|us)$/.exec(result.complete.measure?.warmup ?? "");
  return found ? Number(found[1]) * { s: 1, ms: 1e-3, us: 1e-6 }[found[2]] : 0;
}

function events(side) {
  const factor = { s: 1, ms: 1e-3, us: 1e-6, min: 60, h: 3600 };
  return (state.results[side].complete.event ?? []).flatMap((event) => {
    const found = /^([0-9.]+) (s|ms|us|min|h)$/.exec(event.at);
    return found ? [{ time: Number(found[1]) * factor[found[2]], link: event.link }] : [];
  });
}
