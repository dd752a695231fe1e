//! A subflow from every local address to every address of the peer (Chauvenne 2017 §2.2.2).

use super::{PathAction, PathContext, PathEvent, PathPolicy};

/// The initiator joins from each of its addresses to each of the peer's, once it may.
#[derive(Debug, Default)]
pub struct Fullmesh;

impl PathPolicy for Fullmesh {
    fn name(&self) -> &'static str {
        "fullmesh"
    }

    fn on_event(&mut self, event: PathEvent, context: &PathContext<'_>, actions: &mut Vec<PathAction>) {
        if event != PathEvent::FullyEstablished || !context.initiator {
            return;
        }
        for local in context.local {
            for &remote_id in context.remote_ids {
                if (local.id, remote_id) != (0, 0) {
                    actions.push(PathAction::Join { local_id: local.id, remote_id, backup: local.backup });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::LocalAddress;
    use super::*;
    use std::net::{IpAddr, Ipv4Addr};

    #[test]
    fn joins_all_pairs_but_the_first() {
        let address = |id| LocalAddress { id, address: IpAddr::V4(Ipv4Addr::new(10, 0, 0, id)), backup: id == 2 };
        let local = [address(0), address(1), address(2)];
        let context = PathContext { initiator: true, local: &local, remote_ids: &[0] };
        let mut actions = Vec::new();
        Fullmesh.on_event(PathEvent::FullyEstablished, &context, &mut actions);
        let join = |local_id, backup| PathAction::Join { local_id, remote_id: 0, backup };
        assert_eq!(actions, [join(1, false), join(2, true)]);

        actions.clear();
        let passive = PathContext { initiator: false, ..context };
        Fullmesh.on_event(PathEvent::FullyEstablished, &passive, &mut actions);
        assert!(actions.is_empty());
    }
}
