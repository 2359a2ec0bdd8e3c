use super::*;
use crate::tests::profile;
use std::os::unix::fs::symlink;

fn written(folder: &Path) -> (Profile, PathBuf) {
    let mut profile = profile();
    let path = folder.join("machine.json");
    write(&mut profile, &[Sample::default()], &path).unwrap();
    (profile, path)
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn what_is_written_is_read_back_with_its_samples_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let (profile, path) = written(folder.path());
    assert_eq!(read(&path).unwrap(), profile);
    assert_eq!(profile.samples.as_deref(), Some("machine.samples.parquet"));
    assert_eq!(names(folder.path()), ["machine.json", "machine.samples.parquet"]);
}

#[test]
fn bad_files_are_told_apart() {
    let path = Path::new("some.json");
    let text = |error: FileError| error.to_string();
    assert!(text(parse(b"", path).unwrap_err()).starts_with("some.json is not a Profile: EOF"));
    assert!(text(parse(b"\x00\xff", path).unwrap_err()).contains("not a Profile"));
    assert!(text(parse(b"[]", path).unwrap_err()).contains("schema 'none'"));
    assert!(text(parse(b"{\"schema\":\"other/1\"}", path).unwrap_err()).contains("schema 'other/1'"));
    let newer = text(parse(b"{\"schema\":\"swtch/profile/9\"}", path).unwrap_err());
    assert!(newer.contains("another version of swtch"), "{newer}");
    let damaged = text(parse(b"{\"schema\":\"swtch/profile/2\"}", path).unwrap_err());
    assert!(damaged.contains("missing field") && damaged.contains("line 1"), "{damaged}");
    assert!(text(read(Path::new("/nowhere/at/all")).unwrap_err()).contains("cannot read /nowhere/at/all"));
}

/// `fixtures/profiles/vm-later.json` is of version 1, where `undisturbed` was `low`.
#[test]
fn a_profile_of_the_version_before_is_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/profiles/vm-later.json");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains("\"swtch/profile/1\"") && text.contains("\"low\":"));
    let found = read(&path).unwrap();
    assert_eq!(found.schema, SCHEMA);
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let low = document["direct"][0]["switch_cost_ns"]["low"].as_f64();
    assert_eq!(Some(found.direct[0].switch_cost_ns.undisturbed), low);
}

#[test]
fn a_profile_with_an_impossible_figure_is_refused_by_its_name() {
    let mut profile = profile();
    profile.direct[0].switch_cost_ns.ci_low = 2000.0;
    let text = serde_json::to_vec(&profile).unwrap();
    let error = parse(&text, Path::new("some.json")).unwrap_err().to_string();
    let reason = "switch_cost_ns ci_low: 2000 is more than median, 1000";
    assert_eq!(
        error,
        format!("some.json is refused: direct pipe thread same-cpu normal {reason}; measure again")
    );
}

#[test]
fn every_message_is_one_line() {
    for contents in [&b""[..], b"[]", b"{\"schema\":\"swtch/profile/2\"}"] {
        let message = parse(contents, Path::new("some.json")).unwrap_err().to_string();
        assert!(!message.contains('\n'), "{message}");
    }
}

/// A full disk: the device that is always full takes no byte.
#[test]
fn a_failed_write_leaves_the_old_file_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let (profile, path) = written(folder.path());
    let before = names(folder.path());
    let error = replace(&path, |file| {
        file.write_all(b"half a pro")?;
        Err(io::Error::from_raw_os_error(28))
    })
    .unwrap_err();
    assert!(error.to_string().contains("No space left on device"), "{error}");
    assert_eq!(names(folder.path()), before);
    assert_eq!(read(&path).unwrap(), profile);
}

#[test]
fn a_link_stays_a_link_and_a_device_a_device() {
    let folder = tempfile::tempdir().unwrap();
    let (mut profile, path) = written(folder.path());
    let link = folder.path().join("link.json");
    symlink(&path, &link).unwrap();
    profile.provenance.order_seed = 99;
    write(&mut profile, &[], &link).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(read(&path).unwrap().provenance.order_seed, 99);
    // A link stands for a device here, so that a mistake cannot replace the real one.
    let full = folder.path().join("full");
    symlink("/dev/full", &full).unwrap();
    let rows = write(&mut profile, &[Sample::default()], &full).unwrap_err();
    let table = write_table(&mut profile, Some(b"PAR1"), &full).unwrap_err();
    for error in [rows, table] {
        assert!(error.to_string().contains("No space left on device"), "{error}");
    }
    assert!(!folder.path().join("full.samples.parquet").exists());
}

#[test]
fn a_place_that_cannot_be_written_is_known_before_measuring() {
    let folder = tempfile::tempdir().unwrap();
    assert!(check_writable(&folder.path().join("new.json")).is_ok());
    assert!(check_writable(folder.path()).unwrap_err().to_string().contains("cannot write"));
    assert!(check_writable(Path::new("/nowhere/at/all.json")).is_err());
    assert!(names(folder.path()).is_empty());
    let dangling = folder.path().join("dangling");
    symlink("/nowhere", &dangling).unwrap();
    assert!(check_writable(&dangling.join("x.json")).is_err());
}

proptest::proptest! {
    #[test]
    fn no_contents_make_it_panic(contents: Vec<u8>) {
        let _ = parse(&contents, Path::new("some.json"));
    }
}
