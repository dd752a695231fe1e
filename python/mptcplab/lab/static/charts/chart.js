// One chart over time on a canvas: lines with marks, a cursor, and what is read off there.

import { h } from "../dom.js";
import { plain } from "../quantities.js";
import { before, label, ticks, top } from "./scale.js";
import { path2d } from "./shapes.js";

const LEFT = 46;
const RIGHT = 10;
const ABOVE = 8;
const BELOW = 22;
const HEIGHT = 150;

export class Chart {
  constructor({ name, title, unit, scale, board, side }) {
    Object.assign(this, { name, title, unit, scale, board, side, lines: [], marks: [], most: 1 });
    this.canvas = h("canvas", { "aria-hidden": "true" });
    this.element = h(
      "div",
      {
        class: "plot",
        tabindex: "0",
        role: "slider",
        "aria-label": `${title}${side ? `, ${side.toUpperCase()}` : ""}: time cursor`,
        "aria-valuemin": "0",
        "aria-valuemax": "1",
        "aria-valuenow": "0",
        "data-chart": name,
        "data-side": side ?? "a",
      },
      this.canvas,
    );
    this.canvas.addEventListener("pointermove", (event) => this.pointed(event));
    this.canvas.addEventListener("pointerleave", () => board.leave());
    this.canvas.addEventListener("pointerdown", (event) => this.pressed(event));
    this.canvas.addEventListener("pointerup", (event) => this.released(event));
    this.canvas.addEventListener("dblclick", () => board.show(null));
    this.element.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.resized()).observe(this.element);
  }

  /** lines: { label, colour, dash, shape, x, y, wide } */
  set(lines, marks) {
    this.lines = lines;
    this.marks = marks;
    const [from, to] = this.board.view;
    let most = 0;
    for (const line of lines) {
      for (let at = 0; at < line.x.length; at += 1) {
        const value = line.y[at];
        if (value !== null && value > most && line.x[at] >= from && line.x[at] <= to) most = value;
      }
    }
    this.most = most * this.scale;
  }

  resized() {
    const width = this.element.clientWidth;
    if (!width) return;
    const ratio = window.devicePixelRatio || 1;
    this.width = width;
    this.ratio = ratio;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(HEIGHT * ratio);
    this.draw();
  }

  time(event) {
    const box = this.canvas.getBoundingClientRect();
    const [from, to] = this.board.view;
    const part = (event.clientX - box.left - LEFT) / (this.width - LEFT - RIGHT);
    return from + Math.max(0, Math.min(1, part)) * (to - from);
  }

  pointed(event) {
    if (this.grabbed !== undefined) this.reach = this.time(event);
    this.board.point(this.time(event));
  }

  pressed(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.grabbed = this.time(event);
  }

  released(event) {
    const [from, to] = [this.grabbed, this.time(event)].sort((one, other) => one - other);
    const [low, high] = this.board.view;
    this.grabbed = this.reach = undefined;
    if (to - from > (high - low) / 50) this.board.show([from, to]);
    else this.board.pin(this.time(event));
  }

  key(event) {
    const [from, to] = this.board.view;
    const step = (to - from) / (event.shiftKey ? 10 : 100);
    const at = this.board.cursor ?? from;
    if (event.key === "ArrowLeft") this.board.pin(Math.max(from, at - step));
    else if (event.key === "ArrowRight") this.board.pin(Math.min(to, at + step));
    else if (event.key === "Home") this.board.pin(from);
    else if (event.key === "End") this.board.pin(to);
    else if (event.key === "+") this.board.show([at - (at - from) / 2, at + (to - at) / 2]);
    else if (event.key === "-" || event.key === "0" || event.key === "Escape") this.board.show(null);
    else return;
    event.preventDefault();
  }

  /** What the lines say at a time: [line, value] */
  read(time) {
    return this.lines.map((line) => {
      const at = before(line.x, time + 1e-9);
      return [line, at < 0 ? null : line.y[Math.min(at, line.y.length - 1)]];
    });
  }

  spoken(time) {
    const parts = this.read(time).map(([line, value]) => {
      return `${line.label} ${value === null ? "none" : `${plain(value * this.scale)} ${this.unit}`}`;
    });
    return `${plain(time)} s: ${parts.join(", ")}`;
  }

  draw() {
    if (!this.width) return;
    const context = this.canvas.getContext("2d");
    const { ink, page } = this.board.colours;
    const [from, to] = this.board.view;
    const ceiling = top(Math.max(this.most, this.board.mostOf(this.name)));
    const wide = this.width - LEFT - RIGHT;
    const high = HEIGHT - ABOVE - BELOW;
    const across = (time) => LEFT + ((time - from) / (to - from)) * wide;
    const up = (value) => ABOVE + high - (value / ceiling) * high;
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.width, HEIGHT);
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = context.strokeStyle = ink;
    context.lineWidth = 1;
    this.axes(context, { from, to, ceiling, across, up });
    context.save();
    context.beginPath();
    context.rect(LEFT - 1, ABOVE - 4, wide + 2, high + 6);
    context.clip();
    if (this.board.warmup > from) {
      context.globalAlpha = 0.07;
      context.fillRect(across(from), ABOVE, across(Math.min(to, this.board.warmup)) - across(from), high);
      context.globalAlpha = 1;
    }
    for (const mark of this.marks) {
      context.setLineDash(mark.small ? [] : [3, 3]);
      context.beginPath();
      context.moveTo(across(mark.time), mark.small ? ABOVE + high - 6 : ABOVE);
      context.lineTo(across(mark.time), ABOVE + high);
      context.stroke();
    }
    for (const line of this.lines) this.line(context, line, { from, to, across, up, page });
    context.restore();
    if (this.grabbed !== undefined && this.reach !== undefined) {
      context.globalAlpha = 0.15;
      context.fillStyle = ink;
      context.fillRect(across(this.grabbed), ABOVE, across(this.reach) - across(this.grabbed), high);
      context.globalAlpha = 1;
    }
    this.pointer(context, { across, up, ink, page, high, from, to });
  }

  axes(context, { from, to, ceiling, across, up }) {
    context.textBaseline = "middle";
    context.textAlign = "right";
    const values = ticks(0, ceiling, 4);
    for (const value of values) {
      context.globalAlpha = value === 0 ? 0.5 : 0.14;
      context.beginPath();
      context.moveTo(LEFT, up(value) + 0.5);
      context.lineTo(this.width - RIGHT, up(value) + 0.5);
      context.stroke();
      context.globalAlpha = 0.85;
      context.fillText(label(value, values[1] - values[0]), LEFT - 6, up(value));
    }
    context.textBaseline = "top";
    context.textAlign = "center";
    const times = ticks(from, to, Math.max(2, Math.floor(this.width / 90)));
    times.forEach((time, at) => {
      const text = label(time, times[1] - times[0] || 1) + (at === times.length - 1 ? " s" : "");
      context.textAlign = across(time) > this.width - RIGHT - 14 ? "right" : "center";
      context.fillText(text, context.textAlign === "right" ? this.width : across(time), HEIGHT - BELOW + 6);
    });
    context.globalAlpha = 1;
  }

  line(context, line, { from, to, across, up, page }) {
    const first = Math.max(0, before(line.x, from));
    const last = Math.min(line.x.length - 1, before(line.x, to) + 1);
    context.setLineDash(line.dash ?? []);
    context.strokeStyle = line.colour;
    context.lineWidth = line.wide ? 2.4 : 1.8;
    context.lineJoin = "round";
    context.beginPath();
    let pen = false;
    for (let at = first; at <= last; at += 1) {
      const value = line.y[at];
      if (value === null) {
        pen = false;
        continue;
      }
      const [x, y] = [across(line.x[at]), up(value * this.scale)];
      if (pen) context.lineTo(x, y);
      else context.moveTo(x, y);
      pen = true;
    }
    context.stroke();
    context.setLineDash([]);
    const every = (to - from) / Math.max(3, Math.floor(this.width / 130));
    for (let time = from + every * (line.phase ?? 0.5); time < to; time += every) {
      const at = before(line.x, time);
      if (at < first || line.y[at] === null) continue;
      context.save();
      context.translate(across(line.x[at]), up(line.y[at] * this.scale));
      context.lineWidth = 1.5;
      context.strokeStyle = page;
      context.stroke(path2d(line.shape));
      context.fillStyle = line.colour;
      context.fill(path2d(line.shape));
      context.restore();
    }
  }

  pointer(context, { across, up, ink, page, high, from, to }) {
    const time = this.board.cursor;
    if (time === null || time < from || time > to) return;
    context.strokeStyle = ink;
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(across(time), ABOVE);
    context.lineTo(across(time), ABOVE + high);
    context.stroke();
    for (const [line, value] of this.read(time)) {
      if (value === null) continue;
      context.beginPath();
      context.arc(across(time), up(value * this.scale), 3.5, 0, 7);
      context.fillStyle = line.colour;
      context.fill();
      context.strokeStyle = page;
      context.stroke();
    }
    this.element.setAttribute("aria-valuemin", from.toFixed(3));
    this.element.setAttribute("aria-valuemax", to.toFixed(3));
    this.element.setAttribute("aria-valuenow", time.toFixed(3));
    if (document.activeElement === this.element) this.element.setAttribute("aria-valuetext", this.spoken(time));
  }
}
