//! Congestion controls in Python: a rule for the classic machine, or a whole control.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use transport::congestion::{Ack, Choice, Classic, CongestionControl, Groups, Rule, Sample, View, Window};
use transport::plugin::Origin;

use super::calls::{Accepted, Answer, Class, Object, number, wrong};
use super::views::{PyAck, PySample, PySubflows, Table};
use transport::Instant;

const RULE: &[&str] = &["increase", "decrease", "min_ssthresh", "on_sample", "regroup", "show"];
const WHOLE: &[&str] =
    &["on_ack", "on_loss", "on_timeout", "on_ecn", "on_undo", "on_join", "on_leave", "on_sample", "show"];
const SAMPLE: &str = "on_sample";
const REGROUP: &str = "regroup";

const ANY_SEGMENTS: Accepted = ("a finite number of segments", f64::is_finite);
const SOME_SEGMENTS: Accepted = ("a finite number of segments, 0 or more", |w| w.is_finite() && w >= 0.0);
const A_SEGMENT: Accepted = ("a finite number of segments, 1 or more", |w| w.is_finite() && w >= 1.0);
const A_THRESHOLD: Accepted = ("a threshold of 1 segment or more", |w| w >= 1.0);

/// The class that the description names.
pub fn choice(class: Arc<Class>) -> Choice {
    let name = class.name.clone();
    let columns = class.columns.clone();
    Choice::custom(&name, move |origin| make(&class, origin)).showing(columns)
}

/// Makes a control for one end of a connection.
pub fn make(class: &Arc<Class>, origin: &Origin) -> Box<dyn CongestionControl> {
    let object = Arc::new(class.object(origin));
    let table = Arc::default();
    if class.is_rule && object.has(REGROUP) {
        Box::new(RuleControl::<true>::new(object, table))
    } else if class.is_rule {
        Box::new(RuleControl::<false>::new(object, table))
    } else {
        Box::new(WholeControl { object, table })
    }
}

/// A rule of [`Classic`]; whether it changes which subflows are coupled.
#[derive(Debug)]
struct PyRule<const REGROUPS: bool> {
    object: Arc<Object>,
    table: Arc<Table>,
}

impl<const REGROUPS: bool> PyRule<REGROUPS> {
    /// The result of the method at this index in [`RULE`] for the subflow `r`, or for all.
    fn ask(&self, index: usize, group: &[View], r: Option<usize>, accepted: Accepted) -> Option<f64> {
        self.object.call(RULE, index, |_, method| {
            let subflows = self.table.open(group);
            let answer = match r {
                Some(r) => method.call1((subflows, r)),
                None => method.call1((subflows,)),
            };
            self.table.close();
            number(&answer?, accepted)
        })
    }
}

const NAME: &str = "plug-in";

impl<const REGROUPS: bool> Rule for PyRule<REGROUPS> {
    const NAME: &'static str = NAME;
    const REGROUPS: bool = REGROUPS;

    fn regroup(&mut self, groups: &mut Groups, group: &[View], r: usize, now: Instant) {
        let asked = self.object.call(RULE, 4, |_, method| {
            let answer = method.call1((self.table.open(group), r, now.as_nanos()));
            self.table.close();
            let answer = answer?;
            let of: Option<Option<Vec<u8>>> = answer.extract().ok();
            let of = of.filter(|of| of.as_ref().is_none_or(|of| of.len() == group.len()));
            of.ok_or_else(|| {
                wrong(&answer, &format!("None, or a group from 0 to 255 for each of the {} subflows", group.len()))
            })
        });
        if let Some(Some(of)) = asked {
            of.into_iter().enumerate().for_each(|(r, number)| groups.put(r, number));
        }
    }

    fn increase(&mut self, group: &[View], r: usize) -> f64 {
        self.ask(0, group, Some(r), ANY_SEGMENTS).unwrap_or(0.0)
    }

    fn decrease(&mut self, group: &[View], r: usize) -> f64 {
        let asked = self.object.has(RULE[1]).then(|| self.ask(1, group, Some(r), SOME_SEGMENTS)).flatten();
        asked.unwrap_or(group[r].cwnd / 2.0)
    }

    fn show(&self, group: &[View], r: usize, now: Instant, columns: &mut [f64]) {
        show(RULE, &self.object, &self.table, group, r, now, columns);
    }

    fn min_ssthresh(&self, group: &[View]) -> f64 {
        self.object.has(RULE[2]).then(|| self.ask(2, group, None, A_SEGMENT)).flatten().unwrap_or(2.0)
    }
}

/// The classic machine with a rule in Python.
#[derive(Debug)]
struct RuleControl<const REGROUPS: bool> {
    object: Arc<Object>,
    table: Arc<Table>,
    classic: Classic<PyRule<REGROUPS>>,
}

impl<const REGROUPS: bool> RuleControl<REGROUPS> {
    fn new(object: Arc<Object>, table: Arc<Table>) -> Self {
        let rule = PyRule { object: Arc::clone(&object), table: Arc::clone(&table) };
        RuleControl { object, table, classic: Classic::new(rule) }
    }
}

impl<const REGROUPS: bool> CongestionControl for RuleControl<REGROUPS> {
    fn name(&self) -> &'static str {
        NAME
    }

    fn wants_samples(&self) -> bool {
        self.object.has(SAMPLE)
    }

    fn on_sample(&mut self, group: &[View], r: usize, sample: &Sample) {
        on_sample((RULE, 3), &self.object, &self.table, group, r, sample);
    }

    fn on_leave(&mut self, group: &[View], r: usize, now: Instant) {
        self.classic.on_leave(group, r, now);
    }

    fn on_ack(&mut self, group: &[View], r: usize, ack: &Ack) -> Window {
        self.object.set_now(ack.now.as_nanos());
        let window = self.classic.on_ack(group, r, ack);
        if window.cwnd.is_finite() {
            return window;
        }
        self.object.refuse(RULE[0], format!("its answer makes the window {} segments; expected less", window.cwnd));
        unchanged(&group[r])
    }

    fn on_loss(&mut self, group: &[View], r: usize, now: Instant) -> f64 {
        self.object.set_now(now.as_nanos());
        self.classic.on_loss(group, r, now)
    }

    fn on_timeout(&mut self, group: &[View], r: usize, now: Instant) -> f64 {
        self.object.set_now(now.as_nanos());
        self.classic.on_timeout(group, r, now)
    }

    fn on_ecn(&mut self, group: &[View], r: usize, now: Instant, abe: bool) -> f64 {
        self.object.set_now(now.as_nanos());
        self.classic.on_ecn(group, r, now, abe)
    }

    fn show(&self, group: &[View], r: usize, now: Instant, columns: &mut [f64]) {
        self.classic.show(group, r, now, columns);
    }
}

/// A whole control.
#[derive(Debug)]
struct WholeControl {
    object: Arc<Object>,
    table: Arc<Table>,
}

impl WholeControl {
    /// The result of the method at this index in [`WHOLE`]; `None` if it failed or is the base class's.
    fn ask<T>(
        &self,
        index: usize,
        group: &[View],
        now: Instant,
        call: impl FnOnce(&Bound<'_, PyAny>, PySubflows) -> Answer<T>,
    ) -> Option<T> {
        if !self.object.has(WHOLE[index]) {
            return None;
        }
        self.object.set_now(now.as_nanos());
        self.object.call(WHOLE, index, |_, method| {
            let answer = call(method, self.table.open(group));
            self.table.close();
            answer
        })
    }

    /// The ssthresh that one of the methods called after a loss returns.
    fn threshold(&self, index: usize, group: &[View], r: usize, now: Instant) -> f64 {
        let call =
            |method: &Bound<'_, PyAny>, subflows| number(&method.call1((subflows, r, now.as_nanos()))?, A_SEGMENT);
        self.ask(index, group, now, call).unwrap_or(1.0)
    }

    /// Reports an event to a method without a result.
    fn tell(&self, index: usize, group: &[View], r: usize, now: Instant) {
        self.ask(index, group, now, |method, subflows| {
            method.call1((subflows, r, now.as_nanos()))?;
            Ok(())
        });
    }
}

impl CongestionControl for WholeControl {
    fn name(&self) -> &'static str {
        NAME
    }

    fn wants_samples(&self) -> bool {
        self.object.has(SAMPLE)
    }

    fn on_sample(&mut self, group: &[View], r: usize, sample: &Sample) {
        on_sample((WHOLE, 7), &self.object, &self.table, group, r, sample);
    }

    fn on_ack(&mut self, group: &[View], r: usize, ack: &Ack) -> Window {
        let call = |method: &Bound<'_, PyAny>, subflows| window(&method.call1((subflows, r, PyAck(*ack)))?);
        self.ask(0, group, ack.now, call).unwrap_or_else(|| unchanged(&group[r]))
    }

    fn on_loss(&mut self, group: &[View], r: usize, now: Instant) -> f64 {
        self.threshold(1, group, r, now)
    }

    fn on_timeout(&mut self, group: &[View], r: usize, now: Instant) -> f64 {
        self.threshold(if self.object.has(WHOLE[2]) { 2 } else { 1 }, group, r, now)
    }

    fn on_ecn(&mut self, group: &[View], r: usize, now: Instant, abe: bool) -> f64 {
        if !self.object.has(WHOLE[3]) {
            return self.on_loss(group, r, now);
        }
        let call =
            |method: &Bound<'_, PyAny>, subflows| number(&method.call1((subflows, r, now.as_nanos(), abe))?, A_SEGMENT);
        self.ask(3, group, now, call).unwrap_or(1.0)
    }

    fn on_undo(&mut self, group: &[View], r: usize, now: Instant) {
        self.tell(4, group, r, now);
    }

    fn on_join(&mut self, group: &[View], r: usize, now: Instant) -> Option<f64> {
        self.tell(5, group, r, now);
        None
    }

    fn show(&self, group: &[View], r: usize, now: Instant, columns: &mut [f64]) {
        show(WHOLE, &self.object, &self.table, group, r, now, columns);
    }

    fn on_leave(&mut self, group: &[View], r: usize, now: Instant) {
        self.tell(6, group, r, now);
    }
}

/// Reports a sample to the method at this index.
fn on_sample(
    (names, index): (&'static [&'static str], usize),
    object: &Object,
    table: &Arc<Table>,
    group: &[View],
    r: usize,
    sample: &Sample,
) {
    object.set_now(sample.now.as_nanos());
    object.call(names, index, |_, method| {
        let told = method.call1((table.open(group), r, PySample(*sample)));
        table.close();
        told?;
        Ok(())
    });
}

/// Writes what `show`, the last of the methods `names`, returns.
fn show(
    names: &'static [&'static str],
    object: &Object,
    table: &Arc<Table>,
    group: &[View],
    r: usize,
    now: Instant,
    columns: &mut [f64],
) {
    if columns.is_empty() {
        return;
    }
    object.set_now(now.as_nanos());
    object.call(names, names.len() - 1, |_, method| {
        let answer = method.call1((table.open(group), r, now.as_nanos()));
        table.close();
        let answer = answer?;
        let values: Option<Vec<Option<f64>>> = answer.extract().ok();
        let sound = |values: &Vec<Option<f64>>| {
            values.len() == columns.len() && !values.iter().flatten().any(|value| value.is_infinite())
        };
        let Some(values) = values.filter(sound) else {
            let expected = format!("a finite number or None for each of its columns: {}", columns.len());
            return Err(wrong(&answer, &expected));
        };
        columns.iter_mut().zip(values).for_each(|(column, value)| *column = value.unwrap_or(f64::NAN));
        Ok(())
    });
}

fn unchanged(view: &View) -> Window {
    Window { cwnd: view.cwnd, ssthresh: view.ssthresh }
}

/// A pair of cwnd and ssthresh.
fn window(answer: &Bound<'_, PyAny>) -> Answer<Window> {
    let pair = answer.cast::<PyTuple>().ok().filter(|pair| pair.len() == 2);
    let pair = pair.ok_or_else(|| wrong(answer, "a Window: the window and the threshold, in segments"))?;
    Ok(Window { cwnd: number(&pair.get_item(0)?, A_SEGMENT)?, ssthresh: number(&pair.get_item(1)?, A_THRESHOLD)? })
}
