//! Paths chosen by gateways (Boccassi 2013; Chauvenne 2017 §2.2.2). The original puts a gateway's address in each packet
//! by loose source routing, which networks drop today; here a gateway stands for the path that leads through it, which is
//! the path of one local address.

use super::{PathAction, PathContext, PathEvent, PathPolicy};
use crate::algorithm::{About, Algorithm, Given, Make};
use crate::plugin::Origin;

/// The initiator joins through each gateway, in order, once; a gateway given twice gets two subflows. Without gateways
/// given there is one for each own address but the first, which opened the connection.
#[derive(Debug, Default)]
pub struct Binder {
    gateways: Option<Vec<u8>>,
}

impl Algorithm for Binder {
    const ABOUT: About =
        About::new("binder", "loose source routes through gateways", "Boccassi 2013; Linux mptcp.org “binder”");
}

impl Make for Binder {
    fn make(_: &Given, _: &Origin) -> Self {
        Binder::default()
    }
}

impl Binder {
    /// The local address ids whose paths the gateways name.
    #[must_use]
    pub fn new(gateways: Vec<u8>) -> Self {
        Binder { gateways: Some(gateways) }
    }
}

impl PathPolicy for Binder {
    fn name(&self) -> &'static str {
        "binder"
    }

    fn on_event(&mut self, event: PathEvent, context: &PathContext<'_>, actions: &mut Vec<PathAction>) {
        if event != PathEvent::FullyEstablished || !context.initiator {
            return;
        }
        let others = || context.local.iter().skip(1).map(|address| address.id).collect();
        for gateway in self.gateways.clone().unwrap_or_else(others) {
            if let Some(local) = context.local.iter().find(|a| a.id == gateway) {
                actions.push(PathAction::Join { local_id: gateway, remote_id: 0, backup: local.backup });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ask, join, local, remote};
    use super::*;
    use crate::time::Instant;

    #[test]
    fn joins_through_the_gateways_given_and_no_others() {
        let addresses = [local(0), local(1), local(2)];
        let context = PathContext {
            now: Instant::ZERO,
            initiator: true,
            local: &addresses,
            remote: &[remote(0)],
            open: &[(0, 0)],
        };
        let mut binder = Binder::new(vec![2, 0, 9]);
        assert_eq!(ask(&mut binder, PathEvent::FullyEstablished, &context), [join(2, 0), join(0, 0)]);
        assert!(ask(&mut binder, PathEvent::Timer, &context).is_empty());
        let all = [join(1, 0), join(2, 0)];
        assert_eq!(ask(&mut Binder::default(), PathEvent::FullyEstablished, &context), all);
    }
}
