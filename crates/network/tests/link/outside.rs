//! An external queue discipline.

use network::DropReason;
use network::queue::{Arrival, Discipline, Entry};

use super::*;

/// Drop-tail with a limit in packets.
#[derive(Clone, Debug)]
struct Mine {
    packets: u64,
}

impl Discipline for Mine {
    fn enqueue(&mut self, arrival: Arrival<'_>, _: &mut Xoshiro256PlusPlus) -> Result<Entry, DropReason> {
        if arrival.packets < self.packets { Ok(Entry::Plain) } else { Err(DropReason::Full) }
    }

    fn copied(&self) -> Box<dyn Discipline> {
        Box::new(self.clone())
    }
}

#[test]
fn one_from_outside_does_what_its_like_in_the_tree_does() {
    let packets = 7;
    let mine = QueueConfig::custom("mine", move |_| Box::new(Mine { packets }));
    assert!(mine == mine.clone() && mine.about().is_none() && mine.check().is_ok());
    let [ours, theirs] = [QueueConfig::drop_tail(Limit::Packets(packets)), mine].map(|queue| {
        let mut link = link_of(12_000_000, 1_000, queue);
        let answers: Vec<_> = (0..40).map(|tag| link.enqueue(tag * 300_000, packet(tag, 1_500))).collect();
        let mut copy = link.clone();
        assert_eq!(deliver_all(&mut copy), deliver_all(&mut link));
        (answers, link.counters(1_000_000_000))
    });
    assert!(ours.1.dropped_full > 0);
    assert_eq!(ours, theirs);
}
