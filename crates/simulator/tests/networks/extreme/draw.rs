//! Draws values from the whole legal range of a key, and records which were at an end of it.

use algorithm::{About, Absent, Domain, Order, Parameter};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// The smallest or the largest value of a key.
pub type End = (String, &'static str);

pub struct Draw {
    rng: Xoshiro256PlusPlus,
    /// Fraction of the keys drawn from their whole range and not from the usual one.
    wild: f64,
    /// Keys at an end of their range.
    pub ends: BTreeSet<End>,
}

impl Draw {
    pub fn new(seed: u64) -> Draw {
        let mut draw = Draw { rng: Xoshiro256PlusPlus::seed_from_u64(seed), wild: 0.0, ends: BTreeSet::new() };
        draw.wild = *draw.one_of(&[0.02, 0.05, 0.05, 0.1, 0.1, 0.3, 1.0]);
        draw
    }

    pub fn chance(&mut self, probability: f64) -> bool {
        self.fraction() < probability
    }

    /// Whether a key is drawn from its whole range.
    pub fn is_wild(&mut self) -> bool {
        self.chance(self.wild)
    }

    pub fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len() as u64) as usize]
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.rng.next_u64()) * u128::from(limit)) >> 64) as u64
    }

    fn fraction(&mut self) -> f64 {
        self.below(1 << 53) as f64 / (1_u64 << 53) as f64
    }

    /// Draws a number so that each bit length is equally likely.
    fn scaled(&mut self, [least, most]: [u64; 2]) -> u64 {
        let [low, high] = [least, most].map(|number| u64::from(u64::BITS - number.leading_zeros()));
        let bits = low + self.below(high - low + 1);
        let top = 1_u64.checked_shl(bits as u32).map_or(u64::MAX, |power| power - 1);
        (top / 2 + 1 + self.below(top / 2 + 1)).clamp(least, most)
    }

    /// Draws mostly from `usual`, otherwise from anywhere in `range`, with a preference for its ends.
    pub fn whole(&mut self, key: &str, usual: [u64; 2], range: [u64; 2]) -> u64 {
        let [least, most] = range;
        if !self.is_wild() {
            return self.scaled(usual);
        }
        match self.below(8) {
            0 => self.end(key, "least", least),
            1 | 2 => self.end(key, "most", most),
            3 => (least + 1).min(most),
            4 => (most - 1).max(least),
            5 | 6 => self.scaled(range),
            _ => least + self.below((most - least).max(1)),
        }
    }

    /// As [`Draw::whole`] for a float; `above_least` excludes the minimum itself.
    fn number(&mut self, key: &str, usual: f64, [least, most]: [f64; 2], above_least: bool) -> f64 {
        if !self.is_wild() {
            return usual;
        }
        let lowest = if above_least { least.next_up() } else { least };
        match self.below(7) {
            0 | 1 => self.end(key, "least", lowest),
            2 | 3 => self.end(key, "most", most),
            4 => least.next_up(),
            5 => most.next_down().max(lowest),
            _ => (least + (most - least) * self.fraction()).max(lowest),
        }
    }

    fn end<T>(&mut self, key: &str, which: &'static str, value: T) -> T {
        self.ends.insert((key.to_owned(), which));
        value
    }

    pub fn flag(&mut self) -> bool {
        self.chance(0.5)
    }

    /// A value of a parameter as a description has it. `owner` is what the parameter belongs to.
    fn parameter(&mut self, owner: &str, parameter: &Parameter) -> Value {
        if parameter.absent != Absent::Never && self.flag() {
            return Value::Null;
        }
        let key = format!("{owner}.{}", parameter.field);
        match parameter.domain {
            Domain::Flag { .. } => json!(self.flag()),
            Domain::Word { choices, .. } => json!(self.one_of(choices)),
            Domain::Whole { default, min, max } => json!(self.whole(&key, [default; 2], [min, max])),
            Domain::Number { default, min, max } => {
                json!(self.number(&key, default, [min, max], parameter.above_least))
            }
            Domain::Quantity { default, min, max, .. } if min >= 0 => {
                let range = [min, max].map(|end| end.unsigned_abs());
                json!(self.whole(&key, default.map_or([1, 100], |usual| [usual; 2]), range))
            }
            Domain::Quantity { default, min, max, .. } => {
                let offset = min.unsigned_abs();
                let found = self.whole(&key, [default.unwrap_or(0) + offset; 2], [0, max.abs_diff(min)]);
                json!(i64::try_from(found).unwrap() + min)
            }
            Domain::Percentage { default } => json!(self.number(&key, default.unwrap_or(0.01), [0.0, 1.0], false)),
            // 1,000 times a delay of one hour at 1 Tbit/s, in packets of 1,500 bytes.
            Domain::Length => json!(self.number(&key, 20.0, [0.0, 6e14], false)),
            Domain::Limit { .. } => self.limit(),
            Domain::LargestPacket { .. } => json!(self.whole(&key, [1_500; 2], [128, 65_535])),
        }
    }

    /// Packets up to the maximum in a scenario file, or bytes up to 1,000 BDP of the largest rate and any delay.
    pub fn limit(&mut self) -> Value {
        if self.flag() {
            json!({ "packets": self.whole("limit.packets", [5, 500], [0, 1_000_000_000]) })
        } else {
            json!({ "bytes": self.whole("limit.bytes", [3_000, 500_000], [0, u64::MAX]) })
        }
    }

    /// Values for all parameters that `about` declares, under the names of descriptions or of scenario files.
    pub fn settings(&mut self, about: &About, in_files: bool) -> Map<String, Value> {
        let mut all = Map::new();
        for parameter in about.parameters {
            let name = if in_files { parameter.name } else { parameter.field };
            let value = self.parameter(about.name, parameter);
            all.insert(name.to_owned(), value);
        }
        about.orders.iter().for_each(|order| in_order(&mut all, about, order, in_files));
        all
    }
}

/// Swaps two values that are in the wrong order, and separates equal ones that must differ.
fn in_order(all: &mut Map<String, Value>, about: &About, order: &Order, in_files: bool) {
    let field = |name: &str| {
        let parameter = about.parameters.iter().find(|each| each.name == name).expect("declared");
        if in_files { parameter.name } else { parameter.field }
    };
    let [low, high] = [field(order.low), field(order.high)];
    let number = |name: &str| all[name].as_f64();
    let (Some(least), Some(most)) = (number(low), number(high)) else { return };
    if least > most {
        let lower = all[high].clone();
        let higher = std::mem::replace(&mut all[low], lower);
        all[high] = higher;
    } else if least == most && order.strict {
        let apart = |by: i64| match all[low].as_u64() {
            Some(whole) => json!(whole.saturating_add_signed(by)),
            None if by < 0 => json!(least.next_down()),
            None => json!(least.next_up()),
        };
        let (which, value) = if least > 0.0 { (low, apart(-1)) } else { (high, apart(1)) };
        all[which] = value;
    }
}
