//! apt with source lists, package lists and caches of its own: nothing of the host's changes, and packages may be for another kind of
//! machine.

use crate::arch::Arch;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// Debian's keys, under the names of different releases.
const KEYRINGS: [&str; 2] =
    ["/usr/share/keyrings/debian-archive-keyring.pgp", "/usr/share/keyrings/debian-archive-keyring.gpg"];

/// apt in a directory of its own, which goes with it. Where something fails, the error is why.
pub(crate) struct Apt {
    folder: TempDir,
    options: Vec<OsString>,
    /// What the update of the package lists complained about.
    complaint: Option<String>,
}

impl Apt {
    /// With the lists of these suites for this kind of machine, and its directory in `cache`.
    pub(crate) fn new(cache: &Path, suites: &[&str], arch: Arch) -> Result<Self, String> {
        let why = |error| format!("cannot prepare apt's directories in {}: {error}", cache.display());
        fs::create_dir_all(cache).map_err(why)?;
        let folder = tempfile::tempdir_in(cache).map_err(why)?;
        for inside in ["lists/partial", "cache/archives/partial", "empty"] {
            fs::create_dir_all(folder.path().join(inside)).map_err(why)?;
        }
        let keyring = KEYRINGS.into_iter().find(|path| Path::new(path).is_file());
        let sources = sources(&mirror()?, keyring, suites);
        fs::write(folder.path().join("sources.list"), sources).map_err(why)?;
        let options = options(folder.path(), arch.facts().debian);
        let mut apt = Self { folder, options, complaint: None };
        apt.complaint = last_line(&apt.run("apt-get", &["update", "-qq"])?);
        Ok(apt)
    }

    /// Its directory.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Why the package lists may be empty.
    pub(crate) fn why_nothing_is_listed(&self) -> String {
        self.complaint.clone().unwrap_or_else(|| "its package lists name none".to_owned())
    }

    pub(crate) fn run(&self, program: &str, arguments: &[&str]) -> Result<Output, String> {
        let mut command = Command::new(program);
        command.args(&self.options).args(arguments).current_dir(self.folder());
        output(&mut command, program)
    }

    /// These packages and all that they depend on, by their names.
    pub(crate) fn with_dependencies(&self, packages: &[String]) -> Result<Vec<String>, String> {
        let mut arguments = vec!["install", "--print-uris", "-qq", "-y", "--no-install-recommends"];
        arguments.extend(packages.iter().map(String::as_str));
        let listed = self.run("apt-get", &arguments)?;
        if !listed.status.success() {
            let why = last_line(&listed).or_else(|| self.complaint.clone());
            return Err(why.unwrap_or_else(|| "apt gave no reason".to_owned()));
        }
        Ok(names_of(&String::from_utf8_lossy(&listed.stdout)))
    }

    /// Downloads packages; their archives.
    pub(crate) fn download(&self, packages: &[&str]) -> Result<Vec<PathBuf>, String> {
        let downloaded = self.run("apt-get", &[&["download", "-qq"], packages].concat())?;
        let archives = fs::read_dir(self.folder()).into_iter().flatten().flatten().map(|entry| entry.path());
        // NAME_VERSION_ARCHITECTURE.deb
        let is_wanted = |path: &PathBuf| {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            path.extension().is_some_and(|ending| ending == "deb")
                && name.split('_').next().is_some_and(|name| packages.contains(&name))
        };
        let archives: Vec<PathBuf> = archives.filter(is_wanted).collect();
        if archives.len() < packages.len() {
            let why = last_line(&downloaded).unwrap_or_else(|| "apt gave no reason".to_owned());
            return Err(format!("{}: {why}", packages.join(", ")));
        }
        Ok(archives)
    }
}

/// Unpacks an archive into a directory.
pub(crate) fn unpack(archive: &Path, folder: &Path) -> Result<(), String> {
    let mut unpack = Command::new("dpkg-deb");
    unpack.arg("-x").args([archive, folder]);
    let unpacked = output(&mut unpack, "dpkg-deb")?;
    if unpacked.status.success() {
        return Ok(());
    }
    let why = last_line(&unpacked).unwrap_or_else(|| "dpkg-deb gave no reason".to_owned());
    Err(format!("{}: {why}", archive.display()))
}

fn options(folder: &Path, architecture: &str) -> Vec<OsString> {
    let place = |name: &str| folder.join(name).display().to_string();
    let options = [
        format!("APT::Architecture={architecture}"),
        format!("APT::Architectures={architecture}"),
        format!("Dir::Etc::sourcelist={}", place("sources.list")),
        format!("Dir::Etc::sourceparts={}", place("empty")),
        format!("Dir::Etc::preferencesparts={}", place("empty")),
        "Dir::Etc::preferences=/dev/null".to_owned(),
        format!("Dir::State::Lists={}", place("lists")),
        "Dir::State::status=/dev/null".to_owned(),
        format!("Dir::Cache={}", place("cache")),
        "Acquire::Languages=none".to_owned(),
        "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false".to_owned(),
        "Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled=false".to_owned(),
        // A user's cache may be closed to others, apt's own user among them.
        "APT::Sandbox::User=root".to_owned(),
        // Nothing is installed, so the system's own lock need not be held.
        "Debug::NoLocking=true".to_owned(),
    ];
    options.into_iter().flat_map(|option| ["-o".into(), OsString::from(option)]).collect()
}

fn output(command: &mut Command, program: &str) -> Result<Output, String> {
    let why =
        |error| format!("{program} cannot be run ({error}): only Debian's tools fetch Debian's packages");
    command.stdin(Stdio::null()).output().map_err(why)
}

/// The last thing a program complained about.
fn last_line(output: &Output) -> Option<String> {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    text.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}

/// The packages that `--print-uris` lists: the second word of a line is the archive's name.
fn names_of(listed: &str) -> Vec<String> {
    let archive = |line: &str| line.split_whitespace().nth(1).map(str::to_owned);
    let name = |archive: String| Some(archive.strip_suffix(".deb")?.split('_').next()?.to_owned());
    listed.lines().filter_map(archive).filter_map(name).collect()
}

/// The mirror of Debian's main archive that this system uses.
fn mirror() -> Result<String, String> {
    let mut command = Command::new("apt-get");
    command.args(["indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]);
    let listed = output(&mut command, "apt-get")?;
    let found = mirror_of(&String::from_utf8_lossy(&listed.stdout));
    found.ok_or_else(|| "this system's apt names no mirror of Debian's archive".to_owned())
}

/// The first repository whose directory is `debian`: the name that every mirror gives it.
fn mirror_of(listed: &str) -> Option<String> {
    let mut repositories = listed.lines().map(|line| line.trim().trim_end_matches('/'));
    repositories.find(|line| line.ends_with("/debian")).map(str::to_owned)
}

fn sources(mirror: &str, keyring: Option<&str>, suites: &[&str]) -> String {
    let options = keyring.map(|path| format!("[signed-by={path}] ")).unwrap_or_default();
    suites.iter().fold(String::new(), |text, suite| text + &format!("deb {options}{mirror} {suite} main\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mirror_is_the_hosts_own() {
        let listed =
            "http://security.example/debian-security/\nhttp://mirror.example/debian/\nhttp://x/debian\n";
        assert_eq!(mirror_of(listed).as_deref(), Some("http://mirror.example/debian"));
        assert_eq!(mirror_of("http://archive.example/ubuntu/\n"), None);
    }

    #[test]
    fn sources_are_signed_where_there_are_keys() {
        assert_eq!(
            sources("http://m/debian", Some("/keys"), &["trixie-backports", "sid"]),
            "deb [signed-by=/keys] http://m/debian trixie-backports main\ndeb [signed-by=/keys] http://m/debian sid main\n"
        );
        assert!(sources("http://m/debian", None, &["sid"]).starts_with("deb http://m/debian "));
    }

    #[test]
    fn packages_are_listed_by_their_names() {
        let listed = "'http://m/debian/pool/main/a/attr/libattr1_2.5.2-3_arm64.deb' libattr1_1%3a2.5.2-3_arm64.deb 22664 MD5Sum:8\n\
            'http://m/debian/pool/main/d/dash/dash_0.5.12-12_arm64.deb' dash_0.5.12-12_arm64.deb 95648 MD5Sum:f\nWarning: x\n";
        assert_eq!(names_of(listed), ["libattr1", "dash"]);
    }
}
