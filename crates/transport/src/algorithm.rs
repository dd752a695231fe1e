//! What every algorithm says of itself, and how a connection's is chosen: by its name, with parameters.
//!
//! The file of an algorithm declares it ([`Algorithm`]: name, one line, source, parameters, capabilities) and makes it
//! ([`Make`]). Each kind (congestion control, scheduler, path manager) has one table of them, in its `mod.rs`. Whatever
//! needs to know which algorithms there are reads the tables: scenario files and their errors, `mptcplab list`, the
//! documentation, the live engines and the tests that hold for all of them.

use std::fmt;
use std::sync::Arc;

use crate::plugin::{Factory, Origin};

/// What an algorithm is.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// As scenario files call it.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Paper or standard.
    pub source: &'static str,
    /// What can be set.
    pub parameters: &'static [Parameter],
    /// What it needs of the transport, and does to it.
    pub capabilities: Capabilities,
    /// Numbers of its own that the samples of a run have of each subflow; congestion controls only.
    pub columns: &'static [Column],
}

impl About {
    /// Without parameters and capabilities.
    #[must_use]
    pub const fn new(name: &'static str, summary: &'static str, source: &'static str) -> Self {
        About { name, summary, source, parameters: &[], capabilities: Capabilities(0), columns: &[] }
    }

    /// With these parameters.
    #[must_use]
    pub const fn parameters(self, parameters: &'static [Parameter]) -> Self {
        About { parameters, ..self }
    }

    /// With these columns, whose values [`show`](crate::congestion::CongestionControl::show) writes.
    #[must_use]
    pub const fn columns(self, columns: &'static [Column]) -> Self {
        About { columns, ..self }
    }

    /// With one capability more.
    #[must_use]
    pub const fn with(self, capability: Capability) -> Self {
        About { capabilities: self.capabilities.with(capability), ..self }
    }
}

/// What an algorithm needs of the transport, or does to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Capability {
    /// A congestion control that computes over all subflows of a group; without it each subflow is by itself.
    Coupled,
    /// A scheduler that binds data to a subflow before it can be sent.
    BindsAhead,
    /// Needs to know how much the application will send.
    NeedsSize,
    /// A scheduler that sends the same data on several subflows.
    Redundant,
    /// A scheduler with opportunistic retransmission and penalisation (Raiciu 2012 §4.2).
    Opportunistic,
    /// Draws random numbers, from a stream of its own ([`Origin::random`]).
    Random,
    /// A Linux kernel can have it under the same name.
    InKernel,
    /// A scalable congestion control: uses ECN in any case, and wants each mark echoed (RFC 8257 §3.2).
    Scalable,
    /// Its packets say so to the network, by ECT(1) (RFC 9331).
    Ect1,
}

impl Capability {
    /// All of them, with their words in `mptcplab list` and the documentation.
    pub const ALL: [(Capability, &'static str); 9] = [
        (Capability::Coupled, "coupled"),
        (Capability::BindsAhead, "binds ahead"),
        (Capability::NeedsSize, "needs the flow's size"),
        (Capability::Redundant, "redundant"),
        (Capability::Opportunistic, "opportunistic"),
        (Capability::Random, "random"),
        (Capability::InKernel, "in Linux"),
        (Capability::Scalable, "scalable"),
        (Capability::Ect1, "ECT(1)"),
    ];
}

/// A set of capabilities.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Capabilities(u16);

impl Capabilities {
    /// With one more.
    #[must_use]
    pub const fn with(self, capability: Capability) -> Self {
        Capabilities(self.0 | 1 << capability as u16)
    }

    /// Without this one.
    #[must_use]
    pub const fn without(self, capability: Capability) -> Self {
        Capabilities(self.0 & !(1 << capability as u16))
    }

    /// Whether it is there.
    #[must_use]
    #[inline]
    pub const fn has(self, capability: Capability) -> bool {
        self.0 & (1 << capability as u16) != 0
    }
}

/// A number of its own that an algorithm shows in the samples of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Column {
    /// Of the column, with its unit as that of any other column: `queueing_delay_s`. Controls that show the same quantity
    /// use the same name.
    pub name: &'static str,
    /// Unit; empty without one.
    pub unit: &'static str,
    /// One line.
    pub summary: &'static str,
}

impl Column {
    /// A column of this name, unit and meaning.
    #[must_use]
    pub const fn new(name: &'static str, unit: &'static str, summary: &'static str) -> Self {
        Column { name, unit, summary }
    }
}

/// A parameter of an algorithm.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// As scenario files call it.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Unit of its number; empty without one.
    pub unit: &'static str,
    /// Type, default and range.
    pub domain: Domain,
    /// Linux has its default only.
    pub fixed_in_kernel: bool,
}

/// What a parameter may be.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Domain {
    /// True or false.
    Flag {
        /// Default.
        default: bool,
    },
    /// One of some words.
    Word {
        /// Default.
        default: &'static str,
        /// The words.
        choices: &'static [&'static str],
    },
    /// A whole number.
    Whole {
        /// Default.
        default: u64,
        /// Least.
        min: u64,
        /// Greatest.
        max: u64,
    },
    /// A number.
    Number {
        /// Default.
        default: f64,
        /// Least.
        min: f64,
        /// Greatest.
        max: f64,
    },
}

impl Parameter {
    const fn new(name: &'static str, domain: Domain, summary: &'static str) -> Self {
        Parameter { name, summary, unit: "", domain, fixed_in_kernel: false }
    }

    /// True or false.
    #[must_use]
    pub const fn flag(name: &'static str, default: bool, summary: &'static str) -> Self {
        Parameter::new(name, Domain::Flag { default }, summary)
    }

    /// One of some words.
    #[must_use]
    pub const fn word(
        name: &'static str,
        default: &'static str,
        choices: &'static [&'static str],
        summary: &'static str,
    ) -> Self {
        Parameter::new(name, Domain::Word { default, choices }, summary)
    }

    /// A whole number from `min` to `max`.
    #[must_use]
    pub const fn whole(name: &'static str, default: u64, [min, max]: [u64; 2], summary: &'static str) -> Self {
        Parameter::new(name, Domain::Whole { default, min, max }, summary)
    }

    /// A number from `min` to `max`.
    #[must_use]
    pub const fn number(name: &'static str, default: f64, [min, max]: [f64; 2], summary: &'static str) -> Self {
        Parameter::new(name, Domain::Number { default, min, max }, summary)
    }

    /// Which form of an algorithm: its authors' equations, or the integer arithmetic of the Linux code.
    #[must_use]
    pub const fn variant(summary: &'static str) -> Self {
        Parameter::word("variant", "paper", &["paper", "linux"], summary)
    }

    /// With a unit.
    #[must_use]
    pub const fn unit(self, unit: &'static str) -> Self {
        Parameter { unit, ..self }
    }

    /// One that Linux has with its default only.
    #[must_use]
    pub const fn fixed_in_kernel(self) -> Self {
        Parameter { fixed_in_kernel: true, ..self }
    }

    /// Its default.
    #[must_use]
    pub fn default(&self) -> Value {
        match self.domain {
            Domain::Flag { default } => Value::Flag(default),
            Domain::Word { default, .. } => Value::Word(default.to_owned()),
            Domain::Whole { default, .. } => Value::Whole(default),
            Domain::Number { default, .. } => Value::Number(default),
        }
    }

    /// What it may be, in words.
    #[must_use]
    pub fn expected(&self) -> String {
        let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
        match self.domain {
            Domain::Flag { .. } => "true or false".to_owned(),
            Domain::Word { choices, .. } => {
                one_of(&choices.iter().map(|choice| format!("\"{choice}\"")).collect::<Vec<_>>())
            }
            Domain::Whole { min, max, .. } => format!("a whole number from {min} to {max}{unit}"),
            Domain::Number { min, max, .. } => format!("a number from {min} to {max}{unit}"),
        }
    }

    /// The value, if it is one for this parameter.
    fn accept(&self, value: Value) -> Option<Value> {
        match (self.domain, value) {
            (Domain::Flag { .. }, value @ Value::Flag(_)) => Some(value),
            (Domain::Word { choices, .. }, Value::Word(word)) => {
                choices.contains(&word.as_str()).then_some(Value::Word(word))
            }
            (Domain::Whole { min, max, .. }, Value::Whole(n)) => (min..=max).contains(&n).then_some(Value::Whole(n)),
            (Domain::Number { min, max, .. }, Value::Number(x)) => (min..=max).contains(&x).then_some(Value::Number(x)),
            (Domain::Number { .. }, Value::Whole(n)) => self.accept(Value::Number(n as f64)),
            _ => None,
        }
    }

    /// Values to try it with: the ends of its range and one between.
    fn samples(&self) -> Vec<Value> {
        match self.domain {
            Domain::Flag { .. } => vec![Value::Flag(false), Value::Flag(true)],
            Domain::Word { choices, .. } => choices.iter().map(|&word| Value::Word(word.to_owned())).collect(),
            // The far end of a count is often one that no connection reaches: a few more than the default will do.
            Domain::Whole { default, min, max } => {
                [min, default, (2 * default + 1).min(max)].map(Value::Whole).to_vec()
            }
            Domain::Number { default, min, max } => [min, default, max].map(Value::Number).to_vec(),
        }
    }
}

/// The value of a parameter.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// True or false.
    Flag(bool),
    /// A whole number.
    Whole(u64),
    /// A number.
    Number(f64),
    /// A word.
    Word(String),
}

impl From<&str> for Value {
    fn from(word: &str) -> Self {
        Value::Word(word.to_owned())
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Value::Flag(flag)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Value::Whole(number)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Value::Number(number)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Flag(flag) => write!(f, "{flag}"),
            Value::Whole(number) => write!(f, "{number}"),
            Value::Number(number) => write!(f, "{number}"),
            Value::Word(word) => write!(f, "\"{word}\""),
        }
    }
}

/// The parameters of one algorithm, complete and checked.
#[derive(Clone, Debug)]
pub struct Given {
    parameters: &'static [Parameter],
    /// In their order; none where all have their defaults.
    values: Option<Arc<[Value]>>,
}

impl Given {
    /// Whether the algorithm has declared a parameter of this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.parameters.iter().any(|parameter| parameter.name == name)
    }

    fn get(&self, name: &str) -> Value {
        let place = self.parameters.iter().position(|parameter| parameter.name == name);
        let place = place.unwrap_or_else(|| panic!("the parameter «{name}» is not declared"));
        self.values.as_ref().map_or_else(|| self.parameters[place].default(), |values| values[place].clone())
    }

    /// A parameter that is true or false.
    ///
    /// # Panics
    /// When the algorithm has declared none of this name and type; so with the other types.
    #[must_use]
    pub fn flag(&self, name: &str) -> bool {
        let Value::Flag(flag) = self.get(name) else { panic!("the parameter «{name}» is no flag") };
        flag
    }

    /// One that is a word.
    #[must_use]
    pub fn word(&self, name: &str) -> String {
        let Value::Word(word) = self.get(name) else { panic!("the parameter «{name}» is no word") };
        word
    }

    /// One that is a whole number.
    #[must_use]
    pub fn whole(&self, name: &str) -> u64 {
        let Value::Whole(number) = self.get(name) else { panic!("the parameter «{name}» is no whole number") };
        number
    }

    /// One that is a number.
    #[must_use]
    pub fn number(&self, name: &str) -> f64 {
        let Value::Number(number) = self.get(name) else { panic!("the parameter «{name}» is no number") };
        number
    }

    /// Whether the Linux form is asked for ([`Parameter::variant`]).
    #[must_use]
    pub fn is_linux(&self) -> bool {
        self.word("variant") == "linux"
    }
}

/// What the file of an algorithm declares.
pub trait Algorithm {
    /// What it is.
    const ABOUT: About;

    /// Its capabilities with these parameters.
    fn capabilities(_given: &Given) -> Capabilities {
        Self::ABOUT.capabilities
    }

    /// Refuses parameters that do not go together, each of which would do by itself: what was found, what would do.
    ///
    /// # Errors
    /// Those two.
    fn check(_given: &Given) -> Result<(), [&'static str; 2]> {
        Ok(())
    }
}

/// How an algorithm is made, once for each connection.
pub trait Make: Sized {
    /// With these parameters, for this connection.
    fn make(given: &Given, origin: &Origin) -> Self;
}

/// Those that keep much stand in the table by their boxes, so that a connection with another takes no room for them.
impl<T: Make> Make for Box<T> {
    fn make(given: &Given, origin: &Origin) -> Self {
        Box::new(T::make(given, origin))
    }
}

/// The table of a family: `module::Type` a line, with `: what runs it` where that is another type (`Classic<Reno>` for the
/// rule Reno), and after `|` its Linux form likewise, where there is one. From it come the exports, the lines of `TABLE`,
/// the enum of those at work, without a virtual call but for those from outside, and `each!`, which calls whichever it is.
macro_rules! built_in {
    (
        $(#[$meta:meta])*
        enum $built:ident, $outside:ty:
        $($module:ident::$name:ident $(: $type:ty)? $(| $linux_module:ident::$linux:ident $(: $linux_type:ty)?)?),* $(,)?
    ) => {
        $(pub use $module::$name; $(pub use $linux_module::$linux;)?)*

        $(#[$meta])*
        #[derive(Debug)]
        pub enum $built {
            $(
                #[doc = concat!("[`", stringify!($name), "`].")]
                $name($crate::algorithm::built_in!(@ $name $($type)?)),
                $(
                    #[doc = concat!("[`", stringify!($linux), "`].")]
                    $linux($crate::algorithm::built_in!(@ $linux $($linux_type)?)),
                )?
            )*
            /// From outside.
            Custom(Box<$outside>),
        }

        static TABLE: &[$crate::algorithm::Row<$built>] = &[$($crate::algorithm::Row {
            about: <$name as $crate::algorithm::Algorithm>::ABOUT,
            capabilities: <$name as $crate::algorithm::Algorithm>::capabilities,
            check: <$name as $crate::algorithm::Algorithm>::check,
            make: |given, origin| {
                $(if given.is_linux() {
                    return $built::$linux($crate::algorithm::Make::make(given, origin));
                })?
                $built::$name($crate::algorithm::Make::make(given, origin))
            },
        }),*];

        macro_rules! each {
            ($self:expr, $algorithm:ident => $call:expr) => {
                match $self {
                    $($built::$name($algorithm) => $call, $($built::$linux($algorithm) => $call,)?)*
                    $built::Custom($algorithm) => $call,
                }
            };
        }
    };
    (@ $name:ident) => { $name };
    (@ $name:ident $type:ty) => { $type };
}

pub(crate) use built_in;

/// A line of a table.
#[derive(Debug)]
pub struct Row<T> {
    /// What it is.
    pub about: About,
    /// [`Algorithm::capabilities`].
    pub capabilities: fn(&Given) -> Capabilities,
    /// [`Algorithm::check`].
    pub check: fn(&Given) -> Result<(), [&'static str; 2]>,
    /// [`Make::make`].
    pub make: fn(&Given, &Origin) -> T,
}

/// A kind of algorithms: its table, and what is made from it.
pub trait Family: Sized + 'static {
    /// What messages call one.
    const NOUN: &'static str;
    /// One at work.
    type Built;
    /// One from outside.
    type Outside: ?Sized;

    /// The table.
    fn table() -> &'static [Row<Self::Built>];

    /// One from outside at work.
    fn outside(algorithm: Box<Self::Outside>) -> Self::Built;

    /// What is put around one of the table, by parameters that not it but the family knows.
    fn finish(built: Self::Built, _given: &Given) -> Self::Built {
        built
    }

    /// What [`finish`](Self::finish)ed ones show after their own columns.
    fn columns(_given: &Given) -> &'static [Column] {
        &[]
    }
}

/// Which algorithm of a family a connection gets.
pub struct Choice<F: Family> {
    source: Source<F>,
    capabilities: Capabilities,
    /// Names of what it shows of itself.
    columns: Arc<[String]>,
}

enum Source<F: Family> {
    Table(&'static Row<F::Built>, Given),
    Outside(Factory<F::Outside>),
}

impl<F: Family> Choice<F> {
    /// The algorithm of this name, with its defaults.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn named(name: &str) -> Result<Self, ChoiceError> {
        Self::with::<&str, Value>(name, [])
    }

    /// The algorithm of this name, with these parameters; those that are left out have their defaults.
    ///
    /// # Errors
    /// There is none of this name, it has no such parameter, or a value is not one for it.
    pub fn with<N: AsRef<str>, V: Into<Value>>(
        name: &str,
        parameters: impl IntoIterator<Item = (N, V)>,
    ) -> Result<Self, ChoiceError> {
        let names = || F::table().iter().map(|row| row.about.name);
        let Some(row) = F::table().iter().find(|row| row.about.name == name) else {
            let expected = format!("{}{}", one_of(&names().collect::<Vec<_>>()), did_you_mean(name, names()));
            return Err(ChoiceError { place: F::NOUN.to_owned(), found: format!("«{name}»"), expected });
        };
        let declared = row.about.parameters;
        let place = format!("{} «{name}»", F::NOUN);
        let mut values: Option<Vec<Value>> = None;
        for (key, value) in parameters {
            let key = key.as_ref();
            let Some(at) = declared.iter().position(|parameter| parameter.name == key) else {
                let names: Vec<_> = declared.iter().map(|parameter| parameter.name).collect();
                let near = did_you_mean(key, names.iter().copied());
                let expected = if names.is_empty() { "no parameters".to_owned() } else { one_of(&names) + &near };
                return Err(ChoiceError { place, found: format!("the parameter «{key}»"), expected });
            };
            let value = value.into();
            let found = value.to_string();
            let Some(value) = declared[at].accept(value) else {
                let place = format!("{key} of the {place}");
                return Err(ChoiceError { place, found, expected: declared[at].expected() });
            };
            values.get_or_insert_with(|| declared.iter().map(Parameter::default).collect())[at] = value;
        }
        let given = Given { parameters: declared, values: values.map(Arc::from) };
        if let Err([found, expected]) = (row.check)(&given) {
            return Err(ChoiceError { place, found: found.to_owned(), expected: expected.to_owned() });
        }
        let capabilities = (row.capabilities)(&given);
        let columns = row.about.columns.iter().chain(F::columns(&given)).map(|column| column.name.to_owned()).collect();
        Ok(Choice { source: Source::Table(row, given), capabilities, columns })
    }

    /// One from outside: `make` is called for each connection, and may capture. Messages call it by `name`.
    pub fn custom(name: &str, make: impl Fn(&Origin) -> Box<F::Outside> + Send + Sync + 'static) -> Self {
        Choice {
            source: Source::Outside(Factory::new(name, make)),
            capabilities: Capabilities::default(),
            columns: Arc::default(),
        }
    }

    /// The same with one capability more: for one from outside, which has none else.
    #[must_use]
    pub fn capable(self, capability: Capability) -> Self {
        Choice { capabilities: self.capabilities.with(capability), ..self }
    }

    /// The same with these columns in the samples of a run: for one from outside, which has none else.
    #[must_use]
    pub fn showing<N: Into<String>>(self, names: impl IntoIterator<Item = N>) -> Self {
        Choice { columns: names.into_iter().map(Into::into).collect(), ..self }
    }

    /// Names of the numbers of its own that the samples of a run have of each subflow.
    #[must_use]
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The same for connections that the driver calls `label`: for messages of one from outside.
    #[must_use]
    pub fn labelled(&self, label: &str) -> Self {
        match &self.source {
            Source::Outside(factory) => Choice { source: Source::Outside(factory.labelled(label)), ..self.clone() },
            Source::Table(..) => self.clone(),
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        match &self.source {
            Source::Table(row, _) => row.about.name,
            Source::Outside(factory) => factory.name(),
        }
    }

    /// Whether it has the capability.
    #[must_use]
    #[inline]
    pub fn has(&self, capability: Capability) -> bool {
        self.capabilities.has(capability)
    }

    /// The parameters of one of the table.
    #[must_use]
    pub fn given(&self) -> Option<&Given> {
        match &self.source {
            Source::Table(_, given) => Some(given),
            Source::Outside(_) => None,
        }
    }

    /// One at work for a new connection.
    #[must_use]
    pub fn make(&self, origin: &Origin) -> F::Built {
        match &self.source {
            Source::Table(row, given) => F::finish((row.make)(given, origin), given),
            Source::Outside(factory) => F::outside(factory.make(origin)),
        }
    }

    /// Every algorithm of the table, with its defaults and with other values of each parameter: what a test of all of
    /// them runs through.
    #[must_use]
    pub fn samples() -> Vec<Self> {
        let mut all = Vec::new();
        for row in F::table() {
            all.extend(Self::named(row.about.name));
            for parameter in row.about.parameters {
                let others = parameter.samples().into_iter().filter(|value| *value != parameter.default());
                // Values that do not go with the others' defaults are left out.
                all.extend(others.flat_map(|value| Self::with(row.about.name, [(parameter.name, value)])));
            }
        }
        all
    }
}

impl<F: Family> Clone for Choice<F> {
    fn clone(&self) -> Self {
        let source = match &self.source {
            Source::Table(row, given) => Source::Table(row, given.clone()),
            Source::Outside(factory) => Source::Outside(factory.clone()),
        };
        Choice { source, capabilities: self.capabilities, columns: Arc::clone(&self.columns) }
    }
}

/// `olia`, `olia(variant "linux")`.
impl<F: Family> fmt::Debug for Choice<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        let Some(Given { parameters, values: Some(values) }) = self.given() else { return Ok(()) };
        let set = parameters.iter().zip(values.iter()).filter(|(parameter, value)| parameter.default() != **value);
        let set: Vec<_> = set.map(|(parameter, value)| format!("{} {value}", parameter.name)).collect();
        if set.is_empty() { Ok(()) } else { write!(f, "({})", set.join(", ")) }
    }
}

/// An algorithm or a parameter that there is not.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{place}: found {found}; expected {expected}")]
pub struct ChoiceError {
    /// Where.
    pub place: String,
    /// What was found.
    pub found: String,
    /// What would do.
    pub expected: String,
}

/// `a`, `a or b`, `a, b or c`.
fn one_of<S: AsRef<str>>(names: &[S]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => names.concat(),
    }
}

/// The nearest of the names, when it is near.
fn did_you_mean<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> String {
    let near = names.map(|candidate| (edits(name, candidate), candidate)).min();
    // A third of the letters may be wrong.
    match near {
        Some((edits, candidate)) if 3 * edits <= candidate.len().max(3) => format!("; did you mean «{candidate}»?"),
        _ => String::new(),
    }
}

/// How many letters must be put in, taken out or changed.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, &y) in b.iter().enumerate() {
            let changed = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
#[path = "algorithm_tests.rs"]
mod tests;
