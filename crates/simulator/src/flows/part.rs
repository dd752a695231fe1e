//! A fabric that is one part of a network's ([`Division`]): packets on links that lead to other parts go there, and come from
//! there. Where a link leads to another part, this one has its queue and its transmitter, the other its wire.

use super::{COUNTED, Fabric, Flow, Subflow, Tag};
use crate::division::Division;
use network::{Link, Packet};
use std::net::SocketAddr;
use wire::{Compact, Segment, Span};

/// A link that does not lead to another part.
const NOWHERE: u32 = u32::MAX;
/// How many messages ahead of the one that is taken in a link is made ready.
const AHEAD: usize = 6;

/// A packet on its way to another part, known there from the moment at which it enters the link between the two.
struct Message {
    link: u32,
    /// When its arrival is scheduled: as it enters the link, or when the packet before it arrives.
    since_ns: u64,
    packet: Packet<Tag>,
    segment: Compact<Span>,
    whole: Option<Box<Segment<Span>>>,
}

/// A subflow that one part has opened, as the others must know it.
#[derive(Clone, Copy)]
pub struct Opened {
    pub number: u32,
    pub connection: u32,
    kind: u32,
    path: u32,
    ends: [SocketAddr; 2],
}

/// What goes from one part to another at one time.
#[derive(Default)]
pub struct Parcel {
    messages: Vec<Message>,
    pub opened: Vec<Opened>,
}

impl Parcel {
    /// How many packets are in it.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    pub fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.opened.is_empty()
    }
}

/// What a part has beside the fabric itself.
pub struct Part {
    number: u32,
    parts: u32,
    /// Of each link, the other part that it leads to, and when the packet handed over last arrives there.
    links: Vec<(u32, u64)>,
    /// What is to go to each part.
    pub parcels: Vec<Parcel>,
    /// The earliest arrival among it.
    pub earliest_ns: u64,
    /// How many subflows this part has opened: their numbers are `parts` apart.
    opened: u32,
    handed_over: u64,
    taken_over: u64,
}

/// Counts that must agree over all parts together.
#[derive(Clone, Copy, Default)]
pub struct Account {
    sent: u64,
    ended: u64,
    in_flight: u64,
    under_way: u64,
    handed_over: u64,
    taken_over: u64,
}

impl Account {
    pub fn add(&mut self, other: Account) {
        self.sent += other.sent;
        self.ended += other.ended;
        self.in_flight += other.in_flight;
        self.under_way += other.under_way;
        self.handed_over += other.handed_over;
        self.taken_over += other.taken_over;
    }

    /// Panics unless every packet sent was delivered, was lost, or is on a link.
    pub fn assert_conserved(&self) {
        assert_eq!(self.handed_over, self.taken_over, "packets that left a part, and that came to another");
        assert_eq!(self.in_flight, self.under_way, "segments in flight, packets on links");
        assert_eq!(self.sent, self.ended + self.in_flight, "packets sent = delivered + lost + in flight");
    }
}

impl Fabric {
    /// From now on, before anything is sent, this is part `number` of the network.
    pub fn set_part(&mut self, division: &Division, number: u32) {
        let mut links = vec![(NOWHERE, 0); self.links.len()];
        for (link, &[from, to]) in division.links.iter().enumerate() {
            if from == number && to != number {
                links[link].0 = to;
                self.links[link].cut();
            }
        }
        self.part = Some(Box::new(Part {
            number,
            parts: division.parts,
            links,
            parcels: std::iter::repeat_with(Parcel::default).take(division.parts as usize).collect(),
            earliest_ns: u64::MAX,
            opened: 0,
            handed_over: 0,
            taken_over: 0,
        }));
    }

    /// The number of a new subflow, which no other part gives.
    pub(super) fn number_in_part(&mut self, subflow: &Subflow) -> Option<u32> {
        let part = self.part.as_mut()?;
        let number = part.number + part.opened * part.parts;
        part.opened += 1;
        let &Subflow { connection, kind, path, ends, .. } = subflow;
        for (other, parcel) in part.parcels.iter_mut().enumerate() {
            if other as u32 != part.number {
                parcel.opened.push(Opened { number, connection, kind, path, ends });
            }
        }
        Some(number)
    }

    /// Puts a subflow at its number, with those of other parts still unknown in between.
    pub(super) fn enter(&mut self, number: u32, subflow: Subflow, flows: [Flow; 2]) {
        let place = number as usize;
        if self.subflows.len() <= place {
            self.subflows.resize(place + 1, subflow);
            self.flows.resize(2 * place + 2, flows[0]);
        }
        self.subflows[place] = subflow;
        self.flows[2 * place..][..2].copy_from_slice(&flows);
    }

    /// Another part has opened a subflow.
    pub fn learn(&mut self, opened: &Opened) {
        let &Opened { number, connection, kind, path, ends } = opened;
        let subflow = Subflow { connection, kind, path, ends, handles: [None; 2] };
        let flows = self.flows_of(&subflow);
        self.enter(number, subflow, flows);
    }

    /// The packet that has just entered `link` goes to the part that the link leads to.
    #[cold]
    #[inline(never)]
    pub(super) fn hand_over(&mut self, now_ns: u64, link: u32, slot: u32) {
        let Some(part) = &mut self.part else { unreachable!("a link is cut without parts") };
        let (packet, arrives_ns) = self.links[link as usize].handed_on();
        let (segment, whole) = self.segments.export(slot & !COUNTED);
        let (to, before_ns) = &mut part.links[link as usize];
        let since_ns = now_ns.max(std::mem::replace(before_ns, arrives_ns));
        part.handed_over += 1;
        part.earliest_ns = part.earliest_ns.min(arrives_ns);
        let to = *to;
        part.parcels[to as usize].messages.push(Message { link, since_ns, packet, segment, whole });
    }

    /// Takes in what another part has sent.
    pub fn take_over(&mut self, parcel: &mut Parcel) {
        let Some(part) = &mut self.part else { unreachable!("a parcel for no part") };
        part.taken_over += parcel.messages.len() as u64;
        let mut messages = std::mem::take(&mut parcel.messages);
        for number in 0..messages.len() {
            // These links are in no cache: the memory of some is asked for together.
            if let Some(later) = messages.get(number + AHEAD) {
                self.links[later.link as usize].prefetch();
            }
            let Message { link, since_ns, ref mut packet, ref segment, ref mut whole } = messages[number];
            packet.tag.slot = self.segments.import(*segment, whole.take()) | (packet.tag.slot & COUNTED);
            let wire = &mut self.links[link as usize];
            if wire.carry(*packet) {
                self.queue.push_link(since_ns, wire.next_arrival_or_max_ns(), link, packet.tag.note());
            }
        }
        messages.clear();
        parcel.messages = messages;
    }

    /// What this part has counted, at the end.
    pub fn account(&self) -> Account {
        let part = self.part.as_ref();
        // On a link that leads elsewhere the other part counts.
        let own = |&(link, _): &(usize, &Link<Tag>)| part.is_none_or(|part| part.links[link].0 == NOWHERE);
        let under_way = self.links.iter().enumerate().filter(own).map(|(_, link)| link.under_way()).sum();
        Account {
            sent: self.sent,
            ended: self.delivered + self.lost,
            in_flight: self.segments.len() as u64,
            under_way,
            handed_over: part.map_or(0, |part| part.handed_over),
            taken_over: part.map_or(0, |part| part.taken_over),
        }
    }

    /// Adds what another part has counted, at the end.
    pub fn add_counts(&mut self, other: &Fabric) {
        self.packet_hops += other.packet_hops;
        self.segments_delivered += other.segments_delivered;
        for (flow, of_other) in self.flows.iter_mut().zip(&other.flows) {
            flow.data_sent += of_other.data_sent;
            flow.data_lost += of_other.data_lost;
        }
    }
}
