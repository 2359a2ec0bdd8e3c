//! As little as a container gives: no privilege, one CPU, a tenth of its time, no perf events. It runs, and says what it could
//! not do.

use crate::common::{home, is_root, last_cpu, run, skip, stderr};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A cgroup that goes away with the test, whatever happens.
struct Group(PathBuf);

impl Group {
    /// A group under `hierarchy` (version 1, or the mount of version 2) with `settings` written into it.
    fn new(hierarchy: &str, settings: &[(&str, &str)]) -> Option<Self> {
        let path = Path::new(hierarchy).join(format!("swtch-test-{}", std::process::id()));
        fs::create_dir(&path).ok()?;
        let group = Self(path);
        let written = settings.iter().all(|(file, value)| fs::write(group.0.join(file), value).is_ok());
        (written && group.members().exists()).then_some(group)
    }

    fn members(&self) -> PathBuf {
        self.0.join("cgroup.procs")
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The kernel may still be letting go of the last task: EBUSY goes away.
        for _ in 0..100 {
            if fs::remove_dir(&self.0).is_ok() || !self.0.exists() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        eprintln!("the cgroup {} could not be removed", self.0.display());
    }
}

/// A shell command that enters the groups and then becomes the program without privilege.
fn confined(groups: &[&Group], arguments: &[&str], home: &Path) -> Command {
    let enter: String = groups
        .iter()
        .fold(String::new(), |text, group| format!("{text}echo $$ > {} && ", group.members().display()));
    let script = format!(
        "{enter} exec setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all \
         --inh-caps=-all \"$0\" \"$@\""
    );
    let mut command = Command::new("sh");
    command
        .args(["-c", &script, env!("CARGO_BIN_EXE_swtch")])
        .args(arguments)
        .env("XDG_STATE_HOME", home)
        .current_dir("/")
        .stdin(Stdio::null());
    command
}

fn what(profile: &Value) -> Vec<String> {
    profile["unavailable"].as_array().unwrap().iter().map(|row| row["what"].to_string()).collect()
}

#[test]
fn without_privilege_on_one_processor_at_a_tenth_of_its_time() {
    const TEST: &str = "without_privilege_on_one_processor_at_a_tenth_of_its_time";
    if !is_root() {
        return skip(TEST, "only root can make cgroups");
    }
    let cpu = last_cpu();
    let mut groups = Vec::new();
    let quota = [("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "10000")];
    groups.extend(Group::new("/sys/fs/cgroup/cpu", &quota));
    let set = [("cpuset.cpus", cpu.as_str()), ("cpuset.mems", "0")];
    groups.extend(Group::new("/sys/fs/cgroup/cpuset", &set));
    if groups.len() < 2 {
        return skip(TEST, "no writable cgroups of version 1 for cpu and cpuset here");
    }
    let home = home();
    let groups: Vec<&Group> = groups.iter().collect();
    let output = run(&mut confined(&groups, &["measure", "--quick", "--json", "--no-save"], home.path()));
    assert!(output.status.success(), "{}", stderr(&output));
    let profile: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(!profile["direct"].as_array().unwrap().is_empty());
    let missing = what(&profile);
    for expected in ["class fifo", "placement shared-l3"] {
        assert!(missing.iter().any(|row| row.contains(expected)), "{expected} is not in {missing:?}");
    }
    let limits = &profile["host"]["limits"];
    assert_eq!(limits["cpu_quota"]["quota_us"], 10_000);
    assert_eq!(limits["allowed_cpus"].as_array().unwrap().len(), 1);
    assert!(profile["noise"]["throttled_ns"].as_u64().unwrap() > 0, "{}", profile["noise"]);
    // The median of short batches hides the throttling; the mean of the same batches must not.
    let hidden = profile["direct"].as_array().unwrap().iter().any(|row| {
        row["switch_cost_ns"]["mean"].as_f64() > row["switch_cost_ns"]["median"].as_f64().map(|m| 2.0 * m)
    });
    assert!(hidden, "no mean shows that nine tenths of the time were taken away");

    let output = run(&mut confined(&groups, &["doctor", "--json"], home.path()));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let state = |name: &str| {
        let rows = document["capabilities"].as_array().unwrap();
        rows.iter().find(|row| row["name"] == name).unwrap()["state"].clone()
    };
    assert_eq!((state("processors"), state("cpu-limit")), ("limited".into(), "limited".into()));
    assert_eq!(state("realtime-class"), "missing");
}

/// Gives itself a seccomp filter that refuses the calls named first, and becomes the program named after `--`.
const REFUSING: &str = "\
import ctypes, os, struct, sys
end = sys.argv.index('--')
refused = [int(number) for number in sys.argv[1:end]]
code = struct.pack('HBBI', 0x20, 0, 0, 0)
for number in refused:
    code += struct.pack('HBBI', 0x15, 0, 1, number) + struct.pack('HBBI', 0x06, 0, 0, 0x50001)
code += struct.pack('HBBI', 0x06, 0, 0, 0x7fff0000)
class Filter(ctypes.Structure):
    _fields_ = [('length', ctypes.c_ushort), ('code', ctypes.c_char_p)]
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(Filter(len(code) // 8, code)), 0, 0) == 0
os.execv(sys.argv[end + 1], sys.argv[end + 1:])
";

/// A container with the capabilities, whose seccomp filter refuses bpf and `perf_event_open` all the same, as podman's does without
/// `CAP_SYS_ADMIN`.
#[test]
fn where_a_filter_refuses_what_capabilities_permit_the_counters_of_procfs_are_read() {
    const TEST: &str = "where_a_filter_refuses_what_capabilities_permit_the_counters_of_procfs_are_read";
    if !is_root() {
        return skip(TEST, "only root has the capabilities");
    }
    // bpf and perf_event_open (include/uapi/asm-generic/unistd.h, and the table of x86-64; v6.18).
    let refused = if cfg!(target_arch = "x86_64") { ["321", "298"] } else { ["280", "241"] };
    let home = home();
    let mut command = Command::new("python3");
    command.args(["-c", REFUSING]).args(refused).args(["--", env!("CARGO_BIN_EXE_swtch")]);
    command.args(["record", "--json=summary.json", "--", "sleep", "0.1"]);
    let output = run(command.env("XDG_STATE_HOME", home.path()).current_dir(home.path()));
    assert!(output.status.success(), "{}", stderr(&output));
    let summary = fs::read_to_string(home.path().join("summary.json")).unwrap();
    let summary: Value = serde_json::from_str(&summary).unwrap();
    assert_eq!(summary["source"], "procfs", "{}", summary["why"]);
    assert!(summary["why"].as_str().unwrap().contains("seccomp filter"), "{}", summary["why"]);
}

/// `perf_event_paranoid` 3, as a namespace shows it: nothing of `measure` rests on perf events.
#[test]
fn with_perf_events_forbidden() {
    const TEST: &str = "with_perf_events_forbidden";
    if !is_root() {
        return skip(TEST, "only root can cover a file of /proc");
    }
    let home = home();
    let three = home.path().join("three");
    fs::write(&three, "3\n").unwrap();
    let script = "mount --bind \"$1\" /proc/sys/kernel/perf_event_paranoid && exec setpriv --reuid=65534 \
         --regid=65534 --clear-groups \"$2\" measure --quick --method pipe --sizes 4K --time-limit 2s --json";
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", script, "sh"])
        .arg(&three)
        .arg(env!("CARGO_BIN_EXE_swtch"))
        .current_dir("/")
        .output()
        .unwrap();
    if stderr(&output).contains("mount:") || stderr(&output).contains("unshare:") {
        return skip(TEST, "no file of /proc can be covered here");
    }
    assert!(output.status.success(), "{}", stderr(&output));
    let profile: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(profile["host"]["limits"]["perf_event_paranoid"], 3);
    assert!(what(&profile).iter().any(|row| row.contains("class fifo")), "{:?}", what(&profile));
}
