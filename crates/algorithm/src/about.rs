//! The declaration of an algorithm: name, source, parameters, capabilities, columns.

use crate::parameter::Parameter;

/// The description of an algorithm.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// Name in scenario files.
    pub name: &'static str,
    /// Summary in one line.
    pub summary: &'static str,
    /// Paper or standard.
    pub source: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// What it needs from the transport, and how it affects it.
    pub capabilities: Capabilities,
    /// Its own values in a run's samples of each subflow; for congestion controls only.
    pub columns: &'static [Column],
    /// Pairs of parameters of which one must be below the other.
    pub orders: &'static [Order],
}

/// An order relation between the values of two parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Order {
    /// The parameter with the lower value.
    pub low: &'static str,
    /// The parameter with the higher value.
    pub high: &'static str,
    /// Whether they must differ.
    pub strict: bool,
}

impl Order {
    /// Requires `low` to be less than `high`.
    #[must_use]
    pub const fn less(low: &'static str, high: &'static str) -> Self {
        Order { low, high, strict: true }
    }

    /// Requires `low` to be at most `high`.
    #[must_use]
    pub const fn at_most(low: &'static str, high: &'static str) -> Self {
        Order { low, high, strict: false }
    }
}

impl About {
    /// A description without parameters and capabilities.
    #[must_use]
    pub const fn new(name: &'static str, summary: &'static str, source: &'static str) -> Self {
        About { name, summary, source, parameters: &[], capabilities: Capabilities(0), columns: &[], orders: &[] }
    }

    /// Sets the parameters.
    #[must_use]
    pub const fn parameters(self, parameters: &'static [Parameter]) -> Self {
        About { parameters, ..self }
    }

    /// Sets the columns, whose values `CongestionControl::show` writes.
    #[must_use]
    pub const fn columns(self, columns: &'static [Column]) -> Self {
        About { columns, ..self }
    }

    /// Sets the order relations of parameters.
    #[must_use]
    pub const fn orders(self, orders: &'static [Order]) -> Self {
        About { orders, ..self }
    }

    /// Adds a capability.
    #[must_use]
    pub const fn with(self, capability: Capability) -> Self {
        About { capabilities: self.capabilities.with(capability), ..self }
    }
}

/// What an algorithm needs from the transport, or how it affects it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Capability {
    /// A congestion control that uses the state of all subflows of a group. Without this, each subflow is controlled
    /// separately.
    Coupled,
    /// A scheduler that assigns data to a subflow before it can be sent.
    BindsAhead,
    /// Needs to know how much data the application will send.
    NeedsSize,
    /// A scheduler that sends the same data on several subflows.
    Redundant,
    /// A scheduler with opportunistic retransmission and penalisation (Raiciu 2012 §4.2).
    Opportunistic,
    /// Draws random numbers from its own stream ([`Origin::random`](crate::plugin::Origin::random)).
    Random,
    /// A Linux kernel may provide it under the same name.
    InKernel,
    /// A scalable congestion control: always uses ECN, and needs an echo of each mark (RFC 8257 §3.2).
    Scalable,
    /// Its packets identify themselves to the network by ECT(1) (RFC 9331).
    Ect1,
    /// A queue discipline that needs the time at which the transmitter becomes free, which is unknown on a medium.
    AsksTransmitter,
    /// A queue discipline that marks packets (ECN) without an option for it.
    Marks,
}

impl Capability {
    /// All capabilities, with their words in `mptcplab list` and the documentation.
    pub const ALL: [(Capability, &'static str); 11] = [
        (Capability::Coupled, "coupled"),
        (Capability::BindsAhead, "binds ahead"),
        (Capability::NeedsSize, "needs the flow's size"),
        (Capability::Redundant, "redundant"),
        (Capability::Opportunistic, "opportunistic"),
        (Capability::Random, "random"),
        (Capability::InKernel, "in Linux"),
        (Capability::Scalable, "scalable"),
        (Capability::Ect1, "ECT(1)"),
        (Capability::AsksTransmitter, "not on a medium"),
        (Capability::Marks, "marks packets"),
    ];
}

/// A set of capabilities.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Capabilities(u16);

impl Capabilities {
    /// Adds a capability.
    #[must_use]
    pub const fn with(self, capability: Capability) -> Self {
        Capabilities(self.0 | 1 << capability as u16)
    }

    /// Removes a capability.
    #[must_use]
    pub const fn without(self, capability: Capability) -> Self {
        Capabilities(self.0 & !(1 << capability as u16))
    }

    /// Whether the set contains the capability.
    #[must_use]
    #[inline]
    pub const fn has(self, capability: Capability) -> bool {
        self.0 & (1 << capability as u16) != 0
    }
}

/// A value of an algorithm in the samples of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Column {
    /// Name of the column, with its unit like any other column: `queueing_delay_s`. Congestion controls that show the
    /// same quantity use the same name.
    pub name: &'static str,
    /// Unit; empty if there is none.
    pub unit: &'static str,
    /// Summary in one line.
    pub summary: &'static str,
}

impl Column {
    /// A column with this name, unit and summary.
    #[must_use]
    pub const fn new(name: &'static str, unit: &'static str, summary: &'static str) -> Self {
        Column { name, unit, summary }
    }
}
