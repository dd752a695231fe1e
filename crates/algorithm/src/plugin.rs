//! Creation of external algorithms: a function that may capture what it needs, called once for each connection.

use std::fmt;
use std::sync::Arc;

use rand_core::RngCore;
use rand_xoshiro::Xoshiro256PlusPlus;

/// The connection, or the direction of a link, for which an algorithm is created.
#[derive(Clone, Debug)]
pub struct Origin {
    initiator: bool,
    random: Xoshiro256PlusPlus,
    label: Option<Arc<str>>,
}

impl Origin {
    /// `random` is the stream of the connection or the link. It is not advanced: algorithms draw from positions far
    /// ahead of it.
    #[must_use]
    pub fn new(initiator: bool, random: &Xoshiro256PlusPlus) -> Self {
        Origin { initiator, random: random.clone(), label: None }
    }

    /// An origin for tests of algorithms without a connection.
    #[must_use]
    pub fn alone(seed: u64) -> Self {
        Origin { initiator: true, random: rand_core::SeedableRng::seed_from_u64(seed), label: None }
    }

    /// Whether this host opened the connection.
    #[must_use]
    pub fn is_initiator(&self) -> bool {
        self.initiator
    }

    /// The driver's name for connections of this kind, if it set one ([`Factory::labelled`]), for messages.
    #[must_use]
    pub fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }

    /// The algorithm's own random stream: equal in all runs with the same seed, different for each connection and each
    /// kind of algorithm, and separate from the transport's.
    #[must_use]
    pub fn random(&self, kind: Kind) -> Xoshiro256PlusPlus {
        let mut random = self.random.clone();
        // A jump advances the generator by 2^128 draws.
        for _ in 0..=kind as u8 {
            random.jump();
        }
        random
    }

    /// The first draw of [`random`](Self::random), for an algorithm with its own generator.
    #[must_use]
    pub fn seed(&self, kind: Kind) -> u64 {
        self.random(kind).next_u64()
    }
}

/// The kinds of algorithms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A congestion control.
    Congestion,
    /// A scheduler.
    Scheduler,
    /// A path manager.
    PathManager,
}

type Make<T> = dyn Fn(&Origin) -> Box<T> + Send + Sync;

/// Creates an external algorithm for each connection.
pub struct Factory<T: ?Sized> {
    name: Arc<str>,
    label: Option<Arc<str>>,
    make: Arc<Make<T>>,
}

impl<T: ?Sized> Factory<T> {
    /// Creates a factory. Messages refer to it by `name`.
    pub fn new(name: &str, make: impl Fn(&Origin) -> Box<T> + Send + Sync + 'static) -> Self {
        Factory { name: Arc::from(name), label: None, make: Arc::new(make) }
    }

    /// The same factory for connections that the driver calls `label`.
    #[must_use]
    pub fn labelled(&self, label: &str) -> Self {
        Factory { label: Some(Arc::from(label)), ..self.clone() }
    }

    /// Its name in messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Creates an algorithm for a new connection.
    #[must_use]
    pub fn make(&self, origin: &Origin) -> Box<T> {
        match &self.label {
            None => (self.make)(origin),
            label => (self.make)(&Origin { label: label.clone(), ..origin.clone() }),
        }
    }
}

impl<T: ?Sized> Clone for Factory<T> {
    fn clone(&self) -> Self {
        Factory { name: Arc::clone(&self.name), label: self.label.clone(), make: Arc::clone(&self.make) }
    }
}

/// Equal if name, label and function are the same.
impl<T: ?Sized> PartialEq for Factory<T> {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.label == other.label && Arc::ptr_eq(&self.make, &other.make)
    }
}

impl<T: ?Sized> fmt::Debug for Factory<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Factory({:?})", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_a_stream_of_its_own_that_leaves_the_connections_alone() {
        let mut connection: Xoshiro256PlusPlus = rand_core::SeedableRng::seed_from_u64(7);
        let origin = Origin::new(true, &connection);
        let seeds = [Kind::Congestion, Kind::Scheduler, Kind::PathManager].map(|kind| origin.seed(kind));
        assert_eq!(seeds, [Kind::Congestion, Kind::Scheduler, Kind::PathManager].map(|kind| origin.seed(kind)));
        assert_eq!(seeds[0], Origin::alone(7).seed(Kind::Congestion));
        let mut all = vec![connection.next_u64()];
        all.extend(seeds);
        all.push(Origin::alone(8).seed(Kind::Congestion));
        let different = all.iter().collect::<std::collections::BTreeSet<_>>();
        assert_eq!(different.len(), all.len());
    }

    #[test]
    fn a_factory_captures() {
        let beta = 0.7;
        let factory = Factory::<dyn Fn() -> f64>::new("gentle", move |_| Box::new(move || beta));
        assert_eq!(factory.clone().make(&Origin::alone(1))(), 0.7);
        assert_eq!(format!("{factory:?}"), "Factory(\"gentle\")");
    }

    #[test]
    fn a_factory_passes_its_label_on() {
        let factory = Factory::<dyn Fn() -> String>::new("gentle", |origin| {
            let label = origin.label().unwrap_or("none").to_owned();
            Box::new(move || label.clone())
        });
        assert_eq!(factory.make(&Origin::alone(1))(), "none");
        assert_eq!(factory.labelled("download").make(&Origin::alone(1))(), "download");
        assert_eq!(factory.make(&Origin::alone(1))(), "none");
    }
}
