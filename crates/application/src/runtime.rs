//! All applications of a run, and the actions they ask for.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::action::Action;
use crate::arrivals::ArrivalProcess;
use crate::content::Content;
use crate::ftp::Ftp;
use crate::outcome::Connection;
use crate::ping::Ping;
use crate::random;
use crate::reader::Stage;
use crate::record::Record;
use crate::script::{Script, Todo};
use crate::stream::{Amount, News, Stream};
use crate::video::Video;
use crate::web::Web;

/// A kind of connection: `count` equal applications.
#[derive(Clone, Debug)]
pub struct Kind<'a> {
    /// Name in the scenario, from which the random numbers are derived.
    pub name: &'a str,
    /// Number of applications.
    pub count: u32,
    /// What each application transfers.
    pub content: Content,
    /// The end that writes data.
    pub sender: usize,
    /// Range from which each application's start time is drawn uniformly.
    pub start_ns: [u64; 2],
    /// When each application stops.
    pub stop_ns: Option<u64>,
    /// When the other end reads, and how fast.
    pub reading: &'a [Stage],
}

/// One of the `count` connections of a kind, or an application that opens many.
pub struct Application<F> {
    /// Index into the scenario's connections.
    pub kind: u32,
    /// 0 to count − 1.
    pub index: u32,
    /// Start time.
    pub start_ns: u64,
    /// Stop time, if there is one.
    pub stop_ns: Option<u64>,
    /// What the application transfers.
    pub content: Content,
    /// The end that writes data.
    pub sender: usize,
    /// When the other end reads, and how fast, for [`Stream::read_in`].
    pub reading: Arc<[Stage]>,
    /// Whether the application has stopped.
    pub stopped: bool,
    /// Current transfers in the order of opening. An application that repeats removes its transfers when they are over.
    pub transfers: Vec<u32>,
    /// Sums over the transfers that were removed.
    pub record: Record<F>,
    /// Generator of flow arrival times and sizes.
    arrivals: Option<Box<ArrivalProcess>>,
    /// The script of an application that asks and answers.
    script: Option<Box<dyn Script>>,
    /// For `rate`: when the first step was offered, and the number offered since.
    steps: (u64, u64),
}

impl<F: Clone> Application<F> {
    fn new(seed: u64, kind: u32, index: u32, of: &Kind) -> Application<F> {
        let name = format!("connection/{}/{index}", of.name);
        let start_ns = random::uniform_ns(&mut random::generator(seed, &format!("{name}/start")), of.start_ns);
        let limit_ns = match of.content {
            Content::Requests { limit_ns, .. } => limit_ns.map(|limit_ns| start_ns.saturating_add(limit_ns)),
            _ => None,
        };
        let arrivals = match of.content {
            Content::Flows { size, arrivals } => {
                Some(Box::new(ArrivalProcess::new(seed, &name, start_ns, size, arrivals)))
            }
            _ => None,
        };
        Application {
            kind,
            index,
            start_ns,
            stop_ns: [of.stop_ns, limit_ns].into_iter().flatten().min(),
            content: of.content.clone(),
            sender: of.sender,
            reading: of.reading.into(),
            stopped: false,
            transfers: Vec::new(),
            record: Record::new(start_ns, &of.content),
            arrivals,
            script: script(&of.content, start_ns),
            steps: (0, 0),
        }
    }

    /// Amount of the first or only transfer. A flow's size is drawn when it arrives.
    fn amount(&self) -> Amount {
        match self.content {
            Content::Bulk => Amount::Endless,
            Content::File { size_bytes } | Content::Requests { size_bytes, .. } => Amount::Bytes(size_bytes),
            Content::Rate { .. } => Amount::Steps,
            Content::Flows { .. } => Amount::Bytes(0),
            Content::Ping(_) | Content::Web(_) | Content::Video(_) | Content::Ftp(_) => Amount::Answers,
        }
    }

    /// When the next step of `bytes` is due: when all earlier steps would have been sent at the configured rate.
    fn next_step_ns(&self, bytes: u64) -> u64 {
        let Content::Rate { rate_bps } = self.content else { return u64::MAX };
        let (first_ns, steps) = self.steps;
        let bits = 8 * u128::from(bytes) * u128::from(steps + 1);
        let after_ns = (bits * 1_000_000_000).div_ceil(u128::from(rate_bps));
        u64::try_from(u128::from(first_ns) + after_ns).unwrap_or(u64::MAX)
    }

    /// When the last byte arrived, if no more data is to come. `stream` returns the stream of a transfer.
    pub fn completion_ns<'s>(&self, stream: impl Fn(u32) -> &'s Stream) -> Option<u64> {
        let own = || self.transfers.iter().map(|&transfer| stream(transfer));
        if !self.content.repeats() {
            return own().next()?.completion_ns;
        }
        let over = self.stopped && own().all(|stream| stream.ended);
        over.then(|| own().map(|stream| stream.last_read_ns).fold(self.record.last_read_ns, u64::max))
    }

    /// The row of the outcome at the end of the run. `record` is the application's own with all transfers added;
    /// `counted` is as for [`crate::Tally::row`].
    pub fn row<'s>(
        &self,
        record: Record<F>,
        stream: impl Fn(u32) -> &'s Stream,
        run_ns: (u64, u64),
        counted: impl Fn(&F) -> (u64, u64),
    ) -> Connection {
        let ended = self.transfers.iter().all(|&transfer| stream(transfer).ended);
        let only = self.transfers.first().filter(|_| !self.content.repeats());
        let only = only.map(|&transfer| stream(transfer));
        let since_start_s = |at_ns: u64| at_ns.saturating_sub(self.start_ns) as f64 / 1e9;
        let times_ns = (self.start_ns, self.completion_ns(stream), only.and_then(Stream::last_ns));
        let until_ns = self.stop_ns.map_or(run_ns.1, |stop_ns| stop_ns.min(run_ns.1));
        Connection {
            sender_completion_s: only.and_then(|stream| stream.flushed_ns).map(since_start_s),
            establishment_s: only.and_then(|stream| stream.established_ns).map(since_start_s),
            longest_silence_s: only
                .and_then(|stream| stream.silence_ns(run_ns.1))
                .map(|silence_ns| silence_ns as f64 / 1e9),
            notice_s: only.and_then(Stream::notice_ns).map(|notice_ns| notice_ns as f64 / 1e9),
            playback: self.script.as_ref().and_then(|script| script.playback(until_ns)),
            ..record.row((self.kind, self.index), times_ns, run_ns, ended, counted)
        }
    }
}

/// The script of an application that asks and answers.
fn script(content: &Content, start_ns: u64) -> Option<Box<dyn Script>> {
    match content {
        Content::Ping(settings) => Some(Box::new(Ping::new(*settings))),
        Content::Web(settings) => Some(Box::new(Web::new(settings.clone()))),
        Content::Video(settings) => Some(Box::new(Video::new(settings.clone(), start_ns))),
        Content::Ftp(settings) => Some(Box::new(Ftp::new(*settings))),
        _ => None,
    }
}

/// All applications of a run.
pub struct Runtime<F> {
    /// Applications in the scenario's order, `count` of each kind.
    pub applications: Vec<Application<F>>,
    warmup_ns: u64,
    actions: VecDeque<Action>,
}

impl<F: Clone> Runtime<F> {
    /// Creates the applications; none has started. A seed gives the same starts, arrivals and sizes in every engine.
    pub fn new<'k>(seed: u64, warmup_ns: u64, kinds: impl Iterator<Item = Kind<'k>>) -> Runtime<F> {
        let kinds = (0..).zip(kinds);
        let all = kinds.flat_map(|(kind, of)| (0..of.count).map(move |index| Application::new(seed, kind, index, &of)));
        Runtime { applications: all.collect(), warmup_ns, actions: VecDeque::new() }
    }

    /// The next action, if any.
    #[inline]
    pub fn next_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// Number of waiting actions.
    pub fn actions_waiting(&self) -> usize {
        self.actions.len()
    }

    /// Starts an application.
    pub fn start(&mut self, number: u32) {
        let application = &self.applications[number as usize];
        if application.script.is_some() {
            let start_ns = application.start_ns;
            return self.act(number, |script, todo| script.start(start_ns, todo));
        }
        match &application.arrivals {
            Some(_) => self.wake_for_next_flow(number),
            None if application.stopped => {}
            None => self.actions.push_back(Action::Open { application: number, amount: application.amount() }),
        }
    }

    /// Wakes an application at the time it asked for: a flow arrives, or a step of a rate is due. `stream` returns the
    /// stream of a transfer.
    pub fn wake<'s>(&mut self, number: u32, stream: impl FnOnce(u32) -> Option<&'s Stream>) {
        let application = &mut self.applications[number as usize];
        if application.stopped {
            return;
        }
        if application.script.is_some() {
            return self.act(number, |script, todo| script.wake(todo));
        }
        if let Some(arrivals) = &mut application.arrivals {
            let amount = Amount::Bytes(arrivals.take());
            self.wake_for_next_flow(number);
            self.actions.push_back(Action::Open { application: number, amount });
            return;
        }
        let Some(&transfer) = application.transfers.first() else { return };
        if let Some(stream) = stream(transfer).filter(|stream| stream.is_writing()) {
            application.steps.1 += 1;
            let at_ns = application.next_step_ns(stream.step_bytes);
            // The order matters to drivers that handle simultaneous events in the order of their creation.
            self.actions.push_back(Action::Wake { application: number, at_ns });
            self.actions.push_back(Action::Write { transfer });
        }
    }

    /// Reports that the driver has opened a connection for an application.
    pub fn opened(&mut self, now_ns: u64, number: u32, transfer: u32) {
        let application = &mut self.applications[number as usize];
        application.transfers.push(transfer);
        match &mut application.script {
            Some(script) => script.opened(transfer),
            None => application.record.done.begun += u64::from(now_ns >= self.warmup_ns),
        }
    }

    /// Runs an application's script, unless the application has stopped.
    fn act(&mut self, number: u32, what: impl FnOnce(&mut dyn Script, &mut Todo)) {
        let application = &mut self.applications[number as usize];
        let Some(script) = application.script.as_mut().filter(|_| !application.stopped) else { return };
        let done = &mut application.record.done;
        let mut todo = Todo::new(number, &mut self.actions, done, self.warmup_ns);
        what(script.as_mut(), &mut todo);
        if todo.is_finished() {
            self.stop(number);
        }
    }

    /// Reports an event to an application's script.
    fn tell(&mut self, now_ns: u64, number: u32, (transfer, stream): (u32, &Stream), news: News) {
        self.act(number, |script, todo| {
            if news.has(News::ESTABLISHED) {
                script.stands(now_ns, transfer, todo);
            }
            if news.has(News::ANSWERED) {
                script.answered(stream.last_read_ns, transfer, stream.answers(), todo);
            }
            if let (true, Some(at_ns)) = (news.has(News::COMPLETED), stream.completion_ns) {
                script.completed(at_ns, transfer, todo);
            }
            if news.has(News::ENDED) {
                script.ended(now_ns, transfer, todo);
            }
        });
    }

    /// Stops an application: it opens no more connections and, unless it sends flows, stops writing.
    pub fn stop(&mut self, number: u32) {
        let application = &mut self.applications[number as usize];
        application.stopped = true;
        if !matches!(application.content, Content::Flows { .. }) {
            self.actions.extend(application.transfers.iter().map(|&transfer| Action::Stop { transfer }));
        }
    }

    /// Reports news of the stream of one of an application's transfers.
    pub fn take_news(&mut self, now_ns: u64, number: u32, (transfer, stream): (u32, &Stream), news: News) {
        let application = &mut self.applications[number as usize];
        if application.script.is_some() {
            return self.tell(now_ns, number, (transfer, stream), news);
        }
        if news.has(News::ESTABLISHED) && matches!(application.content, Content::Rate { .. }) {
            application.steps = (now_ns, 0);
            let at_ns = application.next_step_ns(stream.step_bytes);
            if stream.is_writing() {
                self.actions.push_back(Action::Wake { application: number, at_ns });
            }
        }
        if let (true, Some(at_ns)) = (news.has(News::COMPLETED), stream.completion_ns) {
            // Transfers that were cut off do not count, even if their last byte arrived.
            let cut_off = application.stopped && matches!(application.content, Content::Requests { .. });
            if application.content.repeats() && !cut_off && stream.start_ns >= self.warmup_ns {
                let done = &mut application.record.done;
                done.start_s.push(stream.start_ns as f64 / 1e9);
                done.size_bytes.push(stream.bytes_read);
                done.completion_s.push((at_ns - stream.start_ns) as f64 / 1e9);
            }
        }
        if news.has(News::ENDED) && !application.stopped && matches!(application.content, Content::Requests { .. }) {
            let amount = application.amount();
            self.actions.push_back(Action::Open { application: number, amount });
        }
    }

    /// Ends the warm-up: the transfers removed so far belong to it.
    pub fn warm_up_ends(&mut self) {
        self.applications.iter_mut().for_each(|application| application.record.warm_up_ends());
    }

    fn wake_for_next_flow(&mut self, number: u32) {
        if let Some(arrivals) = &self.applications[number as usize].arrivals
            && arrivals.next_ns() < u64::MAX
        {
            self.actions.push_back(Action::Wake { application: number, at_ns: arrivals.next_ns() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::{Arrivals, Size};
    use crate::stream::SERVER;

    fn runtime(content: Content) -> Runtime<()> {
        let kind = Kind { name: "c", count: 1, content, sender: SERVER, start_ns: [5, 5], stop_ns: None, reading: &[] };
        Runtime::new(1, 100, std::iter::once(kind))
    }

    fn actions(runtime: &mut Runtime<()>) -> Vec<Action> {
        std::iter::from_fn(|| runtime.next_action()).collect()
    }

    fn stands(now_ns: u64, amount: Amount, step_bytes: u64) -> Stream {
        let mut stream = Stream::new(now_ns, amount, SERVER);
        stream.establish(now_ns, step_bytes);
        stream
    }

    #[test]
    fn steps_keep_to_the_rate_without_drift() {
        // 1000 bytes at 3 Mbit/s take 2 666 666⅔ ns, rounded up; the third step is due at exactly 8 ms.
        let mut runtime = runtime(Content::Rate { rate_bps: 3_000_000 });
        runtime.start(0);
        assert_eq!(actions(&mut runtime), [Action::Open { application: 0, amount: Amount::Steps }]);
        runtime.opened(0, 0, 9);
        let mut stream = stands(0, Amount::Steps, 1000);
        let news = stream.take_news();
        runtime.take_news(1_000, 0, (9, &stream), news);
        let mut due_ns = Vec::new();
        for _ in 0..5 {
            let wanted = actions(&mut runtime);
            due_ns.extend(wanted.iter().filter_map(|action| match action {
                Action::Wake { at_ns, .. } => Some(at_ns - 1_000),
                _ => None,
            }));
            runtime.wake(0, |_| Some(&stream));
        }
        assert_eq!(due_ns, [2_666_667, 5_333_334, 8_000_000, 10_666_667, 13_333_334]);
        assert_eq!(actions(&mut runtime)[1], Action::Write { transfer: 9 });
        // Nothing is written after the stop.
        runtime.stop(0);
        runtime.wake(0, |_| Some(&stream));
        assert_eq!(actions(&mut runtime), [Action::Stop { transfer: 9 }]);
    }

    #[test]
    fn the_slowest_of_rates_ends_beyond_all_time() {
        let mut runtime = runtime(Content::Rate { rate_bps: 1 });
        runtime.applications[0].steps = (0, u64::MAX - 1);
        assert_eq!(runtime.applications[0].next_step_ns(1000), u64::MAX);
    }

    #[test]
    fn a_request_follows_the_end_of_the_one_before_until_the_stop() {
        let mut runtime = runtime(Content::Requests { size_bytes: 10, limit_ns: Some(1000) });
        assert_eq!(runtime.applications[0].stop_ns, Some(1005));
        let open = Action::Open { application: 0, amount: Amount::Bytes(10) };
        runtime.start(0);
        assert_eq!(actions(&mut runtime), [open]);
        for now_ns in [50, 150] {
            runtime.opened(now_ns, 0, 0);
            let mut stream = stands(now_ns, Amount::Bytes(10), 5);
            stream.read(now_ns + 20, 10);
            let news = stream.take_news();
            runtime.take_news(now_ns + 20, 0, (0, &stream), news);
            assert_eq!(actions(&mut runtime), [], "the stream has not ended");
            stream.end(now_ns + 30);
            let news = stream.take_news();
            runtime.take_news(now_ns + 30, 0, (0, &stream), news);
            assert_eq!(actions(&mut runtime), [open]);
        }
        // One request began before the end of the warm-up.
        let done = &runtime.applications[0].record.done;
        assert_eq!((done.begun, &done.size_bytes, &done.completion_s), (1, &vec![10], &vec![20e-9]));
        // A request that is cut off does not count, and no other follows.
        runtime.applications[0].transfers = vec![3];
        runtime.stop(0);
        assert_eq!(actions(&mut runtime), [Action::Stop { transfer: 3 }]);
        let mut cut = stands(200, Amount::Bytes(10), 5);
        cut.read(220, 10);
        cut.end(220);
        let news = cut.take_news();
        runtime.take_news(220, 0, (3, &cut), news);
        assert_eq!((actions(&mut runtime), runtime.applications[0].record.done.start_s.len()), (vec![], 1));
        // Nor does one follow if the stop came before the start.
        runtime.start(0);
        assert_eq!(actions(&mut runtime), []);
    }

    #[test]
    fn flows_come_until_the_stop_and_those_under_way_go_on() {
        let content = Content::Flows {
            size: Size::Constant { mean_bytes: 7 },
            arrivals: Arrivals::Periodic { rate_per_s: 1e9 / 50.0 },
        };
        let mut runtime = runtime(content);
        let wake = |at_ns| Action::Wake { application: 0, at_ns };
        let open = Action::Open { application: 0, amount: Amount::Bytes(7) };
        runtime.start(0);
        assert_eq!(actions(&mut runtime), [wake(5)]);
        runtime.wake(0, |_| None);
        assert_eq!(actions(&mut runtime), [wake(55), open]);
        runtime.opened(5, 0, 4);
        runtime.stop(0);
        runtime.wake(0, |_| None);
        assert_eq!(actions(&mut runtime), []);
        // The application is complete when its last flow has ended.
        let mut stream = stands(5, Amount::Bytes(7), 7);
        assert_eq!(runtime.applications[0].completion_ns(|_| &stream), None);
        stream.read(70, 7);
        stream.end(80);
        assert_eq!(runtime.applications[0].completion_ns(|_| &stream), Some(70));
    }
}
