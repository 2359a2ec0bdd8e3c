//! A machine whose CPUs are taken away between any two steps of the programs, and a recorder that looks at it when it can.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use swtch_trace::accumulate::{Accumulator, CacheGroups, History, Tables, TaskInfo};
use swtch_trace::event::{Counts, Event, PrevState, Switch, Wake};
use swtch_trace::tables::SwitchRow;

/// A small generator of numbers: its whole run follows from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    /// A step of a program: some ns, or, one time in fifty, the CPU is taken away for up to three seconds.
    fn step_ns(&mut self) -> u64 {
        if self.below(50) == 0 { 1 + self.below(3_000_000_000) } else { 1 + self.below(400) }
    }
}

/// A place in a CPU's ring: when it was taken, when complete, and its event.
struct Placed {
    taken_ns: u64,
    complete_ns: u64,
    event: Event,
}

#[derive(Default)]
struct FakeCpu {
    now_ns: u64,
    current: u32,
    ring: Vec<Placed>,
    /// From when on `entered_ns` has which value.
    entered: Vec<(u64, u64)>,
    /// The switch that was entered: when, the task that leaves, its state and its counts.
    leaving: Option<(u64, u32, PrevState, Counts)>,
}

impl FakeCpu {
    fn wake(&mut self, random: &mut Random, cpu: u32, wakee_tid: u32) -> u64 {
        let taken_ns = self.now_ns;
        let at_ns = taken_ns + random.step_ns();
        self.now_ns = at_ns + random.step_ns();
        let event = Event::Wake(Wake { at_ns, cpu, wakee_tid, waker_tid: None, new: false });
        self.ring.push(Placed { taken_ns, complete_ns: self.now_ns, event });
        at_ns
    }

    fn entered_at(&self, ns: u64) -> u64 {
        let after = self.entered.partition_point(|(from_ns, _)| *from_ns <= ns);
        after.checked_sub(1).map_or(0, |index| self.entered[index].1)
    }

    fn head_at(&self, ns: u64) -> u64 {
        self.ring.partition_point(|placed| placed.taken_ns <= ns) as u64
    }
}

struct FakeMachine {
    cpus: Vec<FakeCpu>,
    runnable: Vec<u32>,
    /// With the time from which it can be woken.
    sleeping: Vec<u32>,
    counts: BTreeMap<u32, (u32, u16)>,
}

impl FakeMachine {
    /// Runs some switches. Each step happens at the CPU that is the furthest behind, so that what one CPU does to another's tasks is in order.
    fn run(seed: u64, cpus: usize, tasks: u32, steps: usize) -> Self {
        let mut random = Random(seed);
        let mut machine = Self {
            cpus: (0..cpus as u64).map(|cpu| FakeCpu { now_ns: 1000 + cpu, ..FakeCpu::default() }).collect(),
            runnable: (1..=tasks).collect(),
            sleeping: Vec::new(),
            counts: (1..=tasks).map(|tid| (tid, (u32::MAX - tid, u16::MAX - tid as u16))).collect(),
        };
        for _ in 0..steps {
            let furthest_behind = (0..cpus).min_by_key(|cpu| machine.cpus[*cpu].now_ns).unwrap();
            machine.step(&mut random, furthest_behind);
        }
        // A CPU that is in the scheduler leaves it.
        let mut inside: Vec<usize> = (0..cpus).filter(|cpu| machine.cpus[*cpu].leaving.is_some()).collect();
        inside.sort_by_key(|cpu| machine.cpus[*cpu].now_ns);
        for cpu in inside {
            machine.step(&mut random, cpu);
        }
        machine
    }

    fn step(&mut self, random: &mut Random, index: usize) {
        if self.cpus[index].leaving.is_some() {
            self.leave_scheduler(random, index);
        } else {
            self.enter_scheduler(random, index);
        }
    }

    fn enter_scheduler(&mut self, random: &mut Random, index: usize) {
        let cpu = &mut self.cpus[index];
        cpu.now_ns += 200 + random.below(100_000);
        if !self.sleeping.is_empty() && random.below(2) == 0 {
            let tid = self.sleeping.swap_remove(random.below(self.sleeping.len() as u64) as usize);
            cpu.wake(random, index as u32, tid);
            // The task enters the queue after that; no CPU takes it before.
            self.runnable.push(tid);
            return;
        }
        cpu.entered.push((cpu.now_ns, ENTERING));
        let at_ns = cpu.now_ns + random.step_ns();
        let seen_ns = at_ns + random.step_ns();
        cpu.entered.push((seen_ns, at_ns));
        cpu.now_ns = seen_ns;
        let tid = cpu.current;
        let state = if random.below(2) == 0 { PrevState::Runnable } else { PrevState::Sleeping };
        let (voluntary, involuntary) = self.counts.get(&tid).copied().unwrap_or_default();
        cpu.leaving = Some((at_ns, tid, state, Counts { voluntary, involuntary }));
    }

    fn leave_scheduler(&mut self, random: &mut Random, index: usize) {
        let cpu = &mut self.cpus[index];
        let Some((at_ns, prev_tid, prev_state, prev_counts)) = cpu.leaving.take() else { return };
        if prev_tid != 0 {
            let counts = self.counts.entry(prev_tid).or_default();
            if prev_state == PrevState::Runnable {
                counts.1 = counts.1.wrapping_add(1);
                self.runnable.push(prev_tid);
            } else {
                counts.0 = counts.0.wrapping_add(1);
                self.sleeping.push(prev_tid);
            }
        }
        let next_tid = match self.runnable.len() as u64 {
            0 => 0,
            some => self.runnable.swap_remove(random.below(some) as usize),
        };
        cpu.current = next_tid;
        let left_ns = cpu.now_ns + random.step_ns();
        cpu.now_ns = left_ns + random.step_ns();
        let taken_ns = cpu.now_ns;
        let event = Event::Switch(Switch {
            at_ns,
            cpu: index as u32,
            prev_tid,
            next_tid,
            prev_state,
            preempted: prev_state == PrevState::Runnable,
            address_space_changed: Some(true),
            cost_ns: Some((left_ns - at_ns).min(u32::MAX.into()) as u32),
            prev_counts: Some(prev_counts),
            after_gap: false,
            interrupted: false,
            throttled: None,
            spinning: None,
        });
        let place = cpu.ring.len();
        cpu.ring.push(Placed { taken_ns, complete_ns: 0, event });
        // An interrupt may come while the switch is being written, and wake a task.
        if random.below(3) == 0
            && let Some(tid) = self.sleeping.pop()
        {
            cpu.now_ns += 1;
            cpu.wake(random, index as u32, tid);
            self.runnable.push(tid);
        }
        let cpu = &mut self.cpus[index];
        cpu.now_ns += random.step_ns();
        cpu.ring[place].complete_ns = cpu.now_ns;
        cpu.now_ns += random.step_ns();
        cpu.entered.push((cpu.now_ns, 0));
    }

    fn events(&self) -> impl Iterator<Item = &Event> {
        self.cpus.iter().flat_map(|cpu| &cpu.ring).map(|placed| &placed.event)
    }

    fn end_ns(&self) -> u64 {
        self.cpus.iter().map(|cpu| cpu.now_ns).max().unwrap_or(0) + 1
    }
}

/// A recorder that reads CPU after CPU, slowly, and is stopped for seconds itself.
struct Reader {
    horizon: Horizon,
    tails: Vec<u64>,
    held: Vec<Event>,
    accumulator: Accumulator,
    rows: Vec<SwitchRow>,
}

impl Reader {
    fn new(cpus: usize, tasks: u32) -> Self {
        let mut accumulator = Accumulator::new(0, CacheGroups::default(), true);
        for tid in (1..=tasks).filter(|tid| tid % 5 > 0) {
            accumulator.follow(&TaskInfo { tid, pid: tid, ..TaskInfo::default() });
        }
        Self {
            horizon: Horizon::new(cpus, 0),
            tails: vec![0; cpus],
            held: Vec::new(),
            accumulator,
            rows: Vec::new(),
        }
    }

    fn take(&mut self, horizon_ns: u64) {
        // Of events in the same nanosecond, which has no order between CPUs, that of the lower CPU comes first.
        self.held.sort_by_key(|event| (event.at_ns(), cpu_of(event)));
        let old = self.held.partition_point(|event| event.at_ns() < horizon_ns);
        for event in self.held.drain(..old) {
            self.accumulator.take(&event, &mut self.rows);
        }
    }

    /// Looks once, from `round_ns` on; when it was ready.
    fn look(&mut self, machine: &FakeMachine, random: &mut Random, round_ns: u64) -> (u64, u64) {
        let mut now_ns = round_ns;
        let mut states = Vec::new();
        for (cpu, tail) in machine.cpus.iter().zip(&mut self.tails) {
            now_ns += random.step_ns();
            let entered_ns = cpu.entered_at(now_ns);
            now_ns += random.step_ns();
            let head = cpu.head_at(now_ns);
            let complete = cpu.ring[..head as usize].iter().skip(*tail as usize);
            for placed in complete.take_while(|placed| placed.complete_ns <= now_ns) {
                self.held.push(placed.event.clone());
                *tail += 1;
            }
            states.push(CpuRound {
                entered_ns,
                rings: [RingState { head, tail: *tail }, RingState::default()],
            });
        }
        let horizon_ns = self.horizon.round(round_ns, states);
        (horizon_ns, now_ns)
    }

    fn finished(mut self, end_ns: u64) -> (Tables, Vec<SwitchRow>, u64) {
        self.take(u64::MAX);
        self.accumulator.end(&mut self.rows);
        (
            self.accumulator.snapshot(end_ns, History::Whole, &|_| None),
            self.rows,
            self.accumulator.late().all(),
        )
    }
}

fn cpu_of(event: &Event) -> u32 {
    match event {
        Event::Switch(switch) => switch.cpu,
        Event::Wake(wake) => wake.cpu,
        Event::Interrupts(interrupts) => interrupts.cpu,
        Event::Life(_) | Event::Idle(_) => u32::MAX,
    }
}

/// What a recorder sees whose events never wait.
fn undelayed(machine: &FakeMachine, cpus: usize, tasks: u32) -> (Tables, Vec<SwitchRow>, u64) {
    let mut reader = Reader::new(cpus, tasks);
    reader.held = machine.events().cloned().collect();
    reader.finished(machine.end_ns())
}

/// Looks at the machine again and again; `horizon` says up to when events are taken, of what the protocol says and the clock.
fn recorded(
    machine: &FakeMachine,
    seed: u64,
    (cpus, tasks): (usize, u32),
    horizon: impl Fn(u64, u64) -> u64,
) -> (Tables, Vec<SwitchRow>, u64) {
    let mut random = Random(seed ^ 0x5555);
    let mut reader = Reader::new(cpus, tasks);
    let mut now_ns = 1;
    while now_ns < machine.end_ns() {
        let (horizon_ns, ready_ns) = reader.look(machine, &mut random, now_ns);
        reader.take(horizon(horizon_ns, now_ns));
        now_ns = ready_ns + 1 + random.below(40_000_000);
    }
    let (horizon_ns, _) = reader.look(machine, &mut random, machine.end_ns() + SLACK_NS);
    assert!(horizon_ns >= machine.end_ns(), "at rest, nothing holds the order up");
    reader.finished(machine.end_ns())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Events that are delayed by up to seconds give the tables that undelayed ones give.
    #[test]
    fn delayed_events_give_the_undelayed_tables(seed in any::<u64>(), cpus in 1_usize..5, tasks in 1_u32..12) {
        let machine = FakeMachine::run(seed, cpus, tasks, 400);
        let expected = undelayed(&machine, cpus, tasks);
        prop_assert_eq!(expected.2, 0);
        let found = recorded(&machine, seed, (cpus, tasks), |horizon_ns, _| horizon_ns);
        prop_assert_eq!(found.2, 0, "late events");
        prop_assert_eq!(&found.1, &expected.1);
        prop_assert_eq!(found.0, expected.0);
    }

    /// Events that do come late add no impossible count: the sums are the undelayed ones.
    #[test]
    fn late_events_leave_the_counts_right(seed in any::<u64>(), cpus in 1_usize..5, tasks in 1_u32..12) {
        let machine = FakeMachine::run(seed, cpus, tasks, 400);
        let (expected, _, _) = undelayed(&machine, cpus, tasks);
        // The rule of old: 20 ms are enough.
        let (found, rows, _) =
            recorded(&machine, seed, (cpus, tasks), |_, now_ns| now_ns.saturating_sub(20_000_000));
        let counts = |tables: &Tables| -> Vec<(u32, u64)> {
            tables.tasks.iter().filter(|row| row.in_scope).map(|row| (row.tid, row.voluntary + row.involuntary)).collect()
        };
        prop_assert_eq!(counts(&found), counts(&expected));
        prop_assert!(rows.windows(2).all(|pair| pair[0].at_ns <= pair[1].at_ns));
    }
}

/// The tests above would notice: with a lag in place of the protocol, events come after later ones.
#[test]
fn a_lag_is_no_order() {
    let late = (0..20_u64).filter(|seed| {
        let machine = FakeMachine::run(*seed, 3, 6, 400);
        recorded(&machine, *seed, (3, 6), |_, now_ns| now_ns.saturating_sub(20_000_000)).2 > 0
    });
    assert!(late.count() > 10);
}

fn state(entered_ns: u64, head: u64, tail: u64) -> CpuRound {
    CpuRound { entered_ns, rings: [RingState { head, tail }, RingState::default()] }
}

#[test]
fn a_cpu_in_a_switch_holds_the_order_up_and_an_idle_one_does_not() {
    let mut horizon = Horizon::new(2, 0);
    let second = 1_000_000_000;
    assert_eq!(horizon.round(second, [state(0, 0, 0), state(0, 0, 0)]), second - SLACK_NS);
    assert_eq!(horizon.round(2 * second, [state(second + 5, 0, 0), state(0, 3, 3)]), second + 5 - SLACK_NS);
    assert_eq!(horizon.round(3 * second, [state(second + 5, 0, 0), state(0, 3, 3)]), second + 5 - SLACK_NS);
    assert_eq!(horizon.round(4 * second, [state(0, 1, 1), state(0, 3, 3)]), 4 * second - SLACK_NS);
    // Not for ever.
    let entered = state(4 * second + 5, 1, 1);
    assert_eq!(horizon.round(30 * second, [entered, state(0, 3, 3)]), 30 * second - PATIENCE_NS - SLACK_NS);
}

#[test]
fn a_place_that_is_taken_and_not_complete_holds_the_order_up() {
    let mut horizon = Horizon::new(1, 0);
    let ms = 1_000_000;
    assert_eq!(horizon.round(10 * ms, [state(0, 5, 5)]), 9 * ms);
    // Taken after the round before.
    assert_eq!(horizon.round(20 * ms, [state(0, 7, 6)]), 9 * ms);
    assert_eq!(horizon.round(30 * ms, [state(0, 8, 6)]), 9 * ms);
    // Another one: taken after the round before this one.
    assert_eq!(horizon.round(40 * ms, [state(0, 9, 8)]), 29 * ms);
    assert_eq!(horizon.round(50 * ms, [state(ENTERING, 9, 9)]), 39 * ms);
    assert_eq!(horizon.round(60 * ms, [state(ENTERING, 9, 9)]), 39 * ms);
    assert_eq!(horizon.round(70 * ms, [state(0, 9, 9)]), 69 * ms);
}
