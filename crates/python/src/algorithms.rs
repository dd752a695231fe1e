//! The tables of the transport's algorithms, for `mptcplab.registry`.

use serde_json::{Value, json};
use transport::algorithm::{About, Capability, Column, Domain, Family, Parameter};
use transport::{congestion::Controls, path_manager::PathManagers, scheduler::Schedulers};

/// By family, in the order of the tables.
pub fn tables() -> Value {
    json!({
        "congestion": table::<Controls>(),
        "schedulers": table::<Schedulers>(),
        "path-managers": table::<PathManagers>(),
    })
}

fn table<F: Family>() -> Vec<Value> {
    F::table().iter().map(|row| entry(&row.about)).collect()
}

fn entry(about: &About) -> Value {
    let capabilities = Capability::ALL.iter().filter(|(capability, _)| about.capabilities.has(*capability));
    json!({
        "name": about.name,
        "summary": about.summary,
        "source": about.source,
        "capabilities": capabilities.map(|(_, words)| words).collect::<Vec<_>>(),
        "parameters": about.parameters.iter().map(parameter).collect::<Vec<_>>(),
        "columns": about.columns.iter().map(column).collect::<Vec<_>>(),
    })
}

fn column(Column { name, unit, summary }: &Column) -> Value {
    json!({ "name": name, "unit": unit, "summary": summary })
}

fn parameter(parameter: &Parameter) -> Value {
    let (default, choices, minimum, maximum) = match parameter.domain {
        Domain::Flag { default } => (json!(default), &[][..], Value::Null, Value::Null),
        Domain::Word { default, choices } => (json!(default), choices, Value::Null, Value::Null),
        Domain::Whole { default, min, max } => (json!(default), &[][..], json!(min), json!(max)),
        Domain::Number { default, min, max } => (json!(default), &[][..], json!(min), json!(max)),
    };
    json!({
        "name": parameter.name,
        "summary": parameter.summary,
        "unit": parameter.unit,
        "default": default,
        "choices": choices,
        "minimum": minimum,
        "maximum": maximum,
        "fixed_in_kernel": parameter.fixed_in_kernel,
    })
}
