//! Queue disciplines: one a file, and a table of them. To add one: a file that declares it and its settings, with its numbers in a
//! test, its line in the table below, its page (docs/add-a-queue.md).

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

use algorithm::plugin::{Factory, Origin};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::counters::DropReason;
use crate::transmitter::Transmitter;
pub use arrival::{Arrival, Entry};
use discipline::Declare;
pub use discipline::{Discipline, Head, Tally, Verdict};
pub(crate) use drop_tail::DropTail;
pub use limit::Limit;

/// The table: `module::Name: what runs it`. Boxed, because their state would make every drop-tail link larger. From it come the
/// settings of all disciplines and the enum of those at work, without a virtual call but for those from outside.
macro_rules! disciplines {
    ($($module:ident::$name:ident: $built:ty,)*) => {
        algorithm::kinds! {
            /// A queue discipline with its parameters.
            pub enum QueueConfig of "queue discipline" {
                $($name($module::Config) = <$module::$name as Declare>::ABOUT,)*
                @other {
                    /// From outside.
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

    /// One from outside: `make` is called for each direction of a link, and may capture. Messages call it by `name`.
    pub fn custom(name: &str, make: impl Fn(&Origin) -> Box<dyn Discipline> + Send + Sync + 'static) -> Self {
        Self::Custom(Factory::new(name, make))
    }
}

impl Queue {
    /// Whether the packet may enter.
    #[inline]
    pub(crate) fn enqueue(
        &mut self,
        arrival: Arrival<'_>,
        random: &mut Xoshiro256PlusPlus,
    ) -> Result<Entry, DropReason> {
        each!(self, queue => queue.enqueue(arrival, random))
    }

    /// What comes next when the transmitter is free; see [`Discipline::dequeue`].
    pub(crate) fn dequeue(&mut self, now_ns: u64, head: Head) -> Option<(usize, Verdict)> {
        each!(self, queue => queue.dequeue(now_ns, head))
    }

    /// Catches up with `now_ns` before the transmitter changes.
    pub(crate) fn advance(&mut self, now_ns: u64, transmitter: &Transmitter) {
        each!(self, queue => queue.advance(now_ns, transmitter.busy_until_ns()));
    }

    /// The discipline, if it is drop-tail and nothing else.
    #[inline]
    pub(crate) const fn drop_tail(&self) -> Option<DropTail> {
        if let Self::DropTail(queue) = *self { Some(queue) } else { None }
    }

    /// Whether it decides at the head of the queue too, so that the departure of a waiting packet is not known.
    #[inline]
    pub(crate) fn decides_at_head(&self) -> bool {
        each!(self, queue => queue.decides_at_head())
    }

    /// Whether it needs to know which flow a packet belongs to.
    #[inline]
    pub(crate) fn tells_flows_apart(&self) -> bool {
        each!(self, queue => queue.tells_flows_apart())
    }

    /// The link died with all that waits.
    pub(crate) fn clear(&mut self) {
        each!(self, queue => queue.clear());
    }

    /// What it has done so far.
    pub(crate) fn tally(&self) -> Tally {
        each!(self, queue => queue.tally())
    }
}
