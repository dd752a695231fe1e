//! One path in use, the others ready: every subflow but the first is a backup (RFC 8684 §3.3.8; Paasch 2012, mobile
//! and Wi-Fi handover).

use super::{Fullmesh, PathAction, PathContext, PathEvent, PathPolicy};
use crate::algorithm::{About, Algorithm, Capability, Given, Make};
use crate::plugin::Origin;

/// The subflows of [`Fullmesh`], all but those of the first local address with the backup flag.
#[derive(Debug, Default)]
pub struct Backup {
    mesh: Fullmesh,
}

impl Algorithm for Backup {
    const ABOUT: About =
        About::new("backup", "the first path carries the data, the others are on standby", "RFC 8684 §3.3.8")
            .with(Capability::InKernel);
}

impl Make for Backup {
    fn make(_: &Given, _: &Origin) -> Self {
        Backup::default()
    }
}

impl PathPolicy for Backup {
    fn name(&self) -> &'static str {
        "backup"
    }

    fn on_event(&mut self, event: PathEvent, context: &PathContext<'_>, actions: &mut Vec<PathAction>) {
        let from = actions.len();
        self.mesh.on_event(event, context, actions);
        let first = context.local.first().map(|a| a.id);
        for action in &mut actions[from..] {
            if let PathAction::Join { local_id, backup, .. } = action {
                *backup = Some(*local_id) != first;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ask, local, remote};
    use super::*;
    use crate::time::Instant;

    #[test]
    fn all_but_the_first_path_are_backups() {
        let addresses = [local(0), local(1), local(2)];
        let both = [remote(0), remote(1)];
        let context =
            PathContext { now: Instant::ZERO, initiator: true, local: &addresses, remote: &both, open: &[(0, 0)] };
        let actions = ask(&mut Backup::default(), PathEvent::FullyEstablished, &context);
        let join = |local_id, remote_id, backup| PathAction::Join { local_id, remote_id, backup };
        let expected = [join(0, 1, false), join(1, 0, true), join(1, 1, true), join(2, 0, true), join(2, 1, true)];
        assert_eq!(actions, expected);
    }
}
