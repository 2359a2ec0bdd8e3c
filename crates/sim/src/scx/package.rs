//! What belongs to a scheduler's source as it lies in its repository or in Cargo's cache: header directories, and the other sources of its object.

use std::path::{Path, PathBuf};

/// Above the source, how far its repository is looked for.
const MOST_LEVELS: usize = 7;

/// A source and what belongs to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Package {
    /// In the order in which they are looked through.
    pub(super) include_folders: Vec<PathBuf>,
    /// Compiled apart and linked to it, as its build does.
    pub(super) others: Vec<PathBuf>,
}

impl Package {
    /// Of the source at this path.
    pub(super) fn of(source: &Path) -> Self {
        let source = source.canonicalize().unwrap_or_else(|_| source.to_owned());
        let mut found = Self::default();
        for folder in source.ancestors().skip(1).take(MOST_LEVELS) {
            // The sched_ext project's repository, and the kernel's tools/sched_ext.
            found.take(folder.join("scheds/include"));
            if folder.join("lib/arena.bpf.c").exists() {
                found.take(folder.to_owned());
            }
            found.take(folder.join("tools/sched_ext/include"));
            let build = folder.join("build.rs");
            if found.others.is_empty() && build.exists() && source.starts_with(folder.join("src")) {
                found.others = sources(&build, folder, &source);
                found.take_headers_of_cargo(folder);
            }
        }
        found
    }

    fn take(&mut self, folder: PathBuf) {
        if folder.is_dir() && !self.include_folders.contains(&folder) {
            self.include_folders.push(folder);
        }
    }

    /// In Cargo's cache the headers are a package of their own, beside the scheduler's: that of its version, else the newest.
    fn take_headers_of_cargo(&mut self, package: &Path) {
        let version = |name: &str| {
            let numbers = name.rsplit_once('-').map_or("", |(_, version)| version).split('.');
            numbers.map(|number| number.parse::<u32>().unwrap_or(0)).collect::<Vec<_>>()
        };
        let name_of = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
        let own = name_of(package).unwrap_or_default();
        let beside = package.parent().and_then(|folder| std::fs::read_dir(folder).ok()).into_iter().flatten();
        let headers = beside.flatten().filter_map(|entry| {
            let name = name_of(&entry.path()).filter(|name| name.starts_with("scx_cargo-"))?;
            let folder = entry.path().join("bpf_h");
            folder.is_dir().then_some((version(&name) == version(&own), version(&name), folder))
        });
        if let Some((_, _, folder)) = headers.max() {
            self.take(folder.clone());
            self.take(folder.join("bpf-compat"));
        }
    }
}

/// What `build.rs` links to the source (`.add_source("src/bpf/other.bpf.c")` of scx_cargo), as far as it is there.
fn sources(build: &Path, package: &Path, main: &Path) -> Vec<PathBuf> {
    let text = std::fs::read_to_string(build).unwrap_or_default();
    let names = text.split("add_source(\"").skip(1).filter_map(|rest| rest.split('"').next());
    // Counters of events: the simulator has them in its own headers, since it counts none.
    let wanted = names.filter(|name| !name.ends_with("lib/pmu.bpf.c")).map(|name| package.join(name));
    wanted.filter_map(|path| path.canonicalize().ok()).filter(|path| path != main).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn headers_and_sources_are_found_from_where_the_source_is() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            path
        };
        let in_repository = write("scx/scheds/rust/scx_one/src/bpf/main.bpf.c", "");
        write("scx/scheds/include/lib/x.h", "");
        write("scx/lib/arena.bpf.c", "");
        let folders = ["scx/scheds/include", "scx"].map(|folder| root.join(folder));
        assert_eq!(
            Package::of(&in_repository).include_folders.iter().rev().collect::<Vec<_>>(),
            folders.iter().rev().collect::<Vec<_>>()
        );

        let in_cache = write("cache/scx_two-1.1.4/src/bpf/main.bpf.c", "");
        write(
            "cache/scx_two-1.1.4/build.rs",
            r#".enable_skel("src/bpf/main.bpf.c", "bpf").add_source("src/bpf/more.bpf.c")"#,
        );
        let more = write("cache/scx_two-1.1.4/src/bpf/more.bpf.c", "");
        for version in ["1.1.4", "1.1.10"] {
            write(&format!("cache/scx_cargo-{version}/bpf_h/scx/common.bpf.h"), "");
        }
        let package = Package::of(&in_cache);
        assert_eq!(package.include_folders, [root.join("cache/scx_cargo-1.1.4/bpf_h")]);
        assert_eq!(package.others, [more]);
        assert_eq!(Package::of(&write("alone.bpf.c", "")), Package::default());
    }
}
