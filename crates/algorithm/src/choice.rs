//! The choice of an algorithm by its name, with parameters that are checked against its declaration.

use std::fmt;
use std::sync::Arc;

use crate::about::{About, Capabilities, Capability, Column};
use crate::parameter::{Parameter, Value};
use crate::plugin::{Factory, Origin};
use crate::words::{did_you_mean, one_of};

/// The parameters of one algorithm, complete and checked.
#[derive(Clone, Debug)]
pub struct Given {
    parameters: &'static [Parameter],
    /// Values in the order of the parameters; `None` if all have their defaults.
    values: Option<Arc<[Value]>>,
}

impl Given {
    /// Whether the algorithm has declared a parameter with this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.parameters.iter().any(|parameter| parameter.name == name)
    }

    fn get(&self, name: &str) -> Value {
        let place = self.parameters.iter().position(|parameter| parameter.name == name);
        let place = place.unwrap_or_else(|| panic!("the parameter \"{name}\" is not declared"));
        self.values.as_ref().map_or_else(|| self.parameters[place].default(), |values| values[place].clone())
    }

    /// The value of a boolean parameter.
    ///
    /// # Panics
    /// If the algorithm has declared no parameter with this name and type; likewise for the other types.
    #[must_use]
    pub fn flag(&self, name: &str) -> bool {
        let Value::Flag(flag) = self.get(name) else { panic!("the parameter \"{name}\" is no flag") };
        flag
    }

    /// The value of a word parameter.
    #[must_use]
    pub fn word(&self, name: &str) -> String {
        let Value::Word(word) = self.get(name) else { panic!("the parameter \"{name}\" is no word") };
        word
    }

    /// The value of an integer parameter.
    #[must_use]
    pub fn whole(&self, name: &str) -> u64 {
        let Value::Whole(number) = self.get(name) else { panic!("the parameter \"{name}\" is no whole number") };
        number
    }

    /// The value of a number parameter.
    #[must_use]
    pub fn number(&self, name: &str) -> f64 {
        let Value::Number(number) = self.get(name) else { panic!("the parameter \"{name}\" is no number") };
        number
    }

    /// Whether the Linux variant is selected ([`Parameter::variant`]).
    #[must_use]
    pub fn is_linux(&self) -> bool {
        self.word("variant") == "linux"
    }
}

/// The declaration of an algorithm, in its file.
pub trait Algorithm {
    /// Its description.
    const ABOUT: About;

    /// Its capabilities with these parameter values.
    fn capabilities(_given: &Given) -> Capabilities {
        Self::ABOUT.capabilities
    }

    /// Rejects combinations of parameter values that are invalid although each value is valid: found value, expected
    /// value.
    ///
    /// # Errors
    /// The found and the expected value.
    fn check(_given: &Given) -> Result<(), [&'static str; 2]> {
        Ok(())
    }
}

/// Creates an algorithm, once for each connection.
pub trait Make: Sized {
    /// Creates the algorithm with these parameters for this connection.
    fn make(given: &Given, origin: &Origin) -> Self;
}

/// Large algorithms are in the table as boxes, so that connections with other algorithms do not reserve memory for
/// them.
impl<T: Make> Make for Box<T> {
    fn make(given: &Given, origin: &Origin) -> Self {
        Box::new(T::make(given, origin))
    }
}

/// A row of a table of algorithms.
#[derive(Debug)]
pub struct Row<T> {
    /// The description of the algorithm.
    pub about: About,
    /// [`Algorithm::capabilities`].
    pub capabilities: fn(&Given) -> Capabilities,
    /// [`Algorithm::check`].
    pub check: fn(&Given) -> Result<(), [&'static str; 2]>,
    /// [`Make::make`].
    pub make: fn(&Given, &Origin) -> T,
}

/// A kind of algorithms: its table, and the type created from it.
pub trait Family: Sized + 'static {
    /// The noun for an algorithm of this kind in messages.
    const NOUN: &'static str;
    /// An instance of an algorithm.
    type Built;
    /// An external algorithm.
    type Outside: ?Sized;

    /// The table of built-in algorithms.
    fn table() -> &'static [Row<Self::Built>];

    /// Makes an instance of an external algorithm.
    fn outside(algorithm: Box<Self::Outside>) -> Self::Built;

    /// Wraps an instance of a built-in algorithm according to parameters of the whole family.
    fn finish(built: Self::Built, _given: &Given) -> Self::Built {
        built
    }

    /// The columns that [`finish`](Self::finish) adds after the algorithm's own.
    fn columns(_given: &Given) -> &'static [Column] {
        &[]
    }
}

/// The algorithm of a family that a connection uses.
pub struct Choice<F: Family> {
    source: Source<F>,
    capabilities: Capabilities,
    /// Names of the values that it reports.
    columns: Arc<[String]>,
}

enum Source<F: Family> {
    Table(&'static Row<F::Built>, Given),
    Outside(Factory<F::Outside>),
}

impl<F: Family> Choice<F> {
    /// The algorithm with this name and default parameters.
    ///
    /// # Errors
    /// No algorithm has this name.
    pub fn named(name: &str) -> Result<Self, ChoiceError> {
        Self::with::<&str, Value>(name, [])
    }

    /// The algorithm with this name and these parameters. Omitted parameters have their defaults.
    ///
    /// # Errors
    /// No algorithm has this name, it has no such parameter, or a value is invalid.
    pub fn with<N: AsRef<str>, V: Into<Value>>(
        name: &str,
        parameters: impl IntoIterator<Item = (N, V)>,
    ) -> Result<Self, ChoiceError> {
        let names = || F::table().iter().map(|row| row.about.name);
        let Some(row) = F::table().iter().find(|row| row.about.name == name) else {
            let expected = format!("{}{}", one_of(&names().collect::<Vec<_>>()), did_you_mean(name, names()));
            return Err(ChoiceError { place: F::NOUN.to_owned(), found: format!("\"{name}\""), expected });
        };
        let declared = row.about.parameters;
        let place = format!("{} \"{name}\"", F::NOUN);
        let mut values: Option<Vec<Value>> = None;
        for (key, value) in parameters {
            let key = key.as_ref();
            let Some(at) = declared.iter().position(|parameter| parameter.name == key) else {
                let names: Vec<_> = declared.iter().map(|parameter| parameter.name).collect();
                let near = did_you_mean(key, names.iter().copied());
                let expected = if names.is_empty() { "no parameters".to_owned() } else { one_of(&names) + &near };
                return Err(ChoiceError { place, found: format!("the parameter \"{key}\""), expected });
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

    /// An external algorithm. `make` is called for each connection and may capture. Messages refer to it by `name`.
    pub fn custom(name: &str, make: impl Fn(&Origin) -> Box<F::Outside> + Send + Sync + 'static) -> Self {
        Choice {
            source: Source::Outside(Factory::new(name, make)),
            capabilities: Capabilities::default(),
            columns: Arc::default(),
        }
    }

    /// Adds a capability, for an external algorithm, which otherwise has none.
    #[must_use]
    pub fn capable(self, capability: Capability) -> Self {
        Choice { capabilities: self.capabilities.with(capability), ..self }
    }

    /// Sets the columns in the samples of a run, for an external algorithm, which otherwise has none.
    #[must_use]
    pub fn showing<N: Into<String>>(self, names: impl IntoIterator<Item = N>) -> Self {
        Choice { columns: names.into_iter().map(Into::into).collect(), ..self }
    }

    /// Names of its own values in a run's samples of each subflow.
    #[must_use]
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The same choice for connections that the driver calls `label`, which messages of an external algorithm mention.
    #[must_use]
    pub fn labelled(&self, label: &str) -> Self {
        match &self.source {
            Source::Outside(factory) => Choice { source: Source::Outside(factory.labelled(label)), ..self.clone() },
            Source::Table(..) => self.clone(),
        }
    }

    /// The name of the algorithm.
    #[must_use]
    pub fn name(&self) -> &str {
        match &self.source {
            Source::Table(row, _) => row.about.name,
            Source::Outside(factory) => factory.name(),
        }
    }

    /// Whether the algorithm has the capability.
    #[must_use]
    #[inline]
    pub fn has(&self, capability: Capability) -> bool {
        self.capabilities.has(capability)
    }

    /// The parameters of a built-in algorithm.
    #[must_use]
    pub fn given(&self) -> Option<&Given> {
        match &self.source {
            Source::Table(_, given) => Some(given),
            Source::Outside(_) => None,
        }
    }

    /// Creates an instance for a new connection.
    #[must_use]
    pub fn make(&self, origin: &Origin) -> F::Built {
        match &self.source {
            Source::Table(row, given) => F::finish((row.make)(given, origin), given),
            Source::Outside(factory) => F::outside(factory.make(origin)),
        }
    }

    /// Every algorithm of the table, with its defaults and with other values of each parameter, for tests of all
    /// algorithms.
    #[must_use]
    pub fn samples() -> Vec<Self> {
        let mut all = Vec::new();
        for row in F::table() {
            all.extend(Self::named(row.about.name));
            for parameter in row.about.parameters {
                let others = parameter.samples().into_iter().filter(|value| *value != parameter.default());
                // Values that are incompatible with the other parameters' defaults are omitted.
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

/// For example `olia` or `olia(variant "linux")`.
impl<F: Family> fmt::Debug for Choice<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        let Some(Given { parameters, values: Some(values) }) = self.given() else { return Ok(()) };
        let set = parameters.iter().zip(values.iter()).filter(|(parameter, value)| parameter.default() != **value);
        let set: Vec<_> = set.map(|(parameter, value)| format!("{} {value}", parameter.name)).collect();
        if set.is_empty() { Ok(()) } else { write!(f, "({})", set.join(", ")) }
    }
}

/// An unknown algorithm or parameter, or an invalid value.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{place}: found {found}; expected {expected}")]
pub struct ChoiceError {
    /// The location of the error.
    pub place: String,
    /// The value found.
    pub found: String,
    /// The value expected.
    pub expected: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_given_has_its_default() {
        static ALONE: [Parameter; 1] = [Parameter::number("k", 0.0, [-1.0, 1.0], "how far")];
        let given = Given { parameters: &ALONE, values: None };
        assert_eq!(given.number("k"), 0.0);
    }
}
