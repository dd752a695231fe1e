//! Several subflows between the same two addresses, which differ in their ports: for a network that balances load by
//! a hash of addresses and ports (Raiciu 2011; Chauvenne 2017 §2.2.2).

use super::{PathAction, PathContext, PathEvent, PathPolicy};
use crate::algorithm::{About, Algorithm, Capability, Given, Make, Parameter};
use crate::plugin::Origin;

/// The initiator opens so many subflows in all between the two addresses of the first one. A subflow that is lost is not
/// replaced, as in the 2017 kernel, unless it was the last.
#[derive(Debug)]
pub struct Ndiffports {
    subflows: u8,
}

impl Algorithm for Ndiffports {
    const ABOUT: About = About::new(
        "ndiffports",
        "several subflows over the first path, on different ports",
        "Linux mptcp.org “ndiffports”",
    )
    .parameters(&[Parameter::whole("subflows", 2, [1, 255], "total number of subflows")])
    .with(Capability::InKernel);
}

impl Make for Ndiffports {
    fn make(given: &Given, _: &Origin) -> Self {
        Ndiffports::new(given.whole("subflows") as u8)
    }
}

impl Ndiffports {
    /// `subflows` counts the first one.
    #[must_use]
    pub fn new(subflows: u8) -> Self {
        Ndiffports { subflows }
    }
}

impl PathPolicy for Ndiffports {
    fn name(&self) -> &'static str {
        "ndiffports"
    }

    fn on_event(&mut self, event: PathEvent, context: &PathContext<'_>, actions: &mut Vec<PathAction>) {
        let join = PathAction::Join { local_id: 0, remote_id: 0, backup: false };
        match event {
            PathEvent::FullyEstablished if context.initiator => {
                let missing = usize::from(self.subflows).saturating_sub(context.open.len());
                actions.extend(std::iter::repeat_n(join, missing));
            }
            PathEvent::SubflowClosed { transient: true, .. } if context.initiator && context.open.is_empty() => {
                actions.push(join);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ask, closed, join, local, remote};
    use super::*;
    use crate::time::Instant;

    #[test]
    fn opens_the_number_asked_for_between_the_first_addresses() {
        let addresses = [local(0), local(1)];
        let context = PathContext {
            now: Instant::ZERO,
            initiator: true,
            local: &addresses,
            remote: &[remote(0)],
            open: &[(0, 0)],
        };
        assert_eq!(ask(&mut Ndiffports::new(4), PathEvent::FullyEstablished, &context), [join(0, 0); 3]);
        assert!(ask(&mut Ndiffports::new(1), PathEvent::FullyEstablished, &context).is_empty());
        let accepting = PathContext { initiator: false, ..context };
        assert!(ask(&mut Ndiffports::new(4), PathEvent::FullyEstablished, &accepting).is_empty());
        assert!(ask(&mut Ndiffports::new(4), closed(0, 0), &context).is_empty());
        let alone = PathContext { open: &[], ..context };
        assert_eq!(ask(&mut Ndiffports::new(4), closed(0, 0), &alone), [join(0, 0)]);
    }
}
