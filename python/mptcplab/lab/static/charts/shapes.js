// The shapes of marks, as plots and reports have them, as paths around (0, 0).

const PATHS = {
  circle: "M-4.5 0A4.5 4.5 0 1 0 4.5 0A4.5 4.5 0 1 0 -4.5 0Z",
  square: "M-4-4H4V4H-4Z",
  diamond: "M0-5.5L4.5 0L0 5.5L-4.5 0Z",
  cross: "M-1.8-5H1.8V-1.8H5V1.8H1.8V5H-1.8V1.8H-5V-1.8H-1.8Z",
  "triangle-up": "M0-5L5 4H-5Z",
  "triangle-down": "M0 5L5-4H-5Z",
  "triangle-right": "M5 0L-4 5V-5Z",
  "triangle-left": "M-5 0L4 5V-5Z",
  stroke: "M-5-1.5H5V1.5H-5Z",
};

export const NAMES = Object.keys(PATHS);

export function path(shape) {
  return PATHS[shape] ?? PATHS.circle;
}

const made = new Map();

/** The same for a canvas. */
export function path2d(shape) {
  if (!made.has(shape)) made.set(shape, new Path2D(path(shape)));
  return made.get(shape);
}
