//! PERT on each subflow by itself (Bhandarkar 2007; Singh 2012 chapter III A).

use super::View;
use super::responding::{self, Share};
use crate::algorithm::{About, Algorithm, Capability, Given, Make};
use crate::plugin::Origin;

/// w_r grows by α_r/w_r per segment acknowledged; early responses as [`Responding`](super::Responding) has them.
///
/// In balance W = √(α/(βp)), p early responses and losses (equation 3.3).
#[derive(Debug, Default)]
pub struct Pert;

impl Algorithm for Pert {
    const ABOUT: About = About::new(
        <Pert as Share>::NAME,
        "uncoupled: responds to queueing delay before loss, emulating RED at the sender",
        "Bhandarkar 2007; Singh 2012 ch. III",
    )
    .parameters(&responding::PARAMETERS)
    .columns(&responding::COLUMNS)
    .with(Capability::Random)
    .with(Capability::InKernel);

    fn check(given: &Given) -> Result<(), [&'static str; 2]> {
        responding::check(given)
    }
}

impl Make for Pert {
    fn make(_: &Given, _: &Origin) -> Self {
        Pert
    }
}

impl Share for Pert {
    const NAME: &'static str = "pert";

    fn increase(&self, group: &[View], r: usize) -> f64 {
        1.0 / group[r].cwnd
    }
}
