//! The in-kernel path manager of Linux, as `ip mptcp` sets it: endpoints and limits decide which subflows exist
//! (docs/path-manager.md).
//!
//! Names of the kernel's own counters stand beside ours, as far as they differ.

mod endpoints;
#[cfg(test)]
mod tests;

pub use endpoints::{Endpoint, Flags, Kernel, Limits, Settings};

use super::{PathAction, PathContext, PathEvent, PathPolicy};
use crate::algorithm::{About, Algorithm, Capability, Given, Make, Parameter};
use crate::plugin::Origin;

/// Local and remote address id of a subflow.
type Ids = (u8, u8);

/// The first subflow.
const FIRST: Ids = (0, 0);

/// A host announces the addresses of its endpoints `signal`, one after another, and opens a subflow from each of its
/// endpoints `subflow`, as far as its limit allows. It does so when MPTCP is established, and again whenever a subflow was
/// established or is gone, or an announcement was echoed. An endpoint is used once: a subflow that is lost is not replaced
/// from the same endpoint, unless that is removed and added again.
#[derive(Debug)]
pub struct Linux {
    kernel: Kernel,
    limits: Limits,
    /// In the kernel's order.
    endpoints: Vec<Endpoint>,
    /// Those that were removed, to be added again.
    removed: Vec<Endpoint>,
    sources: Vec<(std::net::IpAddr, u8)>,
    /// Ids of endpoints that were announced or opened a subflow (what `id_avail_bitmap` lacks).
    used: Vec<u8>,
    /// Ids of endpoints that are announced.
    announced: Vec<u8>,
    /// Endpoints `subflow` that were used, but for that of the first subflow (`local_addr_used`).
    local_used: u8,
    /// Addresses of the peer that were joined (`add_addr_accepted`).
    accepted: u8,
    /// Subflows beside the first, those that are being opened among them (`subflows`).
    extra: u8,
    /// Those that this host opened, and the others.
    opened: Vec<Ids>,
    taken: Vec<Ids>,
    /// Of those opened, the ones whose handshake goes on.
    opening: Vec<Ids>,
    /// Addresses of the peer are joined (`accept_addr`).
    takes_addresses: bool,
    /// There may be something to do (`work_pending`).
    is_pending: bool,
    /// The number of the endpoint of the first subflow; 0 without one (`mpc_endpoint_id`).
    first_endpoint: u8,
    /// The endpoint of the first subflow has been looked for.
    has_looked: bool,
    /// MPTCP is established.
    begun: bool,
    /// The first subflows are to be opened.
    is_due: bool,
    /// The peer set the flag C (`remote_deny_join_id0`).
    is_denied: bool,
}

impl Algorithm for Linux {
    const ABOUT: About = About::new(
        "linux",
        "endpoints and limits as `ip mptcp` sets them, from [[endpoint]] and [limits]",
        "Linux net/mptcp/pm_kernel.c",
    )
    .with(Capability::InKernel)
    .parameters(&[Parameter::word(
        "kernel",
        "6.12",
        Kernel::NAMES,
        "whose rules hold on the engines `sim` and `stack`; the others run the kernel that they have",
    )]);
}

impl Make for Linux {
    fn make(given: &Given, _: &Origin) -> Self {
        let kernel = Kernel::named(&given.word("kernel")).expect("one of the words");
        Linux::new(&Settings::untouched(kernel))
    }
}

impl Linux {
    /// The path manager of one connection of a host.
    #[must_use]
    pub fn new(settings: &Settings) -> Self {
        let endpoints = settings.in_order();
        let limit = settings.limits.subflows;
        let opens = endpoints.iter().any(|each| each.flags.subflow) && limit > 0;
        Linux {
            kernel: settings.kernel,
            limits: settings.limits,
            is_pending: opens || endpoints.iter().any(|each| each.flags.signal),
            takes_addresses: settings.limits.add_addr_accepted > 0 && limit > 0,
            endpoints,
            removed: Vec::new(),
            sources: settings.sources.clone(),
            used: Vec::new(),
            announced: Vec::new(),
            local_used: 0,
            accepted: 0,
            extra: 0,
            opened: Vec::new(),
            taken: Vec::new(),
            opening: Vec::new(),
            first_endpoint: 0,
            has_looked: false,
            begun: false,
            is_due: false,
            is_denied: false,
        }
    }

    fn is_used(&self, id: u8) -> bool {
        self.used.contains(&id)
    }

    /// The id of an endpoint in this connection.
    fn local_id(&self, endpoint: &Endpoint) -> u8 {
        if endpoint.id == self.first_endpoint { 0 } else { endpoint.id }
    }

    fn use_up(&mut self, id: u8) {
        if !self.is_used(id) {
            self.used.push(id);
        }
    }

    fn with_flag(&self, flag: impl Fn(&Flags) -> bool) -> usize {
        self.endpoints.iter().filter(|each| flag(&each.flags)).count()
    }

    fn unused(&self, flag: impl Fn(&Flags) -> bool) -> Option<Endpoint> {
        self.endpoints.iter().find(|each| flag(&each.flags) && !self.is_used(each.id)).copied()
    }

    /// A server that set the flag C is joined at the addresses that it announces alone, as long as no endpoint is used.
    fn is_flag_c_case(&self) -> bool {
        self.is_denied
            && self.local_used == 0
            && self.limits.add_addr_accepted == 0
            && self.extra < self.limits.subflows
    }

    /// Whether something is left to do.
    fn look_for_work(&mut self) -> bool {
        let all_used = self.endpoints.iter().all(|each| self.is_used(each.id));
        if self.extra == self.limits.subflows || all_used {
            self.is_pending = false;
            return false;
        }
        true
    }

    /// An endpoint for the first subflow's address counts as used, and if it is a backup the peer is told.
    fn look_for_first(&mut self, open: &[Ids], actions: &mut Vec<PathAction>) {
        if std::mem::replace(&mut self.has_looked, true) {
            return;
        }
        if let Some(first) = self.endpoints.iter().find(|each| each.is_first).copied() {
            self.use_up(first.id);
            self.first_endpoint = first.id;
            if first.flags.backup && open.contains(&FIRST) {
                actions.push(PathAction::SetBackup { local_id: 0, remote_id: 0, backup: true });
            }
        }
    }

    fn join(&mut self, ids: Ids, backup: bool, actions: &mut Vec<PathAction>) {
        self.opened.push(ids);
        self.opening.push(ids);
        actions.push(PathAction::Join { local_id: ids.0, remote_id: ids.1, backup });
    }

    /// Announces the next address and opens the subflows that are to be.
    fn proceed(&mut self, context: &PathContext<'_>, actions: &mut Vec<PathAction>) {
        self.look_for_first(context.open, actions);
        let mut both = None;
        if self.announced.len() < self.with_flag(|flags| flags.signal)
            && let Some(endpoint) = self.unused(|flags| flags.signal)
        {
            self.use_up(endpoint.id);
            self.announced.push(endpoint.id);
            actions.push(PathAction::Announce { local_id: self.local_id(&endpoint), port: endpoint.port });
            both = endpoint.flags.subflow.then_some(endpoint);
        }
        let opening = self.with_flag(|flags| flags.subflow);
        let may_open = !self.is_flag_c_case();
        while may_open && usize::from(self.local_used) < opening && self.extra < self.limits.subflows {
            let Some(endpoint) = both.take().or_else(|| self.unused(|flags| flags.subflow)) else { break };
            self.use_up(endpoint.id);
            let local_id = self.local_id(&endpoint);
            if local_id != 0 {
                self.local_used += 1;
            }
            for remote_id in self.remotes_for(&endpoint, local_id, context) {
                self.extra += 1;
                self.join((local_id, remote_id), endpoint.flags.backup, actions);
            }
        }
        // One that was announced and could not open a subflow counts as used nevertheless.
        if both.is_some_and(|endpoint| self.local_id(&endpoint) != 0) {
            self.local_used += 1;
        }
        self.look_for_work();
    }

    /// The addresses of the peer to which an endpoint opens subflows now.
    fn remotes_for(&self, endpoint: &Endpoint, local_id: u8, context: &PathContext<'_>) -> Vec<u8> {
        if !endpoint.flags.fullmesh {
            return if self.is_denied { Vec::new() } else { vec![0] };
        }
        let room = self.limits.subflows.saturating_sub(self.extra);
        if self.kernel.repeats_fullmesh() {
            let all = self.subflows(context).into_iter().map(|ids| ids.1);
            return all.filter(|&id| !self.is_denied || id != 0).take(usize::from(room)).collect();
        }
        let known: Vec<Ids> = std::iter::once(FIRST).chain(context.open.iter().copied()).chain(self.pairs()).collect();
        let mut found: Vec<u8> = Vec::new();
        for &(_, remote_id) in &known {
            let is_there = known.contains(&(local_id, remote_id));
            let is_denied = self.is_denied && remote_id == 0;
            if !is_there && !is_denied && !found.contains(&remote_id) && found.len() < usize::from(room) {
                found.push(remote_id);
            }
        }
        found
    }

    /// All subflows, those that this event opens among them.
    fn subflows(&self, context: &PathContext<'_>) -> Vec<Ids> {
        let mut found = context.open.to_vec();
        for ids in self.pairs() {
            let count = |of: &[Ids]| of.iter().filter(|&&each| each == ids).count();
            if count(&found) < self.pairs().filter(|&each| each == ids).count() {
                found.push(ids);
            }
        }
        found
    }

    /// Subflows beside the first.
    fn pairs(&self) -> impl Iterator<Item = Ids> + '_ {
        self.opened.iter().chain(&self.taken).copied()
    }

    /// The peer has announced an address.
    fn announced_to_us(&mut self, remote_id: u8, context: &PathContext<'_>, actions: &mut Vec<PathAction>) {
        if remote_id > 0 && !self.takes_addresses && !self.is_flag_c_case() {
            return;
        }
        if self.kernel >= Kernel::V6_18 {
            self.look_for_first(context.open, actions);
        }
        if self.is_joined(remote_id, context) {
            return;
        }
        let locals = self.locals_for(remote_id, context);
        for &(local_id, backup) in &locals {
            self.join((local_id, remote_id), backup, actions);
        }
        if !locals.is_empty() {
            self.accepted += u8::from(remote_id > 0);
            if self.accepted >= self.limits.add_addr_accepted || self.extra >= self.limits.subflows {
                self.takes_addresses = false;
            }
        }
    }

    /// Whether a subflow leads to that address, under whatever id.
    fn is_joined(&self, remote_id: u8, context: &PathContext<'_>) -> bool {
        let at = |id: u8| context.remote.iter().find(|each| each.id == id).map(|each| each.address);
        let wanted = at(remote_id);
        context.open.iter().any(|&(_, id)| id == remote_id || (wanted.is_some() && at(id) == wanted))
    }

    /// The local ids from which an announced address is joined, and whether as backups. They count from now on.
    fn locals_for(&mut self, remote_id: u8, context: &PathContext<'_>) -> Vec<(u8, bool)> {
        let flag_c = remote_id > 0 && self.is_flag_c_case();
        let mut found = Vec::new();
        for endpoint in self.endpoints.clone().into_iter().filter(|each| each.flags.fullmesh) {
            // Since 6.18 the kernel asks for its limit behind each subflow, and before that in front of it.
            let asks = self.kernel < Kernel::V6_18 || !found.is_empty();
            if asks && self.extra >= self.limits.subflows {
                break;
            }
            let local_id = if endpoint.is_first { 0 } else { endpoint.id };
            if flag_c && endpoint.flags.subflow {
                self.use_up(endpoint.id);
                self.local_used += u8::from(local_id != 0);
            }
            self.extra += 1;
            found.push((local_id, endpoint.flags.backup));
        }
        if !found.is_empty() {
            return found;
        }
        if self.kernel.knows_laminar() && self.with_flag(|flags| flags.laminar) > 0 {
            return self.laminar(context).into_iter().collect();
        }
        if flag_c {
            let opening = self.with_flag(|flags| flags.subflow);
            while usize::from(self.local_used) < opening && self.extra < self.limits.subflows {
                let Some(endpoint) = self.unused(|flags| flags.subflow) else { break };
                self.use_up(endpoint.id);
                if !endpoint.is_first {
                    self.local_used += 1;
                    self.extra += 1;
                    found.push((endpoint.id, endpoint.flags.backup));
                }
            }
            return found;
        }
        // Any address, as the host's routing says: here the kernel does not ask for its limit.
        let address = context.remote.iter().find(|each| each.id == remote_id).map(|each| each.address.ip());
        let source = self.sources.iter().find(|&&(to, _)| Some(to) == address).map_or(0, |&(_, id)| id);
        let is_source = |each: &&Endpoint| if source == 0 { each.is_first } else { each.id == source };
        let backup = self.endpoints.iter().find(is_source).is_some_and(|each| each.flags.backup);
        self.extra += 1;
        vec![(source, backup)]
    }

    /// The first endpoint `laminar` that no subflow uses.
    fn laminar(&mut self, context: &PathContext<'_>) -> Option<(u8, bool)> {
        let is_free = |local_id: u8| !context.open.iter().any(|ids| ids.0 == local_id);
        let of = self.endpoints.iter().find(|each| each.flags.laminar && is_free(self.local_id(each)));
        let endpoint = *of?;
        let local_id = self.local_id(&endpoint);
        if endpoint.flags.subflow {
            self.use_up(endpoint.id);
            self.local_used += u8::from(local_id != 0);
        }
        self.extra += 1;
        Some((local_id, endpoint.flags.backup))
    }

    /// A subflow counts no more. Answers whether this host had opened it.
    fn forget(&mut self, ids: Ids) -> Option<bool> {
        for (list, is_own) in [(&mut self.opened, true), (&mut self.taken, false)] {
            if let Some(place) = list.iter().position(|&each| each == ids) {
                list.remove(place);
                self.extra = self.extra.saturating_sub(1);
                if let Some(place) = self.opening.iter().position(|&each| each == ids).filter(|_| is_own) {
                    self.opening.remove(place);
                }
                return Some(is_own);
            }
        }
        None
    }

    /// The peer has withdrawn an address: its subflows are closed at once.
    fn withdrawn(&mut self, remote_id: u8, context: &PathContext<'_>, actions: &mut Vec<PathAction>) {
        let mut own = false;
        let mut closed = false;
        for &ids in context.open.iter().filter(|ids| ids.1 == remote_id) {
            own |= self.forget(ids) == Some(true);
            closed = true;
            let close = PathAction::Close { local_id: ids.0, remote_id };
            if !actions.contains(&close) {
                actions.push(close);
            }
        }
        if own && remote_id > 0 && self.accepted > 0 {
            self.accepted -= 1;
            self.takes_addresses |= self.accepted < self.limits.add_addr_accepted;
        }
        if closed && self.look_for_work() {
            self.proceed(context, actions);
        }
    }

    /// An endpoint is removed, as a network manager does when the address goes.
    fn remove(&mut self, local_id: u8, context: &PathContext<'_>, actions: &mut Vec<PathAction>) {
        let of = |each: &Endpoint| if local_id == 0 { each.is_first } else { each.id == local_id && !each.is_first };
        let Some(place) = self.endpoints.iter().position(of) else { return };
        let endpoint = self.endpoints.remove(place);
        self.removed.push(endpoint);
        let was_announced = self.announced.contains(&endpoint.id);
        self.announced.retain(|&id| id != endpoint.id);
        let from_there = context.open.iter().any(|ids| ids.0 == local_id);
        // Until the first subflow's endpoint has been looked for it goes by its own number, which no subflow has.
        let told_id = self.local_id(&endpoint);
        let subflows: Vec<Ids> = context.open.iter().copied().filter(|ids| ids.0 == told_id).collect();
        if was_announced || from_there {
            actions.push(PathAction::Withdraw { local_id: told_id });
        }
        for &ids in &subflows {
            self.forget(ids);
        }
        let was_used = self.is_used(endpoint.id);
        self.used.retain(|&id| id != endpoint.id);
        if endpoint.flags.subflow && was_used && self.local_id(&endpoint) != 0 {
            self.local_used = self.local_used.saturating_sub(1);
        }
        if self.first_endpoint == endpoint.id {
            self.first_endpoint = 0;
        }
        if !subflows.is_empty() && self.look_for_work() {
            self.proceed(context, actions);
        }
    }

    /// It is added again, behind the others.
    fn add(&mut self, local_id: u8, context: &PathContext<'_>, actions: &mut Vec<PathAction>) {
        let of = |each: &Endpoint| if local_id == 0 { each.is_first } else { each.id == local_id && !each.is_first };
        let Some(place) = self.removed.iter().position(of) else { return };
        let endpoint = self.removed.remove(place);
        let place = if endpoint.port.is_some() { 0 } else { self.endpoints.len() };
        self.endpoints.insert(place, endpoint);
        if self.begun {
            if endpoint.is_first {
                self.first_endpoint = endpoint.id;
            }
            self.proceed(context, actions);
        }
    }
}

impl PathPolicy for Linux {
    fn name(&self) -> &'static str {
        "linux"
    }

    fn on_event(&mut self, event: PathEvent, context: &PathContext<'_>, actions: &mut Vec<PathAction>) {
        match event {
            PathEvent::FullyEstablished => {
                self.begun = true;
                self.is_denied = !context.remote.iter().any(|each| each.id == 0);
                if self.is_pending {
                    // The kernel's worker begins a little later, and with an announcement that came in the same segment.
                    self.is_due = true;
                    actions.push(PathAction::WakeAt { at: context.now });
                }
            }
            PathEvent::Timer => {
                if std::mem::take(&mut self.is_due) {
                    self.proceed(context, actions);
                }
            }
            PathEvent::SubflowEstablished { .. } if !self.begun => {}
            PathEvent::SubflowEstablished { local_id, remote_id } => {
                let ids = (local_id, remote_id);
                match self.opening.iter().position(|&each| each == ids) {
                    Some(place) => {
                        self.opening.remove(place);
                    }
                    None => {
                        self.taken.push(ids);
                        self.extra += 1;
                    }
                }
                if self.is_pending {
                    self.proceed(context, actions);
                }
            }
            PathEvent::SubflowClosed { local_id, remote_id, .. } => {
                let counted = self.forget((local_id, remote_id)).is_some();
                if (counted || self.is_pending) && self.begun && self.look_for_work() {
                    self.proceed(context, actions);
                }
            }
            PathEvent::AddressEchoed { .. } => {
                if self.is_pending && self.begun {
                    self.proceed(context, actions);
                }
            }
            PathEvent::AddressAdded { remote_id } if self.begun => self.announced_to_us(remote_id, context, actions),
            PathEvent::AddressAdded { .. } => {}
            PathEvent::AddressRemoved { remote_id } => self.withdrawn(remote_id, context, actions),
            PathEvent::LocalAddressRemoved { local_id } => self.remove(local_id, context, actions),
            PathEvent::LocalAddressAdded { local_id } => self.add(local_id, context, actions),
        }
    }
}
