// Has what the page shows computed. One run at a time for each side: a change during a short run waits for its end, and
// the latest change is the next; a long run is stopped by a change.

import { Failed, Wrong, work } from "./api.js";
import * as state from "./state.js";

const PATIENCE_MS = 400;
const REST_MS = 250;

let running = null;
let again = false;
let resting = 0;
let began = 0;
let shown = 0;
/** Called with the part that is done; null when nothing runs. */
let onProgress = () => {};
let onFailure = () => {};
let onDetails = () => {};

export function listen(hooks) {
  ({ progress: onProgress, failure: onFailure, details: onDetails } = hooks);
}

export function request(side) {
  const held = state.scenario(side);
  return { text: held.text, data: held.data, origin: held.origin, engine: state.now().engine };
}

export function schedule() {
  clearTimeout(resting);
  if (!running) return void begin();
  again = true;
  if (performance.now() - began > PATIENCE_MS) running.abort();
}

/** End what is computed, and compute nothing until the next change. */
export function stop() {
  again = false;
  clearTimeout(resting);
  running?.abort();
}

async function begin() {
  running = new AbortController();
  began = performance.now();
  const { signal } = running;
  const sides = state.now().b ? ["a", "b"] : ["a"];
  const parts = Object.fromEntries(sides.map((side) => [side, 0]));
  onFailure("");
  const told = () => onProgress(Object.values(parts).reduce((sum, part) => sum + part, 0) / sides.length);
  const late = setTimeout(told, PATIENCE_MS);
  const one = async (side) => {
    const body = request(side);
    const sent = JSON.stringify(body.data);
    try {
      const answer = await work("run", body, {
        signal,
        progress: (part) => {
          parts[side] = part;
          if (performance.now() - began > PATIENCE_MS) told();
        },
        partial: (answer) => {
          state.problems[side] = [];
          state.results[side] = { ...answer, partial: true };
          state.tell("answered");
        },
      });
      parts[side] = 1;
      state.problems[side] = [];
      state.results[side] = answer;
      state.written(side, answer, sent);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Wrong) state.problems[side] = error.problems;
      else onFailure(error instanceof Failed ? error.message : `the server does not answer (${error.message})`);
    }
  };
  await Promise.all(sides.map(one));
  clearTimeout(late);
  if (!state.now().b) {
    state.results.b = null;
    state.problems.b = [];
  }
  running = null;
  onProgress(null);
  shown += 1;
  if (!signal.aborted) state.tell("answered");
  document.documentElement.dataset.runs = String(shown);
  if (again) {
    again = false;
    schedule();
  } else if (!signal.aborted) resting = setTimeout(() => onDetails(), REST_MS);
}
