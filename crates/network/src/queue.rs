//! Queue disciplines: one file each, and a table of them. A new one needs a file that declares it and its settings,
//! tests with values worked by hand, a line in the table below and a page (docs/add-a-queue.md).

mod arrival;
pub mod cake;
pub mod codel;
mod discipline;
pub mod drop_tail;
pub mod dualpi2;
pub mod fq_codel;
mod isolation;
mod limit;
pub mod pie;
mod places;
pub mod red;
pub mod red_ns2;

use algorithm::plugin::{Factory, Origin};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::counters::DropReason;
use crate::transmitter::Transmitter;
pub use arrival::{Arrival, Entry};
use discipline::Declare;
pub use discipline::{Discipline, Head, Tally, Verdict};
pub(crate) use drop_tail::DropTail;
pub use limit::Limit;

/// The table of disciplines: `module::Name: implementing type`. Large types are boxed, because their state would
/// enlarge every drop-tail link. The macro generates the settings of all disciplines and an enum of their states, which
/// avoids virtual calls except for external ones.
macro_rules! disciplines {
    ($($module:ident::$name:ident: $built:ty,)*) => {
        algorithm::kinds! {
            /// The settings of a queue discipline.
            pub enum QueueConfig of "queue discipline" {
                $($name($module::Config) = <$module::$name as Declare>::ABOUT,)*
                @other {
                    /// An external discipline.
                    Custom(Factory<dyn Discipline>),
                }
            }
        }

        #[derive(Debug)]
        pub(crate) enum Queue {
            $($name($built),)*
            Custom(Box<dyn Discipline>),
        }

        impl Queue {
            pub(crate) fn new(config: &QueueConfig, random: &mut Xoshiro256PlusPlus) -> Self {
                match config {
                    $(QueueConfig::$name(config) => Self::$name($module::$name::make(*config, random).into()),)*
                    QueueConfig::Custom(factory) => Self::Custom(factory.make(&Origin::new(true, random))),
                }
            }
        }

        impl Clone for Queue {
            fn clone(&self) -> Self {
                match self {
                    $(Self::$name(queue) => Self::$name(queue.clone()),)*
                    Self::Custom(queue) => Self::Custom(queue.copied()),
                }
            }
        }

        macro_rules! each {
            ($self:expr, $queue:ident => $call:expr) => {
                match $self {
                    $(Queue::$name($queue) => $call,)*
                    Queue::Custom($queue) => $call,
                }
            };
        }
    };
}

disciplines! {
    drop_tail::DropTail: DropTail,
    red::Red: Box<red::Red>,
    red_ns2::RedNs2: Box<red_ns2::RedNs2>,
    codel::CoDel: Box<codel::CoDel>,
    fq_codel::FqCoDel: Box<fq_codel::FqCoDel>,
    cake::Cake: Box<fq_codel::FqCoDel>,
    pie::Pie: Box<pie::Pie>,
    dualpi2::DualPi2: Box<dualpi2::DualPi2>,
}

impl QueueConfig {
    /// Drop-tail.
    #[must_use]
    pub const fn drop_tail(limit: Limit) -> Self {
        Self::DropTail(drop_tail::Config { limit })
    }

    /// An external discipline. `make` is called for each direction of a link and may capture. Messages refer to it by
    /// `name`.
    pub fn custom(name: &str, make: impl Fn(&Origin) -> Box<dyn Discipline> + Send + Sync + 'static) -> Self {
        Self::Custom(Factory::new(name, make))
    }
}

impl Queue {
    /// Decides whether the packet may enter.
    #[inline]
    pub(crate) fn enqueue(
        &mut self,
        arrival: Arrival<'_>,
        random: &mut Xoshiro256PlusPlus,
    ) -> Result<Entry, DropReason> {
        each!(self, queue => queue.enqueue(arrival, random))
    }

    /// Selects the next packet when the transmitter is free; see [`Discipline::dequeue`].
    pub(crate) fn dequeue(&mut self, now_ns: u64, head: Head) -> Option<(usize, Verdict)> {
        each!(self, queue => queue.dequeue(now_ns, head))
    }

    /// Updates the state to `now_ns` before the transmitter changes.
    pub(crate) fn advance(&mut self, now_ns: u64, transmitter: &Transmitter) {
        each!(self, queue => queue.advance(now_ns, transmitter.busy_until_ns()));
    }

    /// The discipline, if it is drop-tail and nothing else.
    #[inline]
    pub(crate) const fn drop_tail(&self) -> Option<DropTail> {
        if let Self::DropTail(queue) = *self { Some(queue) } else { None }
    }

    /// Whether it also decides at the head of the queue, so that the departure time of a waiting packet is unknown.
    #[inline]
    pub(crate) fn decides_at_head(&self) -> bool {
        each!(self, queue => queue.decides_at_head())
    }

    /// Whether it needs to know which flow a packet belongs to.
    #[inline]
    pub(crate) fn tells_flows_apart(&self) -> bool {
        each!(self, queue => queue.tells_flows_apart())
    }

    /// The link went down and lost all waiting packets.
    pub(crate) fn clear(&mut self) {
        each!(self, queue => queue.clear());
    }

    /// Packets marked and dropped so far.
    pub(crate) fn tally(&self) -> Tally {
        each!(self, queue => queue.tally())
    }
}
