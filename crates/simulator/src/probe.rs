//! Measurements during a run: samples at regular intervals, and the counters at the end of the warm-up, so that the
//! summary can exclude it.

use crate::flows::Fabric;
use crate::transfer::Transfer;
use application::{Application, Kept, Mark, Present};
use scenario::description::Description;
use scenario::link_meter::LinkMeter;
use scenario::outcome::SubflowSamples;
use transport::Host;
use transport::Instant;
use wire::Span;

/// The state that a probe reads.
pub struct View<'a> {
    pub hosts: &'a [Host<Span>; 2],
    pub applications: &'a mut [Application<()>],
    pub transfers: &'a mut [Transfer],
    pub fabric: &'a mut Fabric,
}

impl View<'_> {
    /// The counters of subflow `number` of `transfer` at `now_ns`.
    pub fn mark(&self, now_ns: u64, number: u32, transfer: &Transfer) -> Mark {
        mark(now_ns, self.hosts, self.fabric, number, transfer)
    }
}

fn mark(now_ns: u64, hosts: &[Host<Span>; 2], fabric: &Fabric, number: u32, transfer: &Transfer) -> Mark {
    let handles = fabric.subflows[number as usize].handles;
    let statistics = |side: usize| {
        let handle = handles[side];
        handle.map(|handle| hosts[side].connection(handle.connection).statistics(handle.subflow))
    };
    let stream = &transfer.stream;
    Mark::at(now_ns, statistics(stream.sender), statistics(stream.receiver()))
}

/// The measurements of a run.
pub struct Probe {
    sample_ns: Option<u64>,
    /// By subflow; a subflow beyond the end has no kept counters.
    kept: Vec<Kept>,
    /// For each kind of connection, the columns of its congestion control.
    columns: Vec<Vec<String>>,
    pub subflow_samples: SubflowSamples,
    pub links: LinkMeter,
}

impl Probe {
    /// `columns` are those of the congestion control of each kind of connection.
    pub fn new(description: &Description, columns: Vec<Vec<String>>) -> Probe {
        Probe {
            sample_ns: description.sample_ns,
            kept: Vec::new(),
            links: LinkMeter::new(description),
            subflow_samples: SubflowSamples::with_columns(columns.iter().flatten()),
            columns,
        }
    }

    /// Ends the warm-up.
    pub fn warm_up_ends(&mut self, now_ns: u64, view: View) {
        self.links.warm_up_ends(now_ns, &mut view.fabric.links);
        for transfer in view.transfers.iter_mut() {
            transfer.stream.warm_up_ends();
        }
        for transfer in view.transfers.iter() {
            for &number in &transfer.subflows {
                self.kept_mut(number).warm = (&view.mark(now_ns, number, transfer)).into();
            }
        }
        view.fabric.measuring = true;
    }

    /// The kept counters of subflow `number`.
    pub fn kept(&self, number: u32) -> Kept {
        self.kept.get(number as usize).copied().unwrap_or_default()
    }

    fn kept_mut(&mut self, number: u32) -> &mut Kept {
        let place = number as usize;
        if self.kept.len() <= place {
            self.kept.resize(place + 1, Kept::default());
        }
        &mut self.kept[place]
    }

    /// Removes subflow `number`, so that its number can be reused.
    pub fn release(&mut self, number: u32) {
        if let Some(kept) = self.kept.get_mut(number as usize) {
            *kept = Kept::default();
        }
    }

    /// Reports that a transfer completed.
    pub fn completed(&mut self, now_ns: u64, transfer: usize, view: &View) {
        let transfer = &view.transfers[transfer];
        for &number in &transfer.subflows {
            self.kept_mut(number).completed_cwnd = Some(view.mark(now_ns, number, transfer).cwnd_integral);
        }
    }

    /// Adds one row for each direction of a link, and for each subflow (or path, if the application repeats) of a
    /// connection that was not complete before the interval that ends at `now_ns`.
    pub fn sample(&mut self, now_ns: u64, view: View) {
        let Some(sample_ns) = self.sample_ns else { return };
        self.links.sample(now_ns, &mut view.fabric.links);
        let View { hosts, applications, transfers, fabric } = view;
        let (transfers, fabric): (&[Transfer], &Fabric) = (transfers, fabric);
        for (connection, application) in applications.iter_mut().enumerate() {
            let completion_ns = application.completion_ns(|number| &transfers[number as usize].stream);
            if completion_ns.is_some_and(|at_ns| at_ns < now_ns - sample_ns) {
                continue;
            }
            let own = application.transfers.iter().map(|&number| &transfers[number as usize]);
            let subflows = own.flat_map(|transfer| transfer.subflows.iter().map(move |&number| (number, transfer)));
            let marks = subflows.map(|(number, transfer)| {
                let mark = mark(now_ns, hosts, fabric, number, transfer);
                (number, mark, transfer.stream.completion_ns.is_some())
            });
            if application.content.repeats() {
                let by_path =
                    marks.map(|(number, mark, complete)| (fabric.subflows[number as usize].path, mark, complete));
                let rows = application.record.sample_paths(by_path).into_iter().enumerate();
                for (place, (bytes, present)) in rows {
                    self.subflow_samples.push(now_ns, sample_ns, [connection, place], bytes, &present);
                }
                continue;
            }
            let kind = application.kind as usize;
            for (position, (number, mark, _)) in marks.enumerate() {
                let mut present = Present::default();
                present.add(&mark);
                let bytes = self.kept_mut(number).sample(&mark);
                self.subflow_samples.push(now_ns, sample_ns, [connection, position], bytes, &present);
                let sender = application.sender;
                if let Some(handle) = fabric.subflows[number as usize].handles[sender] {
                    let of = hosts[sender].connection(handle.connection);
                    self.subflow_samples.show(&self.columns[kind], |columns| {
                        of.show(handle.subflow, Instant::from_nanos(now_ns), columns)
                    });
                }
            }
        }
    }
}
