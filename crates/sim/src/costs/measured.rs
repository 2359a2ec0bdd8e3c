//! Costs from a Profile.

use super::Costs;
use super::messages::{APART, whole_ns};
use crate::assumption::Assumption;
use crate::hook::{Family, Hook};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use swtch_profile::model::{Direct, Estimate, Profile};
use swtch_profile::vocabulary::{Access, Class, Method, Tasks};
use swtch_topology::Placement;
use swtch_topology::host::Kernel;
use swtch_units::format_ns;

/// The hooks on the way of a task that is woken, runs and sleeps: those in a measured switch.
const IN_A_SWITCH: [Hook; 6] =
    [Hook::SelectCpu, Hook::Enqueue, Hook::Dequeue, Hook::PickNext, Hook::PutPrev, Hook::WakeupPreempt];

/// A switch through a pipe under the fair class, in instructions of Linux 7.3.4 (x86-64). `perf bench sched pipe` ran in a virtual machine
/// that counts them.
pub(super) const FAIR_SWITCH_INSTRUCTIONS: u64 = 5_610;
/// The same under flsched.
const FLSCHED_INSTRUCTIONS: u64 = 4_473;
/// The same under the core of sched_ext alone: under a scheduler whose only callback puts tasks into the CPU's own queue, without that
/// callback (`experiments/sched_ext/instructions.py`).
pub(super) const SCHED_EXT_INSTRUCTIONS: u64 = 3_987;

impl Costs {
    /// The costs of the machine that a Profile was measured on, and what the Profile does not have.
    ///
    /// Direct costs are the medians of the method `pipe` in the class `normal`. A measured switch is the switch proper, the wake-up before
    /// it and six hooks of the class. How it is divided is assumed, so that a pipe's round trip takes as long in the simulator as in the
    /// measurement. There, a message costs its two calls and c1.
    ///
    /// ```
    /// # let text = include_str!("../../fixtures/server.json");
    /// # let profile: swtch_profile::Profile = serde_json::from_str(text).unwrap();
    /// let (costs, assumed) = swtch_sim::costs::Costs::of(&profile);
    /// assert_eq!(costs.pipe_ns, 320);
    /// assert!(assumed.iter().any(|assumption| assumption.what == "tick_period_ns"));
    /// ```
    pub fn of(profile: &Profile) -> (Self, Vec<Assumption>) {
        let mut reading = Reading { profile, costs: Self::typical(), assumed: Vec::new() };
        reading.switches();
        reading.calls();
        reading.other_cpus();
        reading.refills();
        reading.tasks();
        reading.kernel_threads();
        reading.rest();
        (reading.costs, reading.assumed)
    }
}

/// In a process of several threads the C library's `read` and `write` look before the call and after it whether the thread is to be cancelled
/// (`__pthread_enable_asynccancel`, glibc 2.36, x86-64). A call took 90 instructions more beside a second thread than alone, by a loop in C in a
/// machine that counts them, and 45 of those are the kernel's for the file.
const CANCELLATION_INSTRUCTIONS: u64 = 45;

/// Going to sleep at an empty socket takes this many instructions more than at an empty pipe: of two tasks of the class fifo that send each other
/// messages a round through sockets takes 348 more beyond its calls, and of that the wake-ups take 69 less. By loops in C on Linux 7.3 that counts
/// instructions.
const SOCKET_SLEEP_INSTRUCTIONS: u64 = 417;

struct Reading<'a> {
    profile: &'a Profile,
    costs: Costs,
    assumed: Vec<Assumption>,
}

impl Reading<'_> {
    /// The switch proper, wake-ups and hooks.
    fn switches(&mut self) {
        let same = |tasks| self.profile.direct_cost(Method::Pipe, tasks, Placement::SameCpu, Class::Normal);
        let c1 = |row: &Direct| whole_ns(row.switch_cost_ns.median);
        let (thread, process) = (same(Tasks::Thread).map(c1), same(Tasks::Process).map(c1));
        let typical = Costs::typical();
        let extra_ns = typical.process_switch_ns - typical.thread_switch_ns;
        let thread_ns = match (thread, process) {
            (Some(thread_ns), _) => thread_ns,
            (None, Some(process_ns)) => {
                let ns = process_ns.saturating_sub(extra_ns);
                self.assume(
                    "thread_switch_ns",
                    ns,
                    "no switch between threads was measured; processes less the usual difference",
                );
                ns
            }
            (None, None) => {
                let why = "no switch through a pipe on one CPU was measured; those of an ordinary server";
                self.assume("switches and hooks", "about 1000 ns", why);
                return;
            }
        };
        let typical_hooks_ns = hooks_ns(&typical, Family::Fair);
        let parts_ns = typical.thread_switch_ns + typical.wake_ns + typical_hooks_ns;
        let scaled = |ns: u64| ns * thread_ns / parts_ns;
        // What the class fifo saves is of the hooks: they are not shorter than that and a third of it.
        let saved_ns = self.fifo_ns().map_or(0, |fifo_ns| thread_ns.saturating_sub(fifo_ns));
        let fair_hooks_ns = scaled(typical_hooks_ns).max(saved_ns * 4 / 3).min(thread_ns * 3 / 4);
        let rest_ns = thread_ns - fair_hooks_ns;
        self.costs.wake_ns = typical.wake_ns * rest_ns / (parts_ns - typical_hooks_ns);
        for times in &mut self.costs.hook_ns {
            scale(times, fair_hooks_ns, typical_hooks_ns);
        }
        let around_ns = self.costs.wake_ns + hooks_ns(&self.costs, Family::Fair);
        // What rounding took goes to the switch proper.
        self.costs.thread_switch_ns = thread_ns.saturating_sub(around_ns);
        self.costs.idle_switch_ns = self.costs.thread_switch_ns;
        self.costs.process_switch_ns = if let Some(process_ns) = process {
            process_ns.saturating_sub(around_ns)
        } else {
            let ns = self.costs.thread_switch_ns + scaled(extra_ns);
            self.assume(
                "process_switch_ns",
                ns,
                "no switch between processes was measured; threads and the usual difference",
            );
            ns
        };
        let split = format!(
            "{} ns the switch, {} ns the wake-up, {} ns six hooks",
            self.costs.thread_switch_ns,
            self.costs.wake_ns,
            hooks_ns(&self.costs, Family::Fair)
        );
        self.assume("parts of a switch", split, "only their sum is measured");
        self.real_time(thread_ns);
    }

    /// What the hooks of FIFO and RR take less than those of the fair class, by the class `fifo`.
    fn real_time(&mut self, fair_ns: u64) {
        let Some(fifo_ns) = self.fifo_ns() else {
            let why = "the class fifo was not measured; hooks of the usual proportion to the fair ones";
            self.assume("hooks of real-time classes", "about two thirds", why);
            self.sched_ext();
            return;
        };
        let all_ns = hooks_ns(&self.costs, Family::Fair);
        // Noise may make the difference larger than the hooks, or negative.
        let wanted_ns = (all_ns + fifo_ns).saturating_sub(fair_ns).clamp(all_ns / 4, all_ns * 2);
        let now_ns = hooks_ns(&self.costs, Family::RealTime).max(1);
        for family in [Family::RealTime, Family::Lockless, Family::SchedExt] {
            scale(&mut self.costs.hook_ns[family as usize], wanted_ns, now_ns);
        }
        self.sched_ext();
    }

    /// A switch between threads of the class fifo, ns.
    fn fifo_ns(&self) -> Option<u64> {
        let row = self.profile.direct_cost(Method::Pipe, Tasks::Thread, Placement::SameCpu, Class::Fifo);
        row.map(|row| whole_ns(row.switch_cost_ns.median))
    }

    /// FLSCHED's hooks, with those of sched_ext around them; and those of sched_ext alone, for schedulers whose callbacks are counted.
    fn sched_ext(&mut self) {
        let around_ns = self.costs.thread_switch_ns + self.costs.wake_ns;
        let fair_ns = around_ns + hooks_ns(&self.costs, Family::Fair);
        self.costs.instruction_ps = fair_ns * 1000 / FAIR_SWITCH_INSTRUCTIONS;
        for (family, instructions) in
            [(Family::Lockless, FLSCHED_INSTRUCTIONS), (Family::SchedExt, SCHED_EXT_INSTRUCTIONS)]
        {
            let wanted_ns = self.costs.instructions_ns(instructions).saturating_sub(around_ns);
            let now_ns = hooks_ns(&self.costs, family).max(1);
            scale(&mut self.costs.hook_ns[family as usize], wanted_ns, now_ns);
        }
        self.assume(
            "hooks of flsched",
            format!("{} ns a switch", hooks_ns(&self.costs, Family::Lockless)),
            "a switch under it is 0.8 of a fair one, as instructions of Linux 7.3 are; not measured here",
        );
    }

    /// Wake-ups on another CPU. There, the time from the write to the reader's running has four parts. They are the waker's part, the
    /// interrupt, the way out of idleness and the switch from the idle task. A task that waits in the simulator has done its call's work
    /// before. So the reader's call, which is not in c1, is part of the way as well.
    fn other_cpus(&mut self) {
        let apart = |tasks| {
            let of = |place| self.profile.direct_cost(Method::Pipe, tasks, place, Class::Normal);
            APART.into_iter().find_map(of)
        };
        let Some(row) = apart(Tasks::Thread).or_else(|| apart(Tasks::Process)) else {
            let value = format!("{} ns", self.costs.ipi_ns + self.costs.idle_exit_ns);
            self.assume(
                "wake-up on another CPU",
                value,
                "no switch between two CPUs was measured; that of an ordinary server",
            );
            return;
        };
        let hooks = [Hook::SelectCpu, Hook::Enqueue, Hook::PickNext];
        let fair_ns = sum_of_hooks(&self.costs, Family::Fair, &hooks);
        let known_ns = self.costs.wake_ns + fair_ns + self.costs.idle_switch_ns;
        let (placement, c1_ns) = (row.placement, whole_ns(row.switch_cost_ns.median));
        // The writer's call, on a pipe that the other side used last, is in c1 but for its baseline.
        let there_ns = (c1_ns + self.costs.pipe_ns).saturating_sub(known_ns + self.costs.pipe_lines_ns);
        // In the proportion that the two have on an ordinary server.
        self.costs.ipi_ns = there_ns * 7 / 27;
        self.costs.idle_exit_ns = there_ns - self.costs.ipi_ns;
        let value = format!("{} and {} ns", self.costs.ipi_ns, self.costs.idle_exit_ns);
        let why =
            format!("only their sum is measured, on {placement}; assumed equal at every other distance");
        self.assume("ipi_ns and idle_exit_ns", value, why);
    }

    /// System calls.
    fn calls(&mut self) {
        // A Profile's baseline is of one write and one read, per switch.
        let calls_ns = |tasks| self.on_one_cpu(Method::Pipe, tasks).map(|row| row.baseline_ns);
        match [Tasks::Process, Tasks::Thread].map(calls_ns) {
            [Some(processes_ns), Some(threads_ns)] => {
                self.costs.pipe_ns = whole_ns(processes_ns / 2.0);
                // `swtch measure` makes its calls without the C library.
                let looking_ns = self.costs.instructions_ns(CANCELLATION_INSTRUCTIONS);
                self.costs.shared_file_ns = whole_ns((threads_ns - processes_ns) / 2.0) + looking_ns;
                let value = format!("{looking_ns} ns of shared_file_ns");
                self.assume(
                    "looking whether a thread is to be cancelled",
                    value,
                    "as instructions of glibc 2.36 are",
                );
            }
            [Some(both_ns), None] | [None, Some(both_ns)] => self.costs.pipe_ns = whole_ns(both_ns / 2.0),
            [None, None] => self.assume("pipe_ns", self.costs.pipe_ns, "no pipe was measured"),
        }
        self.costs.socket_sleep_ns = self.costs.instructions_ns(SOCKET_SLEEP_INSTRUCTIONS);
        self.assume("socket_sleep_ns", self.costs.socket_sleep_ns, "as instructions of Linux 7.3 are");
        self.assumed.extend(super::messages::set(&mut self.costs, self.profile));
        self.assume("byte_ps", self.costs.byte_ps, "copying is not measured; 10 bytes a ns");
        match self.any_of(Method::Futex).map(|row| row.baseline_ns) {
            Some(both_ns) => self.costs.futex_ns = whole_ns(both_ns / 2.0),
            None => self.assume("futex_ns", self.costs.futex_ns, "no futex was measured"),
        }
        match self.any_of(Method::Yield).map(|row| row.baseline_ns) {
            Some(ns) => self.costs.yield_ns = self.without_choosing(whole_ns(ns)),
            None => self.assume("yield_ns", self.costs.yield_ns, "sched_yield was not measured"),
        }
        match median(self.profile.references.syscall_ns.as_ref()) {
            // Setting a timer besides the call itself.
            Some(ns) => self.costs.sleep_ns = ns + 400,
            None => self.assume("sleep_ns", self.costs.sleep_ns, "no system call was measured"),
        }
        self.pipe_mutex();
    }

    /// A call that found no other task to run has looked for one: the hooks for that are charged besides.
    fn without_choosing(&self, yield_ns: u64) -> u64 {
        let hooks = [Hook::Yield, Hook::PutPrev, Hook::PickNext];
        let choosing_ns = sum_of_hooks(&self.costs, Family::Fair, &hooks);
        let call_ns = median(self.profile.references.syscall_ns.as_ref()).unwrap_or(0).min(yield_ns);
        yield_ns.saturating_sub(choosing_ns).max(call_ns)
    }

    /// Where tasks are preempted inside the kernel, a slice may end while its task holds a pipe's mutex, which locks out the others.
    fn pipe_mutex(&mut self) {
        if !ends_slices_in_the_kernel(&self.profile.host.kernel) {
            return;
        }
        self.costs.pipe_locked_per_mille = PIPE_LOCKED_PER_MILLE;
        let why = "this kernel ends slices inside calls; as instructions of Linux 7.3 are";
        self.assume("pipe_locked_per_mille", self.costs.pipe_locked_per_mille, why);
    }

    /// The curve of the indirect cost: sequential, read-modify-write, or what is nearest to it.
    fn refills(&mut self) {
        let kind = |row: &swtch_profile::model::Total| (row.stride_bytes, Reverse(row.access));
        let Some(best) = self.profile.total.iter().map(kind).min() else {
            self.assume("refill", "that of an ordinary server", "no total cost was measured");
            return;
        };
        let rows = self.profile.total.iter().filter(|row| kind(row) == best);
        let points: BTreeMap<u64, u64> =
            rows.map(|row| (row.array_bytes, whole_ns(row.indirect_cost_ns.median))).collect();
        self.costs.refill = points.into_iter().collect();
        if best != (8, Reverse(Access::ReadModifyWrite)) {
            let value = format!("stride {} bytes", best.0);
            self.assume("refill", value, "no sequential read-modify-write was measured");
        }
    }

    /// Making and ending tasks.
    fn tasks(&mut self) {
        let references = &self.profile.references;
        let (process, thread) =
            (median(references.fork_ns.as_ref()), median(references.thread_create_ns.as_ref()));
        let why =
            "only making, ending and joining a task together are measured; parted as Linux 7.3 parts them";
        match process.or(thread) {
            Some(all_ns) => {
                let switch_ns = self.whole_switch_ns(self.costs.process_switch_ns);
                let parts = parted(all_ns, switch_ns, PROCESS_PARTS);
                [self.costs.fork_ns, self.costs.start_ns, self.costs.exit_ns] = parts;
                let value = parts.map(|ns| ns.to_string()).join(", ");
                self.assume("fork_ns, start_ns, exit_ns", value, why);
            }
            None => self.assume("fork_ns", self.costs.fork_ns, "neither fork nor threads were measured"),
        }
        match thread {
            Some(all_ns) => {
                let switch_ns = self.whole_switch_ns(self.costs.thread_switch_ns);
                [self.costs.thread_fork_ns, self.costs.thread_start_ns, self.costs.thread_exit_ns] =
                    parted(all_ns, switch_ns, THREAD_PARTS);
                self.costs.new_stack_ns = self.costs.instructions_ns(NEW_STACK_INSTRUCTIONS);
                self.costs.new_stack_start_ns = self.costs.instructions_ns(NEW_STACK_START_INSTRUCTIONS);
                let value = format!("{} and {} ns", self.costs.new_stack_ns, self.costs.new_stack_start_ns);
                let why = "threads were measured with stacks of ones that had ended; as instructions of Linux 7.3 are";
                self.assume("new_stack_ns and new_stack_start_ns", value, why);
            }
            None => self.assume("thread_fork_ns", self.costs.thread_fork_ns, "threads were not measured"),
        }
        // Debian's kernels, which guests run, have CONFIG_SCHED_AUTOGROUP; whether another one has it is not in a Profile.
        self.costs.regroups_on_exit = self.profile.host.is_emulated();
    }

    /// The kernel's own threads, as often on each CPU as on the others.
    fn kernel_threads(&mut self) {
        let cpus = self.profile.host.cpus.len().max(1) as f64;
        if let Some(threads) =
            self.profile.noise.kernel_threads.filter(|threads| threads.runs_per_second > 0.0)
        {
            self.costs.kernel_threads_every_ns = (1e9 * cpus / threads.runs_per_second).round() as u64;
            self.costs.kernel_thread_run_ns = threads.mean_run_ns.round() as u64;
            let value = format!(
                "{:.1} runs a second of {}",
                threads.runs_per_second / cpus,
                format_ns(threads.mean_run_ns)
            );
            self.assume("kernel threads", value, "on every CPU alike, at equal distances");
        }
    }

    /// What no Profile has.
    fn rest(&mut self) {
        let costs = self.costs.clone();
        self.assume("tick_period_ns", costs.tick_period_ns, "the kernel's HZ is not in a Profile; 250");
        let why = "not measured; that of an ordinary server";
        self.assume(
            "tick_ns and interrupt_ns",
            format!("{} and {} ns", costs.tick_ns, costs.interrupt_ns),
            why,
        );
        self.assume("migration_ns", format!("{:?}", costs.migration_ns), why);
        self.assume("idle_switch_ns", costs.idle_switch_ns, "not measured; as between threads");
        self.assume("barrier_look_ns", costs.barrier_look_ns, why);
    }

    /// A switch with the wake-up before it and the hooks around it.
    fn whole_switch_ns(&self, switch_ns: u64) -> u64 {
        switch_ns + self.costs.wake_ns + hooks_ns(&self.costs, Family::Fair)
    }

    /// A row of the method on one CPU, between threads if there is one.
    fn any_of(&self, method: Method) -> Option<&Direct> {
        self.on_one_cpu(method, Tasks::Thread).or_else(|| self.on_one_cpu(method, Tasks::Process))
    }

    /// The row of the method on one CPU, between such tasks.
    fn on_one_cpu(&self, method: Method, tasks: Tasks) -> Option<&Direct> {
        self.profile.direct_cost(method, tasks, Placement::SameCpu, Class::Normal)
    }

    #[allow(clippy::needless_pass_by_value)] // Numbers and texts alike, made where they are handed over.
    fn assume(&mut self, what: &str, value: impl ToString, why: impl Into<String>) {
        self.assumed.push(Assumption::new(what, value.to_string(), why));
    }
}

/// Whether a task whose slice is over is preempted wherever it is. Full preemption does so; lazy preemption waits until the task leaves the
/// kernel, but for the timer that ends slices since 7.2 (`entity_tick`, kernel/sched/fair.c: `resched_curr`).
fn ends_slices_in_the_kernel(kernel: &Kernel) -> bool {
    match kernel.preemption.as_deref() {
        Some("full" | "rt") => true,
        Some("lazy") => kernel.major_minor().is_some_and(|version| version >= (7, 2)),
        _ => false,
    }
}

/// Makes times longer or shorter, all in the proportion of `wanted_ns` to `now_ns`.
fn scale(times: &mut [u32], wanted_ns: u64, now_ns: u64) {
    for ns in times {
        *ns = (u64::from(*ns) * wanted_ns / now_ns) as u32;
    }
}

fn hooks_ns(costs: &Costs, family: Family) -> u64 {
    sum_of_hooks(costs, family, &IN_A_SWITCH)
}

fn sum_of_hooks(costs: &Costs, family: Family, hooks: &[Hook]) -> u64 {
    hooks.iter().map(|hook| costs.hook_ns(family, *hook)).sum()
}

fn median(estimate: Option<&Estimate>) -> Option<u64> {
    estimate.map(|estimate| whole_ns(estimate.median))
}

/// The part of a call on a pipe between `mutex_lock` and `mutex_unlock`, in thousandths: 312 instructions of a write and 318 of a read of 100
/// bytes (`anon_pipe_write`, `anon_pipe_read`, fs/pipe.c of 7.3), of 2,103 for both, by the kernel's function tracer in a guest that counts
/// instructions.
const PIPE_LOCKED_PER_MILLE: u32 = 300;
/// What making, starting and ending a task take of all three together, in thousandths. By clocks in parent and child on Linux 7.3 that counts
/// instructions: 157, 72 and 189 us of a process, less the two switches; 31.1, 0.5 and 12.5 us of a thread.
const PROCESS_PARTS: [u64; 3] = [376, 172, 452];
const THREAD_PARTS: [u64; 3] = [705, 11, 284];
/// What a new stack takes: of `pthread_create` that maps, guards and first touches it, 54.6 us instead of 34.7, and of the thread one more page
/// fault. (Linux 7.3 that counts instructions, glibc 2.36, stacks of 16 KiB. Measured threads have stacks of ones that were joined.)
pub(super) const NEW_STACK_INSTRUCTIONS: u64 = 20_000;
pub(super) const NEW_STACK_START_INSTRUCTIONS: u64 = 7_000;

/// The three parts of what making, ending and joining a task takes: the parent's, the child's before its first step, and its end. Two switches
/// were in that time, which the simulator counts by themselves.
fn parted(all_ns: u64, switch_ns: u64, per_mille: [u64; 3]) -> [u64; 3] {
    let own_ns = all_ns.saturating_sub(2 * switch_ns);
    per_mille.map(|part| own_ns * part / 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server() -> Profile {
        let text = include_str!("../../fixtures/server.json");
        serde_json::from_str(text).expect("a Profile")
    }

    fn names(assumed: &[Assumption]) -> Vec<&str> {
        assumed.iter().map(|assumption| assumption.what.as_str()).collect()
    }

    #[test]
    fn the_parts_of_a_switch_add_up_to_what_was_measured() {
        let profile = server();
        let (costs, _) = Costs::of(&profile);
        let around = costs.wake_ns + hooks_ns(&costs, Family::Fair);
        assert_eq!(costs.thread_switch_ns + around, 684);
        assert_eq!(costs.process_switch_ns + around, 814);
        let real_time = costs.wake_ns + hooks_ns(&costs, Family::RealTime) + costs.thread_switch_ns;
        assert!(real_time.abs_diff(643) <= 6, "{real_time}");
        let hooks = [Hook::SelectCpu, Hook::Enqueue, Hook::PickNext];
        let waker = sum_of_hooks(&costs, Family::Fair, &hooks);
        let across = waker + costs.wake_ns + costs.ipi_ns + costs.idle_exit_ns + costs.idle_switch_ns;
        assert_eq!(across + costs.pipe_lines_ns, 2_950 + costs.pipe_ns);
    }

    #[test]
    fn a_pipes_mutex_is_held_where_slices_end_inside_the_kernel() {
        let locked = |preemption: &str, release: &str| {
            let mut profile = server();
            profile.host.kernel.preemption = Some(preemption.to_owned());
            profile.host.kernel.release = release.to_owned();
            let (costs, assumed) = Costs::of(&profile);
            assert_eq!(costs.pipe_locked_per_mille > 0, names(&assumed).contains(&"pipe_locked_per_mille"));
            costs.pipe_locked_per_mille
        };
        let held = locked("full", "6.1.0");
        assert!(held > 0 && held < 1_000, "{held}");
        let others = [
            ("lazy", "7.3.4+deb13"),
            ("rt", "6.12"),
            ("lazy", "6.18.1"),
            ("none", "7.3"),
            ("voluntary", "7.3"),
        ];
        assert_eq!(others.map(|(preemption, release)| locked(preemption, release)), [held, held, 0, 0, 0]);
    }

    #[test]
    fn making_a_task_is_parted_without_its_two_switches_and_threads_hold_their_files() {
        assert_eq!(parted(110_000, 5_000, PROCESS_PARTS), [37_600, 17_200, 45_200]);
        assert_eq!(parted(110_000, 5_000, THREAD_PARTS).iter().sum::<u64>(), 100_000);
        assert_eq!(parted(1_000, 5_000, THREAD_PARTS), [0; 3]);
        let mut profile = server();
        for row in profile.direct.iter_mut().filter(|row| row.method == Method::Pipe) {
            row.baseline_ns = if row.tasks == Tasks::Thread { 1_060.0 } else { 1_000.0 };
        }
        let costs = Costs::of(&profile).0;
        let looking_ns = costs.instructions_ns(CANCELLATION_INSTRUCTIONS);
        assert_eq!((costs.pipe_ns, costs.shared_file_ns), (500, 30 + looking_ns));
        assert!(looking_ns > 0);
        profile.direct.retain(|row| row.method != Method::Pipe || row.tasks == Tasks::Thread);
        let costs = Costs::of(&profile).0;
        assert_eq!((costs.pipe_ns, costs.shared_file_ns), (530, 0));
    }

    #[test]
    fn the_curve_is_the_sequential_one_and_never_negative() {
        let (costs, assumed) = Costs::of(&server());
        assert!(!names(&assumed).contains(&"refill"));
        assert_eq!(costs.refill[1], (2_048, 0));
        assert_eq!(costs.refill_ns(65_536), 955);
        assert_eq!(costs.refill_ns(1 << 30), 212_637);
        let mut reads = server();
        reads.total.retain(|row| row.access == Access::Read && row.stride_bytes == 64);
        let (costs, assumed) = Costs::of(&reads);
        assert!(names(&assumed).contains(&"refill"));
        assert_eq!(costs.refill[0], (65_536, 1_121));
    }

    #[test]
    fn what_is_missing_is_said_and_taken_from_an_ordinary_server() {
        let mut empty = server();
        empty.direct.clear();
        empty.total.clear();
        empty.references = swtch_profile::model::References::default();
        let (costs, assumed) = Costs::of(&empty);
        let typical = Costs::typical();
        assert_eq!(costs, Costs { socket_ns: costs.socket_ns, ..typical });
        for what in [
            "switches and hooks",
            "wake-up on another CPU",
            "pipe_ns",
            "futex_ns",
            "yield_ns",
            "sleep_ns",
            "refill",
            "fork_ns",
        ] {
            assert!(names(&assumed).contains(&what), "{what}");
        }
        let mut threads_only = server();
        threads_only.direct.retain(|row| row.tasks == Tasks::Thread && row.class == Class::Normal);
        let (costs, assumed) = Costs::of(&threads_only);
        assert!(names(&assumed).contains(&"process_switch_ns"));
        assert!(names(&assumed).contains(&"hooks of real-time classes"));
        assert!(costs.process_switch_ns > costs.thread_switch_ns);
    }

    #[test]
    fn a_negative_measurement_is_not_a_huge_cost() {
        let mut odd = server();
        odd.direct.iter_mut().for_each(|row| row.switch_cost_ns.median = -50.0);
        let (costs, _) = Costs::of(&odd);
        assert_eq!((costs.thread_switch_ns, costs.wake_ns), (0, 0));
        assert_eq!(costs.ipi_ns + costs.idle_exit_ns + costs.pipe_lines_ns, costs.pipe_ns);
    }
}
