//! Where speedups come from.

use crate::apps::Apps;
use crate::controller::AppId;
use crate::estimate::Estimate;
use crate::names::NamedNumbers;
use crate::usage::Usage;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Says how much faster applications are on fast cores.
pub trait SpeedupSource {
    /// What it goes by, for people.
    fn name(&self) -> &'static str;

    /// Whether it must see an application on both kinds of core now and then.
    fn is_sampled(&self) -> bool;

    /// Sees what an application had in an interval.
    fn observe(&mut self, app: AppId, used: &Usage);

    /// The speedup, as far as it is known.
    fn speedup(&self, app: AppId) -> Option<f64>;

    /// The application has gone.
    fn forget(&mut self, app: AppId);
}

/// Work is counted where it is done: instructions by the hardware, or progress by the applications themselves.
#[derive(Clone, Debug)]
pub struct Counted {
    name: &'static str,
    estimates: BTreeMap<AppId, Estimate>,
}

impl Counted {
    /// Who counts.
    pub fn by(name: &'static str) -> Self {
        Self { name, estimates: BTreeMap::new() }
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
        let estimate = self.estimates.entry(app).or_default();
        estimate.add((used.fast_work, used.fast_ns), (used.slow_work, used.slow_ns));
    }

    fn speedup(&self, app: AppId) -> Option<f64> {
        self.estimates.get(&app)?.speedup()
    }

    fn forget(&mut self, app: AppId) {
        self.estimates.remove(&app);
    }
}

/// Somebody has measured before: a file has a speedup for every command.
#[derive(Clone, Debug)]
pub struct Given {
    by_name: NamedNumbers,
    known: BTreeMap<AppId, f64>,
    /// Which know what they are called.
    apps: Rc<Apps>,
}

impl Given {
    /// From the file's contents.
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
        let speedup = self.apps.name(app).and_then(|name| self.by_name.get(&name));
        match speedup {
            Some(speedup) => self.known.insert(app, speedup),
            None => self.known.remove(&app),
        };
    }

    fn speedup(&self, app: AppId) -> Option<f64> {
        self.known.get(&app).copied()
    }

    fn forget(&mut self, app: AppId) {
        self.known.remove(&app);
    }
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

    fn speedup(&self, app: AppId) -> Option<f64> {
        (**self).speedup(app)
    }

    fn forget(&mut self, app: AppId) {
        (**self).forget(app);
    }
}
