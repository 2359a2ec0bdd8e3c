//! Events that came after later ones: they are counted, because the order of the others is no longer complete.

use crate::event::Event;
use crate::model::Lost;
use std::collections::BTreeMap;

/// Events that were taken after later ones. Their switches are in the counts, without times and without a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Late {
    /// Switches and wake-ups by CPU.
    pub by_cpu: BTreeMap<u32, u64>,
    /// Forks, execs and exits; their CPU is not known.
    pub lives: u64,
}

impl Late {
    pub(super) fn add(&mut self, event: &Event) {
        match event {
            Event::Switch(switch) => *self.by_cpu.entry(switch.cpu).or_default() += 1,
            Event::Wake(wake) => *self.by_cpu.entry(wake.cpu).or_default() += 1,
            Event::Life(_) => self.lives += 1,
            // What they took of a wait stays with the task that they interrupted.
            Event::Interrupts(_) | Event::Idle(_) => {}
        }
    }

    /// Of all kinds.
    pub fn all(&self) -> u64 {
        self.by_cpu.values().sum::<u64>() + self.lives
    }

    /// For the header.
    pub fn rows(&self) -> impl Iterator<Item = Lost> + '_ {
        let what = "events that came after later ones: they are counted, their times are not known";
        let row = move |cpu, events| Lost { cpu, events, what: what.to_owned() };
        let by_cpu = self.by_cpu.iter().map(move |(cpu, events)| row(Some(*cpu), *events));
        by_cpu.chain((self.lives > 0).then(|| row(None, self.lives)))
    }
}
