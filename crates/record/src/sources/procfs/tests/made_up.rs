//! The period that each count covers, and the values that are not believed.

use super::super::collected::SampledThread;
use super::super::{Collected, SampleTarget};
use super::fixtures::{FakeMachine, FakeThread, OLD, YOUNG};

fn thread(collected: &Collected, tid: u32) -> &SampledThread {
    collected.threads.iter().find(|thread| thread.task.tid == tid).unwrap()
}

fn why(collected: &Collected, what: &str) -> String {
    let row = collected.unavailable.iter().find(|row| row.field.as_str() == what);
    row.unwrap_or_else(|| panic!("no {what} in {:?}", collected.unavailable)).reason.clone()
}

fn later(shown: FakeThread) -> FakeThread {
    FakeThread {
        ticks: shown.ticks + 3,
        run_ns: shown.run_ns + 4000,
        wait_ns: shown.wait_ns + 60,
        timeslices: shown.timeslices + 8,
        voluntary: shown.voluntary + 5,
        involuntary: shown.involuntary + 2,
        migrations: shown.migrations + 1,
        cpu: 1,
        ..shown
    }
}

#[test]
fn an_old_thread_counts_from_the_first_sample_and_a_young_one_from_birth() {
    let machine = FakeMachine::new();
    machine.show(7, 7, OLD);
    let mut sampler = machine.sampler(SampleTarget::Processes(vec![7]));
    sampler.sample();
    machine.show(7, 7, later(OLD));
    machine.show(7, 8, YOUNG);
    sampler.sample();
    let collected = sampler.finish();

    let old = thread(&collected, 7);
    assert_eq!(
        (old.counted.voluntary, old.counted.involuntary, old.counted.migrations),
        (Some(5), Some(2), Some(1))
    );
    assert_eq!(
        (old.counted.run_ns, old.counted.wait_ns, old.counted.timeslices),
        (Some(4000), Some(60), Some(8))
    );
    assert_eq!((old.task.comm.as_str(), old.task.parent_pid, old.ended), ("a) b", Some(1), false));
    let young = thread(&collected, 8);
    assert_eq!((young.counted.voluntary, young.counted.run_ns), (Some(30), Some(1_000_000)));
    assert_eq!((collected.threads.len(), collected.processes_peak), (2, 1));

    let interval = collected.intervals[0];
    assert_eq!((interval.counted.voluntary, interval.counted.run_ns), (Some(35), Some(1_004_000)));
    assert_eq!((interval.threads, interval.runnable), (2, 0));
    let quiet = collected.intervals[1];
    assert_eq!(
        (quiet.counted.voluntary, quiet.counted.involuntary, quiet.counted.wait_ns),
        (Some(0), Some(0), Some(0))
    );
    assert_eq!(collected.intervals.len(), 2);
    assert!(why(&collected, "tasks.short_lived").contains("100 ms"));
}

#[test]
fn a_thread_that_ends_keeps_its_last_sample() {
    let machine = FakeMachine::new();
    machine.show(7, 7, OLD);
    machine.show(7, 8, OLD);
    let mut sampler = machine.sampler(SampleTarget::Processes(vec![7]));
    sampler.sample();
    machine.show(7, 8, later(OLD));
    sampler.sample();
    machine.end(7, 8);
    assert_eq!(sampler.sample().threads, 1);
    assert_eq!(sampler.so_far().intervals.len(), 2);
    let ended = sampler.forget();
    assert_eq!((ended.len(), sampler.so_far().intervals.len()), (1, 0));
    assert_eq!((ended[0].task.tid, ended[0].ended, ended[0].counted.voluntary), (8, true, Some(5)));
    machine.end(7, 7);
    let left = sampler.sample();
    assert!(!left.alive);
    let collected = sampler.finish();
    assert_eq!(
        collected.threads.iter().map(|thread| thread.task.tid).collect::<Vec<_>>(),
        [7],
        "8 was taken out"
    );
}

#[test]
fn a_number_that_is_used_again_is_another_thread() {
    let machine = FakeMachine::new();
    machine.show(7, 7, OLD);
    let mut sampler = machine.sampler(SampleTarget::Machine);
    sampler.sample();
    machine.show(7, 7, FakeThread { timeslices: 1, voluntary: 1, ..YOUNG });
    sampler.sample();
    sampler.sample();
    let collected = sampler.finish();
    let counted: Vec<_> = collected
        .threads
        .iter()
        .map(|thread| (thread.task.tid, thread.ended, thread.counted.voluntary))
        .collect();
    assert_eq!(counted, [(7, true, Some(0)), (7, false, Some(1))]);
}

#[test]
fn a_thread_that_ended_and_was_not_collected_counts_to_its_end() {
    let machine = FakeMachine::new();
    machine.show(7, 7, YOUNG);
    let mut sampler = machine.sampler(SampleTarget::Descendants { pid: 7, since_birth: true });
    sampler.sample();
    machine.show(7, 7, FakeThread { state: 'Z', ..later(YOUNG) });
    let sampled = sampler.sample();
    assert_eq!((sampled.alive, sampled.threads), (false, 0));
    machine.end(7, 7);
    let collected = sampler.finish();
    assert_eq!((thread(&collected, 7).counted.voluntary, thread(&collected, 7).ended), (Some(35), true));
}

#[test]
fn a_sleeper_is_read_again_only_when_it_has_run() {
    let machine = FakeMachine::new();
    machine.show(7, 7, OLD);
    let mut sampler = machine.sampler(SampleTarget::Machine);
    sampler.sample();
    // On its way to sleep at the first sample: the switch is counted though no turn is.
    machine.show(7, 7, FakeThread { voluntary: 31, ..OLD });
    sampler.sample();
    machine.show(7, 7, FakeThread { voluntary: 1000, ..OLD });
    sampler.sample();
    let intervals = sampler.so_far().intervals;
    assert_eq!(intervals.iter().map(|row| row.counted.voluntary).collect::<Vec<_>>(), [Some(1), Some(0)]);
    machine.show(7, 7, later(OLD));
    let collected = sampler.finish();
    assert_eq!(thread(&collected, 7).counted.voluntary, Some(5));
}

#[test]
fn without_sched_the_switches_come_from_status_and_migrations_are_not_known() {
    let machine = FakeMachine { sched: false, ..FakeMachine::new() };
    machine.show(7, 7, OLD);
    let mut sampler = machine.sampler(SampleTarget::Machine);
    sampler.sample();
    machine.show(7, 7, later(OLD));
    let collected = sampler.finish();
    let found = thread(&collected, 7);
    assert_eq!((found.counted.voluntary, found.counted.migrations), (Some(5), None));
    assert_eq!(collected.intervals[0].counted.migrations, None);
    assert!(why(&collected, "tasks.migrations").contains("/proc/PID/sched"));
}

/// As gVisor: no schedstat, no sched, switches zero or not there at all, and a machine that counts none.
#[test]
fn a_sandbox_that_counts_nothing_is_unavailable_and_never_zero() {
    for status in [true, false] {
        let machine = FakeMachine { schedstat: false, sched: false, status, ..FakeMachine::new() };
        machine.write("proc/stat", "cpu  0 0 0 0\nctxt 0\nprocesses 0\n");
        let silent = FakeThread { voluntary: 0, involuntary: 0, ..OLD };
        machine.show(7, 7, silent);
        let mut sampler = machine.sampler(SampleTarget::Machine);
        sampler.sample();
        machine.show(7, 7, FakeThread { ticks: 200, ..silent });
        let collected = sampler.finish();
        let found = thread(&collected, 7);
        assert_eq!(
            (
                found.counted.voluntary,
                found.counted.involuntary,
                found.counted.wait_ns,
                found.counted.timeslices
            ),
            (None, None, None, None)
        );
        assert_eq!(found.counted.run_ns, Some(1_000_000_000), "100 ticks");
        assert_eq!(collected.intervals[0].counted.involuntary, None);
        assert_eq!(collected.intervals[0].counted.run_ns, Some(1_000_000_000));
        assert_eq!(collected.threads_created, None);
        assert!(why(&collected, "tasks.short_lived").contains("not known"));
        let expected = if status { "does not count" } else { "neither" };
        assert!(why(&collected, "tasks.involuntary").contains(expected));
        assert!(why(&collected, "tasks.voluntary").contains(expected));
        assert!(why(&collected, "tasks.run_ns").contains("ticks of 10 ms"));
    }
}

#[test]
fn a_sandbox_may_count_voluntary_switches_only() {
    let machine = FakeMachine { schedstat: false, sched: false, ..FakeMachine::new() };
    machine.write("proc/stat", "ctxt 0\n");
    machine.show(7, 7, FakeThread { involuntary: 0, ..OLD });
    let mut sampler = machine.sampler(SampleTarget::Machine);
    sampler.sample();
    machine.show(7, 7, FakeThread { involuntary: 0, ticks: 300, voluntary: 33, ..OLD });
    let collected = sampler.finish();
    assert_eq!(
        (thread(&collected, 7).counted.voluntary, thread(&collected, 7).counted.involuntary),
        (Some(3), None)
    );
}

/// A thread that has a CPU to itself is never switched: on a kernel that counts, that zero is true.
#[test]
fn a_zero_of_a_kernel_that_counts_is_a_zero() {
    let machine = FakeMachine::new();
    machine.write("proc/stat", "ctxt 1234\n");
    let alone = FakeThread { voluntary: 0, involuntary: 0, ..YOUNG };
    machine.show(7, 7, alone);
    let mut sampler = machine.sampler(SampleTarget::Machine);
    sampler.sample();
    machine.show(7, 7, FakeThread { run_ns: 9_000_000, ..alone });
    let collected = sampler.finish();
    assert_eq!(
        (thread(&collected, 7).counted.voluntary, thread(&collected, 7).counted.involuntary),
        (Some(0), Some(0))
    );
}

#[test]
fn garbage_is_counted_as_refused() {
    let machine = FakeMachine::new();
    machine.show(7, 7, OLD);
    machine.write("proc/8/task/8/stat", "8 (x");
    machine.write("proc/9/task/9/stat", "");
    let mut sampler = machine.sampler(SampleTarget::Machine);
    sampler.sample();
    let collected = sampler.finish();
    assert_eq!(collected.threads.len(), 1);
    assert!(why(&collected, "tasks").contains("4 readings"));
}
