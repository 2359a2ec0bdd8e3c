//! Versions of a scheduler: names that are known here or in Cargo's registry, files, or commits of a git repository that are built one after the other.

use crate::bench::BenchJob;
use crate::compare::Policy;
use crate::error::SchedError;
use crate::file::make_program;
use crate::find::{PREFIX, SearchPath, name_of_file, versioned};
use crate::get::get;
use crate::process::in_words;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where the versions come from.
#[derive(Clone, Debug)]
pub enum Versions {
    /// Schedulers as they are named elsewhere, the oldest first; `NAME@VERSION` is installed where it is not there.
    Named(Vec<String>),
    /// Commits.
    Repository(RepositoryVersions),
}

/// Commits of a git repository.
#[derive(Clone, Debug)]
pub struct RepositoryVersions {
    /// Its directory.
    pub folder: PathBuf,
    /// A commit that is good.
    pub good: String,
    /// A later one that is bad.
    pub bad: String,
    /// The shell's command that builds the scheduler, run in the commit's files; nothing where it is a file.
    pub build: Option<String>,
    /// What it builds, below the same directory: a program, `FILE.bpf.c` or `FILE.o`.
    pub program: PathBuf,
}

/// A version that can be run.
pub(super) struct Ready {
    pub(super) policy: Policy,
    pub(super) search_path: SearchPath,
    /// Holds its program while it is needed.
    pub(super) _work: Option<tempfile::TempDir>,
}

impl Versions {
    /// Their names, the good one first and the bad one last.
    pub(super) fn names(&self) -> Result<Vec<String>, SchedError> {
        match self {
            Self::Named(names) => Ok(names.clone()),
            Self::Repository(repository) => repository.commits(),
        }
    }

    /// Builds one, where it has to be built.
    pub(super) fn ready(&self, version: &str, job: &BenchJob) -> Result<Ready, SchedError> {
        match self {
            Self::Named(_) => {
                let name = version.split_whitespace().next().unwrap_or_default();
                if name_of_file(name).is_none() && name.contains('@') && job.search_path.find(name).is_err() {
                    get(&[name.to_owned()])?;
                }
                let policy = parse(version);
                policy.prepare(&job.search_path)?;
                Ok(Ready { policy, search_path: job.search_path.clone(), _work: None })
            }
            Self::Repository(repository) => repository.ready(version, job),
        }
    }
}

fn parse(text: &str) -> Policy {
    match text.parse() {
        Ok(policy) => policy,
        Err(never) => match never {},
    }
}

impl RepositoryVersions {
    fn git(&self, arguments: &[&str]) -> Result<String, SchedError> {
        let output = Command::new("git")
            .arg("-C")
            .arg(&self.folder)
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .map_err(SchedError::system("starting git"))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', " | ");
        Err(SchedError::Wish(format!("git {}: {said}", arguments.first().unwrap_or(&""))))
    }

    /// The good commit, then those that follow it on the way to the bad one, by the first parents.
    fn commits(&self) -> Result<Vec<String>, SchedError> {
        let short = |revision: &str| {
            self.git(&["rev-parse", "--short=12", "--verify", &format!("{revision}^{{commit}}")])
        };
        let good = short(&self.good)?;
        let bad = short(&self.bad)?;
        let range = format!("{good}..{bad}");
        let listed =
            self.git(&["log", "--first-parent", "--reverse", "--abbrev=12", "--format=%h", &range])?;
        let after: Vec<String> = listed.lines().map(str::to_owned).collect();
        if after.is_empty() {
            return Err(SchedError::Wish(format!(
                "{} has no commit that {} lacks; give the good one first",
                self.bad, self.good
            )));
        }
        Ok(std::iter::once(good).chain(after).collect())
    }

    /// Lays the files of a commit out, builds, and keeps the scheduler.
    fn ready(&self, commit: &str, job: &BenchJob) -> Result<Ready, SchedError> {
        let work = tempfile::tempdir().map_err(SchedError::system("making a directory to build in"))?;
        let tree = work.path().join("tree");
        let tree_word = tree.display().to_string();
        self.git(&["worktree", "add", "--detach", "--force", &tree_word, commit])?;
        let built = self.build(commit, &tree, work.path(), &job.search_path);
        // The files that a file's scheduler includes are beside it: its program is made before they go.
        let removed = self.git(&["worktree", "remove", "--force", &tree_word]);
        let name = built?;
        removed?;
        let search_path = job.search_path.clone().after(work.path().to_owned());
        Ok(Ready { policy: parse(&name), search_path, _work: Some(work) })
    }

    /// The name of the scheduler that a commit's files make, whose program is in `folder` then.
    fn build(
        &self,
        commit: &str,
        tree: &Path,
        folder: &Path,
        search_path: &SearchPath,
    ) -> Result<String, SchedError> {
        let not_made = |how: String| SchedError::NotMade { name: commit.to_owned(), how };
        if let Some(build) = &self.build {
            let status = Command::new("sh")
                .args(["-c", build])
                .current_dir(tree)
                .stdin(Stdio::null())
                .stdout(Stdio::from(std::io::stderr()))
                .status()
                .map_err(SchedError::system("starting sh"))?;
            if !status.success() {
                return Err(not_made(in_words(status)));
            }
        }
        let program = tree.join(&self.program);
        let file_name = self.program.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let bare = name_of_file(file_name).unwrap_or(file_name.strip_prefix(PREFIX).unwrap_or(file_name));
        let name = format!("{bare}@{commit}");
        let place = folder.join(versioned(bare, commit));
        if name_of_file(file_name).is_some() {
            make_program(&search_path.find(&program.display().to_string())?, &place)?;
        } else {
            fs::copy(&program, &place)
                .map_err(|error| not_made(format!("made no {}: {error}", self.program.display())))?;
        }
        Ok(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn git(folder: &Path, arguments: &[&str]) {
        let done = Command::new("git")
            .current_dir(folder)
            .args(["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false"])
            .args(arguments)
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    #[test]
    fn commits_are_built_in_their_own_files_and_nothing_stays() {
        let folder = tempfile::tempdir().unwrap();
        git(folder.path(), &["init", "-q", "-b", "main"]);
        for version in 1..=3 {
            fs::write(folder.path().join("version"), version.to_string()).unwrap();
            git(folder.path(), &["add", "version"]);
            git(folder.path(), &["commit", "-q", "-m", "one more", "--no-verify"]);
        }
        let versions = RepositoryVersions {
            folder: folder.path().to_owned(),
            good: "HEAD~2".to_owned(),
            bad: "main".to_owned(),
            build: Some("[ $(cat version) != 2 ] && cp version scx_x".to_owned()),
            program: "scx_x".into(),
        };
        let commits = versions.commits().unwrap();
        assert_eq!(commits.len(), 3);
        let tree = |commit: &str| {
            let work = tempfile::tempdir().unwrap();
            let tree = work.path().join("tree").display().to_string();
            versions.git(&["worktree", "add", "--detach", "--force", &tree, commit]).unwrap();
            let built = versions.build(
                commit,
                Path::new(&tree),
                work.path(),
                &SearchPath::new(Path::new("/x"), "".as_ref()),
            );
            versions.git(&["worktree", "remove", "--force", &tree]).unwrap();
            built.map(|name| fs::read_to_string(work.path().join(format!("scx_{name}"))).unwrap())
        };
        assert_eq!(
            (tree(&commits[0]).unwrap(), tree(&commits[2]).unwrap()),
            ("1".to_owned(), "3".to_owned())
        );
        assert!(matches!(tree(&commits[1]), Err(SchedError::NotMade { .. })));
        assert_eq!(versions.git(&["worktree", "list"]).unwrap().lines().count(), 1);
        let turned = RepositoryVersions { good: "main".to_owned(), bad: "HEAD~2".to_owned(), ..versions };
        assert!(turned.commits().unwrap_err().to_string().contains("the good one first"));
    }
}
