// What the page shows: scenario A, and B where two are compared. Every change goes through here, so that it can be
// undone, is in the address, and is seen by everyone who draws.

import * as address from "./address.js";

/** A scenario: `text` as it was written last, `data` as it is now, `origin` where it came from. */
const state = { a: null, b: null, side: "a", engine: "sim" };
const listeners = { changed: [], structure: [], answered: [] };
const past = [];
let at = -1;
let writing = Promise.resolve();

export const results = { a: null, b: null };
export const problems = { a: [], b: [] };
export const details = { a: null, b: null };
/** The same scenario on an engine in real time, laid over the curves of A or B: { side, engine, answer }. */
export let laidOver = null;

export function overlay(engine, answer) {
  laidOver = { side: state.side, engine, answer };
  tell("answered");
}

export function now() {
  return state;
}

export function scenario(side = state.side) {
  return state[side];
}

export function on(event, listener) {
  listeners[event].push(listener);
}

export function tell(event) {
  for (const listener of listeners[event]) listener();
}

function snapshot() {
  return JSON.stringify(state);
}

/** What both sides must have alike, or their random numbers would not be the same. */
function align() {
  if (!state.b) return;
  const [from, to] = state.side === "b" ? [state.b, state.a] : [state.a, state.b];
  for (const key of ["seed", "duration"]) {
    if (key in from.data) to.data[key] = structuredClone(from.data[key]);
    else delete to.data[key];
  }
}

/** Change the data of the side that is edited; `structure` when other controls are needed afterwards. */
export function edit(change, { structure = false, commit = true } = {}) {
  change(state[state.side].data);
  align();
  if (commit) remember();
  if (structure) tell("structure");
  tell("changed");
}

/** The end of a change that was made step by step, such as the move of a slider. */
export function settle() {
  remember();
}

/** Change the whole: other scenarios, another side, another engine. */
export function replace(change) {
  change(state);
  align();
  remember();
  tell("structure");
  tell("changed");
}

function remember() {
  laidOver = null;
  const taken = snapshot();
  if (taken === past[at]) return;
  past.splice(at + 1);
  past.push(taken);
  if (past.length > 200) past.shift();
  at = past.length - 1;
  toAddress(true);
}

/** The server has written the data into the text. */
export function written(side, answer, sent) {
  const held = state[side];
  if (!held) return;
  held.text = answer.text;
  if (JSON.stringify(held.data) === sent) held.data = answer.data;
  if (at >= 0) past[at] = snapshot();
  toAddress(false);
}

function compact() {
  const of = (held) => held && { t: held.text, d: held.data, o: held.origin };
  return { v: 1, a: of(state.a), b: of(state.b), s: state.side, e: state.engine };
}

function toAddress(push) {
  const value = compact();
  const entry = snapshot();
  writing = writing.then(async () => {
    const hash = await address.written(value);
    if (hash === location.hash) return;
    if (push && location.hash) history.pushState(entry, "", hash);
    else history.replaceState(entry, "", hash);
  });
}

/** Take over what an address says; false when it says nothing. */
export async function fromAddress() {
  const value = await address.read(location.hash);
  const of = (held) => held && { text: String(held.t), data: held.d, origin: held.o ?? null };
  if (value?.v !== 1 || typeof value.a?.d !== "object") return false;
  Object.assign(state, { a: of(value.a), b: of(value.b), side: value.s === "b" && value.b ? "b" : "a" });
  state.engine = value.e ?? "sim";
  const taken = snapshot();
  const known = past.lastIndexOf(taken);
  if (known >= 0) at = known;
  else {
    past.splice(at + 1);
    past.push(taken);
    at = past.length - 1;
  }
  tell("structure");
  tell("changed");
  return true;
}

export function canUndo() {
  return at > 0;
}

export function canRedo() {
  return at < past.length - 1;
}

function go(to) {
  at = to;
  Object.assign(state, JSON.parse(past[at]));
  toAddress(true);
  tell("structure");
  tell("changed");
}

export function undo() {
  if (canUndo()) go(at - 1);
}

export function redo() {
  if (canRedo()) go(at + 1);
}
