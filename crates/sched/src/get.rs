//! Schedulers of others, from Cargo's registry: built on this machine into the cache, each as `scx_NAME@VERSION`.
//!
//! They are under the GPL, and run as processes of their own: none of their code is linked in.

use crate::error::SchedError;
use crate::find::{PREFIX, by_version, versioned};
use crate::process::in_words;
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use swtch_vm::program_on_path;

/// One that is in the cache now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Gotten {
    /// Without `scx_`.
    pub name: String,
    /// Of the crate.
    pub version: String,
    /// Its program.
    pub path: PathBuf,
    /// Whether it was there before.
    pub was_there: bool,
}

/// Where such schedulers are kept: `$XDG_CACHE_HOME/swtch/schedulers`.
pub fn cache_of_schedulers() -> Option<PathBuf> {
    Some(swtch_vm::cache_folder()?.join("schedulers"))
}

/// A scheduler by name, and its version where one is asked for: `lavd`, `lavd@1.0.20`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Asked {
    name: String,
    version: Option<String>,
}

fn asked(text: &str) -> Result<Asked, SchedError> {
    let (name, version) = text.split_once('@').map_or((text, None), |(name, version)| (name, Some(version)));
    let name = name.strip_prefix(PREFIX).unwrap_or(name);
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let is_version = |letter: char| letter.is_ascii_alphanumeric() || ".-+".contains(letter);
    let fits = !name.is_empty() && name.chars().all(is_name);
    if !fits || version.is_some_and(|version| version.is_empty() || !version.chars().all(is_version)) {
        return Err(SchedError::Wish(format!(
            "'{text}' is not a scheduler's name; give NAME or NAME@VERSION, as in lavd@1.1.4"
        )));
    }
    Ok(Asked { name: name.to_owned(), version: version.map(str::to_owned) })
}

/// Builds schedulers of Cargo's registry into the cache, one after the other, where they are not there yet. Cargo's own messages pass to standard error.
///
/// # Errors
/// When a name is none, cargo or clang is not there, or a scheduler cannot be built.
pub fn get(names: &[String]) -> Result<Vec<Gotten>, SchedError> {
    let asked = names.iter().map(|name| asked(name)).collect::<Result<Vec<_>, _>>()?;
    let cache = cache_of_schedulers().ok_or_else(|| SchedError::NotGotten {
        name: names.join(", "),
        why: "neither XDG_CACHE_HOME nor HOME says where to keep it".to_owned(),
    })?;
    let builder = Builder::new(&cache)?;
    asked.iter().map(|one| builder.get(one)).collect()
}

/// Cargo, and directories that go afterwards. What several schedulers need is compiled once.
struct Builder<'a> {
    cache: &'a Path,
    cargo: PathBuf,
    work: tempfile::TempDir,
}

impl<'a> Builder<'a> {
    fn new(cache: &'a Path) -> Result<Self, SchedError> {
        let none = |why: &str| SchedError::NotGotten { name: "a scheduler".to_owned(), why: why.to_owned() };
        let cargo = program_on_path("cargo").ok_or_else(|| {
            none("it is built with cargo, which is not on PATH; install Rust (https://rustup.rs)")
        })?;
        fs::create_dir_all(cache).map_err(SchedError::system(format!("making {}", cache.display())))?;
        let work = tempfile::tempdir().map_err(SchedError::system("making a directory to build in"))?;
        Ok(Self { cache, cargo, work })
    }

    fn get(&self, asked: &Asked) -> Result<Gotten, SchedError> {
        let name = asked.name.clone();
        let version = asked.version.clone().map_or_else(|| self.newest(&name), Ok)?;
        let path = self.cache.join(versioned(&name, &version));
        if path.is_file() {
            return Ok(Gotten { name, version, path, was_there: true });
        }
        let package = format!("{PREFIX}{name}");
        let built = self.build(&package, &["--version", &format!("={version}"), &package])?;
        keep(&built, &path)?;
        Ok(Gotten { name, version, path, was_there: false })
    }

    /// The newest version in the registry.
    fn newest(&self, name: &str) -> Result<String, SchedError> {
        let package = format!("{PREFIX}{name}");
        // Not in the directory of a workspace, whose own versions it would tell.
        let asked = Command::new(&self.cargo)
            .args(["info", "--color", "never", &package])
            .current_dir(self.work.path())
            .stdin(Stdio::null())
            .output()
            .map_err(SchedError::system("starting cargo"))?;
        version_in(&String::from_utf8_lossy(&asked.stdout)).ok_or_else(|| {
            let said = String::from_utf8_lossy(&asked.stderr).into_owned();
            let last =
                said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("cargo said nothing");
            let last = last.trim().trim_start_matches("error: ").to_owned();
            SchedError::NotGotten {
                name: package,
                why: format!("Cargo's registry has no version of it: {last}"),
            }
        })
    }

    /// Has cargo install a package; returns its program.
    fn build(&self, package: &str, arguments: &[&str]) -> Result<PathBuf, SchedError> {
        let root = self.work.path().join("root");
        let mut command = Command::new(&self.cargo);
        command.args(["install", "--locked", "--force", "--root"]).arg(&root);
        command.arg("--target-dir").arg(self.work.path().join("target")).args(arguments);
        command.current_dir(self.work.path()).stdin(Stdio::null()).stdout(Stdio::null());
        if std::env::var_os("BPF_CLANG").is_none()
            && let Some(clang) = CLANGS.iter().find(|name| program_on_path(name).is_some())
        {
            command.env("BPF_CLANG", clang);
        }
        let status = command.status().map_err(SchedError::system("starting cargo"))?;
        let built = root.join("bin").join(package);
        if status.success() && built.is_file() {
            return Ok(built);
        }
        let how = if status.success() { "made no such program".to_owned() } else { in_words(status) };
        let why = format!(
            "cargo {how}, and says why above; it needs clang 18 or later, libelf and zlib (their -dev packages)"
        );
        Err(SchedError::NotGotten { name: package.to_owned(), why })
    }
}

/// Compilers for the kernel's programs: the newest first, as versions before 18 do not do.
const CLANGS: [&str; 6] = ["clang-22", "clang-21", "clang-20", "clang-19", "clang-18", "clang"];

/// The program appears in the cache whole or not at all.
fn keep(built: &Path, place: &Path) -> Result<(), SchedError> {
    let failed = || SchedError::system(format!("keeping {}", place.display()));
    let mut part = place.as_os_str().to_owned();
    part.push(".part");
    // A copy is executable as its original is.
    fs::copy(built, &part).map_err(failed())?;
    fs::rename(&part, place).map_err(failed())
}

/// `version: 1.1.4`, or `version: 1.1.3 (latest 1.1.4)`.
fn version_in(info: &str) -> Option<String> {
    let line = info.lines().find_map(|line| line.strip_prefix("version: "))?;
    let numbers = |text: &&str| text.starts_with(|letter: char| letter.is_ascii_digit());
    let found = line.split([' ', '(', ')']).filter(numbers);
    found.max_by(|one, other| by_version(one, other)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_versions_are_what_the_registry_takes() {
        let of = |text: &str| asked(text).map(|asked| (asked.name, asked.version));
        assert_eq!(of("scx_lavd@1.0.20").unwrap(), ("lavd".to_owned(), Some("1.0.20".to_owned())));
        assert_eq!(of("lavd").unwrap(), ("lavd".to_owned(), None));
        for bad in ["", "scx_", "../lavd", "lavd@", "lavd@1 2", "-x", "a b"] {
            assert!(of(bad).unwrap_err().to_string().contains("lavd@1.1.4"), "{bad}");
        }
    }

    #[test]
    fn the_newest_version_is_read_from_what_cargo_prints() {
        assert_eq!(version_in("scx_x\nabout\nversion: 1.1.4\nlicense: GPL").as_deref(), Some("1.1.4"));
        assert_eq!(version_in("version: 1.1.3 (latest 1.1.10)\n").as_deref(), Some("1.1.10"));
        assert_eq!(version_in("error: could not find"), None);
    }

    #[test]
    fn a_program_is_kept_whole_and_can_run() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let built = folder.path().join("scx_x");
        fs::write(&built, "a program").unwrap();
        fs::set_permissions(&built, fs::Permissions::from_mode(0o755)).unwrap();
        let place = folder.path().join(versioned("x", "1.0.0"));
        keep(&built, &place).unwrap();
        assert_eq!(fs::read_to_string(&place).unwrap(), "a program");
        assert_eq!(place.metadata().unwrap().permissions().mode() & 0o111, 0o111);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
