// Packets on their way over the drawing, at a chosen speed. A packet waits in front of its link as long as it waited in
// queues; one that was lost ends there with a cross.

import { h, svg } from "../dom.js";
import { plain } from "../quantities.js";
import * as state from "../state.js";
import { along } from "./layout.js";

const SPEEDS = [[0.005, "1/200"], [0.02, "1/50"], [0.1, "1/10"], [0.5, "1/2"], [1, "real time"]];
const CROSS_S = 0.35;
const QUEUE_ROWS = 5;
const ACK = 3;

/** Drawn, as not every font has these signs. */
function sign(d) {
  return svg("svg", { class: "sign", viewBox: "0 0 12 12", width: "12", height: "12", "aria-hidden": "true" }, svg("path", { d, fill: "currentColor" }));
}
const PLAY = () => [sign("M2 1L11 6L2 11Z"), " Play packets"];
const PAUSE = () => [sign("M2 1H5V11H2ZM7 1H10V11H7Z"), " Pause"];

/** Which part of the way is before the first link. */
function entranceOf(points) {
  let whole = 0;
  const lengths = points.slice(1).map((point, at) => Math.hypot(point[0] - points[at][0], point[1] - points[at][1]));
  for (const length of lengths) whole += length;
  return lengths[0] / whole;
}

export class Packets {
  constructor(network, host, { needed, colours }) {
    Object.assign(this, { network, needed, colours, data: null, time: 0, running: false, last: 0 });
    this.button = h("button", { type: "button", class: "play", onclick: () => (this.running ? this.pause() : this.play()) }, ...PLAY());
    this.speed = h("select", { "aria-label": "Speed of the packets" }, SPEEDS.map(([value, label]) => h("option", { value: String(value) }, label)));
    this.speed.value = "0.02";
    this.clock = h("output", { class: "clock" });
    this.from = h("input", { type: "range", min: "0", max: "1000", value: "0", "aria-label": "Time from which packets are shown" });
    this.from.addEventListener("input", () => this.jump((Number(this.from.value) / 1000) * this.length()));
    const legend = h("p", { class: "key" }, ["● new", "○ retransmission", "◆ reinjection", "∙ acknowledgment alone", "✕ lost"].flatMap((mark) => [h("span", {}, mark), " "]));
    host.append(h("div", { class: "player" }, this.button, this.speed, this.from, this.clock, legend));
  }

  length() {
    return state.results[state.now().side]?.result.duration_s ?? 1;
  }

  /** Other packets: those of the details of the side that is edited. */
  update() {
    const details = state.details[state.now().side];
    this.data = details?.packets ?? null;
    if (this.data && (this.time < this.data.from_s || this.time > this.data.to_s)) this.time = this.data.from_s;
    this.rank();
    this.draw();
  }

  /** Packets of a path and a way that take the same time through empty queues, nearly: acknowledgments are shorter. */
  like(at) {
    return `${this.data.path[at]} ${this.data.down[at]} ${this.data.kind[at] === ACK}`;
  }

  /** The least transit of each: what is beyond was spent in queues. */
  rank() {
    this.least = new Map();
    if (!this.data) return;
    this.data.sent.forEach((sent, at) => {
      const arrived = this.data.arrived[at];
      if (arrived === null) return;
      const key = this.like(at);
      this.least.set(key, Math.min(this.least.get(key) ?? Infinity, arrived - sent));
    });
  }

  jump(time) {
    this.time = time;
    const there = this.data && time >= this.data.from_s && time < this.data.to_s;
    clearTimeout(this.soon);
    if (!there) this.soon = setTimeout(() => this.needed(time), 250);
    this.draw();
  }

  play() {
    this.running = true;
    this.button.replaceChildren(...PAUSE());
    if (!this.data || this.time >= this.data.to_s) this.needed(this.time >= this.length() - 0.05 ? 0 : this.time);
    if (this.time >= this.length() - 0.05) this.time = 0;
    this.last = performance.now();
    requestAnimationFrame((now) => this.step(now));
  }

  pause() {
    this.running = false;
    this.button.replaceChildren(...PLAY());
  }

  step(now) {
    if (!this.running) return;
    const passed = Math.min(0.1, (now - this.last) / 1000) * Number(this.speed.value);
    this.last = now;
    if (this.data && this.time < this.data.to_s) this.time += passed;
    else if (this.data && this.time >= this.data.to_s && !this.asked) {
      if (this.time >= this.length() - 0.05) this.pause();
      else this.needed(this.time);
    }
    this.draw();
    if (this.running) requestAnimationFrame((later) => this.step(later));
  }

  draw() {
    const canvas = this.network.packets;
    const plan = this.network.plan;
    this.clock.textContent = `${plain(Math.round(this.time * 1e4) / 1e4)} s`;
    if (document.activeElement !== this.from) this.from.value = String(Math.round((1000 * this.time) / this.length()));
    const box = this.network.drawing.getBoundingClientRect();
    const ratio = window.devicePixelRatio || 1;
    if (!plan || !box.width) return;
    const width = Math.round(box.width * ratio);
    const height = Math.round(((box.width * plan.height) / plan.width) * ratio);
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    const context = canvas.getContext("2d");
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, width, height);
    if (!this.data) return;
    context.setTransform(width / plan.width, 0, 0, width / plan.width, 0, 0);
    const looks = state.results[state.now().side]?.looks.paths ?? {};
    const paths = new Map(plan.paths.map((path) => [path.name, path]));
    const queued = new Map();
    let shown = 0;
    for (let at = 0; at < this.data.sent.length; at += 1) {
      const sent = this.data.sent[at];
      if (sent > this.time) continue;
      const path = paths.get(this.data.path[at]);
      if (!path) continue;
      const down = this.data.down[at];
      const key = this.data.path[at] + down;
      const arrived = this.data.arrived[at];
      const least = this.least.get(this.like(at)) ?? 0.01;
      if (arrived === null ? this.time > sent + CROSS_S * Math.max(0.2, Number(this.speed.value) * 4) : arrived < this.time) continue;
      const waited = arrived === null ? 0 : arrived - sent - least;
      const age = this.time - sent;
      const points = down ? [...path.points].reverse() : path.points;
      const entrance = entranceOf(points);
      let where;
      if (arrived === null) where = along(points, entrance + 0.03);
      else if (age < waited) {
        const place = queued.get(key) ?? 0;
        queued.set(key, place + 1);
        const [x, y] = points[1];
        where = [x + (down ? 1 : -1) * (6 + 6 * Math.min(7, Math.floor(place / QUEUE_ROWS))), y + 6 * ((place % QUEUE_ROWS) - 2)];
      } else where = along(points, entrance + (1 - entrance) * ((age - waited) / least));
      this.mark(context, where, looks[path.name]?.colour ?? this.colours().ink, arrived === null ? "lost" : this.data.kind[at]);
      shown += 1;
    }
    canvas.dataset.shown = String(shown);
  }

  mark(context, [x, y], colour, kind) {
    context.strokeStyle = context.fillStyle = colour;
    context.lineWidth = 1.8;
    context.beginPath();
    if (kind === "lost") {
      context.strokeStyle = this.colours().ink;
      context.moveTo(x - 5, y - 5);
      context.lineTo(x + 5, y + 5);
      context.moveTo(x + 5, y - 5);
      context.lineTo(x - 5, y + 5);
      context.stroke();
    } else if (kind === 1) {
      context.arc(x, y, 4.5, 0, 7);
      context.fillStyle = this.colours().page;
      context.fill();
      context.stroke();
    } else if (kind === 2) {
      context.moveTo(x, y - 6);
      context.lineTo(x + 5, y);
      context.lineTo(x, y + 6);
      context.lineTo(x - 5, y);
      context.fill();
    } else {
      if (kind === ACK) {
        // A rim, or it would not be seen on a link of its own colour.
        context.fillStyle = this.colours().page;
        context.arc(x, y, 3, 0, 7);
        context.fill();
        context.fillStyle = colour;
        context.beginPath();
      }
      context.arc(x, y, kind === ACK ? 2 : 3.6, 0, 7);
      context.fill();
    }
  }
}
