//! Plans: the same again, another, changed inputs.

use super::*;

pub(crate) const GRID: &str = "machines = [2, \"2f4s\"]\npolicies = [\"eevdf\", \"rr\"]\nseeds = [1, 2, 3]\n\
    workloads = [\"spin:tasks=4,work_ns=1ms\", \"sub/own.toml\"]\n";
const OWN: &str = "[[task]]\nname = \"a\"\nprogram = \"loop 20 { compute 100us; sleep 50us }\"\n";

/// A directory with a sweep in `grid.toml`.
pub(crate) fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();
    fs::write(folder.path().join("sub/own.toml"), OWN).unwrap();
    fs::write(folder.path().join("grid.toml"), GRID).unwrap();
    folder
}

/// Plans that sweep into `name`, a shard for each run.
pub(crate) fn planned(folder: &Path, name: &str) -> Result<Planned, Error> {
    planned_with(folder, name, 1e-9, DEFAULT_LEASE)
}

pub(crate) fn planned_with(
    folder: &Path,
    name: &str,
    shard_s: f64,
    lease: Duration,
) -> Result<Planned, Error> {
    let request = PlanRequest {
        grid: &folder.join("grid.toml"),
        directory: &folder.join(name),
        profile: None,
        shard_s: Some(shard_s),
        lease,
        trials: None,
    };
    plan(&request, &AtomicBool::new(false))
}

#[test]
fn a_plan_is_made_once_and_another_sweep_does_not_take_its_place() {
    let folder = folder();
    let first = planned(folder.path(), "d").unwrap();
    assert!(!first.was_there && first.manifest.runs == 24 && first.manifest.shards.len() == 24);
    let again = planned(folder.path(), "d").unwrap();
    assert!(again.was_there && again.manifest == first.manifest);
    // The copy counts: a file that changed later does no harm.
    fs::write(folder.path().join("sub/own.toml"), OWN.replace("20", "21")).unwrap();
    first.manifest.prepare(&folder.path().join("d")).unwrap();
    let problem = planned(folder.path(), "d").unwrap_err();
    assert!(
        problem.is_wrong_usage() && problem.to_string().contains("the plan of another sweep"),
        "{problem}"
    );
    assert!(!planned(folder.path(), "e").unwrap().was_there);
}

#[test]
fn inputs_or_a_version_that_changed_are_refused_with_their_name() {
    let folder = folder();
    let directory = folder.path().join("d");
    let manifest = planned(folder.path(), "d").unwrap().manifest;
    let copy = directory.join(manifest.grid.parent().unwrap()).join("sub/own.toml");
    fs::write(&copy, OWN.replace("20", "21")).unwrap();
    let problem = manifest.prepare(&directory).unwrap_err().to_string();
    assert!(problem.starts_with("sub/own.toml has changed since"), "{problem}");
    let mut other = manifest;
    other.version = "0.0.9".to_owned();
    let problem = other.prepare(&directory).unwrap_err().to_string();
    assert!(problem.contains("planned by swtch 0.0.9, and this is"), "{problem}");
}

#[test]
fn a_sweep_that_names_files_elsewhere_stays_where_it_is() {
    let folder = folder();
    let inner = folder.path().join("inner");
    fs::create_dir(&inner).unwrap();
    fs::write(inner.join("grid.toml"), GRID.replace("sub/own.toml", "../sub/own.toml")).unwrap();
    let manifest = planned(&inner, "d").unwrap().manifest;
    assert_eq!(manifest.grid, fs::canonicalize(inner.join("grid.toml")).unwrap());
    manifest.prepare(&inner.join("d")).unwrap();
}

#[test]
fn what_cannot_be_swept_by_many_is_refused_and_nothing_is_planned() {
    let folder = folder();
    for (from, to, expected) in [
        ("[2, ", "[\"host\", ", "another one for every worker"),
        ("work_ns", "wibble", "unknown field `wibble`"),
        ("\"rr\"", "\"rrr\"", "there is no policy \"rrr\""),
    ] {
        fs::write(folder.path().join("grid.toml"), GRID.replace(from, to)).unwrap();
        let problem = planned(folder.path(), "d").unwrap_err();
        assert!(problem.is_wrong_usage() && problem.to_string().contains(expected), "{problem}");
        assert!(!folder.path().join("d").join(FILE).exists());
    }
}

#[test]
fn two_clients_that_plan_at_once_have_one_plan_or_one_refusal() {
    let folder = folder();
    let plans: Vec<Planned> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| planned(folder.path(), "d").unwrap())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let read = Manifest::read(&folder.path().join("d")).unwrap().unwrap();
    assert!(plans.iter().all(|one| one.manifest == read || !one.was_there));
    assert_eq!(plans.iter().filter(|one| !one.was_there).count(), 1);
    assert!(plans.iter().all(|one| one.manifest == read));
    let left: Vec<_> =
        fs::read_dir(folder.path().join("d")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with('.')), "{left:?}");
}
