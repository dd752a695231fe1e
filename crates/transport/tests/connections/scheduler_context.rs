//! What a scheduler is told of its connection beside the views.

use std::sync::{Arc, Mutex};

use crate::common::{CLIENT, MS, Pair, Path, SECOND, SERVER};
use transport::congestion::View;
use transport::scheduler::{Choice, Context, Counters, Decision, Demand, MinRtt, PacketScheduler};
use transport::{Config, Event, Instant, SubflowId};

/// A question: what was left, whether the end was known, the counters of the first subflow.
type Asked = (u64, Option<u64>, bool, Counters);

/// The default one, which writes down what it is told.
#[derive(Debug)]
struct Curious(Arc<Mutex<Vec<Asked>>>);

impl PacketScheduler for Curious {
    fn name(&self) -> &'static str {
        "curious"
    }

    fn choose(&mut self, demand: Demand, group: &[View], context: &Context) -> Decision {
        let asked = (context.sent_bytes, context.left_bytes(), context.ended, context.counters(0));
        self.0.lock().unwrap().push(asked);
        assert_eq!(context.counters(group.len()), Counters::default());
        MinRtt.choose(demand, group, context)
    }
}

fn pair(loss: u64) -> (Pair, Arc<Mutex<Vec<Asked>>>) {
    let log = Arc::new(Mutex::new(Vec::new()));
    let shared = Arc::clone(&log);
    let curious = Choice::custom("curious", move |_| Box::new(Curious(Arc::clone(&shared))));
    let server = Config { scheduler: curious, ..Config::default() };
    let mut p = Pair::new(1, [Config::default(), server], vec![Path { loss, ..Path::clean(20 * MS) }]);
    assert!(p.run_until(60 * SECOND, |p| p.saw(SERVER, Event::Established)));
    (p, log)
}

#[test]
fn the_size_of_the_flow_is_known_when_it_was_announced_or_the_stream_has_ended() {
    let (mut p, log) = pair(0);
    p.connection(SERVER).offer(10_000);
    p.run_until(SECOND, |_| false);
    assert!(log.lock().unwrap().iter().all(|&(_, left, ended, _)| left.is_none() && !ended));
    p.connection(SERVER).set_flow_size(50_000);
    for _ in 0..3 {
        log.lock().unwrap().clear();
        let (now_ns, sent) = (p.now_ns, p.connection(SERVER).bytes_unsent());
        assert_eq!(sent, 0);
        p.connection(SERVER).offer(10_000);
        p.run_until(now_ns + SECOND, |_| false);
        let asked = log.lock().unwrap();
        assert!(!asked.is_empty());
        assert!(asked.iter().all(|&(sent, left, ended, _)| left == Some(50_000 - sent) && !ended));
    }
    log.lock().unwrap().clear();
    // The application ends sooner than it said.
    p.connection(SERVER).offer(5_000);
    let now_ns = p.now_ns;
    p.connection(SERVER).close(Instant::from_nanos(now_ns));
    assert!(p.run_until(now_ns + SECOND, |p| p.saw(SERVER, Event::Flushed)));
    assert!(log.lock().unwrap().iter().all(|&(sent, left, ended, _)| left == Some(45_000 - sent) && ended));
    assert_eq!(p.read[CLIENT], 45_000);
}

#[test]
fn counters_tell_what_was_sent_and_lost() {
    let (mut p, log) = pair(30);
    p.connection(SERVER).offer(2_000_000);
    p.run_until(20 * SECOND, |p| p.read[CLIENT] == 2_000_000);
    let statistics = p.connection(SERVER).statistics(SubflowId(0));
    let log = log.lock().unwrap();
    let last = log.last().unwrap().3;
    let later = statistics.data_segments_sent - last.segments_sent;
    assert!(later < 50, "{later} after the last question");
    // 3 % of about 1400 segments, and of their retransmissions; probes that repeat a segment are not losses.
    assert!((20..90).contains(&last.segments_lost), "{last:?}");
    assert!(last.segments_lost <= statistics.retransmissions);
    let sent_bytes = |&(sent, _, _, counters): &Asked| (sent, counters.unacknowledged_bytes, counters.queued_bytes);
    assert!(log.iter().map(sent_bytes).all(|(sent, unacknowledged, queued)| unacknowledged <= sent && queued == 0));
}
