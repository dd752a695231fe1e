//! One direction of a link: queue, transmitter, wire.

use rand_xoshiro::Xoshiro256PlusPlus;

use crate::config::{Change, LinkConfig};
use crate::counters::{Counters, DropReason, Enqueue};
use crate::disorder::Disorder;
use crate::loss::{Loss, LossConfig};
use crate::medium::MediumConfig;
use crate::packet::{Flow, Packet, Rest};
use crate::prefetch;
use crate::propagation::Propagation;
use crate::queue::{Arrival, DropTail, Entry, Head, Limit, Queue, Tally, Verdict};
use crate::ring::Ring;
use crate::transmitter::Transmitter;

/// A stage after the link that reorders and duplicates packets.
#[derive(Clone, Debug)]
struct Stage<T> {
    disorder: Disorder,
    /// The last packet, if it will be delivered twice.
    twice: Option<Packet<T>>,
}

/// One direction of a link. Every call passes the time, which must not decrease from call to call. Times saturate at
/// `u64::MAX`.
///
/// **Service.** A packet departs at max(arrival, departure of its predecessor) + 8·size/rate. The remainder of each
/// division is carried to the next packet while the link stays busy, so a busy period of n packets takes the exact
/// total, rounded down. With a [`crate::Trace`] in place of a rate, a packet departs at the opportunity that completes
/// it. A packet leaves the queue at its departure and reaches the far end after the propagation delay.
///
/// **Decisions at the head.** With CoDel, a packet's fate is known when it reaches the head of the queue and the
/// transmitter becomes free. Only the packet being sent then has a departure time. The decision about the next one is
/// made at the first call at or after that time, before any later arrival is handled, in time order. The fate of the
/// oldest packet of a link is always known, so [`Self::next_arrival_ns`] is exact without a further event. A packet
/// dropped at the head leaves the queue and the counters at once. [`Self::deliver`] returns it in its position, as one
/// that left at the time of the drop, with [`Packet::dropped`].
///
/// **Random numbers** are drawn from the link's own stream when a packet arrives, in this order: queue discipline,
/// then, if it accepts the packet, loss. A certain outcome draws nothing: a drop-tail link without loss never uses its
/// stream.
#[derive(Clone, Debug)]
// The fields that a packet uses on a plain link come first, in three cache lines (see the assertion below).
#[repr(C, align(64))]
pub struct Link<T> {
    /// When the oldest packet reaches the far end; `u64::MAX` if there is none.
    head_arrival_ns: u64,
    ring: Ring<T>,
    /// Number of the first packet not known to have departed; those before it are on the wire.
    /// Numbers are consecutive, so this equals the count of packets that departed or were dropped at the head.
    sent: u64,
    /// Bytes of the packets below `sent` that were not dropped.
    sent_bytes: u64,
    /// Bytes of the packets below the ring's tail that were not dropped.
    accepted_bytes: u64,
    /// Σ times of leaving the queue − Σ times of entering it, modulo 2¹²⁸. Adding length·now gives the integral of the
    /// length.
    queue_packet_ns: u128,
    /// Departure time of packet `sent`, cached from the ring; `u64::MAX` if there is none.
    next_departure_ns: u64,
    /// Whether the link is up, drop-tail, at a constant rate and delay: the common case.
    plain: bool,
    dead: bool,
    /// Whether a medium decides when the link sends.
    shared: bool,
    /// Whether `loss` can drop packets.
    lossy: bool,
    propagation: Propagation,
    max_bytes: u64,
    max_packets: u64,
    /// The queue limit of a plain link.
    limit: DropTail,
    transmitter: Transmitter,
    queue: Queue,
    loss: Loss,
    lost_on_wire: u64,
    dropped_full: u64,
    dropped_early: u64,
    dropped_dead: u64,
    dead_bytes: u64,
    /// On a shared link, packets below this number have a departure time.
    granted: u64,
    stage: Option<Box<Stage<T>>>,
    rng: Xoshiro256PlusPlus,
}

/// Cache lines that a packet uses on a plain link: on entry, and on departure.
const HOT_LINES: usize = 3;
const HOT_LINES_BEHIND: usize = 2;
const _: () = assert!(
    std::mem::offset_of!(Link<[u32; 3]>, propagation) + size_of::<u64>() <= HOT_LINES_BEHIND * prefetch::LINE_BYTES
);
const _: () = assert!(
    std::mem::offset_of!(Link<[u32; 3]>, transmitter) + Transmitter::HOT_BYTES <= HOT_LINES * prefetch::LINE_BYTES
);

impl<T: Copy + Default> Link<T> {
    /// Creates an idle link with its own random number stream `rng`.
    ///
    /// # Panics
    /// When [`LinkConfig::check`] fails.
    #[must_use]
    pub fn new(config: LinkConfig, mut rng: Xoshiro256PlusPlus) -> Self {
        config.check().unwrap_or_else(|error| panic!("link: {error}"));
        let queue = Queue::new(&config.queue, &mut rng);
        let transmitter = match (config.trace, config.bucket) {
            (Some(trace), _) => Transmitter::with_trace(trace),
            (None, Some(bucket)) => Transmitter::with_bucket(config.rate_bps, bucket),
            (None, None) => Transmitter::new(config.rate_bps),
        };
        Self {
            head_arrival_ns: u64::MAX,
            ring: Ring::new(),
            sent: 0,
            sent_bytes: 0,
            accepted_bytes: 0,
            queue_packet_ns: 0,
            next_departure_ns: u64::MAX,
            max_packets: 0,
            max_bytes: 0,
            dead: false,
            shared: config.shared,
            granted: 0,
            plain: queue.drop_tail().is_some()
                && transmitter.is_steady()
                && !config.shared
                && config.disorder.is_none(),
            stage: config.disorder.map(|config| Box::new(Stage { disorder: Disorder::new(&config), twice: None })),
            limit: queue.drop_tail().unwrap_or(DropTail::new(Limit::Packets(0))),
            transmitter,
            queue,
            lossy: config.loss != LossConfig::None,
            loss: Loss::new(&config.loss),
            propagation: Propagation::new(config.delay_ns),
            rng,
            lost_on_wire: 0,
            dropped_full: 0,
            dropped_early: 0,
            dropped_dead: 0,
            dead_bytes: 0,
        }
    }

    /// A packet arrives at the link's entrance at `now_ns`. Packets that depart at `now_ns` have already left the
    /// queue.
    // Inlined by force: the packet is built in place in the ring, and the caller's tests of the result are resolved at
    // compile time.
    #[inline(always)]
    pub fn enqueue(&mut self, now_ns: u64, packet: Packet<T>) -> Enqueue {
        self.enqueue_of(now_ns, packet, || 0_u64)
    }

    /// As [`Self::enqueue`]. `flow` returns the flow of the packet and is called only if the queue distinguishes flows
    /// ([`crate::QueueConfig::FqCoDel`]).
    #[inline(always)]
    pub fn enqueue_of<F: Into<Flow>>(&mut self, now_ns: u64, packet: Packet<T>, flow: impl FnOnce() -> F) -> Enqueue {
        if !self.plain {
            let flow = if self.queue.tells_flows_apart() { flow().into() } else { Flow::default() };
            return self.enqueue_unusual(now_ns, packet.tag, packet.rest(), flow);
        }
        self.drain_as::<true>(now_ns);
        let queue = (self.queue_packets(), self.queue_bytes() + u64::from(packet.size));
        if !self.limit.admits(queue.0, queue.1) {
            self.count_drop(DropReason::Full);
            return Enqueue::Dropped(DropReason::Full);
        }
        let departure_ns = self.transmitter.send_at_rate(now_ns, packet.size);
        let lost = self.lossy && self.loss.strikes(&mut self.rng);
        let first = self.enter(now_ns, queue, packet.departing(departure_ns, lost));
        if first {
            self.head_arrival_ns = self.propagation.steady_arrival_ns(departure_ns);
            return Enqueue::Accepted { first: true };
        }
        Enqueue::Accepted { first: false }
    }

    /// [`Self::enqueue`] for a link that is not plain. A separate function, so that the common path has no tests for
    /// rare cases.
    #[inline(never)]
    fn enqueue_unusual(&mut self, now_ns: u64, tag: T, rest: Rest, flow: Flow) -> Enqueue {
        if self.dead {
            self.count_drop(DropReason::Dead);
            self.dead_bytes += u64::from(rest.size);
            return Enqueue::Dropped(DropReason::Dead);
        }
        if self.stage.is_some() {
            return self.enqueue_disordered(now_ns, Packet::from_rest(tag, rest), true);
        }
        let mut packet = Packet::from_rest(tag, rest);
        self.drain(now_ns);
        if self.transmitter.polices(now_ns, packet.size) {
            self.count_drop(DropReason::Full);
            return Enqueue::Dropped(DropReason::Full);
        }
        let arrival = Arrival {
            now_ns,
            size: packet.size,
            ecn: packet.ecn(),
            packets: self.queue_packets(),
            waits: self.shared || self.queue_packets() > 0,
            bytes: self.queue_bytes(),
            sending_bytes: self.sending_bytes(),
            flow,
            transmitter: &self.transmitter,
        };
        match self.queue.enqueue(arrival, &mut self.rng) {
            Ok(Entry::Plain) => {}
            Ok(Entry::Marked) => packet.set_ce(),
            Err(reason) => {
                self.count_drop(reason);
                return Enqueue::Dropped(reason);
            }
        }
        let queue = (arrival.packets, arrival.bytes + u64::from(packet.size));
        let departure_ns = if self.shared || (self.queue.decides_at_head() && arrival.packets > 0) {
            // The arrival time, until the departure time is known.
            now_ns
        } else {
            self.transmitter.send(now_ns, packet.size)
        };
        let lost = self.lossy && self.loss.strikes(&mut self.rng);
        let next_departure_ns = self.next_departure_ns;
        let first = self.enter(now_ns, queue, packet.departing(departure_ns, lost));
        if self.shared {
            self.next_departure_ns = next_departure_ns;
            return Enqueue::Waiting;
        }
        if first {
            self.head_arrival_ns = self.propagation.arrival_ns(self.ring.head(), departure_ns);
        }
        Enqueue::Accepted { first }
    }

    /// Enqueues the copy of a packet for which [`Self::enqueue_of`] reported a duplicate.
    pub fn enqueue_copy(&mut self, now_ns: u64, packet: Packet<T>) -> Enqueue {
        self.enqueue_disordered(now_ns, packet, false)
    }

    /// The packet for which [`Enqueue::Disordered`] reported a duplicate. It is kept here because keeping it in the
    /// caller would slow down every packet.
    #[must_use]
    pub fn comes_twice(&self) -> Option<Packet<T>> {
        self.stage.as_ref().and_then(|stage| stage.twice)
    }

    /// Puts the packet on the wire at once, before those that leave later.
    #[inline(never)]
    fn enqueue_disordered(&mut self, now_ns: u64, packet: Packet<T>, original: bool) -> Enqueue {
        let Some(stage) = &mut self.stage else { unreachable!("a link without disorder") };
        let at_ns = stage.disorder.departure_ns(now_ns, &mut self.rng);
        let twice = original && stage.disorder.duplicates(&mut self.rng);
        stage.twice = twice.then_some(packet);
        let mut number = self.ring.tail();
        self.ring.push(packet.departing(at_ns, false));
        while number > self.ring.head() && self.ring.at(number - 1).departure_ns > at_ns {
            self.ring.swap(number - 1, number);
            number -= 1;
        }
        self.sent += 1;
        self.accepted_bytes += u64::from(packet.size);
        self.sent_bytes += u64::from(packet.size);
        let reschedule = number == self.ring.head();
        if reschedule {
            self.head_arrival_ns = at_ns;
        }
        Enqueue::Disordered { reschedule, twice }
    }

    /// Puts the packet into the queue, which held `packets` and now has `bytes`. Returns whether no packet was in
    /// flight before it.
    #[inline(always)]
    fn enter(&mut self, now_ns: u64, (packets, bytes): (u64, u64), packet: Packet<T>) -> bool {
        if packets >= self.max_packets {
            self.max_packets = packets + 1;
        }
        if bytes > self.max_bytes {
            self.max_bytes = bytes;
        }
        self.accepted_bytes += u64::from(packet.size);
        self.queue_packet_ns = self.queue_packet_ns.wrapping_sub(u128::from(now_ns));
        if packets == 0 {
            self.next_departure_ns = packet.departure_ns;
        }
        let first = self.ring.is_empty();
        self.ring.push(packet);
        first
    }

    /// When the oldest packet reaches the far end; `None` if no packet is in flight, or none that the medium has
    /// released.
    #[inline]
    #[must_use]
    pub fn next_arrival_ns(&self) -> Option<u64> {
        (self.ring.head() < self.known_until()).then_some(self.head_arrival_ns)
    }

    /// As [`Self::next_arrival_ns`], with `u64::MAX` for `None`.
    #[inline]
    #[must_use]
    pub const fn next_arrival_or_max_ns(&self) -> u64 {
        self.head_arrival_ns
    }

    /// Takes the oldest packet, which reaches the far end at `now_ns`. A packet lost on the wire or dropped at the head
    /// of the queue is returned too, with [`Packet::lost`], so that the caller can free its content. A late call has no
    /// effect on other packets: they keep their times.
    ///
    /// # Panics
    /// When no packet is in flight.
    // Inlined by force, for the same reasons as [`Self::enqueue`].
    #[inline(always)]
    pub fn deliver(&mut self, now_ns: u64) -> Packet<T> {
        assert!(!self.ring.is_empty(), "deliver on a link with nothing under way");
        debug_assert!(now_ns >= self.head_arrival_ns, "delivered at {now_ns}, before {}", self.head_arrival_ns);
        if !self.plain {
            self.deliver_unusual();
            return self.ring.pop();
        }
        // Usually the wire is short and the packet's departure has not been processed yet: it departs and arrives at
        // once.
        let departs = self.sent == self.ring.head();
        let packet = self.ring.pop();
        let next_departure_ns = self.ring.first().map_or(u64::MAX, |next| next.departure_ns);
        if departs {
            self.count_departure(&packet);
            self.next_departure_ns = next_departure_ns;
        }
        self.head_arrival_ns = self.propagation.steady_arrival_ns(next_departure_ns);
        packet
    }

    /// The part of [`Self::deliver`] for a link that is not plain, except for taking the packet out of the ring.
    #[inline(never)]
    fn deliver_unusual(&mut self) {
        if self.sent == self.ring.head() {
            self.depart::<false>();
        }
        self.propagation.arrived(self.head_arrival_ns);
        let second = self.ring.head() + 1;
        let departure_ns = (second < self.known_until()).then(|| self.ring.at(second).departure_ns);
        self.head_arrival_ns = departure_ns.map_or(u64::MAX, |at_ns| self.propagation.arrival_ns(second, at_ns));
        self.propagation.settle(departure_ns);
        self.find_plain();
    }

    /// Applies a change at `now_ns`, in the order dead, rate, delay, loss. Afterwards [`Self::next_arrival_ns`] may be
    /// earlier, later or `None`: the caller reschedules.
    ///
    /// - `dead`: the queue, including the packet being sent, is passed to `dropped`. Packets that departed by `now_ns`
    ///   still arrive. A link that comes up again is idle.
    /// - `rate_bps` (not for a link with a trace): what the packet in service has sent stays sent; the rest of it and
    ///   the packets behind it are sent at the new rate. A token bucket keeps its tokens and refills at the new rate.
    /// - `delay_ns`: packets that departed by `now_ns` keep the old delay. After a decrease no packet overtakes
    ///   another.
    /// - `loss`: for packets that arrive from now on.
    ///
    /// # Panics
    /// When [`Change::check_on`] fails.
    pub fn change(&mut self, now_ns: u64, change: Change, dropped: &mut impl FnMut(Packet<T>)) {
        change
            .check_with(self.transmitter.has_fixed_rate())
            .unwrap_or_else(|error| panic!("change of a link: {error}"));
        self.drain(now_ns);
        self.queue.advance(now_ns, &self.transmitter);
        if let Some(dead) = change.dead {
            if dead {
                self.flush(now_ns, dropped);
            }
            self.dead = dead;
        }
        if let Some(rate_bps) = change.rate_bps
            && rate_bps != self.transmitter.rate_bps()
        {
            self.change_rate(now_ns, rate_bps);
            self.find_next_departure(self.known_until());
        }
        if let Some(delay_ns) = change.delay_ns {
            self.propagation.change(self.sent, delay_ns);
        }
        if let Some(loss) = change.loss {
            self.lossy = loss != LossConfig::None;
            self.loss = Loss::new(&loss);
        }
        self.find_head_arrival();
        self.find_plain();
    }

    /// Packets and bytes in the queue at `now_ns`. The packet being sent counts as a whole.
    #[must_use]
    pub fn queue(&mut self, now_ns: u64) -> (u32, u64) {
        self.drain(now_ns);
        let packets = u32::try_from(self.queue_packets()).unwrap_or(u32::MAX);
        (packets, self.queue_bytes())
    }

    /// The oldest packet, which [`Self::deliver`] returns next.
    #[inline]
    #[must_use]
    pub fn head(&self) -> Option<&Packet<T>> {
        self.ring.first()
    }

    /// The packet that [`Self::deliver`] returns after `behind` others, for prefetching.
    #[inline]
    #[must_use]
    pub fn behind_head(&self, behind: u64) -> Option<&Packet<T>> {
        self.ring.behind_first(behind)
    }

    /// Frees half of the memory for packets if most of it is unused. For a caller with so many links that the memory of
    /// their longest queues matters.
    #[inline]
    pub fn release_memory(&mut self) {
        self.ring.release();
    }

    /// Prefetches the memory that a packet which enters this link will use, the link itself. For a caller that knows
    /// which links come next. It affects only the speed.
    #[inline]
    pub fn prefetch(&self) {
        prefetch::lines::<_, HOT_LINES>(self);
    }

    /// As [`Self::prefetch`], for a packet that reaches the far end.
    #[inline]
    pub fn prefetch_behind(&self) {
        prefetch::lines::<_, HOT_LINES_BEHIND>(self);
    }

    /// As [`Self::prefetch`], for the oldest packet. The link itself should be in the cache by now.
    #[inline]
    pub fn prefetch_head(&self) {
        self.ring.prefetch(self.ring.head());
    }

    /// Packets that [`Self::deliver`] has yet to return: queued, being sent, on the wire, or dropped at the head.
    #[must_use]
    pub const fn under_way(&self) -> u64 {
        self.ring.tail() - self.ring.head()
    }

    /// Capacity in bits per second. For a link with a trace, the mean ([`crate::Trace::mean_rate_bps`]).
    #[must_use]
    pub const fn rate_bps(&self) -> u64 {
        self.transmitter.rate_bps()
    }

    /// The counters at `now_ns`, including the events of that time.
    #[must_use]
    pub fn counters(&mut self, now_ns: u64) -> Counters {
        self.drain(now_ns);
        // The ring's tail counts the packets accepted so far, except those flushed when the link went down.
        let accepted = self.ring.tail();
        let waiting_since_0 = u128::from(self.queue_packets()) * u128::from(now_ns);
        let Tally { marked, dropped, overflowed } = self.queue.tally();
        Counters {
            arrived_packets: accepted + self.dropped_full + self.dropped_early + self.dropped_dead,
            dropped_full: self.dropped_full + overflowed,
            dropped_early: self.dropped_early + dropped,
            marked,
            dropped_dead: self.dropped_dead,
            dead_bytes: self.dead_bytes,
            lost_on_wire: self.lost_on_wire,
            sent_packets: self.sent - dropped - overflowed,
            sent_bytes: self.sent_bytes,
            queue_packet_ns: self.queue_packet_ns.wrapping_add(waiting_since_0),
            queue_max_packets: self.max_packets,
            queue_max_bytes: self.max_bytes,
        }
    }

    /// Resets the maxima of [`Counters`] to the queue at `now_ns`.
    pub fn reset_max(&mut self, now_ns: u64) {
        self.drain(now_ns);
        self.max_packets = self.queue_packets();
        self.max_bytes = self.queue_bytes();
    }

    const fn queue_packets(&self) -> u64 {
        self.ring.tail() - self.sent
    }

    const fn queue_bytes(&self) -> u64 {
        self.accepted_bytes - self.sent_bytes
    }

    /// Processes the departures up to `now_ns`.
    fn drain(&mut self, now_ns: u64) {
        self.drain_as::<false>(now_ns);
    }

    #[inline(always)]
    fn drain_as<const PLAIN: bool>(&mut self, now_ns: u64) {
        // At `u64::MAX`, a departure time is not distinguishable from none, so that the second condition is needed.
        while self.next_departure_ns <= now_ns && self.sent != self.ring.tail() {
            self.depart::<PLAIN>();
        }
    }

    /// The first packet in the queue departs at its departure time.
    #[inline(always)]
    fn depart<const PLAIN: bool>(&mut self) {
        let packet = *self.ring.at(self.sent);
        self.count_departure(&packet);
        if !PLAIN && self.queue.decides_at_head() && !self.shared {
            let now_ns = packet.departure_ns;
            self.serve_next(now_ns);
        }
        let known_until = if PLAIN { self.ring.tail() } else { self.known_until() };
        self.find_next_departure(known_until);
    }

    #[inline(always)]
    fn count_departure(&mut self, packet: &Packet<T>) {
        self.queue_packet_ns = self.queue_packet_ns.wrapping_add(u128::from(packet.departure_ns));
        self.sent_bytes += u64::from(packet.size);
        self.sent += 1;
        if packet.lost() {
            // This is rare, so that most links do not need this cache line.
            self.lost_on_wire += 1;
        }
    }

    #[inline]
    fn find_next_departure(&mut self, known_until: u64) {
        self.next_departure_ns = if self.sent < known_until { self.ring.at(self.sent).departure_ns } else { u64::MAX };
    }

    /// The transmitter becomes free at `now_ns`: sends the first packet in the queue that is not dropped.
    #[cold]
    #[inline(never)]
    fn serve_next(&mut self, now_ns: u64) {
        while self.sent != self.ring.tail() {
            let Some(verdict) = self.decide(self.sent, now_ns, 0) else { return };
            let packet = self.ring.at_mut(self.sent);
            match verdict {
                Verdict::Drop => {
                    self.drop_waiting(self.sent, now_ns);
                    continue;
                }
                Verdict::Mark => packet.set_ce(),
                Verdict::Send => {}
            }
            // `departure_ns` still holds the arrival time, so that the busy period continues.
            packet.departure_ns = self.transmitter.send(packet.departure_ns, packet.size);
            return;
        }
    }

    /// Decides about the packet that reaches the head at `now_ns`, and moves it to `number`, the position of the first
    /// waiting packet. `bytes_ahead` precede it in the queue. `None` if no packet waits.
    fn decide(&mut self, number: u64, now_ns: u64, bytes_ahead: u64) -> Option<Verdict> {
        let bytes = self.accepted_bytes - self.sent_bytes - bytes_ahead;
        let packet = self.ring.at(number);
        let head = Head {
            wait_ns: now_ns.saturating_sub(packet.departure_ns),
            bytes_behind: bytes - u64::from(packet.size),
            ecn: packet.ecn(),
        };
        let (behind, verdict) = self.queue.dequeue(now_ns, head)?;
        if behind > 0 {
            self.ring.swap(number, number + behind as u64);
        }
        Some(verdict)
    }

    /// Drops the waiting packet `number`. It leaves the queue before the packets ahead of it.
    fn drop_waiting(&mut self, number: u64, now_ns: u64) {
        for ahead in (self.sent..number).rev() {
            self.ring.swap(ahead, ahead + 1);
        }
        let packet = self.ring.at_mut(self.sent);
        packet.set_dropped();
        packet.departure_ns = now_ns;
        self.accepted_bytes -= u64::from(packet.size);
        self.queue_packet_ns = self.queue_packet_ns.wrapping_add(u128::from(now_ns));
        self.sent += 1;
    }

    /// Packets below this number have a departure time.
    #[inline]
    const fn known_until(&self) -> u64 {
        if self.shared { self.granted } else { self.ring.tail() }
    }

    /// Bytes of the packet being sent; 0 if there is none.
    fn sending_bytes(&self) -> u64 {
        if self.sent < self.known_until() { u64::from(self.ring.at(self.sent).size) } else { 0 }
    }

    /// Whether a packet waits for the medium at `now_ns`.
    pub(crate) fn is_waiting(&mut self, now_ns: u64) -> bool {
        self.drain(now_ns);
        self.granted < self.ring.tail()
    }

    /// The medium belongs to the link from `now_ns` on: sends an aggregate and returns the departure time of its last
    /// packet; `None` if the queue dropped all packets. Earlier packets have departed.
    pub(crate) fn transmit(&mut self, now_ns: u64, aggregate: &MediumConfig) -> Option<u64> {
        debug_assert!(self.shared && self.granted <= self.sent);
        let begin_ns = now_ns.saturating_add(aggregate.overhead_ns);
        let (mut end_ns, mut bytes, mut sent) = (begin_ns, 0, 0);
        let mut number = self.sent;
        while number < self.ring.tail()
            && sent < aggregate.aggregate_packets
            && (sent == 0 || end_ns - begin_ns < aggregate.longest_ns)
        {
            let Some(verdict) = self.decide(number, now_ns, bytes) else { break };
            number += 1;
            if verdict == Verdict::Drop {
                self.drop_waiting(number - 1, now_ns);
                continue;
            }
            let packet = self.ring.at_mut(number - 1);
            if verdict == Verdict::Mark {
                packet.set_ce();
            }
            end_ns = self.transmitter.send_at_rate(begin_ns, packet.size);
            packet.departure_ns = end_ns;
            bytes += u64::from(packet.size);
            sent += 1;
        }
        self.granted = number;
        self.find_next_departure(number);
        self.find_head_arrival();
        (sent > 0).then_some(end_ns)
    }

    #[inline]
    fn find_head_arrival(&mut self) {
        self.head_arrival_ns = if self.ring.head() >= self.known_until() {
            u64::MAX
        } else {
            let head = self.ring.head();
            self.propagation.arrival_ns(head, self.ring.at(head).departure_ns)
        };
    }

    fn find_plain(&mut self) {
        self.plain = !self.dead
            && self.queue.drop_tail().is_some()
            && self.transmitter.is_steady()
            && self.propagation.is_steady()
            && !self.shared
            && self.stage.is_none();
    }

    #[cold]
    fn count_drop(&mut self, reason: DropReason) {
        match reason {
            DropReason::Full => self.dropped_full += 1,
            DropReason::Early => self.dropped_early += 1,
            DropReason::Dead => self.dropped_dead += 1,
        }
    }

    /// Drops the whole queue.
    fn flush(&mut self, now_ns: u64, dropped: &mut impl FnMut(Packet<T>)) {
        for number in self.sent..self.ring.tail() {
            self.queue_packet_ns = self.queue_packet_ns.wrapping_add(u128::from(now_ns));
            self.dropped_dead += 1;
            self.dead_bytes += u64::from(self.ring.at(number).size);
            dropped(*self.ring.at(number));
        }
        self.transmitter.stop(now_ns);
        self.queue.clear();
        self.ring.truncate(self.sent);
        self.granted = self.sent;
        self.next_departure_ns = u64::MAX;
        self.accepted_bytes = self.sent_bytes;
    }

    /// Recomputes the departures of the queue from `now_ns` on at another rate.
    fn change_rate(&mut self, now_ns: u64, rate_bps: u64) {
        if self.shared {
            // Packets that the medium has released are already being sent.
            self.transmitter.set_rate(rate_bps);
            return;
        }
        // If the queue decides at its head, the transmitter knows only the packet in service.
        let known = if self.queue.decides_at_head() { self.queue_packets().min(1) } else { self.queue_packets() };
        let taken_bytes = (self.sent..self.sent + known).map(|number| u64::from(self.ring.at(number).size)).sum();
        if self.transmitter.change_bucket(now_ns, rate_bps, taken_bytes) {
            for number in self.sent..self.sent + known {
                let packet = self.ring.at_mut(number);
                packet.departure_ns = self.transmitter.send(now_ns, packet.size);
            }
            return;
        }
        if self.queue_packets() == 0 {
            // A remainder of less than a nanosecond is not carried over to another rate.
            self.transmitter.stop(now_ns);
            self.transmitter.set_rate(rate_bps);
            return;
        }
        if self.queue.decides_at_head() {
            self.ring.at_mut(self.sent).departure_ns = self.transmitter.change_rate(now_ns, rate_bps, 0);
            return;
        }
        let behind = self.queue_bytes() - u64::from(self.ring.at(self.sent).size);
        self.ring.at_mut(self.sent).departure_ns = self.transmitter.change_rate(now_ns, rate_bps, behind);
        for number in self.sent + 1..self.ring.tail() {
            let packet = self.ring.at_mut(number);
            packet.departure_ns = self.transmitter.send(now_ns, packet.size);
        }
    }
}
