//! Simulations of whole networks. They are one test program, so that common code is compiled once.
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
