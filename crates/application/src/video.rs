//! `video`: a video in segments, played while it is downloaded over one connection. The bit rate of the next segment
//! depends on the buffer level alone, by BBA-0 (Huang, Johari, McKeown, Trunnell, Watson, "A buffer-based approach to
//! rate adaptation", SIGCOMM 2014, algorithm 1).

use crate::outcome::Playback;
use crate::script::{Script, Todo};
use crate::settings::Video as Settings;
use crate::stream::Amount;

impl Settings {
    /// Bit rate of the segment that follows one of `last_bps`, at this buffer level.
    fn rate_bps(&self, last_bps: u64, level_ns: u64) -> u64 {
        let ladder = &self.ladder_bps;
        let (least, most) = (ladder[0], ladder[ladder.len() - 1]);
        if level_ns <= self.reservoir_ns {
            return least;
        }
        if level_ns >= self.upper_ns {
            return most;
        }
        let above = u128::from(most - least) * u128::from(level_ns - self.reservoir_ns);
        let map_bps = least + (above / u128::from(self.upper_ns - self.reservoir_ns)) as u64;
        let higher = ladder.iter().copied().find(|&rate| rate > last_bps).unwrap_or(most);
        let lower = ladder.iter().copied().rev().find(|&rate| rate < last_bps).unwrap_or(least);
        if map_bps >= higher {
            ladder.iter().copied().rev().find(|&rate| rate < map_bps).unwrap_or(least)
        } else if map_bps <= lower {
            ladder.iter().copied().find(|&rate| rate > map_bps).unwrap_or(most)
        } else {
            last_bps
        }
    }

    /// Size of a segment in bytes.
    fn bytes(&self, rate_bps: u64) -> u64 {
        (u128::from(rate_bps) * u128::from(self.segment_ns) / 8_000_000_000).max(1) as u64
    }
}

/// State of the playback.
#[derive(Clone, Copy)]
struct Screen {
    /// When `level_ns` was last updated.
    at_ns: u64,
    level_ns: u64,
    playing: bool,
    /// When playback last stopped: the start, or the beginning of the current stall.
    still_ns: u64,
    startup_ns: Option<u64>,
    stalls: u64,
    stalled_ns: u64,
}

impl Screen {
    /// Advances the time. `more` tells whether segments are still to come.
    fn advance(&mut self, now_ns: u64, more: bool) {
        let passed_ns = now_ns.saturating_sub(self.at_ns);
        if self.playing && passed_ns > self.level_ns {
            self.playing = false;
            self.still_ns = self.at_ns + self.level_ns;
            self.level_ns = 0;
            self.stalls += u64::from(more);
        } else if self.playing {
            self.level_ns -= passed_ns;
        }
        self.at_ns = self.at_ns.max(now_ns);
    }

    /// Starts or resumes playback.
    fn play(&mut self, now_ns: u64, start_ns: u64) {
        self.playing = true;
        match self.startup_ns {
            None => self.startup_ns = Some(now_ns - start_ns),
            Some(_) => self.stalled_ns += now_ns - self.still_ns,
        }
    }
}

pub(crate) struct Video {
    of: Settings,
    start_ns: u64,
    transfer: u32,
    /// The requested segment: the time of the request, and its bit rate.
    asked: (u64, u64),
    /// When the next segment is requested, while the buffer is full.
    due_ns: u64,
    came: u64,
    rates_bps: u128,
    switches: u64,
    screen: Screen,
}

impl Video {
    pub fn new(of: Settings, start_ns: u64) -> Video {
        let rate_bps = of.ladder_bps[0];
        let screen = Screen {
            at_ns: start_ns,
            level_ns: 0,
            playing: false,
            still_ns: start_ns,
            startup_ns: None,
            stalls: 0,
            stalled_ns: 0,
        };
        let asked = (start_ns, rate_bps);
        Video { of, start_ns, transfer: 0, asked, due_ns: 0, came: 0, rates_bps: 0, switches: 0, screen }
    }

    fn more(&self) -> bool {
        self.of.segments.is_none_or(|segments| self.came < segments)
    }

    fn ask(&mut self, now_ns: u64, todo: &mut Todo) {
        let rate_bps = self.of.rate_bps(self.asked.1, self.screen.level_ns);
        self.switches += u64::from(rate_bps != self.asked.1);
        self.asked = (now_ns, rate_bps);
        todo.begins(now_ns);
        todo.ask(self.transfer, self.of.request_bytes, self.of.bytes(rate_bps));
    }

    fn came(&mut self, now_ns: u64, todo: &mut Todo) {
        let more = self.more();
        self.screen.advance(now_ns, more);
        self.screen.level_ns += self.of.segment_ns;
        self.came += 1;
        self.rates_bps += u128::from(self.asked.1);
        todo.is_done(self.asked.0, self.of.bytes(self.asked.1), now_ns);
        let more = self.more();
        if !self.screen.playing && (self.screen.level_ns >= self.of.startup_ns || !more) {
            self.screen.play(now_ns, self.start_ns);
        }
        if !more {
            return todo.finish();
        }
        let full_ns = self.screen.level_ns + self.of.segment_ns;
        if full_ns > self.of.buffer_ns {
            self.due_ns = now_ns + (full_ns - self.of.buffer_ns);
            todo.wake(self.due_ns);
        } else {
            self.ask(now_ns, todo);
        }
    }
}

impl Script for Video {
    fn start(&mut self, _now_ns: u64, todo: &mut Todo) {
        todo.open(Amount::Answers);
    }

    fn wake(&mut self, todo: &mut Todo) {
        self.screen.advance(self.due_ns, true);
        self.ask(self.due_ns, todo);
    }

    fn opened(&mut self, transfer: u32) {
        self.transfer = transfer;
    }

    fn stands(&mut self, now_ns: u64, _transfer: u32, todo: &mut Todo) {
        self.ask(now_ns, todo);
    }

    fn answered(&mut self, now_ns: u64, _transfer: u32, answers: u64, todo: &mut Todo) {
        while self.came < answers {
            self.came(now_ns, todo);
        }
    }

    fn ended(&mut self, _now_ns: u64, _transfer: u32, todo: &mut Todo) {
        todo.finish();
    }

    fn playback(&self, until_ns: u64) -> Option<Playback> {
        let (mut screen, more) = (self.screen, self.more());
        screen.advance(until_ns, more);
        if more && !screen.playing && screen.startup_ns.is_some() {
            screen.stalled_ns += until_ns.saturating_sub(screen.still_ns);
        }
        Some(Playback {
            startup_s: screen.startup_ns.map(|startup_ns| startup_ns as f64 / 1e9),
            stalls: screen.stalls,
            stalled_s: screen.stalled_ns as f64 / 1e9,
            bitrate_mean_bps: (self.came > 0).then(|| self.rates_bps as f64 / self.came as f64),
            switches: self.switches,
        })
    }
}

#[cfg(test)]
#[path = "video_tests.rs"]
mod tests;
