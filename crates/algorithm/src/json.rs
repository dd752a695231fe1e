//! Declarations as JSON, for `mptcplab.registry`.

use serde_json::{Value, json};

use crate::about::{About, Capability, Column, Order};
use crate::parameter::{Absent, Domain, Measure, Parameter, Value as Default};

/// A table of declarations, in its order.
pub fn table<'a>(abouts: impl IntoIterator<Item = &'a About>) -> Value {
    abouts.into_iter().map(entry).collect()
}

fn entry(about: &About) -> Value {
    let capabilities = Capability::ALL.iter().filter(|(capability, _)| about.capabilities.has(*capability));
    json!({
        "name": about.name,
        "summary": about.summary,
        "source": about.source,
        "capabilities": capabilities.map(|(_, words)| words).collect::<Vec<_>>(),
        "parameters": about.parameters.iter().map(parameter).collect::<Vec<_>>(),
        "orders": about.orders.iter().map(order).collect::<Vec<_>>(),
        "columns": about.columns.iter().map(column).collect::<Vec<_>>(),
    })
}

fn order(Order { low, high, strict }: &Order) -> Value {
    json!({ "low": low, "high": high, "strict": strict })
}

fn column(Column { name, unit, summary }: &Column) -> Value {
    json!({ "name": name, "unit": unit, "summary": summary })
}

fn parameter(parameter: &Parameter) -> Value {
    let (kind, choices, minimum, maximum) = match parameter.domain {
        Domain::Flag { .. } => ("flag", &[][..], Value::Null, Value::Null),
        Domain::Word { choices, .. } => ("word", choices, Value::Null, Value::Null),
        Domain::Whole { min, max, .. } => ("whole", &[][..], json!(min), json!(max)),
        Domain::Number { min, max, .. } => ("number", &[][..], json!(min), json!(max)),
        Domain::Quantity { of, min, max, .. } => {
            let kind = match of {
                Measure::Time => "time",
                Measure::Size => "size",
                Measure::Packets => "packets",
            };
            (kind, &[][..], json!(min), json!(max))
        }
        Domain::Percentage { .. } => ("percentage", &[][..], json!(0), json!(1)),
        Domain::Length => ("length", &[][..], Value::Null, Value::Null),
        Domain::Limit { .. } => ("limit", &[][..], Value::Null, Value::Null),
        Domain::LargestPacket { .. } => ("largest packet", &[][..], Value::Null, Value::Null),
    };
    let default = match (parameter.absent, parameter.default_if_any()) {
        (Absent::LeftOut | Absent::None, _) | (_, None) => Value::Null,
        (_, Some(Default::Flag(flag))) => json!(flag),
        (_, Some(Default::Word(word))) => json!(word),
        (_, Some(Default::Whole(number))) => json!(number),
        (_, Some(Default::Number(number))) => json!(number),
    };
    json!({
        "name": parameter.name,
        "field": parameter.field,
        "kind": kind,
        "summary": parameter.summary,
        "unit": parameter.unit,
        "default": default,
        "choices": choices,
        "minimum": minimum,
        "maximum": maximum,
        "above_minimum": parameter.above_least,
        "absent": match parameter.absent {
            Absent::Never => Value::Null,
            Absent::LeftOut => json!("left out"),
            Absent::None => json!("none"),
        },
        "noun": parameter.noun,
        "fixed_in_kernel": parameter.fixed_in_kernel,
    })
}
