use super::*;
use crate::machine::Distance;
use crate::program::Op;
use crate::workload::{Quota, TaskClass, Waiting};
use crate::workloads::tests::check;
use swtch_units::CpuId;

fn error(text: &str) -> String {
    let host = Host::default();
    let read = || -> Result<(), SimError> {
        let spec = Spec::read("s.toml", text)?;
        let machine = spec.machine(&host)?;
        spec.costs(None)?;
        spec.workload(&machine).map(|_| ())
    };
    read().expect_err("it is wrong").to_string()
}

fn workload(text: &str) -> Workload {
    let spec = Spec::read("s.toml", &format!("machine = 4\n{text}")).unwrap();
    let workload = spec.workload(&spec.machine(&Host::default()).unwrap()).unwrap();
    check(&workload);
    workload
}

const TWO: &str = r#"
duration = "2s"
locks = ["m"]
conditions = ["c"]
[pipes]
a = {}
b = { kind = "socket", capacity = "8K" }
[semaphores]
free = 3
[barriers]
all = { waiting = "spin-yield" }
[[application]]
name = "hot"
speeds = [900]
[[task]]
name = "one"
count = 3
nice = -5
cpus = [1, 2]
process = "server"
working_set = "64K"
program = ["loop 10 {", "compute 1ms..2ms; send a 100", "loop 2 { sleep 5us }", "}", "barrier all"]
[[task]]
name = "two"
priority = 7
start = "1ms"
background = true
application = "hot"
program = """
forever {        # for ever
    lock m; wait c m; unlock m
    request {
        receive a 100
    }
    period 10ms
    become hot
    acquire free
    fork three
}
"""
[[task]]
name = "three"
count = 0
program = 'yield; post free; broadcast c; signal c; every 3ms; new-session; wait-for two; kill two; wait-children; barrier all; exit'
"#;

#[test]
fn a_specification_becomes_the_workload_it_says() {
    let workload = workload(TWO);
    let names: Vec<_> = workload.tasks.iter().map(|task| task.name.as_str()).collect();
    assert_eq!(names, ["one-0", "one-1", "one-2", "two"]);
    assert_eq!(workload.duration_ns, Some(2_000_000_000));
    let one = &workload.tasks[0];
    assert_eq!(
        (one.nice, one.allowed.clone(), one.working_set_bytes),
        (-5, vec![CpuId::new(1), CpuId::new(2)], 65_536)
    );
    assert_eq!(one.process, workload.tasks[2].process);
    assert_ne!(one.process, workload.tasks[3].process);
    assert_eq!((workload.tasks[3].priority, workload.tasks[3].start_ns), (7, 1_000_000));
    assert_eq!(
        workload.programs[0].ops,
        [
            Op::ComputeBetween { low_ns: 1_000_000, high_ns: 2_000_000 },
            Op::Send { pipe: 0, bytes: 100 },
            Op::Sleep { ns: 5_000 },
            Op::Loop { to: 2, times: 2, counter: 1 },
            Op::Loop { to: 0, times: 10, counter: 0 },
            Op::Barrier { barrier: 0 },
        ]
    );
    assert_eq!(workload.programs[1].ops.last(), Some(&Op::Loop { to: 0, times: 0, counter: 0 }));
    assert_eq!(
        workload.programs[1].ops[3..6],
        [Op::RequestBegins, Op::Receive { pipe: 0, bytes: 100 }, Op::RequestEnds]
    );
    // Three tasks come to it from the beginning. A file that forks tasks must count them in `members` itself.
    assert_eq!((workload.barriers[0].members, workload.barriers[0].waiting), (3, Waiting::SpinYield));
    assert_eq!((workload.pipes[1].capacity_bytes, workload.pipes[1].socket), (8_192, true));
    assert_eq!(workload.templates[2].name, "three");
}

#[test]
fn every_mistake_names_its_place() {
    let task = |line: &str| format!("machine = \"2f4s\"\n[[task]]\nname = \"t\"\n{line}\n");
    let program = |steps: &str| task(&format!("program = \"{steps}\""));
    for (text, place, part) in [
        (task("program = \"yield\"\nspeed = 3"), "s.toml:5:1", "unknown field `speed`"),
        (task("program = \"yield\"\nstart = -5"), "s.toml:5:9", "expected a time"),
        (task("program = \"yield\"\nstart = \"5 parsecs\""), "s.toml:5:9", "is not a time"),
        (
            task("program = \"yield\"\ncpus = [1, 6]"),
            "s.toml:5:12",
            "there is no CPU 6; 2f4s has 6 CPUs, 0 to 5",
        ),
        (task("program = \"yield\"\nnice = 20"), "s.toml:5:8", "nice is 20; expected -20 to 19"),
        (task("program = \"yield\"\napplication = \"x\""), "s.toml:5:15", "no application \"x\""),
        (program("yield; compute -1ms"), "s.toml:4:27", "'-1ms' is not a time"),
        (program("lock m"), "s.toml:4:17", "there is no lock \"m\"; declared: there is none"),
        (program("compute 1ms yield"), "s.toml:4:24", "more than compute takes"),
        (program("dance"), "s.toml:4:12", "there is no step \"dance\""),
        (program("loop 0 { yield }"), "s.toml:4:17", "\"0\" is not a number of repetitions"),
        (program("loop 3 { yield"), "s.toml:4:12", "not closed"),
        (program("yield }"), "s.toml:4:18", "} without a {"),
        (program("loop 3 { }"), "s.toml:4:12", "nothing in this loop"),
        (program("sleep"), "s.toml:4:12", "expected a time"),
        (program("sleep 2ms..1ms"), "s.toml:4:18", "shorter time first"),
        (task("program = \"\"\"\nyield\n  send x 1\n\"\"\""), "s.toml:6:8", "no pipe \"x\""),
        (task("program = [\"yield\",\n \"fork x\"]"), "s.toml:5:8", "no task \"x\"; declared: t"),
        (
            format!("{}[[task]]\nname = \"t\"\nprogram = \"yield\"", program("yield")),
            "s.toml:6:8",
            "there already",
        ),
        (format!("{}[barriers]\nb = {{}}", program("yield")), "s.toml:6:5", "no task comes"),
        ("machine = \"cray\"\n[workload.spin]".to_owned(), "s.toml:1:11", "no machine \"cray\""),
        ("machine = 1\n[workload.spin]\ntasks = 0".to_owned(), "s.toml:2:", "tasks is 0"),
        ("machine = 1\n[workload.spin]\ntaks = 3".to_owned(), "s.toml:3:1", "unknown field `taks`"),
        ("machine = 1\n[workload.sping]".to_owned(), "s.toml:2:", "unknown variant `sping`"),
        ("seed = 1".to_owned(), "s.toml:1:1", "nothing says what runs"),
        ("rt_app = \"x\"\n[workload.spin]".to_owned(), "s.toml:1:10", "rt_app and workload are both given"),
        ("machine = \n".to_owned(), "s.toml:1:", ""),
        (
            "[costs]\ntick_ns = \"5ms\"\n[workload.spin]\n[machine]\ncpus = [{ count = 1 }]".to_owned(),
            "s.toml:1:1",
            "below",
        ),
    ] {
        let message = error(&text);
        assert!(message.starts_with(place) && message.contains(part), "{place} {part}\n{text}\n{message}");
        assert!(!message.contains('\n'), "{message}");
    }
}

#[test]
fn loops_are_four_deep_at_most() {
    let nested = |depth: usize| format!("{} yield {}", "loop 2 {".repeat(depth), "}".repeat(depth));
    let text = |depth| format!("machine = 1\n[[task]]\nname = \"t\"\nprogram = \"{}\"", nested(depth));
    assert!(error(&text(5)).contains("more than 4 deep"));
    let spec = Spec::read("s.toml", &text(4)).unwrap();
    check(&spec.workload(&spec.machine(&Host::default()).unwrap()).unwrap());
}

#[test]
fn a_machine_of_ones_own_has_the_domains_it_says() {
    let text = r#"
[workload.spin]
[machine]
name = "mine"
smt_speed = [1024, 640]
types = [{ name = "big", speed = 1024 }, { name = "little", speed = 400 }]
cpus = [
    { type = "big", count = 8, threads_per_core = 2, cores_per_l3 = 2 },
    { type = "little", count = 4, cores_per_l2 = 4, node = 1 },
]
"#;
    let machine = Spec::read("s.toml", text).unwrap().machine(&Host::default()).unwrap();
    assert_eq!((machine.cpus.len(), machine.name.as_str()), (12, "mine"));
    let distances = [(0, 1), (0, 2), (0, 4), (8, 11), (0, 8)].map(|(a, b)| machine.distance(a, b));
    assert_eq!(distances, [Distance::Core, Distance::L3, Distance::Node, Distance::L2, Distance::Far]);
    assert_eq!(machine.cpus[11].core_type, 1);
    let wrong = text.replace("\"little\", count", "\"tiny\", count");
    assert!(
        error(&wrong).starts_with("s.toml:9:14: there is no type \"tiny\"; expected one of big, little"),
        "{}",
        error(&wrong)
    );
}

#[test]
fn costs_stand_in_place_of_the_base() {
    let text = r#"
[workload.spin]
[costs]
base = "free"
pipe_ns = "2us"
byte_ps = 5
instruction_ps = 178
refill = [["64K", "1us"], [1048576, 9000]]
locked_per_mille = { lockless = 7 }
[costs.hooks.fair]
enqueue = 120
[costs.hooks.sched-ext]
dequeue = 7
"#;
    let (costs, assumed) = Spec::read("s.toml", text).unwrap().costs(None).unwrap();
    let mut expected = Costs::free();
    expected.pipe_ns = 2_000;
    expected.byte_ps = 5;
    expected.instruction_ps = 178;
    expected.refill = vec![(65_536, 1_000), (1 << 20, 9_000)];
    expected.locked_per_mille[2] = 7;
    expected.hook_ns[0][1] = 120;
    expected.hook_ns[3][2] = 7;
    assert_eq!(costs, expected);
    assert!(assumed.is_empty());
    let (costs, assumed) = Spec::read("s.toml", "[workload.spin]").unwrap().costs(None).unwrap();
    assert_eq!((costs, assumed[0].what.as_str()), (Costs::typical(), "costs"));
}

#[test]
fn a_workload_by_name_takes_parameters_as_on_a_command_line() {
    let spec = Spec::of_name("hackbench:groups=2,tasks=threads, channel=pipe").unwrap();
    let machine = crate::machine::named("4", &Host::default()).unwrap();
    let workload = spec.workload(&machine).unwrap();
    assert_eq!((workload.tasks.len(), workload.pipes[0].socket, workload.tasks[9].process), (80, false, 0));
    assert!(Spec::of_name("spin:nice=[0,5],work_ns=2ms").is_ok());
    let problem = |text| Spec::of_name(text).unwrap_err().to_string();
    assert!(problem("hackbench:group=2").starts_with("hackbench:group=2: unknown field `group`"));
    assert_eq!(
        problem("hackbonch"),
        "there is no workload \"hackbonch\"; there are hackbench, schbench, ping-pong, npb, mix, spin"
    );
}

#[test]
fn where_the_work_comes_from_and_what_runs_it_is_told() {
    let spec =
        Spec::read("s.toml", "rt_app = \"x.json\"\npolicies = [\"eevdf\", \"x\"]\nlimit = \"1min\"").unwrap();
    assert_eq!(
        (spec.source(), spec.document.seed, spec.document.limit),
        (Source::RtApp("x.json"), 1, Some(60_000_000_000))
    );
    assert_eq!(spec.policies().collect::<Vec<_>>(), ["eevdf", "x"]);
    assert_eq!(
        spec.unknown_policy("x", "eevdf, rr").to_string(),
        "s.toml:2:22: there is no policy \"x\"; expected one of eevdf, rr"
    );
    let spec = Spec::read("s.toml", "recording = \"trace\"").unwrap();
    assert_eq!(spec.source(), Source::Recording("trace"));
    assert!(spec.document.machine.is_none());
}

#[test]
fn cgroups_are_as_in_the_kernels_files() {
    let machine = Machine::uniform(1);
    let of = |groups: &str| {
        let text = format!(
            "{groups}\n[[task]]\nname = \"t\"\nclass = \"idle\"\ncgroup = \"a/b\"\nprogram = \"compute 1ms\"\n"
        );
        Spec::read("s.toml", &text).and_then(|spec| spec.workload(&machine))
    };
    let workload = of(
        "[cgroups.a]\nweight = 50\nmax = \"20000\"\n[cgroups.\"a/b\"]\nshares = 3000\nmax = \"max 50000\"",
    )
    .unwrap();
    let [above, below] = workload.cgroups.as_slice() else { panic!("{:?}", workload.cgroups) };
    let quota = Quota { runtime_ns: 20_000_000, period_ns: 100_000_000 };
    assert_eq!((above.shares, above.parent, above.quota), (512, None, Some(quota)));
    assert_eq!((below.shares, below.parent, below.quota), (3000, Some(0), None));
    assert_eq!((workload.tasks[0].cgroup, workload.tasks[0].class), (Some(1), TaskClass::Idle));
    for (groups, problem) in [
        ("", "there is no cgroup \"a/b\""),
        ("[cgroups.\"a/b\"]", "\"a/b\" is in \"a\", which is not there"),
        ("[cgroups.a]\nweight = 0", "weight is 0; expected 1 to 10000"),
        ("[cgroups.a]\nweight = 1\nshares = 2", "weight and shares are both given"),
        ("[cgroups.a]\nmax = \"5 100000\"", "max is \"5 100000\"; expected what cpu.max holds"),
        ("[cgroups.a]\nmax = \"50000 5\"", "max is \"50000 5\"; expected what cpu.max holds"),
    ] {
        let error = of(groups).unwrap_err().to_string();
        assert!(error.starts_with("s.toml:") && error.contains(problem), "{groups}: {error}");
    }
}
