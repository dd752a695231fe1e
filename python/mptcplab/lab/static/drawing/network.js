// The network as a drawing: client, links, boxes, server. Each link says what it is under the pointer and to the keyboard.

import { h, svg } from "../dom.js";
import { base, shown } from "../quantities.js";
import * as state from "../state.js";
import { layout } from "./layout.js";

export class Network {
  constructor(host, { chosen }) {
    Object.assign(this, { host, chosen, plan: null });
    this.drawing = h("div", { class: "drawing" });
    this.packets = h("canvas", { class: "packets", "aria-hidden": "true" });
    this.tip = h("div", { class: "tip", hidden: true });
    host.append(h("div", { class: "stage" }, this.drawing, this.packets, this.tip));
  }

  update() {
    const held = state.scenario();
    if (!held) return;
    const data = held.data;
    const result = state.results[state.now().side];
    this.plan = null;
    if (data.topology) {
      const { kind, k } = data.topology;
      this.drawing.replaceChildren(h("p", { class: "note" }, `A generated network: ${kind}${k ? `, k = ${k}` : ""}.`));
      return;
    }
    const plan = layout(data, this.host.clientWidth);
    this.plan = plan;
    const colours = result?.looks.paths ?? {};
    const focused = document.activeElement?.dataset?.link;
    const drawn = svg("svg", { viewBox: `0 0 ${plan.width} ${plan.height}`, role: "group", "aria-label": "The network" });
    for (const path of plan.paths) {
      const points = path.points.map((point) => point.join(",")).join(" ");
      drawn.append(svg("polyline", { points, class: "way", stroke: colours[path.name]?.colour ?? "currentColor" }));
    }
    drawn.append(this.host_("client", plan.left, plan.centre, "Client"), this.host_("server", plan.right, plan.centre, "Server"));
    for (const pipe of plan.pipes) drawn.append(this.pipe(pipe, data.link[pipe.name] ?? {}, colours[pipe.name]?.colour, result));
    this.drawing.replaceChildren(drawn);
    if (plan.more > 0) this.drawing.append(h("p", { class: "note" }, `${plan.more} more paths are not drawn.`));
    if (focused) [...drawn.querySelectorAll("[data-link]")].find((each) => each.dataset.link === focused)?.focus();
  }

  host_(kind, x, y, label) {
    return svg("g", { class: `host ${kind}`, transform: `translate(${x} ${y})` },
      svg("rect", { x: "-30", y: "-24", width: "60", height: "48", rx: "8" }),
      svg("text", { y: "5", "text-anchor": "middle" }, label));
  }

  pipe(pipe, link, colour, result) {
    const rate = base("rate", link.rate ?? link.down?.rate);
    const thick = rate ? Math.max(5, Math.min(22, 5 + 4.5 * Math.log10(rate / 1e6 + 1))) : 9;
    const boxes = Array.isArray(link.middleboxes) ? link.middleboxes : [];
    const rows = (result?.result.links ?? []).filter((row) => row.name === pipe.name);
    const down = rows.find((row) => row.direction === "down");
    const busy = down?.utilization ?? null;
    const label = `${pipe.name}: ${short(link)}`;
    const dead = (state.scenario().data.event ?? []).some?.((event) => event.link === pipe.name && event.set?.down === true);
    const group = svg("g", {
      class: "pipe", tabindex: "0", role: "button", "data-link": pipe.name,
      "aria-label": `${describe(pipe.name, link, rows).join(", ")}. Show its controls.`,
    },
      svg("rect", { class: "hit", x: pipe.from - 6, y: pipe.y - 26, width: pipe.to - pipe.from + 12, height: 52 }),
      svg("rect", { class: "tube", x: pipe.from, y: pipe.y - thick / 2, width: pipe.to - pipe.from, height: thick, rx: thick / 2, stroke: colour ?? "currentColor" }),
      busy !== null ? svg("rect", { class: "busy", x: pipe.from, y: pipe.y - thick / 2, width: Math.max(thick, (pipe.to - pipe.from) * Math.min(1, busy)), height: thick, rx: thick / 2, fill: colour ?? "currentColor" }) : null,
      svg("text", { class: "label", x: (pipe.from + pipe.to) / 2, y: pipe.y - thick / 2 - 7, "text-anchor": "middle" }, clipped(label, pipe.to - pipe.from)),
      dead ? svg("text", { class: "below", x: (pipe.from + pipe.to) / 2, y: pipe.y + thick / 2 + 15, "text-anchor": "middle" }, "goes down during the run") : null,
      boxes.slice(0, 3).map((box, number) => this.box(box, pipe.from + 16 + number * 22, pipe.y)));
    const tell = () => this.show(pipe, link, rows);
    group.addEventListener("pointerenter", tell);
    group.addEventListener("pointerleave", () => (this.tip.hidden = true));
    group.addEventListener("focus", tell);
    group.addEventListener("blur", () => (this.tip.hidden = true));
    group.addEventListener("click", () => this.chosen(pipe.name));
    group.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        this.chosen(pipe.name);
      } else if (event.key === "Escape") this.tip.hidden = true;
    });
    return group;
  }

  box(box, x, y) {
    const kind = typeof box === "object" ? box.kind : box;
    return svg("g", { class: "middlebox", transform: `translate(${x} ${y})` },
      svg("rect", { x: "-9", y: "-9", width: "18", height: "18", rx: "3" }),
      svg("text", { y: "4", "text-anchor": "middle" }, String(kind)[0].toUpperCase()), svg("title", {}, `Middlebox: ${kind}`));
  }

  show(pipe, link, rows) {
    this.tip.replaceChildren(...describe(pipe.name, link, rows).map((line, number) => h(number ? "div" : "strong", {}, line)));
    this.tip.hidden = false;
    const part = (pipe.from + pipe.to) / 2 / this.plan.width;
    this.tip.style.left = `${Math.min(72, Math.max(2, part * 100 - 14))}%`;
    this.tip.style.top = `${(100 * (pipe.y + 20)) / this.plan.height}%`;
  }
}

function value(given) {
  if (given === undefined) return null;
  if (typeof given !== "object" || given === null) return String(given);
  const { kind, name, limit, file, ...rest } = given;
  return [kind ?? name ?? file, limit, ...Object.entries(rest).map(([key, each]) => `${key} ${typeof each === "object" ? "…" : each}`)].filter(Boolean).join(", ");
}

function of(link, key) {
  const both = value(link[key]);
  const sides = ["down", "up"].flatMap((way) => (link[way]?.[key] !== undefined ? [`${value(link[way][key])} ${way}`] : []));
  return [both, ...sides].filter(Boolean).join(", ") || null;
}

function short(link) {
  return [value(link.rate) ?? value(link.down?.rate) ?? (link.trace || link.down?.trace ? "trace" : null), value(link.delay) ?? value(link.down?.delay)].filter(Boolean).join(" · ");
}

function clipped(text, width) {
  const most = Math.max(8, Math.floor(width / 6.4));
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** What is under the pointer: every parameter, and what the run made of it. */
function describe(name, link, rows) {
  const lines = [name];
  for (const [key, label] of [["rate", "rate"], ["trace", "trace"], ["delay", "delay"], ["queue", "queue"], ["loss", "loss"], ["jitter", "jitter"], ["variation", "variation"], ["shaper", "shaper"]]) {
    const said = of(link, key);
    if (said) lines.push(`${label} ${said}`);
  }
  if (Array.isArray(link.middleboxes) && link.middleboxes.length) lines.push(`middleboxes ${link.middleboxes.map(value).join(", ")}`);
  for (const row of rows) {
    lines.push(`${row.direction}: ${shown(row.utilization, "%")} busy, ${shown(row.loss_rate, "%")} lost, ${shown(row.queue_mean_packets, "packets")} waiting in the mean`);
  }
  return lines;
}
