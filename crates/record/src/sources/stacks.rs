//! BPF programs that sum switches and wake-ups by stack. Only the first time that a stack is seen, its frames reach the recorder.

use super::bpf::{BpfError, loaded, refused, task_limit};
use super::mapping::Mapping;
use super::ring::comm_of_bytes;
use libbpf_rs::skel::Skel as _;
use libbpf_rs::{MapCore as _, MapFlags, RingBuffer, RingBufferBuilder};
use skeleton::{StacksSkel, StacksSkelBuilder};
use std::cell::RefCell;
use std::rc::Rc;
use swtch_trace::tables::StackReason;

#[allow(clippy::all, clippy::pedantic, missing_docs, unreachable_pub, unused, unsafe_op_in_unsafe_fn)]
#[allow(clippy::undocumented_unsafe_blocks)]
mod skeleton {
    include!(concat!(env!("OUT_DIR"), "/stacks.skel.rs"));
}

/// Memory for stacks that have not been read yet. Each takes some 2 kB, and 8 more with a copy.
const RING_BYTES: u32 = 16 << 20;
/// Rules for return addresses that the kernel holds at most.
const MOST_RULES: u32 = 1 << 17;
const KEY_BYTES: usize = 32;
const USER_FRAMES: usize = 128;
const KERNEL_FRAMES: usize = 64;
const FRAMES_AT: usize = KEY_BYTES + 48;
const COPY_AT: usize = FRAMES_AT + 8 * (USER_FRAMES + KERNEL_FRAMES);

// As the other half has it (bpf/stacks.h).
const _: () = assert!(size_of::<skeleton::types::stack_key>() == KEY_BYTES);
const _: () = assert!(std::mem::offset_of!(skeleton::types::stack_record, frames) == FRAMES_AT);
const _: () = assert!(std::mem::offset_of!(skeleton::types::stack_record, copy) == COPY_AT);

/// What identifies a row of the kernel's table: its bytes.
pub(crate) type StackKey = [u8; KEY_BYTES];

/// How the caller of an instruction is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// By the base pointer, which points to the caller's base pointer and the return address.
    FramePointer,
    /// The frame begins at the stack pointer plus `cfa`; the base pointer was saved at that plus `saved`, or is still in its register.
    StackPointer { cfa: i32, saved: Option<i32> },
    /// The same from the base pointer.
    BasePointer { cfa: i32, saved: Option<i32> },
    /// It has no caller.
    End,
}

impl Rule {
    fn bytes(self) -> [u8; 12] {
        let [base, cfa, saved] = match self {
            Self::FramePointer => [1, 0, 0],
            Self::StackPointer { cfa, saved } => [2, cfa, saved.unwrap_or(0)],
            Self::BasePointer { cfa, saved } => [3, cfa, saved.unwrap_or(0)],
            Self::End => [4, 0, 0],
        };
        let mut bytes = [0; 12];
        for (part, number) in bytes.chunks_exact_mut(4).zip([base, cfa, saved]) {
            part.copy_from_slice(&number.to_ne_bytes());
        }
        bytes
    }
}

/// Where a program was: instruction, stack and base pointer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Registers {
    /// Instruction pointer.
    pub(crate) ip: u64,
    /// Stack pointer.
    pub(crate) sp: u64,
    /// Base pointer.
    pub(crate) bp: u64,
}

/// A stack that was seen for the first time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NewStack {
    /// Its row.
    pub(crate) key: StackKey,
    /// The process.
    pub(crate) pid: u32,
    /// The task's name.
    pub(crate) comm: String,
    /// Why it was looked at.
    pub(crate) reason: StackReason,
    /// When, ns of CLOCK_MONOTONIC.
    pub(crate) at_ns: u64,
    /// Where the program was.
    pub(crate) registers: Registers,
    /// Addresses in the program, as the kernel's side walked them, the innermost first.
    pub(crate) user: Vec<u64>,
    /// Addresses in the kernel, the innermost first.
    pub(crate) kernel: Vec<u64>,
    /// The program's stack from the stack pointer on, where a rule was missing.
    pub(crate) copy: Vec<u8>,
}

/// What a stack came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StackCounts {
    /// Switches away from a CPU, or wake-ups of others.
    pub(crate) switches: u64,
    /// From the switch until the task had a CPU again, ns.
    pub(crate) off_cpu_ns: u64,
    /// Of it, ready and waiting for a CPU, ns.
    pub(crate) wait_ns: u64,
}

/// Losses by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StackLosses {
    /// Switches and wake-ups, because the table of stacks was full.
    pub(crate) full: u64,
    /// The same, because too many new stacks came at once.
    pub(crate) ring: u64,
    /// Times away from a CPU, because the kernel had no storage for the task.
    pub(crate) storage: u64,
    /// Switches and wake-ups that were counted with another stack of the same hash.
    pub(crate) collided: u64,
}

/// The programs, attached.
pub(crate) struct StackPrograms {
    followed: Mapping<u64>,
    ring: RingBuffer<'static>,
    read: Rc<RefCell<Vec<NewStack>>>,
    skeleton: StacksSkel<'static>,
}

impl StackPrograms {
    /// Loads the programs; `entries` is how many stacks the kernel's table holds, `hash_mask` the bits of a stack's hash that count.
    ///
    /// # Errors
    /// When the kernel does not allow it or has not what it takes.
    pub(crate) fn load(scoped: bool, entries: u32, hash_mask: u64) -> Result<Self, BpfError> {
        let words = task_limit().div_ceil(64);
        let skeleton = loaded::<StacksSkelBuilder>(|open| {
            if let Some(constants) = open.maps.rodata_data.as_deref_mut() {
                constants.scoped = scoped;
                constants.hash_mask = hash_mask;
                constants.followed_words = words;
            }
            open.maps.counts.set_max_entries(entries)?;
            open.maps.rules.set_max_entries(MOST_RULES)?;
            open.maps.fresh.set_max_entries(RING_BYTES)?;
            open.maps.followed.set_max_entries(words)
        })?;
        let followed = Mapping::new(&skeleton.maps.followed, words as usize).map_err(BpfError::Memory)?;
        let read = Rc::new(RefCell::new(Vec::new()));
        let mut builder = RingBufferBuilder::new();
        let into = Rc::clone(&read);
        let take = move |bytes: &[u8]| {
            into.borrow_mut().extend(parse(bytes));
            0
        };
        builder.add(&skeleton.maps.fresh, take).map_err(|error| refused("reading their ring", &error))?;
        let ring = builder.build().map_err(|error| refused("reading their ring", &error))?;
        Ok(Self { followed, ring, read, skeleton })
    }

    /// Attaches the programs.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(crate) fn attach(&mut self) -> Result<(), BpfError> {
        self.skeleton.attach().map_err(|error| refused("attaching them", &error))
    }

    /// Takes the programs off. What they counted can still be read.
    pub(crate) fn detach(&mut self) {
        self.skeleton.links = skeleton::StacksLinks::default();
    }

    /// Counts a task and, from then on, its descendants, or ends that.
    pub(crate) fn set_followed(&self, tid: u32, on: bool) {
        self.followed.set_bit(tid, on);
    }

    /// The stacks that are new since the last time.
    pub(crate) fn drain(&mut self) -> Vec<NewStack> {
        // What stays is read the next time.
        let _ = self.ring.consume();
        std::mem::take(&mut *self.read.borrow_mut())
    }

    /// What a stack came to so far.
    pub(crate) fn counts(&self, key: &StackKey) -> Option<StackCounts> {
        let bytes = self.skeleton.maps.counts.lookup(key, MapFlags::ANY).ok()??;
        let [switches, off_cpu_ns, wait_ns] = words(&bytes)?;
        // Read while it is written, one may be newer than the other.
        Some(StackCounts { switches, off_cpu_ns, wait_ns: wait_ns.min(off_cpu_ns) })
    }

    /// Makes place: the row's process has ended.
    pub(crate) fn forget(&self, key: &StackKey) {
        let _ = self.skeleton.maps.counts.delete(key);
    }

    /// Says how the caller of the instruction at `ip` of a process is found; whether there was a place for it.
    pub(crate) fn set_rule(&self, pid: u32, ip: u64, rule: Rule) -> bool {
        self.skeleton.maps.rules.update(&rule_key(pid, ip), &rule.bytes(), MapFlags::ANY).is_ok()
    }

    /// The process has ended, or runs another program.
    pub(crate) fn forget_rule(&self, pid: u32, ip: u64) {
        let _ = self.skeleton.maps.rules.delete(&rule_key(pid, ip));
    }

    /// Losses over all CPUs.
    pub(crate) fn losses(&self) -> StackLosses {
        let read = self.skeleton.maps.losses.lookup_percpu(&[0; 4], MapFlags::ANY);
        let mut sum = StackLosses::default();
        for [full, ring, storage, collided] in
            read.ok().flatten().iter().flatten().filter_map(|bytes| words(bytes))
        {
            sum.full += full;
            sum.ring += ring;
            sum.storage += storage;
            sum.collided += collided;
        }
        sum
    }
}

fn rule_key(pid: u32, ip: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&ip.to_ne_bytes());
    key[8..].copy_from_slice(&u64::from(pid).to_ne_bytes());
    key
}

/// The first numbers in bytes of the kernel.
fn words<const N: usize>(bytes: &[u8]) -> Option<[u64; N]> {
    let (words, _) = bytes.as_chunks::<8>();
    let words: Option<&[[u8; 8]; N]> = words.first_chunk();
    Some(words?.map(u64::from_ne_bytes))
}

/// A record of the ring; nothing when it is shorter than it says.
fn parse(bytes: &[u8]) -> Option<NewStack> {
    let half = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let key: StackKey = *bytes.first_chunk()?;
    let [at_ns, ip, sp, bp] = words(bytes.get(KEY_BYTES..)?)?;
    let counts = KEY_BYTES + 32;
    let (user, kernel) = (half(counts)? as usize, half(counts + 4)? as usize);
    let (copied, kernel_thread) = (half(counts + 8)? as usize, half(counts + 12)? != 0);
    let (frames, _) = bytes.get(FRAMES_AT..COPY_AT)?.as_chunks::<8>();
    let frames: Vec<u64> = frames.iter().map(|frame| u64::from_ne_bytes(*frame)).collect();
    let reason = match half(12)? {
        1 => StackReason::Voluntary,
        2 => StackReason::Involuntary,
        _ => StackReason::Wake,
    };
    Some(NewStack {
        key,
        pid: if kernel_thread { 0 } else { half(8)? },
        comm: comm_of_bytes(key[16..].first_chunk::<16>()?),
        reason,
        at_ns,
        registers: Registers { ip, sp, bp },
        user: frames.get(..user)?.to_vec(),
        kernel: frames.get(user..user + kernel)?.to_vec(),
        copy: bytes.get(COPY_AT..COPY_AT + copied)?.to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::thread::sleep;
    use std::time::Duration;

    /// Losses while this thread sleeps in two ways.
    fn losses(hash_mask: u64) -> Result<StackLosses, BpfError> {
        let mut programs = StackPrograms::load(true, 1 << 10, hash_mask)?;
        programs.attach()?;
        programs.set_followed(crate::task_info::own_tid(), true);
        let (_sender, receiver) = mpsc::channel::<()>();
        for _ in 0..10 {
            sleep(Duration::from_millis(1));
            let _ = receiver.recv_timeout(Duration::from_millis(1));
        }
        programs.detach();
        Ok(programs.losses())
    }

    #[test]
    fn stacks_of_one_hash_are_counted() {
        match losses(0) {
            Ok(found) => assert!(found.collided > 0, "{found:?}"),
            Err(error) => return eprintln!("SKIP stacks_of_one_hash_are_counted: {error}"),
        }
        assert_eq!(losses(u64::MAX).unwrap().collided, 0);
    }
}
