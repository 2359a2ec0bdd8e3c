//! The rings in which the programs leave what they saw.

use super::horizon::{CpuRound, Horizon, RingState};
use super::shared::{
    ENTERING, EVENT_IDLE, EVENT_INTERRUPTS, EVENT_SWITCH, EVENT_WAKE, FLAG_ADDRESS_SPACE, FLAG_COST,
    FLAG_DEAD, FLAG_GAP, FLAG_INTERRUPT, FLAG_NEW, FLAG_PREEMPT, FLAG_SPINNING, FLAG_THROTTLED, INFO_EXEC,
    INFO_EXIT, INFO_FORK, INFO_NAME, INFO_SEEN, INFO_SHIFT, RawEvent, RawInfo, RawRing, SPIN_YIELD,
};
use crate::clock::monotonic_ns;
use crate::sources::mapping::Mapping;
use crate::sources::ring::{Drained, Ring, comm};
use std::mem::offset_of;
use std::sync::atomic::{Ordering, fence};
use swtch_trace::event::{
    Counts, Event, Idle, Interrupts, Life, LifeKind, PrevState, Scheduling, Spinning, Switch, Wake,
};
use swtch_trace::tables::SchedPolicy;
use swtch_units::CpuId;

/// Events of a CPU that were lost because its ring was full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Losses {
    /// Context switches.
    pub switches: u64,
    /// Wake-ups.
    pub wakes: u64,
    /// Forks, execs and exits.
    pub lives: u64,
}

impl Losses {
    /// Of all kinds.
    pub(crate) fn all(&self) -> u64 {
        self.switches + self.wakes + self.lives
    }

    /// Those since an earlier moment.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        Self {
            switches: self.switches - earlier.switches,
            wakes: self.wakes - earlier.wakes,
            lives: self.lives - earlier.lives,
        }
    }
}

/// All CPUs' rings.
pub(super) struct Rings {
    pub(super) heads: Mapping<RawRing>,
    pub(super) events: Mapping<RawEvent>,
    pub(super) infos: Mapping<RawInfo>,
    /// Places in a ring of events, as a power of two.
    pub(super) shift: u32,
    pub(super) horizon: Horizon,
}

/// Where events go that are taken out of the rings.
pub(crate) trait Sink {
    /// An event of a CPU.
    fn event(&mut self, cpu: u32, raw: RawEvent);
    /// A fork, exec or exit.
    fn life(&mut self, life: Life);
}

impl Sink for Vec<Event> {
    fn event(&mut self, cpu: u32, raw: RawEvent) {
        self.extend(event(cpu, raw));
    }

    fn life(&mut self, life: Life) {
        self.push(Event::Life(life));
    }
}

/// A switch or a wake-up as the programs wrote it, in 32 bytes. The number of its lap has given way to that of its CPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PackedEvent(RawEvent);

impl PackedEvent {
    /// When it happened, ns of CLOCK_MONOTONIC.
    pub(crate) fn at_ns(&self) -> u64 {
        self.0.at_ns
    }

    /// The event, in the vocabulary of all sources.
    pub(crate) fn unpack(&self) -> Option<Event> {
        event(self.0.lap.into(), self.0)
    }

    /// A wake-up at a moment, for a test.
    #[cfg(test)]
    pub(crate) fn wake(at_ns: u64, tid: u32) -> Self {
        Self(RawEvent { at_ns, tid, kind: EVENT_WAKE, lap: 0, ..RawEvent::default() })
    }
}

/// Events as the programs wrote them.
#[derive(Debug, Default)]
pub(crate) struct PackedEvents {
    /// Switches and wake-ups.
    pub(crate) events: Vec<PackedEvent>,
    /// Forks, execs and exits.
    pub(crate) lives: Vec<Life>,
}

impl PackedEvents {
    /// Memory of the events.
    pub(crate) fn bytes(&self) -> u64 {
        let cpus = |life: &Life| life.scheduling.cpus.as_ref().map_or(0, |list| list.cpus().len());
        let own = |life: &Life| size_of::<Life>() + life.comm.capacity() + size_of::<CpuId>() * cpus(life);
        (self.events.len() * size_of::<PackedEvent>() + self.lives.iter().map(own).sum::<usize>()) as u64
    }
}

impl Sink for PackedEvents {
    fn event(&mut self, cpu: u32, raw: RawEvent) {
        self.events.push(PackedEvent(RawEvent { lap: cpu as u16, ..raw }));
    }

    fn life(&mut self, life: Life) {
        self.lives.push(life);
    }
}

/// What a look at the rings brought.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Round {
    /// How full the fullest ring was, from 0 to 1.
    pub full: f64,
    /// Every event before this moment has been read, ns of CLOCK_MONOTONIC.
    pub horizon_ns: u64,
}

impl Rings {
    /// Moves all complete events to `out`, CPU by CPU.
    pub(super) fn drain(&mut self, out: &mut impl Sink) -> Round {
        let mut full: f64 = 0.0;
        let round_ns = monotonic_ns();
        // The clock is read before everything else.
        fence(Ordering::SeqCst);
        let states = (0..self.heads.len()).map(|cpu| {
            let entered = self.heads.atomic(cpu, offset_of!(RawRing, entered_ns));
            let entered_ns = entered.load(Ordering::Acquire);
            let drained = [self.drain_events(cpu, out), self.drain_infos(cpu, out)];
            full = drained.iter().fold(full, |full, ring| full.max(ring.full));
            let rings = drained.map(|ring| RingState { head: ring.head, tail: ring.tail });
            CpuRound { entered_ns, rings }
        });
        let states: Vec<CpuRound> = states.collect();
        Round { full, horizon_ns: self.horizon.round(round_ns, states) }
    }

    /// How full the fullest ring is, from 0 to 1, without reading what is in it.
    pub(super) fn full(&self) -> f64 {
        let of = |cpu: usize, head: usize, tail: usize, shift: u32| {
            let [head, tail] = [head, tail].map(|at| self.heads.atomic(cpu, at).load(Ordering::Acquire));
            head.saturating_sub(tail) as f64 / (1_u64 << shift) as f64
        };
        let fullest = |cpu| {
            let events = of(cpu, offset_of!(RawRing, head), offset_of!(RawRing, tail), self.shift);
            events.max(of(cpu, offset_of!(RawRing, info_head), offset_of!(RawRing, info_tail), INFO_SHIFT))
        };
        (0..self.heads.len()).map(fullest).fold(0.0, f64::max)
    }

    fn drain_events(&self, cpu: usize, out: &mut impl Sink) -> Drained {
        let head = self.heads.atomic(cpu, offset_of!(RawRing, head));
        let tail = self.heads.atomic(cpu, offset_of!(RawRing, tail));
        let ring = Ring { values: &self.events, cpu, shift: self.shift, head, tail };
        ring.drain(|raw| out.event(cpu as u32, raw))
    }

    fn drain_infos(&self, cpu: usize, out: &mut impl Sink) -> Drained {
        let head = self.heads.atomic(cpu, offset_of!(RawRing, info_head));
        let tail = self.heads.atomic(cpu, offset_of!(RawRing, info_tail));
        let ring = Ring { values: &self.infos, cpu, shift: INFO_SHIFT, head, tail };
        ring.drain(|raw| {
            if let Some(life) = life(raw) {
                out.life(life);
            }
        })
    }

    /// What found its ring full, by CPU.
    pub(super) fn lost(&self) -> Vec<Losses> {
        let of = |cpu, offset| self.heads.atomic(cpu, offset).load(Ordering::Relaxed);
        (0..self.heads.len())
            .map(|cpu| Losses {
                switches: of(cpu, offset_of!(RawRing, lost_switches)),
                wakes: of(cpu, offset_of!(RawRing, lost_wakes)),
                lives: of(cpu, offset_of!(RawRing, infos_lost)),
            })
            .collect()
    }

    /// The switches that were entered and have no event yet, those into new tasks among them: where, the task that left, and when.
    pub(super) fn pending(&self) -> Vec<(u32, u32, u64)> {
        (0..self.heads.len())
            .map(|cpu| (cpu as u32, self.heads.read(cpu)))
            .filter(|(_, ring)| ring.entered_ns > ENTERING)
            .map(|(cpu, ring)| (cpu, ring.entered_tid, ring.entered_ns))
            .collect()
    }
}

fn event(cpu: u32, raw: RawEvent) -> Option<Event> {
    let has = |flag| raw.flags & flag != 0;
    match raw.kind {
        EVENT_SWITCH => Some(Event::Switch(Switch {
            at_ns: raw.at_ns,
            cpu,
            prev_tid: raw.tid,
            next_tid: raw.other,
            prev_state: if has(FLAG_DEAD) {
                PrevState::Dead
            } else if has(FLAG_SPINNING) {
                PrevState::Runnable
            } else {
                PrevState::from_kernel(raw.state.into())
            },
            preempted: has(FLAG_PREEMPT),
            address_space_changed: Some(has(FLAG_ADDRESS_SPACE)),
            cost_ns: has(FLAG_COST).then_some(raw.cost_ns),
            prev_counts: Some(Counts { voluntary: raw.voluntary, involuntary: raw.involuntary }),
            after_gap: has(FLAG_GAP),
            interrupted: has(FLAG_INTERRUPT),
            throttled: Some(has(FLAG_THROTTLED)),
            spinning: Some(match (has(FLAG_SPINNING), raw.state) {
                (false, _) => Spinning::No,
                (true, SPIN_YIELD) => Spinning::Yield,
                (true, _) => Spinning::Loop,
            }),
        })),
        EVENT_WAKE => Some(Event::Wake(Wake {
            at_ns: raw.at_ns,
            cpu,
            wakee_tid: raw.tid,
            // An interrupt wakes in no task's name, whichever it interrupted.
            waker_tid: (!has(FLAG_INTERRUPT)).then_some(raw.other),
            new: has(FLAG_NEW),
        })),
        EVENT_INTERRUPTS => Some(Event::Interrupts(Interrupts {
            at_ns: raw.at_ns,
            cpu,
            ns: raw.cost_ns.into(),
            over_ns: raw.voluntary.into(),
        })),
        EVENT_IDLE => Some(Event::Idle(Idle {
            at_ns: raw.at_ns,
            cpus: u64::from(raw.other) << 32 | u64::from(raw.tid),
        })),
        _ => None,
    }
}

fn life(raw: RawInfo) -> Option<Life> {
    let kind = match raw.kind {
        INFO_FORK => LifeKind::Fork,
        INFO_EXEC => LifeKind::Exec,
        INFO_EXIT => LifeKind::Exit,
        INFO_SEEN => LifeKind::Seen,
        INFO_NAME => LifeKind::Name,
        _ => return None,
    };
    Some(Life {
        at_ns: raw.at_ns,
        tid: raw.tid,
        pid: raw.pid,
        parent_pid: raw.parent_pid,
        comm: comm(&raw.comm),
        kernel_thread: raw.kernel_thread != 0,
        group: (raw.group > 0).then_some(raw.group),
        scheduling: scheduling(&raw),
        kind,
    })
}

/// How the task is scheduled. Of a machine of more than 64 CPUs the programs do not report all that it may use.
fn scheduling(raw: &RawInfo) -> Scheduling {
    let cpus = (0..u64::BITS).filter(|cpu| raw.cpus >> cpu & 1 == 1).map(CpuId::new);
    let whole = raw.cpus.count_ones() == raw.cpus_allowed;
    Scheduling {
        policy: SchedPolicy::from_kernel(raw.policy),
        nice: Some(raw.nice),
        realtime_priority: (raw.realtime_priority > 0).then_some(raw.realtime_priority),
        cpus: whole.then(|| cpus.collect()),
    }
}
