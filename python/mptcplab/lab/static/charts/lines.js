// Which lines a chart shows: what of a result goes into goodput, window, RTT, queue and waiting data.

import { NAMES } from "./shapes.js";

const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3]];
export const EVERY = "";

/** The charts, from above. `scale` turns the base unit into the one that is shown. */
export const CHARTS = [
  { name: "goodput", title: "Goodput", unit: "Mbit/s", scale: 1e-6 },
  { name: "window", title: "Congestion window", unit: "segments", scale: 1 },
  { name: "rtt", title: "Smoothed RTT", unit: "ms", scale: 1e3 },
  { name: "queue", title: "Queues", unit: "packets", scale: 1 },
  { name: "waiting", title: "Waiting for earlier data at the receiver", unit: "kB", scale: 1e-3 },
];

const COLUMNS = { goodput: "goodput_bps", window: "cwnd_segments", rtt: "srtt_s" };

function look(result, name, number) {
  const found = result.looks.paths[name];
  if (found) return found;
  return { colour: "#0072B2", dash: [], shape: NAMES[number % NAMES.length] };
}

/** The lines of a chart, for one connection or for all of them. */
export function linesOf(chart, result, details, connection, ink) {
  if (chart === "queue") return queues(result);
  if (chart === "waiting") return waiting(result, details, connection);
  const names = [...new Set(result.lines.subflows.map((line) => line.connection))];
  const chosen = result.lines.subflows.filter((line) => connection === EVERY || line.connection === connection);
  if (chart === "goodput" && connection === EVERY) return names.map((name, number) => total(result, name, number, null));
  const lines = chosen.map((line, number) => {
    const own = look(result, line.path, number);
    const dash = DASHES[names.indexOf(line.connection) % DASHES.length];
    const who = connection === EVERY || names.length === 1 ? "" : "";
    return {
      label: connection === EVERY ? `${line.connection} on ${line.path}` : `${who}${line.path}${copy(chosen, line)}`,
      colour: own.colour,
      dash: own.dash.length > 1 && own.dash[1] > 0 ? own.dash : connection === EVERY ? dash : [],
      shape: own.shape === "circle" ? NAMES[number % NAMES.length] : own.shape,
      phase: 0.25 + 0.2 * (number % 4),
      x: line.time_s,
      y: line[COLUMNS[chart]],
    };
  });
  if (chart === "goodput" && chosen.length > 1) lines.unshift(total(result, connection, 0, ink));
  return lines;
}

function copy(lines, line) {
  const alike = lines.filter((each) => each.path === line.path);
  return alike.length > 1 ? ` (${alike.indexOf(line) + 1})` : "";
}

/** All subflows of a connection together. */
function total(result, connection, number, ink) {
  const sums = new Map();
  for (const line of result.lines.subflows) {
    if (line.connection !== connection) continue;
    line.time_s.forEach((time, at) => sums.set(time, (sums.get(time) ?? 0) + (line.goodput_bps[at] ?? 0)));
  }
  const x = [...sums.keys()].sort((one, other) => one - other);
  const row = result.result.connections.find((each) => each.name === connection);
  const mark = result.looks.algorithms[row?.congestion] ?? { colour: "#0072B2", shape: "circle" };
  return {
    label: ink ? "together" : connection,
    colour: ink ?? mark.colour,
    dash: ink ? [] : DASHES[number % DASHES.length],
    shape: ink ? "circle" : mark.shape,
    phase: 0.1 + 0.15 * (number % 5),
    wide: true,
    x,
    y: x.map((time) => sums.get(time)),
  };
}

function queues(result) {
  const held = result.lines.links.filter((line) => line.queue_packets.some((value) => value > 0));
  const down = held.filter((line) => line.direction === "down");
  const up = held.filter((line) => line.direction === "up" && Math.max(...line.queue_packets) > 3);
  return [...down, ...up].slice(0, 12).map((line, number) => {
    const own = look(result, line.link, number);
    return {
      label: line.direction === "down" ? line.link : `${line.link}, up`,
      colour: own.colour,
      dash: line.direction === "down" ? [] : [2, 3],
      shape: NAMES[number % NAMES.length],
      phase: 0.25 + 0.2 * (number % 4),
      x: line.time_s,
      y: line.queue_packets,
    };
  });
}

function waiting(result, details, connection) {
  const found = (details?.waiting ?? []).filter((line) => connection === EVERY || line.connection === connection);
  return found.slice(0, 8).map((line, number) => {
    const row = result.result.connections.find((each) => each.name === line.connection);
    const mark = result.looks.algorithms[row?.congestion] ?? { colour: "#0072B2", shape: "circle" };
    return {
      label: line.connection,
      colour: mark.colour,
      dash: DASHES[number % DASHES.length],
      shape: mark.shape,
      phase: 0.3 + 0.2 * (number % 4),
      x: line.time_s,
      y: line.waiting_bytes,
    };
  });
}
