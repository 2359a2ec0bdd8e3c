//! The tasks that belong to a target.

use super::super::{Collected, SampleTarget, Sampler};
use super::fixtures::{FakeMachine, FakeThread, OLD, YOUNG};
use crate::system::Cgroup;
use swtch_trace::fields::TASKS_SHORT_LIVED;

fn child_of(parent: u32) -> FakeThread {
    FakeThread { parent, ..OLD }
}

fn tids(collected: &Collected) -> Vec<u32> {
    collected.threads.iter().map(|thread| thread.task.tid).collect()
}

#[test]
fn descendants_are_found_whatever_their_numbers() {
    let machine = FakeMachine::new();
    machine.show(100, 100, child_of(1));
    machine.show(100, 101, child_of(1));
    machine.show(5, 5, child_of(100));
    machine.show(3, 3, child_of(5));
    machine.show(4, 4, child_of(1));
    let mut sampler = machine.sampler(SampleTarget::Descendants { pid: 100, since_birth: false });
    let sampled = sampler.sample();
    assert_eq!((sampled.processes, sampled.threads), (3, 4));
    // An orphan stays a descendant, and so do its children.
    machine.end(100, 101);
    machine.end(100, 100);
    machine.show(3, 3, child_of(1));
    machine.show(200, 200, FakeThread { parent: 3, ..YOUNG });
    sampler.sample();
    machine.show(4, 4, FakeThread { voluntary: 99, ..child_of(1) });
    let collected = sampler.finish();
    assert_eq!(tids(&collected), [3, 5, 100, 101, 200]);
    assert!(collected.threads[2].ended && collected.threads[4].counted.voluntary == Some(30));
    assert_eq!(collected.processes_peak, 3);
}

#[test]
fn a_list_of_processes_is_without_children() {
    let machine = FakeMachine::new();
    machine.show(100, 100, child_of(1));
    machine.show(7, 7, child_of(100));
    machine.show(8, 8, child_of(100));
    let mut sampler = machine.sampler(SampleTarget::Processes(vec![100, 8]));
    sampler.sample();
    assert_eq!(tids(&sampler.finish()), [8, 100]);
}

#[test]
fn control_groups_of_both_versions_with_those_below() {
    for (version, file) in [(1, "tasks"), (2, "cgroup.threads")] {
        let machine = FakeMachine::new();
        for (pid, tid) in [(7, 7), (7, 8), (9, 9), (10, 10)] {
            machine.show(pid, tid, OLD);
        }
        // Only one thread of process 7 is in the group.
        machine.write(&format!("cg/web/{file}"), "8\n");
        machine.write(&format!("cg/web/below/deep/{file}"), "9\n");
        machine.write(&format!("cg/web/below/{file}"), "");
        let group = Cgroup { version, folder: "/cg/web".to_owned(), cpuacct_folder: None };
        let mut sampler = machine.sampler(SampleTarget::Cgroup(group));
        let sampled = sampler.sample();
        assert_eq!((sampled.threads, sampled.processes), (2, 2));
        machine.show(7, 8, FakeThread { voluntary: 35, timeslices: 50, ..OLD });
        machine.write(&format!("cg/web/{file}"), "10\n");
        machine.write(&format!("cg/web/below/deep/{file}"), "");
        let sampled = sampler.sample();
        assert!(sampled.alive && sampled.threads == 1);
        std::fs::remove_dir_all(machine.path().join("cg/web")).unwrap();
        let collected = sampler.finish();
        assert_eq!(tids(&collected), [8, 9, 10]);
        let left = &collected.threads[0];
        assert_eq!(
            (left.task.pid, left.counted.voluntary, left.ended),
            (7, Some(5), false),
            "it left and lives"
        );
    }
}

#[test]
fn of_a_machine_the_unseen_are_counted() {
    let machine = FakeMachine::new();
    machine.write("proc/stat", "ctxt 5\nprocesses 1000\n");
    machine.show(7, 7, OLD);
    let mut sampler = machine.sampler(SampleTarget::Machine);
    sampler.sample();
    machine.show(8, 8, YOUNG);
    machine.write("proc/stat", "ctxt 9\nprocesses 1042\n");
    let collected = sampler.finish();
    assert_eq!(collected.threads_created, Some(42));
    let unseen = collected.unavailable.iter().find(|row| row.field == TASKS_SHORT_LIVED).unwrap();
    assert!(unseen.reason.contains("41 did"), "{unseen:?}");
    assert_eq!(tids(&collected), [7, 8]);
}

#[test]
fn what_a_container_or_a_mount_option_hides_is_said() {
    let machine = FakeMachine::new();
    machine.show(7, 7, FakeThread { state: 'R', ..OLD });
    let collected = |machine: &FakeMachine| {
        let mut sampler = machine.sampler(SampleTarget::Machine);
        assert_eq!(sampler.sample().runnable, 1);
        let whys =
            sampler.finish().unavailable.into_iter().filter(|row| row.field.as_str() == "machine.tasks");
        whys.map(|row| row.reason).collect::<Vec<_>>()
    };
    assert_eq!(collected(&machine), [""; 0]);
    machine.write("proc/self/mountinfo", "22 1 0:5 / /proc rw - proc proc rw,hidepid=invisible\n");
    std::fs::create_dir_all(machine.path().join("proc/self/ns")).unwrap();
    std::os::unix::fs::symlink("pid:[4026532000]", machine.path().join("proc/self/ns/pid")).unwrap();
    let whys = collected(&machine);
    assert!(whys.len() == 2 && whys[0].contains("container") && whys[1].contains("hidepid"), "{whys:?}");
}

#[test]
fn what_is_not_there_is_named_in_one_line() {
    let machine = FakeMachine::new();
    let group = Cgroup { version: 2, folder: "/cg/gone".to_owned(), cpuacct_folder: None };
    for (target, name) in [
        (SampleTarget::Processes(vec![77]), "77"),
        (SampleTarget::Descendants { pid: 78, since_birth: true }, "78"),
        (SampleTarget::Cgroup(group), "/cg/gone"),
    ] {
        let error = Sampler::new(machine.path(), target).unwrap_err().to_string();
        assert!(error.contains(name) && !error.contains('\n'), "{error}");
    }
    let nowhere = machine.path().join("nowhere");
    let error = Sampler::new(&nowhere, SampleTarget::Machine).unwrap_err().to_string();
    assert!(error.contains("nowhere/proc"), "{error}");
}
