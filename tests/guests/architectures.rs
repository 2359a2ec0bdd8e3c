//! Guests of other architectures: boots of arm64 and riscv64 kernels, and the errors where there can be none.

use crate::common::examples::furnished;
use crate::common::{home, run, stderr, stdout, swtch};
use crate::guest::{cache, machine};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Another architecture.
struct Foreign {
    /// As `--arch` takes it.
    arch: &'static str,
    /// As programs are called for it.
    name: &'static str,
    /// Runs a machine.
    emulator: &'static str,
    /// Runs one program.
    user_emulator: &'static str,
    packages: &'static str,
    /// The counter of time that its programs read.
    clock: &'static str,
}

const ARM: Foreign = Foreign {
    arch: "arm64",
    name: "aarch64",
    emulator: "qemu-system-aarch64",
    user_emulator: "qemu-aarch64-static",
    packages: "qemu-system-arm qemu-user-static",
    clock: "cntvct",
};
const RISCV: Foreign = Foreign {
    arch: "riscv64",
    name: "riscv64",
    emulator: "qemu-system-riscv64",
    user_emulator: "qemu-riscv64-static",
    packages: "qemu-system-misc opensbi qemu-user-static",
    clock: "rdtime",
};

impl Foreign {
    /// `swtch` for it, where it was built.
    fn swtch(&self) -> PathBuf {
        Path::new(env!("CARGO_BIN_EXE_swtch")).with_file_name(format!("../dist/{}/swtch", self.name))
    }

    /// Whether nothing of that architecture can run by this emulator; says so.
    fn cannot(&self, test: &str, emulator: &str) -> bool {
        let reason = if !self.swtch().is_file() {
            format!("no swtch for {0} is built: cargo xtask dist --arch {0} programs builds it", self.name)
        } else if Command::new(emulator).arg("--version").output().is_err() {
            format!("{emulator} is not installed: apt-get install {}", self.packages)
        } else {
            return false;
        };
        crate::common::skip(test, &reason);
        true
    }

    fn vm(&self, home: &Path, arguments: &[&str]) -> Output {
        let mut command = swtch(home);
        command
            .env("XDG_CACHE_HOME", cache())
            .env("TMPDIR", home)
            .args(["vm", "--arch", self.arch])
            .args(arguments);
        run(&mut command)
    }
}

#[test]
fn an_arm_guest_runs_programs_of_its_own_under_our_scheduler() {
    runs_its_own_programs(&ARM, "an_arm_guest_runs_programs_of_its_own_under_our_scheduler");
}

#[test]
fn a_riscv_guest_runs_programs_of_its_own_under_our_scheduler() {
    runs_its_own_programs(&RISCV, "a_riscv_guest_runs_programs_of_its_own_under_our_scheduler");
}

#[test]
fn the_kernel_of_an_arm_guest_knows_fast_and_slow_cpus_and_the_slow_ones_are() {
    let test = "the_kernel_of_an_arm_guest_knows_fast_and_slow_cpus_and_the_slow_ones_are";
    if ARM.cannot(test, ARM.emulator) {
        return;
    }
    let _machine = machine();
    let home = home();
    // Seconds that the same work takes on a fast and on a slow CPU, by a clock of instructions: by the host's, other programs there decide.
    let script = "cat /sys/devices/system/cpu/cpu*/cpu_capacity; swtch doctor | grep efficiency; \
        work() { i=0; while [ $i -lt 60000 ]; do i=$((i + 1)); done; }; \
        for cpu in 0 5 0 5; do taskset -p -c $cpu $$ >/dev/null; a=$(cut -d ' ' -f 1 /proc/uptime); work; \
        echo \"$cpu $a $(cut -d ' ' -f 1 /proc/uptime)\"; done";
    let output = ARM.vm(home.path(), &["--deterministic", "--machine", "2f4s", "--", "sh", "-c", script]);
    let said = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{said}{}", stderr(&output));
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[..6], ["1024", "1024", "293", "293", "293", "293"]);
    assert!(lines[6].contains("6 CPUs, 2 performance + 4 efficiency"), "{said}");
    let took = |cpu: &str| -> f64 {
        let of = |line: &&str| {
            let numbers: Vec<f64> = line.split(' ').map(|word| word.parse().unwrap()).collect();
            numbers[2] - numbers[1]
        };
        lines[7..].iter().filter(|line| line.starts_with(cpu)).map(of).sum()
    };
    assert!(took("5") > 2.0 * took("0"), "{said}");
}

/// What a recording by BPF says to the last digit, and when frames came.
#[test]
fn an_arm_guest_that_counts_instructions_gives_the_same_figures_twice() {
    let test = "an_arm_guest_that_counts_instructions_gives_the_same_figures_twice";
    if ARM.cannot(test, ARM.emulator) {
        return;
    }
    let _machine = machine();
    let home = home();
    let script =
        "swtch record -o t.swtch -- hackbench -p -g 1 -l 2 2>&1 && swtch sched load frames --count 5";
    let once = || {
        let output = ARM.vm(home.path(), &["--deterministic", "--cpus", "1", "--", "sh", "-c", script]);
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output)
    };
    let first = once();
    assert!(first.contains("Seen by bpf") && first.contains("Longest lateness"), "{first}");
    assert_eq!(first, once());
}

/// The stock class asks what each CPU would take at every wake-up, where the kernel has an energy model; elsewhere it does not.
#[test]
fn the_kernel_of_an_arm_guest_places_tasks_by_energy() {
    if ARM.cannot("the_kernel_of_an_arm_guest_places_tasks_by_energy", ARM.emulator) {
        return;
    }
    let _machine = machine();
    let home = home();
    let script = "mount -t debugfs none /sys/kernel/debug; cat /proc/sys/kernel/sched_energy_aware; \
        cat /sys/devices/system/cpu/cpufreq/policy*/related_cpus; \
        cat /sys/kernel/debug/energy_model/cpu*/ps:1000000/power";
    let output = ARM.vm(home.path(), &["--machine", "2f4s", "--energy-model", "--", "sh", "-c", script]);
    assert!(output.status.success(), "{}", stderr(&output));
    // By the capacities 1024 and 293: 436 mW and 436 times the square of 293/1024, as whole numbers of the coefficient.
    assert_eq!(stdout(&output), "1\n0 1\n2 3 4 5\n436000\n36000\n");
    let plain =
        ARM.vm(home.path(), &["--machine", "2f4s", "--", "cat", "/proc/sys/kernel/sched_energy_aware"]);
    assert!(stdout(&plain).trim().is_empty(), "{}", stdout(&plain));
}

fn runs_its_own_programs(foreign: &Foreign, test: &str) {
    if foreign.cannot(test, foreign.emulator) {
        return;
    }
    let _machine = machine();
    let home = home();
    let script = "uname -m; cat /sys/kernel/sched_ext/root/ops; hackbench -p -g 1 -l 5 >&2; \
        swtch measure --quick --method pipe --placement same-cpu --class normal --time-limit 5s --json >profile.json; exit 7";
    let options = ["--json", "--cpus", "2", "--sched", "flsched", "--fetch", "profile.json"];
    let output = foreign.vm(home.path(), &[&options[..], &["--", "sh", "-c", script]].concat());
    assert_eq!(output.status.code(), Some(7), "{}{}", stdout(&output), stderr(&output));
    let events: Vec<Value> =
        stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |stream: &str| -> String {
        let is_it = |event: &&Value| event["event"] == "output" && event["stream"] == stream;
        events.iter().filter(is_it).map(|event| event["text"].as_str().unwrap()).collect()
    };
    assert_eq!(of("stdout"), format!("{}\nflsched\n", foreign.name));
    assert!(of("stderr").contains("Time: "), "hackbench ran: {}", of("stderr"));
    let profile: Value =
        serde_json::from_slice(&fs::read(home.path().join("profile.json")).unwrap()).unwrap();
    assert_eq!(profile["clock"]["source"], foreign.clock, "{profile}");
    assert_eq!(profile["host"]["architecture"], foreign.name, "{profile}");
    let model = profile["host"]["cpu_model"].as_str().unwrap();
    assert!(model.starts_with("QEMU TCG CPU"), "it knows that its CPUs are emulated: {model}");
}

/// What says nothing about the machine it runs on. Both programs have to be of the same sources. The files that it names lie in the home of [`furnished`].
const SAME_EVERYWHERE: &str = "\
    --version
    --help
    diff before.swtch after.swtch
    diff old-1.swtch new-1.swtch --json
    measure --compare before.json --with after.json
    why shop.swtch --spans shop.spans.jsonl
    report shop.swtch -o shop.html
    report before.json -o profile.html
    export shop.swtch --to perfetto -o shop.pftrace
    export shop.swtch --to parquet -o shop.parquet
    export shop.swtch --to prometheus
    import trace.txt -o again.swtch
    simulate hackbench --groups 2 --machine 4
    simulate ping-pong --machine 2
    simulate replay shop.swtch --policies eevdf,rr
    simulate --sweep grid.toml --out again.parquet
    shares --fast 2 --slow 4 --speedups 3.5,3.4,3.2,2.9,2.6,1.5 --policy min-fair
    explain vruntime
    sched list
    sched bench --list
    completions bash
    man
    schema trace";

/// What they write; of a Trace one of its tables.
const WRITTEN: [&str; 6] = [
    "shop.html",
    "profile.html",
    "shop.pftrace",
    "shop.parquet",
    "again.swtch/switches-000001.parquet",
    "again.parquet",
];

#[test]
fn commands_print_and_write_the_same_on_arm64() {
    print_and_write_the_same(&ARM, "commands_print_and_write_the_same_on_arm64");
}

#[test]
fn commands_print_and_write_the_same_on_riscv64() {
    print_and_write_the_same(&RISCV, "commands_print_and_write_the_same_on_riscv64");
}

fn print_and_write_the_same(foreign: &Foreign, test: &str) {
    if foreign.cannot(test, foreign.user_emulator) {
        return;
    }
    if foreign.swtch().with_file_name("unoptimised").exists() {
        let why =
            "takes four minutes with a program that is built without optimisation: cargo xtask dist --arch";
        return crate::common::skip(test, &format!("{why} {} programs builds another", foreign.name));
    }
    let commands: Vec<Vec<&str>> =
        SAME_EVERYWHERE.lines().map(|line| line.split_whitespace().collect()).collect();
    let on = |program: &[PathBuf]| {
        let home = furnished();
        let ran: Vec<_> = commands
            .iter()
            .map(|words| {
                let usual = swtch(home.path());
                let mut command = Command::new(&program[0]);
                command.args(&program[1..]).current_dir(home.path());
                command.envs(usual.get_envs().filter_map(|(name, value)| Some((name, value?))));
                let output = run(command.args(words));
                let place = home.path().display().to_string();
                let text = [stdout(&output), stderr(&output)].map(|text| text.replace(&place, "HOME"));
                (output.status.code(), text)
            })
            .collect();
        (ran, WRITTEN.map(|name| fs::read(home.path().join(name)).unwrap()))
    };
    let (here, here_files) = on(&[env!("CARGO_BIN_EXE_swtch").into()]);
    let (there, there_files) = on(&[foreign.user_emulator.into(), foreign.swtch()]);
    for ((words, here), there) in commands.iter().zip(&here).zip(&there) {
        assert_eq!(here.0, Some(0), "{words:?}: {here:?}");
        assert_eq!(here, there, "{words:?}");
    }
    for (name, (here, there)) in WRITTEN.iter().zip(here_files.iter().zip(&there_files)) {
        assert!(here == there, "{name} differs");
    }
}

/// The first bytes of a program for this kind of machine.
fn elf(machine: u8) -> Vec<u8> {
    let mut head = b"\x7fELF\x02\x01\x01".to_vec();
    head.resize(64, 0);
    head[16] = 2;
    head[18] = machine;
    head
}

#[test]
fn what_is_missing_for_another_architecture_is_named_before_anything_is_fetched() {
    let home = home();
    let place = |name: &str, machine: u8| {
        let folder = home.path().join(name);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("swtch"), elf(machine)).unwrap();
        folder
    };
    let (x86_64, arm) = (place("x86", 62), place("arm", 183));
    let empty = home.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let told = |programs: &Path, arguments: &[&str], status: i32, words: &[&str]| {
        let mut command = swtch(home.path());
        command.env("SWTCH_GUEST_PROGRAMS", programs).env("PATH", &empty).args(["vm"]).args(arguments);
        let output = run(&mut command);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {said}");
        assert!(words.iter().all(|word| said.contains(word)), "{arguments:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{arguments:?}: {said}");
    };
    let foreign = if cfg!(target_arch = "x86_64") { "arm64" } else { "x86_64" };
    let (ours, theirs) = if foreign == "arm64" { (&x86_64, &arm) } else { (&arm, &x86_64) };
    let options = ["--arch", foreign, "--", "true"];
    told(&empty, &options, 1, &["no swtch for", "SWTCH_GUEST_PROGRAMS", "linux.tar.gz"]);
    told(ours, &options, 1, &["ELF machine", "SWTCH_GUEST_PROGRAMS"]);
    told(theirs, &options, 1, &["QEMU is not installed", "apt-get install qemu-system-"]);
    told(theirs, &["--arch", foreign, "--package", "Stress", "--", "true"], 2, &["'Stress' is not the name"]);
    told(
        theirs,
        &["--package", "dash", "--", "true"],
        2,
        &["--package is for guests of another architecture"],
    );
    told(theirs, &["--arch", "vax", "--", "true"], 2, &["x86_64", "arm64"]);
}
