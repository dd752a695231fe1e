// The numbers behind a chart, for screen readers and for whoever wants to copy them.

import { h } from "../dom.js";
import { plain } from "../quantities.js";
import { before } from "./scale.js";

const ROWS = 120;

export function table(chart, [from, to]) {
  const longest = chart.lines.reduce((best, line) => (line.x.length > best.length ? line.x : best), []);
  const times = longest.filter((time) => time >= from && time <= to);
  const step = Math.max(1, Math.ceil(times.length / ROWS));
  const rows = times.filter((_, at) => at % step === 0);
  const head = h("tr", {}, h("th", { scope: "col" }, "Time (s)"));
  for (const line of chart.lines) head.append(h("th", { scope: "col" }, `${line.label} (${chart.unit})`));
  const body = rows.map((time) => {
    const cells = chart.lines.map((line) => {
      const value = line.y[before(line.x, time + 1e-9)];
      return h("td", {}, value === null || value === undefined ? "–" : plain(value * chart.scale));
    });
    return h("tr", {}, h("th", { scope: "row" }, plain(time)), cells);
  });
  const note = step > 1 ? h("caption", {}, `Every ${step}th sample of what is shown`) : null;
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Numbers of ${chart.title}` },
    h("table", {}, note, h("thead", {}, head), h("tbody", {}, body)));
}
