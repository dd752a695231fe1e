//! The tables are sound, and what cannot be chosen is refused in words.

use crate::algorithm::{Capability, Choice, Family, Value};
use crate::congestion::{CongestionControl, Controls};
use crate::path_manager::{PathManagers, PathPolicy};
use crate::plugin::Origin;
use crate::scheduler::{PacketScheduler, Schedulers};

fn sound<F: Family>(name: impl Fn(&F::Built) -> &'static str) {
    let mut names = std::collections::BTreeSet::new();
    for row in F::table() {
        let about = row.about;
        assert!(names.insert(about.name), "{} twice", about.name);
        assert!(!about.summary.is_empty() && !about.source.is_empty(), "{}", about.name);
        for parameter in about.parameters {
            assert!(parameter.accept(parameter.default()).is_some(), "the default of {}", parameter.name);
            assert!(!parameter.summary.is_empty() && parameter.name != "name" && parameter.name != "plugin");
            assert_eq!(about.parameters.iter().filter(|p| p.name == parameter.name).count(), 1, "{}", parameter.name);
        }
        let plain = Choice::<F>::named(about.name).unwrap();
        assert_eq!(format!("{plain:?}"), about.name);
    }
    for choice in Choice::<F>::samples() {
        assert_eq!(name(&choice.make(&Origin::alone(1))), choice.name(), "{choice:?} calls itself otherwise");
    }
}

#[test]
fn the_tables_are_sound() {
    sound::<Controls>(|control| control.name());
    sound::<Schedulers>(|scheduler| scheduler.name());
    sound::<PathManagers>(|manager| manager.name());
}

#[test]
fn samples_have_every_value_of_every_parameter() {
    let all: Vec<_> = Choice::<Controls>::samples().iter().map(|choice| format!("{choice:?}")).collect();
    let cubic: Vec<_> = all.iter().filter(|name| name.starts_with("cubic")).collect();
    assert_eq!(cubic, ["cubic", "cubic(fast_convergence false)", "cubic(variant \"linux\")"]);
    let all: Vec<_> = Choice::<Schedulers>::samples().iter().map(|choice| format!("{choice:?}")).collect();
    assert!(all.contains(&"round-robin(segments 3)".to_owned()), "{all:?}");
}

#[test]
fn what_there_is_not_is_refused_in_words() {
    let refused = |name: &str, parameters: &[(&str, Value)]| {
        Choice::<Controls>::with(name, parameters.iter().cloned()).unwrap_err().to_string()
    };
    assert!(refused("vivace", &[]).starts_with("congestion control: found \"vivace\"; expected reno, cubic, "));
    assert!(refused("oliya", &[]).ends_with("; did you mean \"olia\"?"));
    assert!(!refused("vivace", &[]).contains("did you mean"));
    let cases: [(&str, &str, Value, &str); 5] = [
        ("reno", "k", 0.5.into(), "congestion control \"reno\": found the parameter \"k\"; expected variant"),
        (
            "lia",
            "varient",
            "linux".into(),
            "congestion control \"lia\": found the parameter \"varient\"; expected variant, shared, ",
        ),
        (
            "lia",
            "variant",
            "linus".into(),
            "variant of the congestion control \"lia\": found \"linus\"; expected \"paper\" or \"linux\"",
        ),
        (
            "cubic",
            "fast_convergence",
            1_u64.into(),
            "fast_convergence of the congestion control \"cubic\": found 1; expected true or false",
        ),
        ("wvegas", "variant", true.into(), "variant of the congestion control \"wvegas\": found true"),
    ];
    for (name, key, value, expected) in cases {
        let found = refused(name, &[(key, value)]);
        assert!(found.starts_with(expected), "{found}");
    }
    let apart = refused("cubic", &[("variant", "linux".into()), ("fast_convergence", false.into())]);
    assert!(apart.contains("Linux converges fast always"), "{apart}");
}

#[test]
fn one_from_outside_has_the_capabilities_it_is_given() {
    let choice = Choice::<Schedulers>::custom("mine", |_| unreachable!("made for a connection only"));
    assert!(!choice.has(Capability::BindsAhead));
    let choice = choice.capable(Capability::BindsAhead);
    assert!(choice.has(Capability::BindsAhead) && !choice.has(Capability::Redundant));
    assert_eq!((choice.name(), choice.given().is_none()), ("mine", true));
}
