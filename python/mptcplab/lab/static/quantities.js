// Quantities with their units as a scenario has them, and where they stand on a slider.

const RATE = { "bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9 };
const TIME = { us: 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600 };

/** What a slider of each kind spans: logarithmic from `low`, with 0 at its left end where that makes sense. */
const SPANS = {
  rate: { units: RATE, low: 1e5, high: 1e9, unit: "Mbit/s" },
  delay: { units: TIME, low: 1e-4, high: 1, zero: true, unit: "ms" },
  duration: { units: TIME, low: 1, high: 600, unit: "s" },
  moment: { units: TIME, linear: true, low: 0, high: 30, unit: "s" },
  loss: { units: { "%": 0.01 }, low: 1e-5, high: 0.2, zero: true, unit: "%" },
  queue: {
    ms: { units: TIME, low: 1e-3, high: 2, unit: "ms" },
    packets: { units: { packets: 1 }, low: 1, high: 2000, unit: "packets" },
    BDP: { units: { BDP: 1 }, low: 0.05, high: 10, unit: "BDP" },
    kB: { units: { B: 1, kB: 1e3, KiB: 1024, MB: 1e6, MiB: 1048576 }, low: 1500, high: 1e7, unit: "kB" },
  },
  size: { units: { B: 1, kB: 1e3, KiB: 1024, MB: 1e6, MiB: 1048576, GB: 1e9 }, low: 1e3, high: 1e9, unit: "MB" },
};

const WRITTEN = /^\s*([0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)\s*([A-Za-z%/]+)\s*$/;

function parsed(text) {
  const found = typeof text === "string" ? WRITTEN.exec(text) : null;
  return found && { number: Number(found[1]), unit: found[2] };
}

function spanOf(kind, unit, most) {
  let span = SPANS[kind];
  if (kind === "queue") span = Object.values(span).find((each) => unit in each.units) ?? span.ms;
  return most === undefined ? span : { ...span, high: most };
}

/** The value in the base unit, or null. */
export function base(kind, text) {
  const found = parsed(text);
  const span = found && spanOf(kind, found.unit);
  return span && found.unit in span.units ? found.number * span.units[found.unit] : null;
}

export const STEPS = 1000;

/** The place of a text on the slider, or null when it is not one for a slider. */
export function place(kind, text, most) {
  const value = base(kind, text);
  if (value === null) return null;
  const span = spanOf(kind, parsed(text).unit, most);
  if (span.linear) return Math.round((STEPS * (value - span.low)) / (span.high - span.low));
  if (value < span.low) return 0;
  const part = Math.log(value / span.low) / Math.log(span.high / span.low);
  return Math.max(span.zero ? 1 : 0, Math.min(STEPS, Math.round(STEPS * part)));
}

/** The text of a place, in the unit that was there, of three digits. */
export function textAt(kind, place, before, most) {
  const unit = parsed(before)?.unit;
  const span = spanOf(kind, unit, most);
  const kept = unit in span.units ? unit : span.unit;
  if (span.linear) return `${trimmed((span.low + (place / STEPS) * (span.high - span.low)) / span.units[kept])} ${kept}`;
  if (span.zero && place === 0) return `0 ${kept}`;
  const value = span.low * (span.high / span.low) ** (place / STEPS);
  return `${trimmed(value / span.units[kept], kept)} ${kept}`;
}

function trimmed(value, unit) {
  if (unit === "packets") return String(Math.max(1, Math.round(value)));
  const digits = value === 0 ? 0 : Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  const text = value.toFixed(Math.min(digits, 6));
  return text.includes(".") ? text.replace(/0+$/, "").replace(/\.$/, "") : text;
}

const PREFIXES = [
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
  [1, ""],
];

/** A number for people: 12.3 Mbit/s. */
export function shown(value, unit) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (unit === "s") {
    if (value === 0) return "0 s";
    const size = Math.abs(value);
    return size < 1e-3 ? `${(value * 1e6).toPrecision(3)} µs` : size < 1 ? `${plain(value * 1e3)} ms` : `${plain(value)} s`;
  }
  if (unit === "%") return `${plain(value * 100)} %`;
  if (unit === "bit/s" || unit === "B") {
    const [scale, prefix] = PREFIXES.find(([least]) => Math.abs(value) >= least) ?? PREFIXES.at(-1);
    return `${plain(value / scale)} ${prefix}${unit}`;
  }
  return unit ? `${plain(value)} ${unit}` : plain(value);
}

export function plain(value) {
  if (value === 0) return "0";
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return String(value);
  const text = value.toPrecision(Math.abs(value) >= 100 ? 4 : 3);
  return text.includes("e") ? text : text.includes(".") ? text.replace(/0+$/, "").replace(/\.$/, "") : text;
}
