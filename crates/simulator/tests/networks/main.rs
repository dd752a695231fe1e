//! Whole networks, simulated. One program: what each would compile anew is compiled once.
#![allow(missing_docs)]

mod common;

mod any_network;
mod applications;
mod delivery;
mod determinism;
mod efficiency;
mod extreme;
mod measurement;
mod middleboxes;
mod physics;
mod plugins;
mod refusals;
mod tap;
