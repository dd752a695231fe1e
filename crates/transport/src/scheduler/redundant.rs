//! Everything on every subflow ("redundant" of the 2017 kernel; Frömmgen 2016).

use super::{Context, Decision, Demand, MinRtt, PacketScheduler};
use crate::algorithm::{About, Algorithm, Capability, Given, Make};
use crate::congestion::View;
use crate::plugin::Origin;

/// Every subflow carries the whole stream, each at its own pace (`mptcp/redundant.rs`). There is nothing to choose for new
/// data; a reinjection goes where [`MinRtt`] sends it.
#[derive(Debug, Default)]
pub struct Redundant;

impl Algorithm for Redundant {
    const ABOUT: About =
        About::new("redundant", "every subflow carries the whole stream", "Linux mptcp.org “redundant”")
            .with(Capability::Redundant);
}

impl Make for Redundant {
    fn make(_: &Given, _: &Origin) -> Self {
        Redundant
    }
}

impl PacketScheduler for Redundant {
    fn name(&self) -> &'static str {
        "redundant"
    }

    fn choose(&mut self, demand: Demand, group: &[View], context: &Context) -> Decision {
        MinRtt.choose(demand, group, context)
    }
}
