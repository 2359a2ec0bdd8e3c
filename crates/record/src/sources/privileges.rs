//! What this process may do, and which advice would change that.

/// Capabilities (include/uapi/linux/capability.h, v6.18).
const SYS_ADMIN: u32 = 21;
const PERFMON: u32 = 38;
const BPF: u32 = 39;

/// What `/proc/self/status` says of this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Privileges {
    /// Capabilities that it has.
    effective: u64,
    /// Capabilities that it, or what it starts, can ever have.
    bounding: u64,
    root: bool,
}

impl Privileges {
    pub(crate) fn read() -> Self {
        Self::parse(&std::fs::read_to_string("/proc/self/status").unwrap_or_default())
    }

    fn parse(status: &str) -> Self {
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let set = |name: &str| field(name).and_then(|hex| u64::from_str_radix(hex, 16).ok()).unwrap_or(0);
        // Real, effective, saved, of the file system.
        let effective_user = field("Uid:").and_then(|ids| ids.split_whitespace().nth(1));
        Self { effective: set("CapEff:"), bounding: set("CapBnd:"), root: effective_user == Some("0") }
    }

    /// Programs in the kernel take both, or the one that has all.
    pub(crate) fn may_use_bpf(self) -> bool {
        suffices(self.effective, &[BPF, PERFMON])
    }

    /// Whether perf events are not limited by `kernel.perf_event_paranoid`.
    pub(crate) fn may_use_perf(self) -> bool {
        suffices(self.effective, &[PERFMON])
    }

    /// What would permit programs in the kernel: never what would change nothing.
    pub(crate) fn for_bpf(self) -> &'static str {
        if self.may_use_bpf() {
            "CAP_BPF and CAP_PERFMON are there, so a sandbox forbids it: permit bpf in its seccomp filter, or lift the kernel's lockdown"
        } else if !suffices(self.bounding, &[BPF, PERFMON]) {
            "start the container or service with CAP_BPF and CAP_PERFMON, as with --cap-add BPF --cap-add PERFMON"
        } else if self.root {
            "allow it: setcap cap_bpf,cap_perfmon+ep \"$(command -v swtch)\""
        } else {
            "allow it: setcap cap_bpf,cap_perfmon+ep \"$(command -v swtch)\", or run as root"
        }
    }

    /// What would permit perf events that `kernel.perf_event_paranoid` above `most` forbids; nothing where it does not.
    pub(crate) fn for_perf(self, most: i64) -> String {
        if self.may_use_perf() {
            "CAP_PERFMON is there, so a sandbox (seccomp, a security module) forbids perf_event_open"
                .to_owned()
        } else if !suffices(self.bounding, &[PERFMON]) {
            "start the container or service with CAP_PERFMON, as with --cap-add PERFMON".to_owned()
        } else {
            format!(
                "allow it: setcap cap_perfmon+ep \"$(command -v swtch)\", or for everybody: sysctl kernel.perf_event_paranoid={most}"
            )
        }
    }
}

fn suffices(set: u64, all: &[u32]) -> bool {
    let has = |capability: &u32| set >> capability & 1 == 1;
    has(&SYS_ADMIN) || all.iter().all(has)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn privileges(user: u32, effective: u64, bounding: u64) -> Privileges {
        let text = format!(
            "Name:\tx\nUid:\t{user}\t{user}\t{user}\t{user}\nCapEff:\t{effective:016x}\nCapBnd:\t{bounding:016x}\n"
        );
        Privileges::parse(&text)
    }

    const ALL: u64 = (1 << 41) - 1;
    const BOTH: u64 = 1 << BPF | 1 << PERFMON;
    /// What a container of Docker has (CAP_SYS_ADMIN, CAP_BPF and CAP_PERFMON are not among them).
    const CONTAINER: u64 = 0xa804_25fb;

    #[test]
    fn capabilities_permit_and_not_a_users_name() {
        assert!(privileges(0, ALL, ALL).may_use_bpf() && privileges(1000, BOTH, ALL).may_use_bpf());
        assert!(
            !privileges(0, CONTAINER, CONTAINER).may_use_bpf() && !privileges(1, 1 << BPF, ALL).may_use_bpf()
        );
        assert_eq!(Privileges::parse(""), Privileges::default());
    }

    #[test]
    fn no_advice_would_change_nothing() {
        let user = privileges(1000, 0, ALL);
        assert!(user.for_bpf().contains("setcap") && user.for_bpf().contains("run as root"));
        assert!(user.for_perf(0).contains("setcap") && user.for_perf(0).contains("perf_event_paranoid=0"));
        // In a container, root is not another user. Neither root nor a file's capabilities exceed what was given to the container.
        for user in [0, 1000] {
            let inside = privileges(user, CONTAINER & if user == 0 { ALL } else { 0 }, CONTAINER);
            for advice in [inside.for_bpf().to_owned(), inside.for_perf(0)] {
                assert!(advice.contains("--cap-add"), "{advice}");
                for vain in ["root", "setcap", "paranoid"] {
                    assert!(!advice.contains(vain), "{advice}");
                }
            }
        }
        for advice in [privileges(0, ALL, ALL).for_bpf().to_owned(), privileges(0, ALL, ALL).for_perf(0)] {
            assert!(
                advice.contains("sandbox") && !advice.contains("root") && !advice.contains("paranoid="),
                "{advice}"
            );
        }
    }
}
