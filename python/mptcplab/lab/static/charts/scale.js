// Axes: round numbers for ticks.

/** About `count` round numbers between low and high. */
export function ticks(low, high, count) {
  const span = high - low;
  if (!(span > 0)) return [low];
  const rough = span / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= rough * 0.999);
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-9; at += 1) found.push(at * step);
  return found;
}

/** The top of an axis that holds a value. */
export function top(most) {
  if (!(most > 0)) return 1;
  const found = ticks(0, most, 4);
  const step = found[1] - found[0];
  return Math.ceil((most / step) * 1.0001 - 0.02) * step;
}

export function label(value, step) {
  const digits = step >= 1 ? 0 : Math.min(6, Math.ceil(-Math.log10(step) - 1e-9));
  return value.toFixed(digits);
}

/** The index of the last value that is not beyond `wanted`, -1 before the first. */
export function before(values, wanted) {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= wanted) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
