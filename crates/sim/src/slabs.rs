//! The memory of messages in sockets, as the kernel's allocator hands it out (mm/slub.c, Linux 7.3).
//!
//! Objects that were given back last lie near, a bounded number of them, and are taken first. All others lie in slabs. A slab with free
//! objects is taken from before a new one is made, and one whose objects are all free is discarded where there are enough others (`discard_slab`). So what
//! a call takes depends on which messages were read before: those of one socket lie in as many slabs as it has messages, since all sockets
//! were written in turn.

use std::collections::VecDeque;

/// Objects of a slab: those of 640 bytes with a short message (`skbuff_small_head`), in two pages.
const SLAB_OBJECTS: u16 = 12;

/// Slabs with free objects that are kept although no object of theirs is in use (`min_partial`).
const KEPT_SLABS: usize = 5;

/// Objects that are fetched at once where none is near: those of a sheaf of such a size.
const FETCHED_OBJECTS: u16 = 28;

/// What calls on sockets had to do beyond taking an object that is near, or putting one there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SlabWork {
    /// Slabs with free objects that were taken from.
    pub(crate) partial: u64,
    /// Slabs that were made.
    pub(crate) new: u64,
    /// Objects that were given back to their slab.
    pub(crate) flushed: u64,
    /// Slabs that were discarded.
    pub(crate) discarded: u64,
}

/// What each kind of work with slabs takes, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlabCosts {
    /// To take from a slab that has free objects.
    pub partial_ns: u64,
    /// To make a slab and take from it.
    pub new_ns: u64,
    /// To give an object back to its slab.
    pub flush_ns: u64,
    /// To discard a slab.
    pub discard_ns: u64,
}

impl SlabCosts {
    /// The same for each message that is not near, written or read.
    pub fn even(message_ns: u64) -> Self {
        let slab_ns = message_ns * u64::from(SLAB_OBJECTS);
        Self { partial_ns: slab_ns, new_ns: slab_ns, flush_ns: message_ns, discard_ns: 0 }
    }

    pub(crate) fn ns(&self, work: SlabWork) -> u64 {
        work.partial * self.partial_ns
            + work.new * self.new_ns
            + work.flushed * self.flush_ns
            + work.discarded * self.discard_ns
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Slab {
    free: u16,
    is_listed: bool,
}

/// All objects.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slabs {
    /// The slabs of free objects that are near, what was given back last at the end.
    near: Vec<u32>,
    most_near: usize,
    states: Vec<Slab>,
    /// Slabs with free objects, and some that were discarded since.
    listed: VecDeque<u32>,
    /// How many of those have free objects.
    partial: usize,
    unused: Vec<u32>,
}

impl Slabs {
    /// `most_near`: free objects that can be near.
    pub(crate) fn new(most_near: usize) -> Self {
        Self { most_near: most_near.max(1), ..Self::default() }
    }

    /// Fetches objects if none is near, for a write that begins.
    pub(crate) fn fetch(&mut self) -> SlabWork {
        let mut work = SlabWork::default();
        let mut wanted = if self.near.is_empty() { FETCHED_OBJECTS } else { 0 };
        while wanted > 0 {
            let slab = if let Some(slab) = self.first_listed() {
                work.partial += 1;
                slab
            } else {
                work.new += 1;
                self.make()
            };
            let state = &mut self.states[slab as usize];
            let taken = state.free.min(wanted);
            state.free -= taken;
            if state.free == 0 {
                state.is_listed = false;
                self.listed.pop_front();
                self.partial -= 1;
            }
            wanted -= taken;
            self.near.extend((0..taken).map(|_| slab));
        }
        work
    }

    /// Takes the object that is nearest. Returns its slab.
    pub(crate) fn take(&mut self) -> u32 {
        self.fetch();
        self.near.pop().unwrap_or_default()
    }

    /// What giving back an object of this slab would take.
    pub(crate) fn work_to_give(&self, slab: u32) -> SlabWork {
        let is_far = self.near.len() >= self.most_near;
        let state = self.states[slab as usize];
        let partial = self.partial + usize::from(state.free == 0);
        let discards = is_far && state.free + 1 == SLAB_OBJECTS && partial > KEPT_SLABS;
        SlabWork { flushed: u64::from(is_far), discarded: u64::from(discards), ..SlabWork::default() }
    }

    pub(crate) fn give(&mut self, slab: u32) {
        let work = self.work_to_give(slab);
        if work.flushed == 0 {
            self.near.push(slab);
            return;
        }
        let state = &mut self.states[slab as usize];
        self.partial += usize::from(state.free == 0);
        state.free += 1;
        if work.discarded > 0 {
            // It stays in the list until it comes to the front.
            state.free = 0;
            self.partial -= 1;
            if !state.is_listed {
                self.unused.push(slab);
            }
        } else if !state.is_listed {
            state.is_listed = true;
            self.listed.push_back(slab);
        }
    }

    fn first_listed(&mut self) -> Option<u32> {
        while let Some(&slab) = self.listed.front() {
            let state = &mut self.states[slab as usize];
            if state.free > 0 {
                return Some(slab);
            }
            state.is_listed = false;
            self.listed.pop_front();
            self.unused.push(slab);
        }
        None
    }

    fn make(&mut self) -> u32 {
        let whole = Slab { free: SLAB_OBJECTS, is_listed: true };
        let slab = if let Some(slab) = self.unused.pop() {
            self.states[slab as usize] = whole;
            slab
        } else {
            self.states.push(whole);
            (self.states.len() - 1) as u32
        };
        self.listed.push_front(slab);
        self.partial += 1;
        slab
    }
}

/// Rounds after which they are alike.
const ROUNDS: u32 = 3;

/// What writing all messages of a round, to all channels in turn, and reading them, channel by channel, takes in the end: the writes' work and
/// the reads'.
pub(crate) fn round(most_near: usize, channels: u32, depth: u32) -> [SlabWork; 2] {
    let mut slabs = Slabs::new(most_near);
    let mut held = vec![Vec::with_capacity(depth as usize); channels as usize];
    let mut work = [SlabWork::default(); 2];
    for _ in 0..ROUNDS {
        work = Default::default();
        for _ in 0..depth {
            for channel in &mut held {
                work[0].add(slabs.fetch());
                channel.push(slabs.take());
            }
        }
        for slab in held.iter_mut().flat_map(|channel| channel.drain(..)) {
            work[1].add(slabs.work_to_give(slab));
            slabs.give(slab);
        }
    }
    work
}

impl SlabWork {
    fn add(&mut self, more: Self) {
        self.partial += more.partial;
        self.new += more.new;
        self.flushed += more.flushed;
        self.discarded += more.discarded;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_back_last_is_taken_first_and_near_objects_take_no_work() {
        let mut slabs = Slabs::new(40);
        assert_eq!(slabs.fetch(), SlabWork { new: 3, ..SlabWork::default() });
        let taken: Vec<u32> = (0..28).map(|_| slabs.take()).collect();
        // Four objects of the third slab are taken and eight are left in it.
        assert_eq!(taken.iter().filter(|slab| **slab == taken[0]).count(), 4);
        assert_eq!(slabs.fetch(), SlabWork { partial: 1, new: 2, ..SlabWork::default() });
        for slab in taken {
            assert_eq!(slabs.work_to_give(slab).flushed, u64::from(slabs.near.len() == 40));
            slabs.give(slab);
        }
        assert_eq!(slabs.near.len(), 40);
        assert_eq!((slabs.fetch(), slabs.near.len()), (SlabWork::default(), 40));
    }

    /// In a machine that counts instructions 4,000 messages under way took 2,990 ns to write with 20 sockets and 3,295 with 200.
    #[test]
    fn messages_of_few_sockets_leave_slabs_that_can_be_taken_from() {
        let [many, few] = [round(336, 200, 20)[0], round(336, 20, 200)[0]];
        assert!(few.new < many.new && few.partial > many.partial, "{few:?} {many:?}");
        // Messages that are near take no work.
        assert_eq!(round(336, 20, 10), [SlabWork::default(); 2]);
        let reads = round(336, 200, 20)[1];
        // Some of those that were fetched together are still near.
        assert!((4_000 - 336..4_000 - 336 + 28).contains(&reads.flushed), "{reads:?}");
    }

    #[test]
    fn as_many_objects_are_free_or_taken_as_slabs_hold() {
        let mut slabs = Slabs::new(30);
        let mut held = Vec::new();
        let mut state = 1_u64;
        for step in 0..20_000_u64 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Waves of up to a thousand.
            if (state >> 33) % 1_000 < 500 + 300 * u64::from(step / 2_000 % 2 == 0) {
                held.push(slabs.take());
            } else if !held.is_empty() {
                slabs.give(held.swap_remove((state >> 40) as usize % held.len()));
            }
            let free: usize = slabs.states.iter().map(|slab| usize::from(slab.free)).sum();
            let listed: Vec<u32> =
                slabs.listed.iter().copied().filter(|slab| slabs.states[*slab as usize].free > 0).collect();
            assert_eq!(listed.len(), slabs.partial);
            let discarded = slabs.listed.len() - listed.len() + slabs.unused.len();
            let whole = (slabs.states.len() - discarded) * usize::from(SLAB_OBJECTS);
            assert_eq!(free + slabs.near.len() + held.len(), whole, "step {step}");
        }
    }
}
