use super::*;
use crate::tables::CgroupRow;
use proptest::prelude::*;

const ID: &str = "1f3a6c5b0e9d4f2a8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2f1a0b9c8d7e6f5a";
const OTHER_ID: &str = "77770000111122223333444455556666777788889999aaaabbbbccccddddeeee";
const POD_ID: &str = "aaaabbbbccccddddeeeeffff0000111122223333444455556666777788889999";
const UID: &str = "3f1c9a52-7b1e-4c8e-9d55-0a4b8f6f2c11";
const OTHER_UID: &str = "00000000-1111-2222-3333-444444444444";
const HASH: &str = "0123456789abcdef0123456789abcdef";

/// The kubelet's log directories of a machine with two pods, and what else may be there.
fn kubelet() -> (tempfile::TempDir, PodNames) {
    let root = tempfile::tempdir().unwrap();
    let logs = root.path().join("var/log");
    for pod in [
        format!("shop_web-7d9f_{UID}"),
        format!("kube-system_etcd-node1_{HASH}"),
        // Two names for one pod: neither is used.
        format!("a_b_{}", OTHER_UID.replace('0', "9")),
        format!("c_d_{}", OTHER_UID.replace('0', "9")),
        "lost+found".to_owned(),
        format!("_web_{OTHER_UID}"),
    ] {
        fs::create_dir_all(logs.join("pods").join(pod).join("app")).unwrap();
    }
    fs::create_dir_all(logs.join("containers")).unwrap();
    for log in [format!("web-7d9f_shop_app-{ID}.log"), "web_shop_app-12.log".to_owned(), "x".to_owned()] {
        fs::write(logs.join("containers").join(log), "").unwrap();
    }
    let names = PodNames::read(root.path());
    (root, names)
}

/// A line of the table with its IDs.
fn filled(text: &str) -> String {
    let short = |id: &str| id[..ID_DIGITS].to_owned();
    let words = [
        ("OTHERID12", short(OTHER_ID)),
        ("OTHERID", OTHER_ID.to_owned()),
        ("ID12", short(ID)),
        ("POD12", short(POD_ID)),
        ("OTHER_", OTHER_UID.replace('-', "_")),
        ("OTHER", OTHER_UID.to_owned()),
        ("UID_", UID.replace('-', "_")),
        ("UID", UID.to_owned()),
        ("HASH", HASH.to_owned()),
        ("POD", POD_ID.to_owned()),
        ("ID", ID.to_owned()),
    ];
    words.iter().fold(text.to_owned(), |text, (word, value)| text.replace(word, value))
}

#[test]
fn every_shape_of_the_table_has_its_name() {
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/cgroups/names.tsv");
    let table = fs::read_to_string(table).unwrap();
    let (_root, pods) = kubelet();
    let mut shapes = 0;
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let [path, kind, name] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let found = pods.name(&filled(path));
        assert_eq!((found.kind.name(), found.name.as_str()), (kind, filled(name).as_str()), "{line}");
        shapes += 1;
    }
    assert!(shapes > 80, "{shapes}");
}

#[test]
fn the_parts_of_a_name_are_columns() {
    let (_root, pods) = kubelet();
    let path = filled("/kubepods.slice/kubepods-podUID_.slice/cri-containerd-ID.scope");
    let text = |text: &str| Some(text.to_owned());
    let expected = CgroupName {
        kind: CgroupKind::Container,
        name: "pod shop/web-7d9f: app".to_owned(),
        namespace: text("shop"),
        pod: text("web-7d9f"),
        container: text("app"),
        id: text(ID),
    };
    assert_eq!(pods.name(&path), expected);
    // What runs in the container belongs to the pod.
    let inner = pods.name(&format!("{path}/system.slice/a.service"));
    assert_eq!((inner.name.as_str(), inner.namespace), ("a.service in pod shop/web-7d9f: app", text("shop")));
    let alone = PodNames::default().name(&path);
    assert_eq!(alone.name, filled("pod UID: containerd ID12"));
    assert_eq!((alone.namespace, alone.pod, alone.container), (None, None, None));
    assert_eq!(pods.name(&filled("/kubepods/podUID")).id, text(UID));
    // Of one UID with two names, neither is right.
    let twice = OTHER_UID.replace('0', "9");
    assert_eq!(pods.name(&format!("/kubepods/pod{twice}")).name, format!("pod {twice}"));
    assert_eq!(PodNames::read(Path::new("/nonexistent")), PodNames::default());
}

#[test]
fn a_row_without_a_name_has_that_of_its_path() {
    let mut row = CgroupRow { path: filled("/docker/ID"), ..CgroupRow::default() };
    assert_eq!(row.shown_name(), filled("docker ID12"));
    row.name = Some("web".to_owned());
    assert_eq!(row.shown_name(), "web");
}

/// Words that a name may have besides what the path and the kubelet say.
const WORDS: [&str; 17] = [
    "containerd",
    "cri-o",
    "docker",
    "nerdctl",
    "podman",
    "lxc",
    "pod",
    "user",
    "session",
    "monitor",
    "job",
    "jobs",
    "step",
    "task",
    "of",
    "in",
    "",
];

fn any_path() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "kubepods",
        "burstable",
        "podUID",
        "podOTHER",
        "ID",
        "OTHERID",
        "docker",
        "docker-ID.scope",
        "libpod_parent",
        "libpod-ID",
        "kubepods.slice",
        "kubepods-podUID_.slice",
        "cri-containerd-ID.scope",
        "crio-conmon-OTHERID.scope",
        "system.slice",
        "user.slice",
        "user-1000.slice",
        "user@1000.service",
        "session-3.scope",
        "a.service",
        "slurm",
        "uid_7",
        "job_42",
        "step_0",
        "user",
        "task_1",
        "slurmstepd.scope",
        "lxc",
        "lxc.payload.web",
        "container",
        "ns",
        "machine-libpod_pod_POD.slice",
        "kubelet",
        "..",
        "",
        "system.slice:docker:ID",
    ]);
    let part = prop_oneof![4 => known.prop_map(filled), 1 => "\\PC{0,20}", 1 => "[a-z0-9_.@:-]{1,40}"];
    prop_oneof![
        prop::collection::vec(part, 0..9).prop_map(|parts| format!("/{}", parts.join("/"))),
        "\\PC{0,60}"
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// No path is refused, and a name consists of what the path and the kubelet say.
    #[test]
    fn a_name_has_nothing_that_is_not_in_the_path_or_in_the_directories(path in any_path(), with_kubelet in any::<bool>()) {
        let mut pods = PodNames::default();
        if with_kubelet {
            pods.pods.insert(UID.to_owned(), Some(("shop".to_owned(), "web-7d9f".to_owned())));
            pods.containers.insert(ID.to_owned(), "app".to_owned());
        }
        let found = pods.name(&path);
        // The UID has dashes in the kubelet's directories and underscores in slices.
        let has = |part: &str| path.contains(part) || path.replace('_', "-").contains(part);
        let from_kubelet = |part: &str| {
            with_kubelet && (["shop", "web-7d9f", "shop/web-7d9f"].contains(&part) && has(UID) || part == "app" && has(ID))
        };
        if found.kind == CgroupKind::Unknown {
            prop_assert_eq!(&found.name, &path);
        }
        let parts = found.name.split(' ').flat_map(|word| word.split_inclusive('/'));
        let known = |part: &str| WORDS.contains(&part) || has(part) || from_kubelet(part.trim_end_matches('/'));
        for part in parts {
            // Behind a pod and its container, the rest of the path follows a colon and a slash.
            let bare = part.trim_end_matches('/').trim_end_matches(':');
            prop_assert!(known(part) || known(bare), "{part:?} of {:?} from {path:?}", found.name);
        }
        if let Some(id) = &found.id {
            prop_assert!(has(id), "{id} from {path:?}");
        }
        for part in [&found.namespace, &found.pod, &found.container].into_iter().flatten() {
            prop_assert!(from_kubelet(part), "{part} from {path:?}");
        }
    }
}
