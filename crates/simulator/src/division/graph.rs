//! Nodes and what goes between them, and how to find parts with much inside and little between: each part grows from a node by
//! those that have most to do with it, then nodes at the border change over where that helps.

use super::elements::{Elements, Sets};
use std::collections::BinaryHeap;

/// How often all nodes are asked whether they are better off in another part.
const ROUNDS: usize = 8;
/// No part takes in more by such moves than this times the mean.
const FULL: f64 = 1.05;
/// A part is as good as full when less than this times what it has is still due to it.
const NEARLY: f64 = 0.05;
const NONE: u32 = u32::MAX;

/// Nodes with what they have to do, and edges with what goes over them in both directions.
pub struct Graph {
    /// By element of [`Sets`] that stands for its set, the number of the node.
    nodes: Vec<u32>,
    work: Vec<f64>,
    edges: Vec<Vec<(u32, f64)>>,
    /// Sums over the edges of each.
    loads: Vec<f64>,
}

/// A number in a heap.
#[derive(PartialEq)]
struct Share(f64);

impl Eq for Share {}

impl Ord for Share {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Share {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Graph {
    pub fn new(sets: &mut Sets, elements: &Elements, loads: &[f64]) -> Graph {
        let mut nodes = vec![NONE; sets.0.len()];
        let mut count = 0;
        for element in 0..sets.0.len() {
            let node = &mut nodes[sets.of(element)];
            if *node == NONE {
                *node = count;
                count += 1;
            }
        }
        let mut graph = Graph {
            nodes,
            work: vec![0.0; count as usize],
            edges: vec![Vec::new(); count as usize],
            loads: vec![0.0; count as usize],
        };
        for (direction, &load) in loads.iter().enumerate() {
            let ends = [direction, elements.far(direction)].map(|element| graph.node(sets.of(element)));
            // A packet is handled at the far end of the link.
            graph.work[ends[1]] += load;
            if ends[0] != ends[1] && load > 0.0 {
                graph.connect(ends[0], ends[1], load);
                graph.connect(ends[1], ends[0], load);
            }
        }
        graph
    }

    fn connect(&mut self, from: usize, to: usize, load: f64) {
        self.loads[from] += load;
        match self.edges[from].iter_mut().find(|(other, _)| *other as usize == to) {
            Some((_, sum)) => *sum += load,
            None => self.edges[from].push((to as u32, load)),
        }
    }

    /// The node of the set for which `element` stands.
    pub fn node(&self, element: usize) -> usize {
        self.nodes[element] as usize
    }

    /// The part of each node, of `wanted` or fewer, and what the busiest part has to do over the mean.
    pub fn parts(&self, wanted: usize) -> (Vec<u32>, f64) {
        let mut part_of = vec![NONE; self.work.len()];
        let all: f64 = self.work.iter().sum();
        let (mut left, mut part, mut taken) = (all, 0, 0.0);
        let mut inside = vec![0.0; self.work.len()];
        for seed in 0..self.work.len() {
            while part_of[seed] == NONE {
                let last = part + 1 >= wanted;
                let due = (left + taken) / (wanted.max(1) - part) as f64 - taken;
                // What is not connected with the part so far goes to it too, if there is room and it is not as good as full.
                if !last && taken > 0.0 && (due <= NEARLY * taken || due < self.work[seed] / 2.0) {
                    (part, taken) = (part + 1, 0.0);
                    inside.fill(0.0);
                    continue;
                }
                let room = if last { f64::INFINITY } else { due };
                let work = self.grow(seed, part as u32, room, &mut inside, &mut part_of);
                (left, taken) = (left - work, taken + work);
            }
        }
        let parts = 1 + part_of.iter().copied().max().unwrap_or(0) as usize;
        self.refine(parts, all / parts as f64, &mut part_of);
        let mut work = vec![0.0_f64; parts];
        part_of.iter().zip(&self.work).for_each(|(&part, &own)| work[part as usize] += own);
        let most = work.iter().copied().fold(0.0, f64::max);
        (part_of, if all > 0.0 { most * parts as f64 / all } else { f64::INFINITY })
    }

    /// Gives nodes to `part`, from `seed` on, until it has so much to do. Answers how much that is.
    fn grow(&self, seed: usize, part: u32, due: f64, inside: &mut [f64], part_of: &mut [u32]) -> f64 {
        let mut work = 0.0;
        let mut near = BinaryHeap::from([(Share(0.0), 0, seed as u32)]);
        let mut found = 0_i64;
        while let Some((_, _, node)) = near.pop() {
            let node = node as usize;
            if part_of[node] != NONE {
                continue;
            }
            // The last node goes where the sum is nearer to what is due.
            if work > 0.0 && work + self.work[node] / 2.0 > due {
                break;
            }
            part_of[node] = part;
            work += self.work[node];
            for &(other, load) in &self.edges[node] {
                let place = other as usize;
                if part_of[place] == NONE {
                    inside[place] += load;
                    // Of equals the one that was found first.
                    found -= 1;
                    near.push((Share(inside[place] / self.loads[place]), found, other));
                }
            }
        }
        work
    }

    /// Moves nodes to the parts with which they have most to do, as long as these have room.
    fn refine(&self, parts: usize, mean: f64, part_of: &mut [u32]) {
        let mut work = vec![0.0; parts];
        part_of.iter().zip(&self.work).for_each(|(&part, &own)| work[part as usize] += own);
        let mut with = vec![0.0; parts];
        for _ in 0..ROUNDS {
            let mut moved = false;
            for node in 0..self.work.len() {
                with.fill(0.0);
                self.edges[node].iter().for_each(|&(other, load)| with[part_of[other as usize] as usize] += load);
                let (own, at) = (self.work[node], part_of[node] as usize);
                let has_room = |part: usize| work[part] + own <= FULL * mean;
                let best = (0..parts)
                    .filter(|&part| part != at && has_room(part))
                    .max_by(|&a, &b| with[a].total_cmp(&with[b]));
                if let Some(best) = best.filter(|&best| with[best] > with[at]) {
                    part_of[node] = best as u32;
                    work[at] -= own;
                    work[best] += own;
                    moved = true;
                }
            }
            if !moved {
                break;
            }
        }
    }
}
