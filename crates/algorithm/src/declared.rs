//! Self-declaring settings: a single list of fields defines the struct, the parameters in scenario files, and the range
//! checks.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error as _};
use serde_json::{Map, Value as Json};

use crate::about::About;
use crate::parameter::{Parameter, Value};

/// A setting outside its range.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigError {
    /// Name of the parameter.
    pub parameter: &'static str,
    /// The value found.
    pub found: f64,
    /// The values expected.
    pub expected: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: found {}, expected {}", self.parameter, self.found, self.expected)
    }
}

impl std::error::Error for ConfigError {}

impl ConfigError {
    /// Returns an error unless the condition holds.
    ///
    /// # Errors
    /// The condition does not hold.
    pub fn unless(holds: bool, parameter: &'static str, found: f64, expected: &str) -> Result<(), ConfigError> {
        if holds { Ok(()) } else { Err(ConfigError { parameter, found, expected: expected.to_owned() }) }
    }
}

/// Settings made by [`declared!`](crate::declared).
pub trait Declared {
    /// The parameters that a scenario file may set, in the order of the fields.
    const PARAMETERS: &'static [Parameter];

    /// The numeric values in the same order; `None` for a value that is not numeric or is absent.
    fn numbers(&self) -> Vec<Option<f64>>;

    /// Checks that every value is in its range and that the order relations hold.
    ///
    /// # Errors
    /// The first violation.
    fn check_as(&self, about: &About) -> Result<(), ConfigError> {
        let numbers = self.numbers();
        for (parameter, number) in about.parameters.iter().zip(&numbers) {
            let Some(found) = *number else { continue };
            ConfigError::unless(parameter.holds(found), parameter.field, found, &parameter.expected())?;
        }
        let of = |name| numbers[about.parameters.iter().position(|parameter| parameter.name == name)?];
        for order in about.orders {
            let (Some(low), Some(high)) = (of(order.low), of(order.high)) else { continue };
            let holds = low < high || (!order.strict && low == high);
            let field = |name| about.parameters.iter().find(|each| each.name == name).map_or(name, |each| each.field);
            let than = if order.strict { "more than" } else { "at least" };
            ConfigError::unless(
                holds,
                field(order.high),
                high,
                &format!("{than} {}, which is {low}", field(order.low)),
            )?;
        }
        Ok(())
    }
}

/// The type of a field of settings.
pub trait Field: Sized {
    /// Converts a default value.
    ///
    /// # Panics
    /// If the declaration has a default of another type, which is an error in the declaration.
    fn of(value: Value) -> Self;

    /// The numeric value, if it has one.
    fn number(&self) -> Option<f64> {
        None
    }
}

impl Field for bool {
    fn of(value: Value) -> Self {
        let Value::Flag(flag) = value else { panic!("a flag with the default {value}") };
        flag
    }
}

impl Field for f64 {
    fn of(value: Value) -> Self {
        let Value::Number(number) = value else { panic!("a number with the default {value}") };
        number
    }

    fn number(&self) -> Option<f64> {
        Some(*self)
    }
}

macro_rules! whole {
    ($($type:ty),*) => {
        $(impl Field for $type {
            fn of(value: Value) -> Self {
                let Value::Whole(number) = value else { panic!("a whole number with the default {value}") };
                number.try_into().unwrap_or_else(|_| panic!("{number} is no {}", stringify!($type)))
            }

            fn number(&self) -> Option<f64> {
                Some(*self as f64)
            }
        })*
    };
}

whole!(u16, u32, u64, i32);

/// Optional parameters are absent by default.
impl<T: Field> Field for Option<T> {
    fn of(_: Value) -> Self {
        None
    }

    fn number(&self) -> Option<f64> {
        self.as_ref().and_then(T::number)
    }
}

/// Splits a table with a `kind` into the kind and the rest.
///
/// # Errors
/// It is not a table, or has no `kind`.
pub fn by_kind<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(String, Map<String, Json>), D::Error> {
    let mut table = Map::deserialize(deserializer)?;
    match table.remove("kind") {
        Some(Json::String(kind)) => Ok((kind, table)),
        found => Err(D::Error::custom(format!("found the kind {}; expected a name", found.unwrap_or_default()))),
    }
}

/// Parses the rest that [`by_kind`] returned as settings.
///
/// # Errors
/// A key is missing or unknown, or its value has the wrong type.
pub fn rest<T: DeserializeOwned, E: serde::de::Error>(table: Map<String, Json>) -> Result<T, E> {
    T::deserialize(Json::Object(table)).map_err(E::custom)
}

/// Defines settings: a struct whose fields declare themselves.
///
/// A field is `/// one line`, `name: type = parameter`, with a [`Parameter`] from [`crate::declare`]. The field's name
/// is used in descriptions, in base units (`target_ns`), the parameter's name in scenario files (`target`). `required`
/// fields have no default and are the arguments of `new`. `fixed` fields cannot be set by a scenario file and are
/// written as `/// one line`, `name: type = value`.
#[macro_export]
macro_rules! declared {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $(required { $($(#[doc = $rdoc:literal])+ $rfield:ident: $rtype:ty = $rparameter:expr),* $(,)? })?
            $($(#[doc = $doc:literal])+ $field:ident: $type:ty = $parameter:expr,)*
            $(fixed { $($(#[$fmeta:meta])+ $ffield:ident: $ftype:ty = $fvalue:expr),* $(,)? })?
        }
    ) => {
        #[derive(Clone, Copy, Debug, PartialEq, $crate::serde::Deserialize)]
        #[serde(crate = "algorithm::serde", deny_unknown_fields)]
        $(#[$meta])*
        $vis struct $name {
            $($($(#[doc = $rdoc])+ pub $rfield: $rtype,)*)?
            $($(#[doc = $doc])+ pub $field: $type,)*
            $($($(#[$fmeta])+ #[serde(skip)] pub $ffield: $ftype,)*)?
        }

        impl $name {
            /// Creates the settings with these values and the defaults of all others.
            #[must_use]
            #[allow(clippy::new_without_default)]
            pub fn new($($($rfield: $rtype),*)?) -> Self {
                Self {
                    $($($rfield,)*)?
                    $($field: $crate::Field::of($parameter.default()),)*
                    $($($ffield: $fvalue,)*)?
                }
            }
        }

        impl $crate::Declared for $name {
            const PARAMETERS: &'static [$crate::Parameter] = &[
                $($($rparameter.of(stringify!($rfield), concat!($($rdoc),+)),)*)?
                $($parameter.of(stringify!($field), concat!($($doc),+)),)*
            ];

            fn numbers(&self) -> Vec<Option<f64>> {
                vec![
                    $($($crate::Field::number(&self.$rfield),)*)?
                    $($crate::Field::number(&self.$field),)*
                ]
            }
        }
    };
}

/// Defines an enum of words, as used in scenario files and descriptions.
#[macro_export]
macro_rules! words {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident { $($(#[$vmeta:meta])* $variant:ident = $word:literal),* $(,)? }
    ) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, $crate::serde::Deserialize)]
        #[serde(crate = "algorithm::serde")]
        $(#[$meta])*
        $vis enum $name {
            $($(#[$vmeta])* #[serde(rename = $word)] $variant,)*
        }

        impl $name {
            /// The words, in the order of the variants.
            pub const WORDS: &'static [&'static str] = &[$($word),*];
        }

        impl $crate::Field for $name {
            fn of(value: $crate::Value) -> Self {
                match value {
                    $($crate::Value::Word(word) if word == $word => Self::$variant,)*
                    other => panic!("a word with the default {other}"),
                }
            }
        }
    };
}

/// Defines the kinds of a family, each with its settings and declaration: the enum, its form in a description (a table
/// with `kind`), the check, and the table of declarations.
#[macro_export]
macro_rules! kinds {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident of $noun:literal {
            $($variant:ident($config:ty) = $about:expr,)*
            $(@other { $($(#[$ometa:meta])* $other:ident $(($otype:ty))? $(= $oword:literal)?,)* })?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        $vis enum $name {
            $(#[doc = concat!("Of the kind ", stringify!($variant), ".")] $variant($config),)*
            $($($(#[$ometa])* $other $(($otype))?,)*)?
        }

        impl $name {
            /// The declarations of all kinds.
            pub const TABLE: &'static [$crate::About] = &[$($about),*];

            /// The declaration of this kind; `None` for a kind without settings or an external one.
            #[must_use]
            #[allow(unreachable_patterns)]
            pub const fn about(&self) -> Option<$crate::About> {
                match self {
                    $(Self::$variant(_) => Some($about),)*
                    _ => None,
                }
            }

            /// Checks that each parameter is in its range.
            ///
            /// # Errors
            /// The first parameter outside its range.
            #[allow(unreachable_patterns)]
            pub fn check(&self) -> Result<(), $crate::ConfigError> {
                match self {
                    $(Self::$variant(config) => $crate::Declared::check_as(config, &$about),)*
                    _ => Ok(()),
                }
            }
        }

        impl<'de> $crate::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let (kind, table) = $crate::by_kind(deserializer)?;
                $(if kind == $about.name {
                    return $crate::rest(table).map(Self::$variant);
                })*
                $($($(if kind == $oword && table.is_empty() {
                    return Ok(Self::$other);
                })?)*)?
                let names: Vec<&str> = Self::TABLE.iter().map(|about| about.name).collect();
                let text = format!(concat!("found the ", $noun, " {:?}; expected one of {}"), kind, names.join(", "));
                Err($crate::serde::de::Error::custom(text))
            }
        }
    };
}
