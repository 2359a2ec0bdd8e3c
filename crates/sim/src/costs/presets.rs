//! Costs where none were measured.

use super::Costs;
use super::measured::{FAIR_SWITCH_INSTRUCTIONS, NEW_STACK_INSTRUCTIONS, NEW_STACK_START_INSTRUCTIONS};
use crate::hook::{Family, HOOKS};
use crate::slabs::SlabCosts;

/// What hooks take, in the order of [`Hook`](crate::hook::Hook): `select_cpu`, `enqueue`, `dequeue`, `pick_next`, `put_prev`,
/// `wakeup_preempt`, `tick`, `yield`, `balance`.
type HookTimes = [u32; HOOKS];

/// Hooks of the fair class. The first six, with [`TYPICAL_WAKE_NS`] and [`TYPICAL_SWITCH_NS`], make 1,000 ns. That is c1 of a pipe between
/// threads on one CPU, as a quiet virtual machine with Linux 6.18 gave it (1,004 ns). How that is divided among them is an estimate from
/// instruction counts of such paths, not a measurement.
const TYPICAL_FAIR: HookTimes = [80, 100, 90, 60, 40, 30, 200, 40, 300];
/// FIFO and RR: lists in place of trees; a Profile with class `fifo` says what they save.
const TYPICAL_REAL_TIME: HookTimes = [60, 60, 60, 40, 30, 20, 80, 30, 300];
/// Without locks and accounting. With them a switch is 0.797 of a fair one, as instructions of Linux 7.3 are; ticks and yields are estimates.
const TYPICAL_LOCKLESS: HookTimes = [44, 44, 44, 29, 22, 14, 20, 15, 0];
/// The core of sched_ext, a scheduler's callbacks left out: what it takes less than the fair class in a switch ([`SCHED_EXT_INSTRUCTIONS`])
/// is of its hooks, in the proportion of those of FIFO.
const TYPICAL_SCHED_EXT: HookTimes = [25, 25, 25, 16, 12, 8, 80, 30, 300];
/// What `perf bench sched pipe` takes longer there for processes than for threads, half a round trip (1,488 against 1,414 ns).
const TYPICAL_PROCESS_EXTRA_NS: u64 = 74;
/// What Linux gives every task that asks for nothing else (`init_task`, init/init_task.c).
const TIMER_SLACK_NS: u64 = 50_000;
const TYPICAL_WAKE_NS: u64 = 150;
const TYPICAL_SWITCH_NS: u64 = 450;

/// The lock is held during a hook. Without locks of the class's own, that of the core scheduler remains. The share of spinlocks in the run
/// time of NPB is 0.4 of that under CFS (Jo et al., FLSCHED, APSys 2017: bt 3.05 against 7.29 %, cg 4.11/10.73, ua 5.96/14.63).
const LOCKED_PER_MILLE: [u32; Family::COUNT] = [1_000, 1_000, 400, 1_000];

/// Mean times of hooks under hackbench with CFS and with FLSCHED on a Xeon Phi 31S1P, ns (Jo et al., as above). 0 where the paper has none.
const PUBLISHED_CFS: HookTimes = [10_837, 17_314, 19_008, 5_261, 6_185, 5_058, 13_131, 0, 0];
const PUBLISHED_FLSCHED: HookTimes = [2_549, 4_169, 3_636, 1_937, 1_138, 917, 1_042, 0, 0];

impl Costs {
    /// An ordinary server, until measured figures replace these. A figure without a measurement is an estimate of the order that such
    /// machines have; a Profile ([`Costs::of`]) is more accurate.
    pub fn typical() -> Self {
        Self {
            process_switch_ns: TYPICAL_SWITCH_NS + TYPICAL_PROCESS_EXTRA_NS,
            thread_switch_ns: TYPICAL_SWITCH_NS,
            // The idle task borrows the address space: as between threads.
            idle_switch_ns: TYPICAL_SWITCH_NS,
            wake_ns: TYPICAL_WAKE_NS,
            ipi_ns: 700,
            // C1 of Intel's servers (intel_idle, skx_cstates, Linux 6.18: 2 us).
            idle_exit_ns: 2_000,
            interrupt_ns: 1_000,
            tick_ns: 1_500,
            tick_period_ns: 4_000_000,
            // Two queues' locks and what the kernel touches; the task's own memory is in `refill`.
            migration_ns: [0, 200, 300, 500, 1_000, 2_000],
            refill: typical_refill(),
            // Half of a write and a read, 450 ns together where c1 was 1,000.
            pipe_ns: 225,
            socket_ns: 600,
            // One CPU writes 200 channels 10 to 270 messages deep before it reads them, against one channel. A socket's message took 2.0
            // to 2.6 us instead of 1.6, a pipe's 0.58 to 0.61 instead of 0.53 (the machine above).
            cold_pipe_ns: 35,
            slabs: SlabCosts::even(400),
            socket_sleep_ns: 74,
            // A message between two cores that share a level 3, against one CPU (the machine above). Through a pipe that holds one it takes
            // 480 to 600 ns more, through one that holds 20 it takes 150 to 250. Through a socket it takes 1.0 to 1.2 us more, however many
            // it holds.
            pipe_lines_ns: 150,
            socket_lines_ns: 50,
            pipe_data_ns: 200,
            socket_data_ns: 1_000,
            near_cache_bytes: 1 << 20,
            byte_ps: 100,
            futex_ns: 200,
            barrier_look_ns: 50,
            // 294 ns with the way through the scheduler, on the machine above.
            yield_ns: 150,
            sleep_ns: 500,
            timer_slack_ns: TIMER_SLACK_NS,
            // 60 us a process and 15 us a thread in all, parted as measured ones are.
            fork_ns: 22_560,
            thread_fork_ns: 10_575,
            start_ns: 10_320,
            thread_start_ns: 165,
            new_stack_ns: 1_000 * NEW_STACK_INSTRUCTIONS / FAIR_SWITCH_INSTRUCTIONS,
            new_stack_start_ns: 1_000 * NEW_STACK_START_INSTRUCTIONS / FAIR_SWITCH_INSTRUCTIONS,
            exit_ns: 27_120,
            thread_exit_ns: 4_260,
            hook_ns: [TYPICAL_FAIR, TYPICAL_REAL_TIME, TYPICAL_LOCKLESS, TYPICAL_SCHED_EXT],
            instruction_ps: 1_000_000 / FAIR_SWITCH_INSTRUCTIONS,
            locked_per_mille: LOCKED_PER_MILLE,
            ..Self::default()
        }
    }

    /// A Xeon Phi 31S1P (in-order cores of 1.1 GHz) with Linux 2.6.38, for the experiments of FLSCHED.
    ///
    /// Hooks: the paper's means are of a machine where everybody waits for everybody's locks. The simulator adds the waiting for queues
    /// itself, so its hooks must be shorter than those means. They are nine tenths of CFS's, and all of FLSCHED's, which take no lock of
    /// their own. FIFO and RR have no published hooks, so nine tenths of those of CFS are used here. The time of a synchronisation under
    /// RR is about that (cg 5.39 against 5.67 ms, ua 6.56/6.83, mg 4.01/4.32 at 1,600 threads).
    ///
    /// Calls: at 200 groups with threads and pipes 228 CPUs took 6.19 s under FLSCHED and switched 4.98 million times. That leaves 16 us
    /// for a message's write and read if there were 80 million messages. (That is 1,000 loops; the switch counts do not fit 100.) Threads
    /// have a quarter of a core each there: 4 us of a core of their own.
    ///
    /// Switches: by cg with 1,600 threads, under CFS against FLSCHED (5.7 against 3.2 ms for a synchronisation): what all classes pay alike.
    pub fn xeon_phi() -> Self {
        let part = |published: HookTimes, tenths: u32| published.map(|ns| ns * tenths / 10);
        // sched_yield and balancing have no published figures: as put_prev, and as half a select_task_rq per domain that is looked at.
        let with_rest = |mut hooks: HookTimes, balance_ns: u32| {
            hooks[7] = hooks[4];
            hooks[8] = balance_ns;
            hooks
        };
        let fair = with_rest(part(PUBLISHED_CFS, 9), 25_000);
        Self {
            process_switch_ns: 12_500,
            thread_switch_ns: 10_500,
            idle_switch_ns: 6_000,
            wake_ns: 4_000,
            ipi_ns: 3_000,
            idle_exit_ns: 5_000,
            interrupt_ns: 5_000,
            tick_ns: 8_000,
            tick_period_ns: 4_000_000,
            migration_ns: [0, 1_000, 1_000, 4_000, 4_000, 4_000],
            // Lines come from other cores' caches or from memory in some 300 ns; 512 KB of level 2 for four threads.
            refill: vec![(16 << 10, 0), (32 << 10, 10_000), (128 << 10, 120_000), (512 << 10, 600_000)],
            pipe_ns: 2_000,
            // By processes with sockets at 200 groups under FLSCHED (22.9 s).
            socket_ns: 7_850,
            near_cache_bytes: 512 << 10,
            byte_ps: 1_000,
            // By CFS at 200 groups (19.4 s): a task that is preempted while it holds the mutex locks out the others.
            pipe_locked_per_mille: 700,
            socket_locked_per_mille: 700,
            wakes_all_writers: true,
            futex_ns: 1_500,
            barrier_look_ns: 100,
            yield_ns: 300,
            sleep_ns: 2_000,
            timer_slack_ns: TIMER_SLACK_NS,
            fork_ns: 300_000,
            thread_fork_ns: 300_000,
            exit_ns: 100_000,
            thread_exit_ns: 100_000,
            hook_ns: [fair, part(fair, 9), with_rest(PUBLISHED_FLSCHED, 0), part(fair, 9)],
            locked_per_mille: LOCKED_PER_MILLE,
            // What far memory adds is in the figures for sockets and pipes above.
            ..Self::default()
        }
    }
}

/// Made from how fast a core reads what the next level holds. It reads 64 bytes a ns that have left level 1, and 20 that have left level 2
/// (a megabyte for two tasks). It reads 10 that have left level 3.
fn typical_refill() -> Vec<(u64, u64)> {
    vec![(16 << 10, 0), (32 << 10, 500), (512 << 10, 8_000), (1 << 20, 52_000), (16 << 20, 1_700_000)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::costs::measured::SCHED_EXT_INSTRUCTIONS;
    use crate::hook::Hook;

    #[test]
    fn the_parts_of_a_typical_switch_make_the_whole() {
        let costs = Costs::typical();
        let hooks: u64 = Hook::ALL[..6].iter().map(|hook| costs.hook_ns(Family::Fair, *hook)).sum();
        assert_eq!(costs.thread_switch_ns + costs.wake_ns + hooks, 1_000);
        let hooks: u64 = Hook::ALL[..6].iter().map(|hook| costs.hook_ns(Family::SchedExt, *hook)).sum();
        let part = (1_000 - 400 + hooks) as f64 / 1_000.0;
        let counted = SCHED_EXT_INSTRUCTIONS as f64 / FAIR_SWITCH_INSTRUCTIONS as f64;
        assert!((part - counted).abs() < 0.001, "{part} {counted}");
    }

    #[test]
    fn simpler_classes_have_shorter_hooks_and_ticks_are_shorter_than_their_period() {
        for costs in [Costs::typical(), Costs::xeon_phi()] {
            for hook in Hook::ALL {
                let [fair, real_time, lockless, sched_ext] =
                    [Family::Fair, Family::RealTime, Family::Lockless, Family::SchedExt]
                        .map(|family| costs.hook_ns(family, hook));
                assert!(lockless < real_time && real_time <= fair, "{hook:?} {fair} {real_time} {lockless}");
                assert!(sched_ext <= real_time, "{hook:?} {sched_ext} {real_time}");
            }
            assert!(costs.tick_ns + costs.hook_ns(Family::Fair, Hook::Tick) < costs.tick_period_ns / 100);
            assert!(costs.refill.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1));
        }
    }

    #[test]
    fn hooks_on_the_phi_do_not_exceed_the_published_means() {
        let costs = Costs::xeon_phi();
        assert_eq!(costs.hook_ns(Family::Fair, Hook::Enqueue), 15_582);
        assert_eq!(costs.hook_ns(Family::Lockless, Hook::Enqueue), 4_169);
        for (place, hook) in Hook::ALL.into_iter().enumerate().take(7) {
            assert!(costs.hook_ns(Family::Fair, hook) < u64::from(PUBLISHED_CFS[place]));
            assert!(costs.hook_ns(Family::Lockless, hook) <= u64::from(PUBLISHED_FLSCHED[place]));
        }
    }
}
