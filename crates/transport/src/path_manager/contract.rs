//! What every path manager must keep, whatever its policy: run it on a new one before anything else.
//!
//! ```
//! use transport::path_manager::{Fullmesh, contract};
//! contract::check(|| Box::new(Fullmesh::default())).unwrap();
//! ```

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::{LocalAddress, PathAction, PathContext, PathEvent, PathPolicy, RemoteAddress};
use crate::draw::Draw;
use crate::time::{Duration, Instant};

/// A rule that a path manager broke, and where.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("step {step}: {rule} (wanted {action:?})")]
pub struct Violation {
    /// Number of the event.
    pub step: usize,
    /// What must hold.
    pub rule: &'static str,
    /// What it wanted; none where the fault is no single action.
    pub action: Option<PathAction>,
}

const SECOND: Duration = Duration::from_secs(1);
/// Actions in answer to one event, and attempts at one path that never works, in an hour.
const MOST_ACTIONS: usize = 64;
const MOST_ATTEMPTS: usize = 64;

/// Plays connections of both ends with up to three local addresses, announced and withdrawn addresses of the peer,
/// joins that succeed and fail, subflows that end in order and otherwise, and timers, and checks that
///
/// - the side that accepted the connection opens no subflow, and nobody does before MPTCP is fully established;
/// - a subflow is opened between addresses that are known;
/// - a path whose last subflow was closed in order, or for good, is not tried again, until the peer announces its
///   address again (RFC 8684 §3.6);
/// - only subflows that are open are closed or change their priority, and only own addresses are announced and withdrawn;
/// - a wake-up does not lie in the past;
/// - one event has at most 64 actions, and a path that never works is tried at most 64 times in an hour;
/// - the same events have the same answers.
///
/// # Errors
/// The first rule that was broken.
pub fn check(make: impl Fn() -> Box<dyn PathPolicy>) -> Result<(), Violation> {
    for seed in 0..100 {
        let actions = Model::new(make(), seed).run()?;
        let again = Model::new(make(), seed).run()?;
        if let Some(place) = actions.iter().zip(&again).position(|(a, b)| a != b) {
            let rule = "the same events have the same answers";
            return Err(Violation { step: again[place].0, rule, action: Some(again[place].1) });
        }
        if actions.len() != again.len() {
            return Err(Violation { step: 0, rule: "the same events have the same answers", action: None });
        }
    }
    Model::new(make(), 2).in_vain()
}

struct Model {
    policy: Box<dyn PathPolicy>,
    draw: Draw,
    initiator: bool,
    begun: bool,
    local: Vec<LocalAddress>,
    remote: Vec<RemoteAddress>,
    open: Vec<(u8, u8)>,
    /// Of those, the ones whose handshake goes on.
    opening: Vec<(u8, u8)>,
    /// Paths that are not to be tried.
    barred: Vec<(u8, u8)>,
    now: Instant,
    wake_at: Instant,
    step: usize,
    actions: Vec<(usize, PathAction)>,
}

impl Model {
    fn new(policy: Box<dyn PathPolicy>, seed: u64) -> Self {
        let local = |id: u8| LocalAddress {
            id,
            address: IpAddr::V4(Ipv4Addr::new(10, 0, id, 2)),
            backup: id > 0 && seed.is_multiple_of(5),
        };
        Model {
            policy,
            draw: Draw(seed),
            initiator: !seed.is_multiple_of(4) || seed == 0,
            begun: false,
            local: (0..1 + (seed % 3) as u8).map(local).collect(),
            remote: vec![remote(0)],
            open: vec![(0, 0)],
            opening: Vec::new(),
            barred: Vec::new(),
            now: Instant::from_secs(1),
            wake_at: Instant::NEVER,
            step: 0,
            actions: Vec::new(),
        }
    }

    fn run(mut self) -> Result<Vec<(usize, PathAction)>, Violation> {
        for step in 0..600 {
            self.step = step;
            self.now += Duration::from_nanos(self.draw.below(2 * SECOND.as_nanos()));
            let event = self.next();
            if let Some(event) = event {
                self.tell(event)?;
            }
        }
        Ok(self.actions)
    }

    /// What happens next, as the transport would see it.
    fn next(&mut self) -> Option<PathEvent> {
        if self.wake_at <= self.now {
            self.wake_at = Instant::NEVER;
            return Some(PathEvent::Timer);
        }
        let transient = self.draw.below(3) != 0;
        match self.draw.below(10) {
            0 if !self.begun => {
                self.begun = true;
                Some(PathEvent::FullyEstablished)
            }
            1..=4 => {
                let (local_id, remote_id) = self.opening.pop()?;
                if self.draw.below(3) != 0 {
                    return Some(PathEvent::SubflowEstablished { local_id, remote_id });
                }
                Some(self.close((local_id, remote_id), transient))
            }
            5 => {
                let remote_id = 1 + self.draw.below(3) as u8;
                if !self.remote.iter().any(|r| r.id == remote_id) {
                    self.remote.push(remote(remote_id));
                }
                self.barred.retain(|ids| ids.1 != remote_id);
                Some(PathEvent::AddressAdded { remote_id })
            }
            6 => {
                let remote_id = 1 + self.draw.below(3) as u8;
                let known = self.remote.iter().any(|r| r.id == remote_id);
                self.remote.retain(|r| r.id != remote_id);
                known.then_some(PathEvent::AddressRemoved { remote_id })
            }
            // Before that there is no second subflow to live on.
            7 | 8 if self.begun && !self.open.is_empty() => {
                let ids = self.open[self.draw.below(self.open.len() as u64) as usize];
                (!self.opening.contains(&ids)).then(|| self.close(ids, transient))
            }
            _ => None,
        }
    }

    fn close(&mut self, ids: (u8, u8), transient: bool) -> PathEvent {
        if let Some(place) = self.open.iter().position(|&open| open == ids) {
            self.open.remove(place);
        }
        self.barred.retain(|&barred| barred != ids);
        if !transient {
            self.barred.push(ids);
        }
        PathEvent::SubflowClosed { local_id: ids.0, remote_id: ids.1, transient }
    }

    fn tell(&mut self, event: PathEvent) -> Result<(), Violation> {
        let mut actions = Vec::new();
        let context = PathContext {
            now: self.now,
            initiator: self.initiator,
            local: &self.local,
            remote: &self.remote,
            open: &self.open,
        };
        self.policy.on_event(event, &context, &mut actions);
        let fail = |rule, action| Err(Violation { step: self.step, rule, action });
        if actions.len() > MOST_ACTIONS {
            return fail("one event has at most 64 actions", None);
        }
        let was_open = self.open.clone();
        for action in actions {
            let own = |id: u8| self.local.iter().any(|a| a.id == id);
            let rule = match action {
                PathAction::Join { .. } if !self.initiator => Some("the side that accepted opens no subflow"),
                PathAction::Join { .. } if !self.begun => {
                    Some("no subflow is opened before MPTCP is fully established")
                }
                PathAction::Join { local_id, remote_id, .. }
                    if !own(local_id) || !self.remote.iter().any(|r| r.id == remote_id) =>
                {
                    Some("a subflow is opened between addresses that are known")
                }
                PathAction::Join { local_id, remote_id, .. } if self.barred.contains(&(local_id, remote_id)) => {
                    Some("a path that was closed for good is not tried again")
                }
                PathAction::Announce { local_id, .. } | PathAction::Withdraw { local_id } if !own(local_id) => {
                    Some("only own addresses are announced and withdrawn")
                }
                PathAction::SetBackup { local_id, remote_id, .. } | PathAction::Close { local_id, remote_id }
                    if !was_open.contains(&(local_id, remote_id)) =>
                {
                    Some("only subflows that are open are closed or change their priority")
                }
                PathAction::WakeAt { at } if at < self.now => Some("a wake-up does not lie in the past"),
                _ => None,
            };
            if let Some(rule) = rule {
                return Err(Violation { step: self.step, rule, action: Some(action) });
            }
            self.act(action);
            self.actions.push((self.step, action));
        }
        Ok(())
    }

    /// Does what the transport would.
    fn act(&mut self, action: PathAction) {
        match action {
            PathAction::Join { local_id, remote_id, .. } if self.open.len() < 8 => {
                self.open.push((local_id, remote_id));
                self.opening.push((local_id, remote_id));
            }
            PathAction::WakeAt { at } => self.wake_at = self.wake_at.min(at.max(self.now + Duration::NANOSECOND)),
            _ => {}
        }
    }

    /// An hour in which no join succeeds.
    fn in_vain(mut self) -> Result<(), Violation> {
        self.begun = true;
        self.initiator = true;
        self.remote.push(remote(1));
        let until = self.now + Duration::from_secs(3600);
        self.tell(PathEvent::FullyEstablished)?;
        while self.now < until {
            self.step += 1;
            if let Some(ids) = self.opening.pop() {
                self.now += SECOND / 10;
                let event = self.close(ids, true);
                self.tell(event)?;
            } else if self.wake_at < Instant::NEVER {
                (self.now, self.wake_at) = (self.wake_at.max(self.now), Instant::NEVER);
                self.tell(PathEvent::Timer)?;
            } else {
                return Ok(());
            }
            let attempts = |ids: (u8, u8)| {
                let join = |action: &PathAction| matches!(action, PathAction::Join { local_id, remote_id, .. } if (*local_id, *remote_id) == ids);
                self.actions.iter().filter(|(_, action)| join(action)).count()
            };
            let most = self.local.iter().flat_map(|l| self.remote.iter().map(|r| (l.id, r.id))).map(attempts).max();
            if most.is_some_and(|most| most > MOST_ATTEMPTS) {
                let rule = "a path that never works is not tried without end";
                return Err(Violation { step: self.step, rule, action: None });
            }
        }
        Ok(())
    }
}

fn remote(id: u8) -> RemoteAddress {
    RemoteAddress { id, address: SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 9, id, 9)), 80) }
}

#[cfg(test)]
#[path = "contract_tests.rs"]
mod tests;
