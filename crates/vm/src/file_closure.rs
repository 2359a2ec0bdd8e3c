//! What travels into the guest: programs with their loaders, libraries and interpreters, and files.

use crate::arch::Arch;
use crate::elf;
use crate::error::VmError;
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

/// The default search path of loaders (ld.so(8)), and where Debian and others keep libraries; `*` stands for the kind of machine.
const LIBRARY_FOLDERS: [&str; 8] = [
    "/usr/local/lib/*",
    "/usr/local/lib",
    "/lib/*",
    "/usr/lib/*",
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
];
/// Where the loader's index is; with it, libraries are found in the guest where they were found here.
const LOADER_INDEX: &str = "/etc/ld.so.cache";
/// The kernel looks no further for a script's interpreter (`BINPRM_BUF_SIZE` is 256), and an ELF file is known by less.
const HEAD_BYTES: u64 = 4096;
/// As many interpreters may follow each other (`load_script` in the kernel's fs/exec.c).
const LARGEST_INTERPRETER_DEPTH: usize = 5;

/// A file as it will be in the guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GuestEntry {
    /// Copied from here, with these permissions.
    File {
        from: PathBuf,
        mode: u32,
    },
    Folder,
}

/// What travels, by its place in the guest: absolute, without `.` and `..`.
#[derive(Debug, Default)]
pub(crate) struct GuestFiles {
    pub(crate) items: BTreeMap<PathBuf, GuestEntry>,
    /// Programs and libraries whose needs were looked at.
    seen: BTreeSet<PathBuf>,
    /// Programs and files that an argument of the command names.
    pub(crate) named: BTreeSet<PathBuf>,
    searched: Vec<PathBuf>,
    here: PathBuf,
    arch: Arch,
    /// Where a guest of another architecture has its system from: what is here comes before what this machine has.
    root: Option<PathBuf>,
}

impl GuestFiles {
    /// Of a host on which `searched` is searched for programs (PATH), and relative paths begin at `here`.
    pub(crate) fn new(searched: Vec<PathBuf>, here: PathBuf) -> Self {
        Self { searched, here, ..Self::default() }
    }

    /// For guests of this kind, with a system of their own where they are of another than this machine.
    pub(crate) fn for_guests(self, arch: Arch, root: Option<PathBuf>) -> Self {
        Self { arch, root, ..self }
    }

    /// The file that will be at this place in the guest.
    pub(crate) fn source(&self, place: &Path) -> PathBuf {
        let below = place.strip_prefix("/").unwrap_or(place);
        let own = self.root.as_ref().map(|root| root.join(below));
        own.filter(|own| own.exists()).unwrap_or_else(|| place.to_owned())
    }

    /// Whether the guest can start the file of this place: an executable one, and not for another kind of machine.
    fn can_start(&self, place: &Path) -> bool {
        let file = self.source(place);
        is_executable(&file)
            && elf::machine_of(&file).is_none_or(|machine| machine == self.arch.facts().elf_machine)
    }

    /// Why a command that was not found cannot be run.
    fn not_found(&self, program: &OsStr) -> VmError {
        let command = program.to_string_lossy().into_owned();
        let is_path = program.as_bytes().contains(&b'/');
        let given = self.absolute(Path::new(program));
        if is_path && let Err(error) = elf::check_machine(&given, self.arch, || self.way_out(&given)) {
            return error;
        }
        match &self.root {
            Some(_) if !is_path => VmError::NotPackaged { command, arch: self.arch },
            _ => VmError::CommandNotFound { command },
        }
    }

    /// What to do about a program that is for another kind of machine.
    fn way_out(&self, program: &Path) -> String {
        let found = elf::machine_of(program);
        match Arch::ALL.into_iter().find(|arch| Some(arch.facts().elf_machine) == found) {
            Some(arch) if arch.is_native() => {
                format!(
                    "leave out --arch, or name the program alone, as Debian's packages for {} have it",
                    self.arch
                )
            }
            Some(arch) => format!("run it with --arch {arch}"),
            None => format!("build it for {}", self.arch),
        }
    }

    /// Finds a command's program, and takes it and whatever else of the command line names a program or a file.
    /// Returns the program's place.
    pub(crate) fn command(&mut self, command: &[OsString]) -> Result<PathBuf, VmError> {
        let (program, arguments) = command.split_first().ok_or(VmError::NoCommand)?;
        let path = self.find(program).ok_or_else(|| self.not_found(program))?;
        self.program(&path)?;
        for argument in arguments {
            self.argument(argument)?;
        }
        Ok(path)
    }

    /// A word may name a file, a program, or be a script of a shell in which programs are named.
    fn argument(&mut self, argument: &OsStr) -> Result<(), VmError> {
        let path = self.absolute(Path::new(argument));
        if !argument.is_empty() && self.source(&path).is_file() && travels(&path) {
            self.named.insert(path.clone());
            return self.program(&path);
        }
        let text = argument.to_string_lossy();
        let words = text.split(|letter: char| letter.is_whitespace() || ";|&()<>`$'\"{}".contains(letter));
        for word in words.filter(|word| !word.is_empty() && !word.starts_with('-')) {
            if let Some(path) = self.find(OsStr::new(word))
                && travels(&path)
            {
                self.named.insert(path.clone());
                self.program(&path)?;
            }
        }
        Ok(())
    }

    /// The program of this name: as a path where it has a slash, else on PATH.
    pub(crate) fn find(&self, name: &OsStr) -> Option<PathBuf> {
        if name.as_bytes().contains(&b'/') {
            let path = self.absolute(Path::new(name));
            return self.can_start(&path).then_some(path);
        }
        self.searched.iter().map(|folder| self.absolute(&folder.join(name))).find(|path| self.can_start(path))
    }

    /// Takes a file or everything in a directory.
    pub(crate) fn copy(&mut self, path: &Path) -> Result<(), VmError> {
        let path = self.absolute(path);
        let fail = |source| VmError::Copy { path: path.clone(), source };
        let source = self.source(&path);
        let metadata = fs::metadata(&source).map_err(fail)?;
        if metadata.is_file() {
            return self.program(&path);
        }
        if !metadata.is_dir() {
            return Err(fail(io::Error::other("neither a file nor a directory")));
        }
        self.items.insert(path.clone(), GuestEntry::Folder);
        let mut inside: Vec<PathBuf> = fs::read_dir(&source)
            .map_err(fail)?
            .map(|entry| Ok(entry?.path()))
            .collect::<io::Result<_>>()
            .map_err(fail)?;
        inside.sort();
        for entry in inside {
            // A dangling link, and anything that is not a file, is not copied.
            let follows = fs::metadata(&entry).is_ok_and(|found| found.is_file() || found.is_dir());
            let leads_back =
                fs::symlink_metadata(&entry).is_ok_and(|found| found.is_symlink()) && entry.is_dir();
            if let (true, false, Some(name)) = (follows, leads_back, entry.file_name()) {
                self.copy(&path.join(name))?;
            }
        }
        Ok(())
    }

    /// Takes a file, and if it is a program, what it needs.
    pub(crate) fn program(&mut self, path: &Path) -> Result<(), VmError> {
        self.with_interpreters(path, 0)
    }

    fn with_interpreters(&mut self, path: &Path, depth: usize) -> Result<(), VmError> {
        let path = self.absolute(path);
        if !self.seen.insert(path.clone()) {
            return Ok(());
        }
        let fail = |source| VmError::Copy { path: path.clone(), source };
        let from = self.source(&path);
        let mode = fs::metadata(&from).map_err(fail)?.permissions().mode() & 0o777;
        let bytes = program_bytes(&from).map_err(fail)?;
        self.items.insert(path.clone(), GuestEntry::File { from, mode });
        if elf::is_elf(&bytes) {
            // A program for another kind of machine is data here.
            let is_ours = elf::machine(&bytes) == Some(self.arch.facts().elf_machine);
            return if is_ours { self.libraries_of(&path, &bytes) } else { Ok(()) };
        }
        for word in interpreter(&bytes) {
            if depth < LARGEST_INTERPRETER_DEPTH
                && let Some(found) = self.find(&word)
            {
                self.with_interpreters(&found, depth + 1)?;
            }
        }
        Ok(())
    }

    fn libraries_of(&mut self, path: &Path, bytes: &[u8]) -> Result<(), VmError> {
        // A damaged file is carried as it is; the guest's kernel says what it thinks of it.
        let Ok(needs) = elf::needs(bytes) else { return Ok(()) };
        let missing = if self.root.is_some() {
            "in none of the packages that are here; add the one that has it with --package NAME"
        } else {
            "in no directory of libraries here; add its directory to LD_LIBRARY_PATH"
        };
        let missing = |library: &OsStr| VmError::Library {
            program: path.to_owned(),
            library: library.to_string_lossy().into_owned(),
            missing,
        };
        if let Some(loader) = &needs.loader {
            if !self.source(loader).is_file() {
                return Err(missing(loader.as_os_str()));
            }
            self.program(loader)?;
            if self.root.is_none() && Path::new(LOADER_INDEX).is_file() {
                self.program(Path::new(LOADER_INDEX))?;
            }
        }
        let own_folder = path.parent().unwrap_or(Path::new("/"));
        let mut folders: Vec<PathBuf> =
            needs.search.iter().map(|folder| origin(folder, own_folder)).collect();
        if self.root.is_none() {
            folders.extend(env::split_paths(&env::var_os("LD_LIBRARY_PATH").unwrap_or_default()));
            folders.extend(configured_folders(Path::new("/etc/ld.so.conf"), 0));
        }
        let kind = self.arch.facts().library_folder;
        folders.extend(LIBRARY_FOLDERS.map(|folder| PathBuf::from(folder.replace('*', kind))));
        // Libraries of libraries are often next to them.
        folders.push(own_folder.to_owned());
        let mut found_libraries = Vec::with_capacity(needs.libraries.len());
        for library in needs.libraries {
            let found = folders
                .iter()
                .map(|folder| folder.join(&library))
                .find(|place| elf::machine_of(&self.source(place)) == Some(self.arch.facts().elf_machine));
            let Some(found) = found else { return Err(missing(&library)) };
            found_libraries.push(found);
        }
        found_libraries.iter().try_for_each(|library| self.program(library))
    }

    /// Absolute, without `.` and `..`, links left as they are: the guest has no links.
    pub(crate) fn absolute(&self, path: &Path) -> PathBuf {
        let mut plain = PathBuf::from("/");
        for part in self.here.join(path).components() {
            match part {
                Component::ParentDir => {
                    plain.pop();
                }
                Component::Normal(name) => plain.push(name),
                _ => {}
            }
        }
        plain
    }
}

/// Of a program everything, of another file the beginning: whatever its size, that tells which interpreter it wants.
fn program_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = fs::File::open(path)?;
    let mut bytes = Vec::new();
    file.by_ref().take(HEAD_BYTES).read_to_end(&mut bytes)?;
    if elf::is_elf(&bytes) {
        file.read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// Files that exist in the guest by themselves stay here.
fn travels(path: &Path) -> bool {
    !["/proc", "/sys", "/dev"].iter().any(|root| path.starts_with(root))
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// The words of a script's first line: its interpreter, and with `env` the program that this looks for.
fn interpreter(bytes: &[u8]) -> Vec<OsString> {
    let Some(line) = bytes.strip_prefix(b"#!").and_then(|rest| rest.split(|byte| *byte == b'\n').next())
    else {
        return Vec::new();
    };
    let words =
        line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty() && !word.starts_with(b"-"));
    words.map(|word| OsStr::from_bytes(word).to_owned()).collect()
}

/// `$ORIGIN` is the directory of the file that names it (ld.so(8)).
fn origin(folder: &OsStr, own: &Path) -> PathBuf {
    let text = folder.to_string_lossy();
    let own = own.to_string_lossy();
    PathBuf::from(text.replace("${ORIGIN}", &own).replace("$ORIGIN", &own))
}

/// The directories of ld.so.conf; `include` names more such files, with `*` in their names.
fn configured_folders(file: &Path, depth: usize) -> Vec<PathBuf> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let mut folders = Vec::new();
    for line in text.lines().map(|line| line.split('#').next().unwrap_or_default().trim()) {
        match line.strip_prefix("include") {
            Some(pattern) if depth < LARGEST_INTERPRETER_DEPTH => {
                let pattern = Path::new(pattern.trim());
                let ending = pattern.extension().map(OsStr::to_owned);
                let mut files: Vec<PathBuf> = pattern
                    .parent()
                    .and_then(|folder| fs::read_dir(folder).ok())
                    .into_iter()
                    .flatten()
                    .filter_map(|entry| Some(entry.ok()?.path()))
                    .filter(|path| path.extension().map(OsStr::to_owned) == ending)
                    .collect();
                files.sort();
                folders.extend(files.iter().flat_map(|file| configured_folders(file, depth + 1)));
            }
            _ if line.starts_with('/') => folders.push(PathBuf::from(line)),
            _ => {}
        }
    }
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(here: &Path) -> GuestFiles {
        let searched = vec![here.join("bin"), "/usr/bin".into(), "/bin".into()];
        GuestFiles::new(searched, here.to_owned())
    }

    fn write(path: &Path, text: &str, mode: u32) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn words(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    fn holds(files: &GuestFiles, name: &str) -> bool {
        files.items.keys().any(|path| path.file_name() == Some(OsStr::new(name)))
    }

    #[test]
    fn a_program_brings_its_loader_and_libraries() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = files(folder.path());
        let program = files.command(&words(&["sh"])).unwrap();
        assert!(program.ends_with("bin/sh"), "{program:?}");
        assert!(
            holds(&files, "libc.so.6") && holds(&files, "ld-linux-x86-64.so.2"),
            "{:?}",
            files.items.keys()
        );
        // Every place is one that the host's own loader finds as well.
        for (path, item) in &files.items {
            assert!(path.is_absolute());
            assert!(*item == GuestEntry::Folder || path.is_file(), "{path:?}");
        }
    }

    #[test]
    fn a_script_brings_its_interpreter_and_files_it_is_given() {
        let folder = tempfile::tempdir().unwrap();
        write(&folder.path().join("bin/run"), "#!/usr/bin/env sh\necho\n", 0o755);
        write(&folder.path().join("data/input.txt"), "1", 0o640);
        let mut files = files(folder.path());
        files.command(&words(&["run", "--input", "data/input.txt", "nothing"])).unwrap();
        for name in ["run", "env", "sh", "input.txt"] {
            assert!(holds(&files, name), "{name}: {:?}", files.items.keys());
        }
        let input = &files.items[&folder.path().join("data/input.txt")];
        assert!(matches!(input, GuestEntry::File { mode: 0o640, .. }), "{input:?}");
    }

    #[test]
    fn programs_in_a_shell_script_come_along() {
        let folder = tempfile::tempdir().unwrap();
        write(&folder.path().join("bin/inner"), "", 0o755);
        write(&folder.path().join("bin/data"), "", 0o644);
        let mut files = files(folder.path());
        files.command(&words(&["sh", "-c", "(inner;data)>/dev/null"])).unwrap();
        assert!(holds(&files, "inner"));
        assert!(!holds(&files, "data") && !holds(&files, "null"));
    }

    /// A program of this machine made one of another: its headers say so, and its loader and libraries are not here.
    fn foreign(arch: Arch) -> Vec<u8> {
        let mut bytes = fs::read("/bin/sh").unwrap();
        bytes[18..20].copy_from_slice(&arch.facts().elf_machine.to_le_bytes());
        bytes
    }

    fn install(root: &Path, place: &str, bytes: &[u8]) {
        let path = root.join(place);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn a_guest_of_another_kind_has_programs_and_libraries_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        let arch = Arch::ALL.into_iter().find(|arch| !arch.is_native()).unwrap();
        let files = || files(folder.path()).for_guests(arch, Some(root.clone()));
        let error = files().command(&words(&["sh"])).unwrap_err();
        assert!(error.to_string().contains("--package") && error.shell_status() == Some(127), "{error}");
        let error = files().command(&words(&["/bin/sh"])).unwrap_err();
        assert!(matches!(error, VmError::WrongMachine { .. }), "{error}");
        install(&root, "usr/bin/sh", &foreign(arch));
        let error = files().command(&words(&["sh"])).unwrap_err();
        assert!(
            matches!(error, VmError::Library { .. }) && error.to_string().contains("--package"),
            "{error}"
        );
        let program = fs::read("/bin/sh").unwrap();
        let needs = elf::needs(&program).unwrap();
        let loader = needs.loader.unwrap();
        install(&root, loader.strip_prefix("/").unwrap().to_str().unwrap(), &foreign(arch));
        let library = format!("usr/lib/{}/libc.so.6", arch.facts().library_folder);
        let mut libc = foreign(arch);
        libc.truncate(64);
        install(&root, &library, &libc);
        let mut files = files();
        assert_eq!(files.command(&words(&["sh"])).unwrap(), Path::new("/usr/bin/sh"));
        for (place, item) in &files.items {
            let GuestEntry::File { from, .. } = item else { continue };
            assert_eq!(
                *from,
                root.join(place.strip_prefix("/").unwrap()),
                "nothing of this machine's travels"
            );
        }
        assert!(files.items.contains_key(&Path::new("/").join(library)), "{:?}", files.items.keys());
    }

    #[test]
    fn a_program_of_another_kind_is_carried_as_data_and_not_run() {
        let folder = tempfile::tempdir().unwrap();
        let arch = Arch::ALL.into_iter().find(|arch| !arch.is_native()).unwrap();
        install(folder.path(), "bin/foreign", &foreign(arch));
        let mut files = files(folder.path());
        files.copy(Path::new("bin")).unwrap();
        assert_eq!(files.items.len(), 2, "the directory and the file: {:?}", files.items.keys());
        let error = files.command(&words(&["bin/foreign"])).unwrap_err().to_string();
        assert!(error.ends_with(&format!("--arch {arch}")), "{error}");
        assert!(matches!(files.command(&words(&["foreign"])), Err(VmError::CommandNotFound { .. })));
    }

    #[test]
    fn what_is_missing_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = files(folder.path());
        for command in ["no-such-program", "./here", "/etc"] {
            let error = files.command(&words(&[command])).unwrap_err();
            assert!(error.to_string().contains(command), "{error}");
        }
        assert!(matches!(files.command(&[]), Err(VmError::NoCommand)));
        let error = files.copy(Path::new("missing")).unwrap_err();
        assert!(error.to_string().contains("missing"), "{error}");
    }

    #[test]
    fn folders_travel_whole_and_loops_of_links_end() {
        let folder = tempfile::tempdir().unwrap();
        write(&folder.path().join("set/one/a"), "a", 0o644);
        std::os::unix::fs::symlink("..", folder.path().join("set/one/up")).unwrap();
        std::os::unix::fs::symlink("nowhere", folder.path().join("set/broken")).unwrap();
        let mut files = files(folder.path());
        files.copy(Path::new("set/../set")).unwrap();
        let names: Vec<_> =
            files.items.keys().map(|path| path.strip_prefix(folder.path()).unwrap()).collect();
        assert_eq!(names, [Path::new("set"), Path::new("set/one"), Path::new("set/one/a")]);
    }
}
