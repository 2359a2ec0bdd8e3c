use super::*;
use proptest::prelude::*;
use std::fs;

fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    root
}

fn read_tree(files: &[(&str, &str)]) -> Cgroups {
    read(&Files::under(tree(files).path()))
}

const V2: (&str, &str) = (
    "proc/self/mountinfo",
    "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n",
);

#[test]
fn the_tightest_group_above_wins_whatever_its_period() {
    let found = read_tree(&[
        V2,
        ("proc/self/cgroup", "0::/a.slice/b.service\n"),
        ("sys/fs/cgroup/a.slice/cpu.max", "10000 20000\n"),
        ("sys/fs/cgroup/a.slice/memory.max", "1000000\n"),
        ("sys/fs/cgroup/a.slice/memory.current", "900000\n"),
        ("sys/fs/cgroup/a.slice/memory.stat", "anon 5\ninactive_file 400000\nactive_file 3\n"),
        ("sys/fs/cgroup/a.slice/b.service/cpu.max", "90000 100000\n"),
        ("sys/fs/cgroup/a.slice/b.service/memory.max", "max\n"),
    ]);
    let quota = found.cpu_quota.unwrap();
    assert_eq!((quota.quota_us, quota.period_us, quota.cgroup_version), (10_000, 20_000, 2));
    assert_eq!(quota.path, "/sys/fs/cgroup/a.slice");
    assert_eq!((found.memory_limit_bytes, found.memory_room_bytes), (Some(1_000_000), Some(500_000)));
}

#[test]
fn no_limit_in_either_version() {
    let found = read_tree(&[
        (
            "proc/self/mountinfo",
            "1 0 0:1 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
             2 0 0:2 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
             3 0 0:3 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
        ),
        ("proc/self/cgroup", "2:cpu,cpuacct:/\n1:memory:/\n0::/\n"),
        ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n"),
        ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
        ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ("sys/fs/cgroup/unified/cpu.max", "max 100000\n"),
    ]);
    assert_eq!(found, Cgroups { versions: vec![1, 2], ..Cgroups::default() });
}

#[test]
fn a_container_finds_its_group_below_the_mounts_root() {
    let found = read_tree(&[
        ("proc/self/mountinfo", "1 0 0:1 /docker/abc /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpuacct,cpu\n"),
        ("proc/self/cgroup", "2:cpu,cpuacct:/docker/abc/inner\n"),
        ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "5000\n"),
        ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "50000\n"),
        ("sys/fs/cgroup/cpu/inner/cpu.cfs_quota_us", "20000\n"),
        ("sys/fs/cgroup/cpu/inner/cpu.cfs_period_us", "50000\n"),
    ]);
    assert_eq!(
        found.cpu_quota.map(|quota| (quota.quota_us, quota.path)),
        Some((5000, "/sys/fs/cgroup/cpu".into()))
    );
}

#[test]
fn the_groups_that_divide_cpu_time_are_those_of_the_cpu_controller() {
    let own = ("proc/self/cgroup", "4:cpu:/\n0::/a.slice/b.service\n");
    let groups = [
        own,
        ("sys/fs/cgroup/cgroup.controllers", "cpuset memory\n"),
        ("sys/fs/cgroup/a.slice/cpu.max", "10000 20000\n"),
        ("sys/fs/cgroup/a.slice/b.service/cpu.max", "max 100000\n"),
    ];
    let of = |files: &[(&str, &str)]| {
        let root = tree(files);
        let found = cpu_groups(root.path()).into_iter();
        let path = |group: &CpuGroup| group.directory.strip_prefix(root.path()).unwrap().to_owned();
        found.map(|group| (path(&group), group.version, group.quota.map(|quota| quota.quota_us))).collect()
    };
    let nothing: Vec<(PathBuf, u32, Option<u64>)> = of(&[&groups[..], &[V2]].concat());
    assert_eq!(nothing, [], "version 2 without the controller");
    let with_controller = ("sys/fs/cgroup/cgroup.controllers", "cpuset cpu\n");
    let second = of(&[&groups[..], &[V2, with_controller]].concat());
    let expected = [
        ("sys/fs/cgroup/a.slice/b.service".into(), 2, None),
        ("sys/fs/cgroup/a.slice".into(), 2, Some(10_000)),
        ("sys/fs/cgroup".into(), 2, None),
    ];
    assert_eq!(second, expected);
    let both = format!("1 0 0:1 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n{}", V2.1);
    let first = of(&[
        own,
        ("proc/self/mountinfo", &both),
        ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"),
        with_controller,
    ]);
    assert_eq!(first, [("sys/fs/cgroup/cpu".into(), 1, None)]);
}

#[test]
fn a_path_of_another_namespace_means_the_mounted_group() {
    for path in ["0::/system.slice/docker-abc.scope", "0::/../../other", "0::/"] {
        let found = read_tree(&[V2, ("proc/self/cgroup", path), ("sys/fs/cgroup/cpu.max", "50000 100000\n")]);
        assert!(found.cpu_quota.is_some(), "{path}");
    }
}

#[test]
fn malformed_limits_are_absent() {
    for text in ["", "max", "10000", "x 100000", "10000 0", "0 100000", "-5 100000"] {
        let found = read_tree(&[V2, ("proc/self/cgroup", "0::/"), ("sys/fs/cgroup/cpu.max", text)]);
        assert_eq!(found.cpu_quota, None, "{text}");
    }
}

#[test]
fn escaped_blanks_and_colons_in_paths() {
    let mounts = parse_mounts("1 0 0:1 / /my\\040groups rw - cgroup2 none rw\n");
    assert_eq!(mounts[0].point, "/my groups");
    assert_eq!(parse_memberships("0::/a:b\n")[0].path, "/a:b");
}

proptest! {
    #[test]
    fn never_panics(mountinfo in "(?s).{0,200}", cgroup in "(?s).{0,100}", cpu_max in "(?s).{0,20}") {
        let mounts = parse_mounts(&mountinfo);
        let groups = parse_memberships(&cgroup);
        let root = tree(&[]);
        for mount in &mounts {
            for group in &groups {
                directories(&Files::under(root.path()), mount, group);
            }
        }
        let _ = parse_cpu_max(&cpu_max);
    }
}
