//! What a declaration says: name, source, parameters, capabilities, columns.

use crate::parameter::Parameter;

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
    /// Parameters of which one must be below another.
    pub orders: &'static [Order],
}

/// Two parameters whose values have an order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Order {
    /// The parameter with the lower value.
    pub low: &'static str,
    /// The one with the higher value.
    pub high: &'static str,
    /// Whether they must differ.
    pub strict: bool,
}

impl Order {
    /// `low` is less than `high`.
    #[must_use]
    pub const fn less(low: &'static str, high: &'static str) -> Self {
        Order { low, high, strict: true }
    }

    /// `low` is at most `high`.
    #[must_use]
    pub const fn at_most(low: &'static str, high: &'static str) -> Self {
        Order { low, high, strict: false }
    }
}

impl About {
    /// Without parameters and capabilities.
    #[must_use]
    pub const fn new(name: &'static str, summary: &'static str, source: &'static str) -> Self {
        About { name, summary, source, parameters: &[], capabilities: Capabilities(0), columns: &[], orders: &[] }
    }

    /// With these parameters.
    #[must_use]
    pub const fn parameters(self, parameters: &'static [Parameter]) -> Self {
        About { parameters, ..self }
    }

    /// With these columns, whose values `CongestionControl::show` writes.
    #[must_use]
    pub const fn columns(self, columns: &'static [Column]) -> Self {
        About { columns, ..self }
    }

    /// With orders of parameters.
    #[must_use]
    pub const fn orders(self, orders: &'static [Order]) -> Self {
        About { orders, ..self }
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
    /// Draws random numbers, from a stream of its own ([`Origin::random`](crate::plugin::Origin::random)).
    Random,
    /// A Linux kernel can have it under the same name.
    InKernel,
    /// A scalable congestion control: uses ECN in any case, and wants each mark echoed (RFC 8257 §3.2).
    Scalable,
    /// Its packets say so to the network, by ECT(1) (RFC 9331).
    Ect1,
    /// A queue discipline that asks when the transmitter will be free, which a medium does not know.
    AsksTransmitter,
    /// A queue discipline that marks packets (ECN) without being told to.
    Marks,
}

impl Capability {
    /// All of them, with their words in `mptcplab list` and the documentation.
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
