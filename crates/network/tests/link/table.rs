//! Properties of every queue discipline in the table, whatever its settings.

use algorithm::{About, Domain, Parameter, Value};
use serde_json::{Map, json};

use super::*;

/// The settings of a kind: its required parameters, and the given value of one parameter.
fn config(about: &About, set: Option<(&Parameter, Value)>) -> QueueConfig {
    let mut table = Map::from_iter([("kind".to_owned(), json!(about.name))]);
    let mut length = 2.0;
    for parameter in about.parameters {
        let own = set.as_ref().filter(|(each, _)| each.name == parameter.name).map(|(_, value)| value.clone());
        let value = match own.or_else(|| parameter.default_if_any()) {
            _ if matches!(parameter.domain, Domain::Limit { .. }) => json!({ "packets": 20 }),
            Some(Value::Flag(flag)) => json!(flag),
            Some(Value::Word(word)) => json!(word),
            Some(Value::Whole(number)) => json!(number),
            Some(Value::Number(number)) => json!(number),
            None => {
                length *= 2.0;
                json!(length)
            }
        };
        table.insert(parameter.field.to_owned(), value);
    }
    serde_json::from_value(table.into()).unwrap_or_else(|error| panic!("{}: {error}", about.name))
}

/// Packets of several flows arrive faster than they leave, and the link goes down and up again: each packet is counted
/// once.
fn every_packet_is_counted_once(queue: &QueueConfig) {
    let mut link = link_of(1_000_000_000, 100, queue.clone());
    let (mut delivered, mut dropped, mut flushed) = (0_u64, 0_u64, 0_u64);
    for number in 0..300_u64 {
        let now_ns = number * 1_000;
        while let Some(at_ns) = link.next_arrival_ns().filter(|&at_ns| at_ns <= now_ns) {
            delivered += u64::from(!link.deliver(at_ns).lost());
        }
        let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][number as usize % 4];
        let packet = Packet::new(number, 40 + (number * 37 % 1_400) as u16, 0, ecn);
        if let Enqueue::Dropped(_) = link.enqueue_of(now_ns, packet, || number % 5) {
            dropped += 1;
        }
        for dead in [true, false] {
            if number == 150 + u64::from(!dead) {
                let change = network::Change { dead: Some(dead), ..network::Change::default() };
                link.change(now_ns, change, &mut |_| flushed += 1);
            }
        }
    }
    while let Some(at_ns) = link.next_arrival_ns() {
        delivered += u64::from(!link.deliver(at_ns).lost());
    }
    let counters = link.counters(1_000_000_000);
    assert_eq!(counters.arrived_packets, 300, "{queue:?}");
    assert_eq!(delivered + counters.lost_packets(), 300, "{queue:?}: {dropped} dropped, {flushed} flushed");
    assert_eq!(counters.sent_packets, delivered, "{queue:?}");
}

#[test]
fn every_discipline_with_every_value_of_every_parameter() {
    let mut names = std::collections::BTreeSet::new();
    for about in QueueConfig::TABLE {
        assert!(names.insert(about.name) && !about.summary.is_empty() && !about.source.is_empty(), "{}", about.name);
        every_packet_is_counted_once(&config(about, None));
        for parameter in about.parameters {
            assert!(!parameter.summary.is_empty() && !parameter.field.is_empty(), "{}", parameter.name);
            for value in parameter.samples() {
                let queue = config(about, Some((parameter, value)));
                // The minimum of an open range is not a valid value.
                if queue.check().is_ok() {
                    every_packet_is_counted_once(&queue);
                }
            }
        }
    }
}

#[test]
fn what_a_description_says_wrong_is_told_in_words() {
    let read = |text: &str| serde_json::from_str::<QueueConfig>(text).unwrap_err().to_string();
    assert!(read(r#"{"kind": "coddle"}"#).contains(r#"the queue discipline "coddle"; expected one of drop-tail, red"#));
    assert!(read(r#"{"limit": {"packets": 5}}"#).contains("found the kind null"));
    let unknown = read(r#"{"kind": "drop-tail", "limit": {"packets": 5}, "target_ns": 5}"#);
    assert!(unknown.contains("unknown field `target_ns`"), "{unknown}");
    assert!(read(r#"{"kind": "drop-tail"}"#).contains("missing field `limit`"));
}
