//! Where speedups come from.

use crate::apps::Apps;
use crate::controller::AppId;
use crate::estimate::Estimate;
use crate::kinds::ByKind;
use crate::usage::Usage;
use std::collections::BTreeMap;
use std::rc::Rc;
use swtch_scx::NamedNumbers;

/// Says how much faster applications are on faster cores.
pub trait SpeedupSource {
    /// What it goes by, for people.
    fn name(&self) -> &'static str;

    /// Whether it must see an application on every kind of core now and then.
    fn is_sampled(&self) -> bool;

    /// Sees what an application had in an interval.
    fn observe(&mut self, app: AppId, used: &Usage);

    /// The speedup on each kind of core over the slowest, as far as it is known.
    fn speedups(&self, app: AppId) -> Option<ByKind<f64>>;

    /// The application has gone.
    fn forget(&mut self, app: AppId);
}

/// Work is counted where it is done: instructions by the hardware, or progress by the applications themselves.
#[derive(Clone, Debug)]
pub struct Counted {
    name: &'static str,
    kinds: usize,
    estimates: BTreeMap<AppId, Estimate>,
}

impl Counted {
    /// What counts, on this many kinds of cores.
    pub fn by(name: &'static str, kinds: usize) -> Self {
        Self { name, kinds, estimates: BTreeMap::new() }
    }
}

impl SpeedupSource for Counted {
    fn name(&self) -> &'static str {
        self.name
    }

    fn is_sampled(&self) -> bool {
        true
    }

    fn observe(&mut self, app: AppId, used: &Usage) {
        let estimate = self.estimates.entry(app).or_insert_with(|| Estimate::of(self.kinds));
        estimate.add(&used.work, &used.ran_ns);
    }

    fn speedups(&self, app: AppId) -> Option<ByKind<f64>> {
        self.estimates.get(&app)?.speedups()
    }

    fn forget(&mut self, app: AppId) {
        self.estimates.remove(&app);
    }
}

/// Measured before: a file has the speedups of every command.
#[derive(Clone, Debug)]
pub struct Given {
    by_name: NamedNumbers,
    known: BTreeMap<AppId, ByKind<f64>>,
    /// Which know what they are called.
    apps: Rc<Apps>,
}

impl Given {
    /// From the file's contents: one number for every kind of core but the slowest.
    pub fn new(by_name: NamedNumbers, apps: Rc<Apps>) -> Self {
        Self { by_name, known: BTreeMap::new(), apps }
    }
}

impl SpeedupSource for Given {
    fn name(&self) -> &'static str {
        "a file"
    }

    fn is_sampled(&self) -> bool {
        false
    }

    fn observe(&mut self, app: AppId, _used: &Usage) {
        // A process may become another program at any time.
        let name = self.apps.name(app);
        match name.as_deref().and_then(|name| self.by_name.get(name)) {
            Some(numbers) => self.known.insert(app, over_the_slowest(numbers)),
            None => self.known.remove(&app),
        };
    }

    fn speedups(&self, app: AppId) -> Option<ByKind<f64>> {
        self.known.get(&app).copied()
    }

    fn forget(&mut self, app: AppId) {
        self.known.remove(&app);
    }
}

/// Adds the slowest kind, whose speedup is 1.
fn over_the_slowest(numbers: &[f64]) -> ByKind<f64> {
    let mut speedups = ByKind::default();
    for (speedup, number) in speedups.iter_mut().zip(numbers.iter().chain(&[1.0])) {
        *speedup = *number;
    }
    speedups
}

impl<S: SpeedupSource + ?Sized> SpeedupSource for Box<S> {
    fn name(&self) -> &'static str {
        (**self).name()
    }

    fn is_sampled(&self) -> bool {
        (**self).is_sampled()
    }

    fn observe(&mut self, app: AppId, used: &Usage) {
        (**self).observe(app, used);
    }

    fn speedups(&self, app: AppId) -> Option<ByKind<f64>> {
        (**self).speedups(app)
    }

    fn forget(&mut self, app: AppId) {
        (**self).forget(app);
    }
}
