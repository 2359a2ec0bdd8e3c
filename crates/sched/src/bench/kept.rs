//! The directory of results: a file for each scheduler, written again after each of its boots.

use super::load::file_of;
use super::{BenchJob, Column, Load};
use crate::compare::Policy;
use crate::error::SchedError;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// Of everything that decides a column, but the guest's kernel. More boots may be added to those that are there.
pub(super) fn identity(job: &BenchJob, policy: &Policy) -> Result<String, SchedError> {
    let mut hasher = DefaultHasher::new();
    (job.runs, job.seed, job.spec.cpus, job.spec.memory_mib).hash(&mut hasher);
    (policy.to_string(), &job.spec.kernel).hash(&mut hasher);
    serde_json::to_string(&job.loads).unwrap_or_default().hash(&mut hasher);
    let found = policy.prepare(&job.search_path)?.found;
    let others = found.into_iter().flat_map(|found| std::iter::once(found.path).chain(found.file));
    let programs = job.loads.iter().flat_map(Load::programs);
    let programs = programs.filter_map(file_of).filter(|path| path.is_file());
    for path in std::iter::once(job.program.clone()).chain(others).chain(programs) {
        let reading = format!("reading {}", path.display());
        fs::read(&path).map_err(SchedError::system(reading))?.hash(&mut hasher);
    }
    Ok(format!("{:016x}", hasher.finish()))
}

fn place(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{}.json", name.replace([' ', '/'], "_")))
}

/// What the directory has of this column, or an empty one.
pub(super) fn kept(job: &BenchJob, name: &str, policy: &Policy) -> Result<Column, SchedError> {
    let identity = identity(job, policy)?;
    let empty = Column { scheduler: name.to_owned(), identity, ..Column::default() };
    let Some(path) = job.folder.as_ref().map(|folder| place(folder, name)).filter(|path| path.exists())
    else {
        return Ok(empty);
    };
    let other = |why: String| SchedError::OtherResults { path: path.clone(), why };
    let bytes = fs::read(&path).map_err(|error| other(error.to_string()))?;
    let column: Column = serde_json::from_slice(&bytes).map_err(|error| other(error.to_string()))?;
    if column.identity != empty.identity {
        return Err(other("it is of other programs, loads, runs, another seed or another guest".to_owned()));
    }
    Ok(column)
}

/// Written beside its place first: what is there is whole, even after a kill.
pub(super) fn keep(job: &BenchJob, column: &Column) -> Result<(), SchedError> {
    let Some(folder) = &job.folder else { return Ok(()) };
    let path = place(folder, &column.scheduler);
    let failed = || SchedError::system(format!("writing {}", path.display()));
    fs::create_dir_all(folder).map_err(failed())?;
    let text = serde_json::to_string_pretty(column).map_err(|error| failed()(error.into()))?;
    let beside = path.with_extension("part");
    fs::write(&beside, text + "\n").map_err(failed())?;
    fs::rename(&beside, &path).map_err(failed())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{Boot, LoadRuns, Run, Runs, Shard, loads};
    use crate::find::SearchPath;
    use std::ffi::OsStr;
    use swtch_vm::Spec;

    #[test]
    fn boots_are_found_again_unless_something_else_ran() {
        let folder = tempfile::tempdir().unwrap();
        let program = std::env::current_exe().unwrap();
        let search_path = SearchPath::new(&program, OsStr::new(""));
        let job = BenchJob {
            loads: loads()[..1].to_vec(),
            policies: Vec::new(),
            boots: 2,
            runs: Runs::from(1),
            record: true,
            seed: 0,
            at_a_time: 1,
            folder: Some(folder.path().to_owned()),
            shard: Shard::WHOLE,
            spec: Spec::new(vec!["swtch".into()]),
            program,
            search_path,
        };
        let mut column = kept(&job, "stock again", &Policy::Stock).unwrap();
        assert!(column.boots.is_empty());
        let run = Run { seconds: 0.25, voluntary: 3, involuntary: 1, metrics: vec![0.125] };
        let load = job.loads[0].name.clone();
        let runs = vec![LoadRuns { load, runs: vec![run], failed: None, recorded: None }];
        column.boots.push(Boot { number: 1, inputs: "c0ffee".to_owned(), loads: runs });
        keep(&job, &column).unwrap();
        assert_eq!(kept(&job, "stock again", &Policy::Stock).unwrap(), column);
        // More boots go on in the same directory; other runs, seeds and loads do not.
        assert!(kept(&BenchJob { boots: 9, ..job.clone() }, "stock again", &Policy::Stock).is_ok());
        let others = [
            BenchJob { runs: Runs::from(2), ..job.clone() },
            BenchJob { seed: 1, ..job.clone() },
            BenchJob { loads: loads()[1..2].to_vec(), ..job.clone() },
        ];
        for other in others {
            let error = kept(&other, "stock again", &Policy::Stock).unwrap_err().to_string();
            assert!(
                error.contains("stock_again.json") && error.contains("give another directory"),
                "{error}"
            );
        }
    }
}
