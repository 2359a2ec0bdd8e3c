//! Events that are only kept while a recording lasts, and made a Trace of at its end: taking them in costs several times what keeping them does.

use crate::sources::bpf::{Bpf, PackedEvent, PackedEvents, Sink as _};
use swtch_trace::event::Event;

/// Memory for events that wait. Beyond that they are taken in while the recording lasts.
const MOST_BYTES: u64 = 64 << 20;

/// The events of each look at the rings, the oldest first.
pub(super) struct Deferred {
    rounds: Vec<(PackedEvents, u64)>,
    bytes: u64,
    pub(super) most_bytes: u64,
}

impl Default for Deferred {
    fn default() -> Self {
        Self { rounds: Vec::new(), bytes: 0, most_bytes: MOST_BYTES }
    }
}

impl Deferred {
    /// Takes what the programs saw out of the rings. `noted` gets the cgroups that came up.
    pub(super) fn drain(&mut self, bpf: &mut Bpf, mut noted: impl FnMut(u64)) {
        let mut packed = PackedEvents::default();
        let round = bpf.drain(&mut packed);
        packed.lives.iter().filter_map(|life| life.group).for_each(&mut noted);
        self.bytes += packed.bytes();
        self.rounds.push((packed, round.horizon_ns));
    }

    /// Whether there is no room for more.
    pub(super) fn is_full(&self) -> bool {
        self.bytes > self.most_bytes
    }

    /// All of it: the events of each round, and the time before which every event has been read, ns.
    pub(super) fn empty(&mut self) -> Vec<(PackedEvents, u64)> {
        self.bytes = 0;
        std::mem::take(&mut self.rounds)
    }
}

/// Events in the vocabulary of all sources.
pub(super) fn unpack(packed: PackedEvents, held: &mut Vec<Event>) {
    held.extend(packed.events.iter().filter_map(PackedEvent::unpack));
    packed.lives.into_iter().for_each(|life| held.life(life));
}
