//! Which controls there are, by name, and one of them at work.

use super::{
    Ack, Balia, BaliaLinux, Classic, CongestionControl, Counting, Coupled, Cubic, CubicLinux, Ewtcp, Lia, LiaLinux,
    Olia, OliaLinux, PerSubflow, Reno, View, Window, Wvegas, WvegasLinux,
};
use crate::plugin::{Factory, Origin};

/// Which form of an algorithm: its authors' equations, or the integer arithmetic of the Linux code where that differs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Variant {
    /// As the paper prints it, in real numbers.
    #[default]
    Paper,
    /// As the Multipath TCP kernel computes it, in whole segments and counted acknowledgments.
    Linux,
}

/// Which congestion control a connection gets.
#[derive(Clone, Debug)]
pub enum Choice {
    /// Uncoupled Reno on each subflow.
    Reno,
    /// CUBIC with HyStart++ on each subflow (RFC 9438, RFC 9406).
    Cubic,
    /// CUBIC without fast convergence, for networks where a flow is alone (RFC 9438 §4.7).
    CubicAlone,
    /// CUBIC as Linux computes it, with its HyStart.
    CubicLinux,
    /// Equally weighted TCP.
    Ewtcp,
    /// Fully coupled.
    Coupled,
    /// Linked increases (RFC 6356).
    Lia,
    /// LIA in the kernel's integers.
    LiaLinux,
    /// Opportunistic linked increases (Khalili 2013).
    Olia,
    /// OLIA in the kernel's integers.
    OliaLinux,
    /// Balanced linked adaptation (Peng 2016).
    Balia,
    /// BALIA in the kernel's integers.
    BaliaLinux,
    /// Weighted Vegas, delay based (Cao 2012).
    Wvegas,
    /// wVegas in the kernel's integers.
    WvegasLinux,
    /// One from outside: see [`Choice::custom`].
    Custom(Factory<dyn CongestionControl>),
}

/// A controller: the built-in ones without a virtual call, one from outside by its box.
#[derive(Debug)]
pub enum Controller {
    /// Reno.
    Reno(Classic<Reno>),
    /// CUBIC.
    Cubic(PerSubflow<Cubic>),
    /// CUBIC, kernel.
    CubicLinux(PerSubflow<CubicLinux>),
    /// EWTCP.
    Ewtcp(Classic<Ewtcp>),
    /// Fully coupled.
    Coupled(Classic<Coupled>),
    /// LIA.
    Lia(Classic<Lia>),
    /// LIA, kernel.
    LiaLinux(Counting<LiaLinux>),
    /// OLIA.
    Olia(Classic<Olia>),
    /// OLIA, kernel.
    OliaLinux(Counting<OliaLinux>),
    /// BALIA.
    Balia(Classic<Balia>),
    /// BALIA, kernel.
    BaliaLinux(Counting<BaliaLinux>),
    /// wVegas.
    Wvegas(Wvegas),
    /// wVegas, kernel.
    WvegasLinux(WvegasLinux),
    /// From outside.
    Custom(Box<dyn CongestionControl>),
}

macro_rules! each {
    ($self:expr, $c:pat => $e:expr) => {
        match $self {
            Controller::Reno($c) => $e,
            Controller::Cubic($c) => $e,
            Controller::CubicLinux($c) => $e,
            Controller::Ewtcp($c) => $e,
            Controller::Coupled($c) => $e,
            Controller::Lia($c) => $e,
            Controller::LiaLinux($c) => $e,
            Controller::Olia($c) => $e,
            Controller::OliaLinux($c) => $e,
            Controller::Balia($c) => $e,
            Controller::BaliaLinux($c) => $e,
            Controller::Wvegas($c) => $e,
            Controller::WvegasLinux($c) => $e,
            Controller::Custom($c) => $e,
        }
    };
}

/// The name of each built-in control, and what it is.
pub const NAMES: &[(&str, &str)] = &[
    ("reno", "uncoupled Reno on each subflow (RFC 5681)"),
    ("cubic", "CUBIC with HyStart++ on each subflow (RFC 9438, RFC 9406)"),
    ("ewtcp", "equally weighted TCP: each of n subflows is 1/n of a TCP (Honda 2009)"),
    ("coupled", "fully coupled windows: only the path with the least loss is used (Kelly and Voice 2005)"),
    ("lia", "linked increases (RFC 6356; Wischik 2011)"),
    ("olia", "opportunistic linked increases (Khalili 2013)"),
    ("balia", "balanced linked adaptation (Peng 2016)"),
    ("wvegas", "weighted Vegas: answers queueing delay (Cao, Xu and Fu 2012)"),
];

impl Choice {
    /// One from outside: `make` is called for each connection, and may capture. Messages call it by `name`.
    pub fn custom(name: &str, make: impl Fn(&Origin) -> Box<dyn CongestionControl> + Send + Sync + 'static) -> Self {
        Choice::Custom(Factory::new(name, make))
    }

    /// The built-in control of this name. None: there is no such control, or not in that variant; without a variant
    /// it is the paper's form, or the only one.
    #[must_use]
    pub fn by_name(name: &str, variant: Option<Variant>) -> Option<Self> {
        Some(match (name, variant) {
            // Where there is one form only, no variant can be asked for.
            ("reno", None) => Choice::Reno,
            ("cubic", None | Some(Variant::Paper)) => Choice::Cubic,
            ("cubic", Some(Variant::Linux)) => Choice::CubicLinux,
            ("ewtcp", None) => Choice::Ewtcp,
            ("coupled", None) => Choice::Coupled,
            ("lia", None | Some(Variant::Paper)) => Choice::Lia,
            ("lia", Some(Variant::Linux)) => Choice::LiaLinux,
            ("olia", None | Some(Variant::Paper)) => Choice::Olia,
            ("olia", Some(Variant::Linux)) => Choice::OliaLinux,
            ("balia", None | Some(Variant::Paper)) => Choice::Balia,
            ("balia", Some(Variant::Linux)) => Choice::BaliaLinux,
            ("wvegas", None | Some(Variant::Paper)) => Choice::Wvegas,
            ("wvegas", Some(Variant::Linux)) => Choice::WvegasLinux,
            _ => return None,
        })
    }
}

impl Controller {
    /// A fresh controller.
    #[must_use]
    pub fn new(choice: &Choice, origin: &Origin) -> Self {
        match choice {
            Choice::Reno => Controller::Reno(Classic::new(Reno)),
            Choice::Cubic => Controller::Cubic(PerSubflow::new(Cubic::default())),
            Choice::CubicAlone => Controller::Cubic(PerSubflow::new(Cubic::without_fast_convergence())),
            Choice::CubicLinux => Controller::CubicLinux(PerSubflow::new(CubicLinux::default())),
            Choice::Ewtcp => Controller::Ewtcp(Classic::new(Ewtcp)),
            Choice::Coupled => Controller::Coupled(Classic::new(Coupled)),
            Choice::Lia => Controller::Lia(Classic::new(Lia)),
            Choice::LiaLinux => Controller::LiaLinux(Counting::new(LiaLinux::default())),
            Choice::Olia => Controller::Olia(Classic::new(Olia::default())),
            Choice::OliaLinux => Controller::OliaLinux(Counting::new(OliaLinux::default())),
            Choice::Balia => Controller::Balia(Classic::new(Balia)),
            Choice::BaliaLinux => Controller::BaliaLinux(Counting::new(BaliaLinux::default())),
            Choice::Wvegas => Controller::Wvegas(Wvegas::default()),
            Choice::WvegasLinux => Controller::WvegasLinux(WvegasLinux::default()),
            Choice::Custom(factory) => Controller::Custom(factory.make(origin)),
        }
    }
}

/// The trait's methods once more, so that the transport calls them without a dispatch through it.
macro_rules! forward {
    ($(fn $method:ident($($arg:ident: $type:ty),*) $(-> $answer:ty)?;)*) => {
        impl Controller {
            $(
                #[doc = concat!("As [`CongestionControl::", stringify!($method), "`].")]
                pub fn $method(&mut self, group: &[View], r: usize, $($arg: $type),*) $(-> $answer)? {
                    each!(self, c => c.$method(group, r, $($arg),*))
                }
            )*
        }

        impl CongestionControl for Controller {
            fn name(&self) -> &'static str {
                each!(self, c => c.name())
            }
            $(
                fn $method(&mut self, group: &[View], r: usize, $($arg: $type),*) $(-> $answer)? {
                    each!(self, c => c.$method(group, r, $($arg),*))
                }
            )*
        }
    };
}

forward! {
    fn on_ack(ack: &Ack) -> Window;
    fn on_loss(now_ns: u64) -> f64;
    fn on_timeout(now_ns: u64) -> f64;
    fn on_ecn(now_ns: u64, abe: bool) -> f64;
    fn on_undo(now_ns: u64);
    fn on_join(now_ns: u64);
    fn on_leave(now_ns: u64);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_makes_the_control_of_that_name() {
        for (name, what) in NAMES {
            let choice = Choice::by_name(name, None).unwrap();
            assert_eq!(Controller::new(&choice, &Origin::alone(1)).name(), *name);
            assert!(!what.is_empty());
            let linux = Choice::by_name(name, Some(Variant::Linux));
            assert_eq!(linux.is_some(), Choice::by_name(name, Some(Variant::Paper)).is_some(), "{name}");
            if let Some(choice) = linux {
                assert_eq!(Controller::new(&choice, &Origin::alone(1)).name(), *name);
                assert!(format!("{choice:?}").ends_with("Linux"), "{choice:?}");
            }
        }
    }

    #[test]
    fn there_is_no_other() {
        assert!(Choice::by_name("bbr", None).is_none());
        assert!(Choice::by_name("reno", Some(Variant::Linux)).is_none());
        assert!(Choice::by_name("reno", Some(Variant::Paper)).is_none());
    }
}
