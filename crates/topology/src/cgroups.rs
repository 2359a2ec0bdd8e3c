//! The cgroups of this process, versions 1 and 2: the tightest limit of its own group and all groups above it.
//!
//! In a container the groups above the mounted one cannot be seen; a limit there is not known here.

use std::path::{Component, Path, PathBuf};

use crate::files::Files;
use crate::host::CpuQuota;

/// Version 1 writes "no limit" as the largest number of whole pages, which depends on the page size; nothing real is that large.
const V1_NO_MEMORY_LIMIT: u64 = 1 << 62;

/// What the cgroups allow.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Cgroups {
    /// Versions that are mounted, ascending.
    pub(crate) versions: Vec<u32>,
    pub(crate) cpu_quota: Option<CpuQuota>,
    pub(crate) memory_limit_bytes: Option<u64>,
    /// The least that any group leaves of its memory limit, in bytes.
    pub(crate) memory_room_bytes: Option<u64>,
}

/// Reads the limits of the calling process.
pub(crate) fn read(files: &Files) -> Cgroups {
    let mounts = parse_mounts(&files.text("proc/self/mountinfo").unwrap_or_default());
    let memberships = parse_memberships(&files.text("proc/self/cgroup").unwrap_or_default());
    let mut versions: Vec<u32> = mounts.iter().map(|mount| mount.version).collect();
    versions.sort_unstable();
    versions.dedup();
    let mut found = Cgroups { versions, ..Cgroups::default() };
    for mount in &mounts {
        for directory in memberships
            .iter()
            .filter(|group| mount.holds(group))
            .flat_map(|group| directories(files, mount, group))
        {
            if mount.controls("cpu") {
                found.cpu_quota = tightest(found.cpu_quota.take(), quota(files, &directory, mount.version));
            }
            if mount.controls("memory") {
                let (limit, room) = memory(files, &directory, mount.version);
                found.memory_limit_bytes = least(found.memory_limit_bytes, limit);
                found.memory_room_bytes = least(found.memory_room_bytes, room);
            }
        }
    }
    found
}

/// A cgroup in the hierarchy that divides CPU time.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuGroup {
    /// Where it is mounted, e.g. `/sys/fs/cgroup/app.slice`.
    pub directory: PathBuf,
    /// Version of the cgroups, 1 or 2.
    pub version: u32,
    /// Its quota, where it has one.
    pub quota: Option<CpuQuota>,
}

/// The cgroup of the calling process that divides CPU time, and those above it, up to the one that is mounted. Empty where no hierarchy has the
/// cpu controller.
///
/// ```
/// use std::path::Path;
///
/// let groups = swtch_topology::cpu_groups(Path::new("../../fixtures/machines/container-v1-quota"));
/// assert_eq!((groups.len(), groups[0].version), (1, 1));
/// assert!(groups[0].quota.is_some());
/// ```
pub fn cpu_groups(root: &Path) -> Vec<CpuGroup> {
    let files = &Files::under(root);
    let mounts = parse_mounts(&files.text("proc/self/mountinfo").unwrap_or_default());
    let memberships = parse_memberships(&files.text("proc/self/cgroup").unwrap_or_default());
    let divides = |mount: &&Mount| match mount.version {
        1 => mount.controls("cpu"),
        _ => files
            .text(&format!("{}/cgroup.controllers", mount.point))
            .is_some_and(|controllers| controllers.split_whitespace().any(|name| name == "cpu")),
    };
    let Some(mount) = mounts.iter().filter(divides).min_by_key(|mount| mount.version) else {
        return Vec::new();
    };
    let Some(group) = memberships.iter().find(|group| mount.holds(group)) else { return Vec::new() };
    let version = mount.version;
    let found = directories(files, mount, group).into_iter();
    found
        .map(|directory| CpuGroup {
            quota: quota(files, &directory, version),
            directory: files.locate(&directory),
            version,
        })
        .collect()
}

/// A mounted hierarchy.
#[derive(Debug, PartialEq)]
struct Mount {
    version: u32,
    /// Which group of the hierarchy is mounted: not `/` in a container.
    root: String,
    /// Where it is mounted.
    point: String,
    /// Mount options, controllers among them (version 1).
    options: Vec<String>,
}

impl Mount {
    fn controls(&self, controller: &str) -> bool {
        self.version == 2 || self.options.iter().any(|option| option == controller)
    }

    fn holds(&self, group: &Membership) -> bool {
        match self.version {
            2 => group.controllers.is_empty(),
            _ => {
                !group.controllers.is_empty()
                    && group.controllers.iter().all(|name| self.options.contains(name))
            }
        }
    }
}

/// This process's group in one hierarchy.
#[derive(Debug, PartialEq)]
struct Membership {
    /// Empty for version 2.
    controllers: Vec<String>,
    path: String,
}

/// `/proc/self/mountinfo`: `32 31 0:29 ROOT POINT rw,relatime - cgroup cgroup rw,cpu,cpuacct`, with any number of fields before
/// the hyphen (proc_pid_mountinfo(5)).
fn parse_mounts(text: &str) -> Vec<Mount> {
    text.lines().filter_map(parse_mount).collect()
}

fn parse_mount(line: &str) -> Option<Mount> {
    let (place, system) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(3);
    let (root, point) = (unescape(place.next()?), unescape(place.next()?));
    let mut system = system.split(' ');
    let version = match system.next()? {
        "cgroup" => 1,
        "cgroup2" => 2,
        _ => return None,
    };
    let options = system.nth(1).unwrap_or_default().split(',').map(str::to_owned).collect();
    Some(Mount { version, root, point, options })
}

/// Blanks and backslashes are written in octal: `\040`.
fn unescape(text: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .iter()
        .fold(text.to_owned(), |text, (escape, plain)| text.replace(escape, plain))
}

/// `/proc/self/cgroup`: `4:cpu,cpuacct:/path` of version 1, `0::/path` of version 2. A path may contain colons.
fn parse_memberships(text: &str) -> Vec<Membership> {
    text.lines()
        .filter_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            let controllers =
                parts.next()?.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
            Some(Membership { controllers, path: parts.next()?.to_owned() })
        })
        .collect()
}

/// The directories of the group and of those above it up to the mount, its own first.
///
/// The path in `/proc/self/cgroup` starts at the root of the hierarchy (or of the namespace), the mount at `mount.root`. Where the
/// two do not fit, as in a container that sees its path on the host, the mounted group is the container's own.
fn directories(files: &Files, mount: &Mount, group: &Membership) -> Vec<String> {
    let below = Path::new(&group.path).strip_prefix(&mount.root).unwrap_or(Path::new(""));
    let names: Vec<&str> = below
        .components()
        .filter(|part| *part != Component::RootDir)
        .filter_map(|part| part.as_os_str().to_str())
        .collect();
    let outside = names.contains(&"..");
    let deepest = if outside { 0 } else { names.len() };
    (0..=deepest)
        .rev()
        .map(|depth| {
            let point = mount.point.trim_end_matches('/');
            names[..depth].iter().fold(point.to_owned(), |directory, name| format!("{directory}/{name}"))
        })
        .filter(|directory| files.exists(directory))
        .collect()
}

fn quota(files: &Files, directory: &str, version: u32) -> Option<CpuQuota> {
    let (quota_us, period_us) = if version == 2 {
        parse_cpu_max(&files.text(&format!("{directory}/cpu.max"))?)?
    } else {
        // -1, no quota, does not parse as a number without sign.
        (
            files.number(&format!("{directory}/cpu.cfs_quota_us"))?,
            files.number(&format!("{directory}/cpu.cfs_period_us"))?,
        )
    };
    let sensible = quota_us > 0 && period_us > 0;
    sensible.then(|| CpuQuota { quota_us, period_us, cgroup_version: version, path: directory.to_owned() })
}

/// `max 100000` means without a quota, `10000 100000` a tenth of a CPU.
fn parse_cpu_max(text: &str) -> Option<(u64, u64)> {
    let (quota, period) = text.split_once(' ')?;
    Some((quota.parse().ok()?, period.trim().parse().ok()?))
}

fn tightest(one: Option<CpuQuota>, other: Option<CpuQuota>) -> Option<CpuQuota> {
    let (Some(a), Some(b)) = (&one, &other) else { return one.or(other) };
    // Compared as fractions: periods differ from group to group.
    let tighter =
        u128::from(b.quota_us) * u128::from(a.period_us) < u128::from(a.quota_us) * u128::from(b.period_us);
    if tighter { other } else { one }
}

/// The limit of a group, and what it leaves. Pages of files that were not used lately count as free, since the kernel takes them
/// back before it kills. This is the working set that Kubernetes reckons with.
fn memory(files: &Files, directory: &str, version: u32) -> (Option<u64>, Option<u64>) {
    let (limit, usage, reclaimable) = match version {
        2 => ("memory.max", "memory.current", "inactive_file"),
        _ => ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    };
    let number = |name: &str| files.number::<u64>(&format!("{directory}/{name}"));
    let Some(limit) = number(limit).filter(|bytes| *bytes < V1_NO_MEMORY_LIMIT) else { return (None, None) };
    let stat = files.text(&format!("{directory}/memory.stat")).unwrap_or_default();
    let reclaimable =
        stat.lines().find_map(|line| line.strip_prefix(reclaimable)?.trim().parse::<u64>().ok()).unwrap_or(0);
    let room = number(usage).map(|used| limit.saturating_sub(used.saturating_sub(reclaimable)));
    (Some(limit), room)
}

/// The less of two limits, as far as there are any.
pub(crate) fn least(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    [one, other].into_iter().flatten().min()
}

#[cfg(test)]
#[path = "cgroups_tests.rs"]
mod tests;
