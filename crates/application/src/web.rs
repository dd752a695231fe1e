//! `web`: a page is a document and its objects. Each object is requested when the objects it depends on have arrived.
//! Pages follow one another, each with its own connections: several that carry one object at a time, as in HTTP/1.1, or
//! one that carries all, as in HTTP/2.

use std::collections::VecDeque;

use crate::script::{Script, Todo};
use crate::settings::Web as Settings;
use crate::stream::Amount;

/// A connection of the current page.
#[derive(Default)]
struct Line {
    transfer: Option<u32>,
    stands: bool,
    /// Requested objects in the order of the requests.
    asked: VecDeque<usize>,
    answers: u64,
}

pub(crate) struct Web {
    of: Settings,
    /// When the current page started, or when the next one will.
    page_ns: u64,
    pages: u64,
    /// For each group of objects, the number still to arrive.
    missing: Vec<u32>,
    /// Objects that are ready to be requested.
    wanted: VecDeque<usize>,
    lines: Vec<Line>,
}

impl Web {
    pub fn new(of: Settings) -> Web {
        Web { of, page_ns: 0, pages: 0, missing: Vec::new(), wanted: VecDeque::new(), lines: Vec::new() }
    }

    fn page_bytes(&self) -> u64 {
        self.of.objects.iter().map(|each| each.size_bytes * u64::from(each.count)).sum()
    }

    fn want(&mut self, object: usize) {
        let count = self.of.objects[object].count;
        self.wanted.extend((0..count).map(|_| object));
    }

    /// Requests all objects that are ready over idle connections, and opens more connections if there are too few.
    fn go_on(&mut self, todo: &mut Todo) {
        for line in self.lines.iter_mut().filter(|line| line.stands) {
            while (self.of.multiplexed || line.asked.is_empty())
                && let (Some(transfer), Some(object)) = (line.transfer, self.wanted.pop_front())
            {
                line.asked.push_back(object);
                todo.ask(transfer, self.of.request_bytes, self.of.objects[object].size_bytes);
            }
        }
        let opening = self.lines.iter().filter(|line| !line.stands).count();
        let more = (self.of.connections as usize).saturating_sub(self.lines.len());
        for _ in 0..self.wanted.len().saturating_sub(opening).min(more) {
            self.lines.push(Line::default());
            todo.open(Amount::Answers);
        }
    }

    fn leave_page(&mut self, now_ns: u64, todo: &mut Todo) {
        self.wanted.clear();
        self.lines.drain(..).filter_map(|line| line.transfer).for_each(|transfer| todo.close(transfer));
        self.pages += 1;
        if self.of.pages.is_some_and(|pages| self.pages >= pages) {
            todo.finish();
        } else {
            self.page_ns = now_ns.saturating_add(self.of.think_ns);
            todo.wake(self.page_ns);
        }
    }
}

impl Script for Web {
    fn start(&mut self, now_ns: u64, todo: &mut Todo) {
        self.page_ns = now_ns;
        self.wake(todo);
    }

    /// Starts a page.
    fn wake(&mut self, todo: &mut Todo) {
        todo.begins(self.page_ns);
        self.missing = self.of.objects.iter().map(|each| each.count).collect();
        self.want(0);
        self.go_on(todo);
    }

    fn opened(&mut self, transfer: u32) {
        if let Some(line) = self.lines.iter_mut().find(|line| line.transfer.is_none()) {
            line.transfer = Some(transfer);
        }
    }

    fn stands(&mut self, _now_ns: u64, transfer: u32, todo: &mut Todo) {
        if let Some(line) = self.lines.iter_mut().find(|line| line.transfer == Some(transfer)) {
            line.stands = true;
            self.go_on(todo);
        }
    }

    fn answered(&mut self, now_ns: u64, transfer: u32, answers: u64, todo: &mut Todo) {
        let Some(line) = self.lines.iter_mut().find(|line| line.transfer == Some(transfer)) else { return };
        let came = line.asked.drain(..(answers - line.answers) as usize).collect::<Vec<_>>();
        line.answers = answers;
        for object in came {
            self.missing[object] -= 1;
            if self.missing[object] == 0 {
                let next = (0..self.of.objects.len()).filter(|&each| self.of.objects[each].after == Some(object));
                next.collect::<Vec<_>>().into_iter().for_each(|each| self.want(each));
            }
        }
        if self.missing.iter().all(|&count| count == 0) {
            todo.is_done(self.page_ns, self.page_bytes(), now_ns);
            self.leave_page(now_ns, todo);
        } else {
            self.go_on(todo);
        }
    }

    /// A connection that fails ends its page, which counts as incomplete.
    fn ended(&mut self, now_ns: u64, transfer: u32, todo: &mut Todo) {
        if self.lines.iter().any(|line| line.transfer == Some(transfer)) {
            self.leave_page(now_ns, todo);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::hand::{Hand, OPEN, ask, close, wake};
    use crate::settings::WebObject as Object;

    fn page(connections: u32, multiplexed: bool) -> Web {
        let object = |size_bytes, count, after| Object { size_bytes, count, after };
        let objects = vec![object(10, 1, None), object(20, 2, Some(0)), object(5, 1, Some(1))];
        Web::new(Settings { objects, connections, multiplexed, request_bytes: 3, think_ns: 100, pages: Some(2) })
    }

    #[test]
    fn connections_carry_one_object_at_a_time() {
        let (mut web, mut hand) = (page(6, false), Hand::default());
        assert_eq!(hand.act(|todo| web.start(5, todo)), [OPEN]);
        web.opened(0);
        assert_eq!(hand.act(|todo| web.stands(10, 0, todo)), [ask(0, 3, 10)]);
        // The document has arrived. One of its two objects uses the existing connection, the other a new one.
        assert_eq!(hand.act(|todo| web.answered(20, 0, 1, todo)), [ask(0, 3, 20), OPEN]);
        web.opened(1);
        // The first object arrives before the other connection is established, which then has nothing to request.
        assert_eq!(hand.act(|todo| web.answered(30, 0, 2, todo)), [ask(0, 3, 20)]);
        assert_eq!(hand.act(|todo| web.stands(32, 1, todo)), []);
        assert_eq!(hand.act(|todo| web.answered(45, 0, 3, todo)), [ask(0, 3, 5)]);
        assert_eq!(hand.act(|todo| web.answered(55, 0, 4, todo)), [close(0), close(1), wake(155)]);
        assert_eq!((&hand.parts.size_bytes, &hand.parts.completion_s), (&vec![55], &vec![50e-9]));
        // The end of a connection of a completed page changes nothing.
        assert_eq!(hand.act(|todo| web.ended(60, 0, todo)), []);
        assert_eq!(hand.act(|todo| web.wake(todo)), [OPEN]);
        web.opened(0);
        // The second and last page fails.
        assert_eq!(hand.act(|todo| web.ended(200, 0, todo)), [close(0)]);
        assert_eq!((hand.parts.begun, hand.parts.size_bytes.len(), hand.finished), (2, 1, true));
    }

    #[test]
    fn one_connection_carries_all_when_multiplexed() {
        let (mut web, mut hand) = (page(1, true), Hand::default());
        hand.act(|todo| web.start(0, todo));
        web.opened(7);
        hand.act(|todo| web.stands(10, 7, todo));
        assert_eq!(hand.act(|todo| web.answered(20, 7, 1, todo)), [ask(7, 3, 20), ask(7, 3, 20)]);
        assert_eq!(hand.act(|todo| web.answered(30, 7, 3, todo)), [ask(7, 3, 5)]);
        assert_eq!(hand.act(|todo| web.answered(40, 7, 4, todo)), [close(7), wake(140)]);
        assert_eq!(hand.parts.completion_s, [40e-9]);
    }
}
