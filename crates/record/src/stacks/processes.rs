//! Which file lies where in which process, also after it has ended.

use super::unwind::Binary;
use crate::sources::perf::mappings::MappingEvents;
use crate::sources::perf::record::What;
use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// Files of other mount namespaces that are kept open at most: their paths lead nowhere from here once the process has ended.
const MOST_OPEN: usize = 512;

/// Code that lies in a process's memory.
#[derive(Clone, Copy, Debug)]
struct Mapping {
    start: u64,
    end: u64,
    offset: u64,
    /// The file's number; absent for code that a program wrote itself.
    file: Option<usize>,
    since_ns: u64,
}

/// A process.
#[derive(Debug, Default)]
struct Process {
    mappings: Vec<Mapping>,
    /// It sees other files than we do.
    own_files: bool,
    /// Its names of code that it wrote itself (`/tmp/perf-PID.map`), kept open.
    map: Option<File>,
    gone: bool,
}

/// A file with code.
#[derive(Debug)]
pub(crate) struct MappedFile {
    /// Its path, as the process sees it.
    pub(crate) path: String,
    /// Open, where the path leads elsewhere from here.
    open: Option<File>,
    /// What it says of callers; read when it is first asked.
    binary: Option<Binary>,
}

impl MappedFile {
    /// Where it can be read.
    pub(crate) fn readable_at(&self) -> PathBuf {
        self.open.as_ref().map_or_else(|| PathBuf::from(&self.path), own_path)
    }

    /// What it says of callers.
    pub(crate) fn binary(&mut self) -> &mut Binary {
        let path = self.readable_at();
        self.binary.get_or_insert_with(|| Binary::read(&path))
    }

    /// The last part of its path.
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

fn own_path(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// What lies at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// A place in a file.
    File { file: usize, offset: u64 },
    /// Code that the program wrote itself.
    Written,
    /// No code.
    Nothing,
}

/// The processes of the machine.
pub(crate) struct Processes {
    by_pid: HashMap<u32, Process>,
    /// The files, by number.
    pub(crate) files: Vec<MappedFile>,
    numbers: HashMap<(String, Option<String>), usize>,
    events: Result<MappingEvents, String>,
    own_files: Option<PathBuf>,
    open: usize,
}

impl Processes {
    /// Watches from now on, and reads what is there.
    pub(crate) fn begin(cpus: u32) -> Self {
        let events = MappingEvents::open(0..cpus).map_err(|error| error.to_string());
        Self {
            by_pid: HashMap::new(),
            files: Vec::new(),
            numbers: HashMap::new(),
            events,
            own_files: files_of("self"),
            open: 0,
        }
    }

    /// Takes in the kernel's records of mappings; returns which processes run another program since, and which have ended.
    pub(crate) fn poll(&mut self) -> (Vec<u32>, Vec<u32>) {
        let (mut renewed, mut ended) = (Vec::new(), Vec::new());
        let records = self.events.as_mut().map(MappingEvents::drain).unwrap_or_default();
        for record in records {
            match record.what {
                What::Mapped { pid, start, length, offset, path } => {
                    let mapping = Mapping {
                        start,
                        end: start.saturating_add(length),
                        offset,
                        file: None,
                        since_ns: record.at_ns,
                    };
                    self.add(pid, mapping, &path);
                }
                What::Fork { pid, parent_pid, .. }
                    if pid != parent_pid && !self.by_pid.contains_key(&pid) =>
                {
                    // What came into memory before we looked is read when it is asked for.
                    if let Some(parent) = self.by_pid.get(&parent_pid) {
                        let mappings = parent.mappings.clone();
                        let child = Process { mappings, own_files: parent.own_files, ..Process::default() };
                        self.by_pid.insert(pid, child);
                    }
                }
                What::Comm { pid, exec: true, .. } => renewed.push(pid),
                What::Exit { pid, tid } if pid == tid => {
                    self.by_pid.entry(pid).or_default().gone = true;
                    ended.push(pid);
                }
                _ => {}
            }
        }
        (renewed, ended)
    }

    /// Reads the mappings of a process that was there before us.
    fn read(&mut self, pid: u32) {
        let own_files = self.other_files(pid).is_some();
        self.by_pid.insert(pid, Process { own_files, ..Process::default() });
        let text = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
        for line in text.lines() {
            if let Some((mapping, path)) = parse(line) {
                self.add(pid, mapping, path);
            }
        }
    }

    fn add(&mut self, pid: u32, mapping: Mapping, path: &str) {
        let file = path.starts_with('/').then(|| self.file(pid, path)).flatten();
        if !self.by_pid.contains_key(&pid) {
            // Some of what it has may be older.
            let own_files = self.other_files(pid).is_some();
            self.by_pid.insert(pid, Process { own_files, ..Process::default() });
        }
        self.by_pid.entry(pid).or_default().mappings.push(Mapping { file, ..mapping });
    }

    /// The mount namespace of a process, if it is not ours.
    fn other_files(&self, pid: u32) -> Option<PathBuf> {
        files_of(&pid.to_string()).filter(|files| Some(files) != self.own_files.as_ref())
    }

    /// The number of a file. One that was deleted or is not a file of the disk has none.
    fn file(&mut self, pid: u32, path: &str) -> Option<usize> {
        if path.ends_with(" (deleted)") || path.starts_with("//anon") || path.starts_with("/memfd:") {
            return None;
        }
        let other = self.other_files(pid);
        let key = (path.to_owned(), other.as_ref().map(|files| files.display().to_string()));
        if let Some(number) = self.numbers.get(&key) {
            return Some(*number);
        }
        let mut open = None;
        if other.is_some() && self.open < MOST_OPEN {
            open = File::open(format!("/proc/{pid}/root{path}")).ok();
            self.open += usize::from(open.is_some());
        }
        self.files.push(MappedFile { path: path.to_owned(), open, binary: None });
        self.numbers.insert(key, self.files.len() - 1);
        Some(self.files.len() - 1)
    }

    /// What lay at `address` of a process at a moment.
    pub(crate) fn find(&mut self, pid: u32, address: u64, at_ns: u64) -> Found {
        if !self.by_pid.contains_key(&pid) {
            self.read(pid);
        }
        let found = self.lookup(pid, address, at_ns);
        if found != Found::Nothing || self.by_pid.get(&pid).is_none_or(|process| process.gone) {
            return found;
        }
        // It was there before the records began, or they were lost.
        let text = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
        let holds = |line: &str| {
            parse(line)
                .filter(|(mapping, _)| (mapping.start..mapping.end).contains(&address))
                .map(|(mapping, path)| (mapping, path.to_owned()))
        };
        if let Some((mapping, path)) = text.lines().find_map(holds) {
            self.add(pid, mapping, &path);
        }
        self.lookup(pid, address, at_ns)
    }

    fn lookup(&self, pid: u32, address: u64, at_ns: u64) -> Found {
        let Some(process) = self.by_pid.get(&pid) else { return Found::Nothing };
        let holding = process.mappings.iter().rev().filter(|one| (one.start..one.end).contains(&address));
        // The latest that was there; records of one moment may come in any order.
        let mut holding = holding.peekable();
        let latest = holding.peek().copied();
        match holding.find(|one| one.since_ns <= at_ns).or(latest) {
            Some(Mapping { start, offset, file: Some(file), .. }) => {
                Found::File { file: *file, offset: address - start + offset }
            }
            Some(_) => Found::Written,
            None => Found::Nothing,
        }
    }

    /// The file in which a process names the code that it writes itself; kept open, because it may go with the process.
    pub(crate) fn map_of(&mut self, pid: u32) -> Option<PathBuf> {
        let process = self.by_pid.get_mut(&pid)?;
        if process.map.is_none() {
            // A container numbers its processes by itself.
            let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            let inner = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
            let inner =
                inner.and_then(|pids| pids.split_whitespace().last()).and_then(|pid| pid.parse().ok());
            let name = format!("tmp/perf-{}.map", inner.unwrap_or(pid));
            let paths = [format!("/proc/{pid}/root/{name}"), format!("/{name}")];
            let paths = if process.own_files { &paths[..1] } else { &paths[..] };
            process.map = paths.iter().find_map(|path| File::open(Path::new(path)).ok());
        }
        process.map.as_ref().map(own_path)
    }

    /// Records of mappings that were lost, or why there are none.
    pub(crate) fn lost(&self) -> Result<u64, &str> {
        self.events.as_ref().map(MappingEvents::lost).map_err(String::as_str)
    }

    /// Forgets processes that ended and are not needed any more.
    pub(crate) fn forget(&mut self, pids: &HashSet<u32>) {
        self.by_pid.retain(|pid, process| !(process.gone && pids.contains(pid)));
    }
}

/// The mount namespace of a process.
fn files_of(pid: &str) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/ns/mnt")).ok()
}

/// A line of `/proc/PID/maps` that has code, and its path.
fn parse(line: &str) -> Option<(Mapping, &str)> {
    let mut words = line.splitn(6, ' ');
    let (range, rights, offset) = (words.next()?, words.next()?, words.next()?);
    if !rights.contains('x') {
        return None;
    }
    let (start, end) = range.split_once('-')?;
    let hex = |text| u64::from_str_radix(text, 16).ok();
    let mapping =
        Mapping { start: hex(start)?, end: hex(end)?, offset: hex(offset)?, file: None, since_ns: 0 };
    Some((mapping, words.nth(2).unwrap_or("").trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_maps_says_where_code_lies() {
        let (mapping, path) =
            parse("7f00a000-7f00b000 r-xp 00002000 fe:00 1234                       /usr/lib/lib c.so")
                .unwrap();
        assert_eq!((mapping.start, mapping.end, mapping.offset), (0x7f00_a000, 0x7f00_b000, 0x2000));
        assert_eq!(path, "/usr/lib/lib c.so");
        assert!(parse("7f00a000-7f00b000 rw-p 00002000 fe:00 1234 /x").is_none() && parse("").is_none());
        assert_eq!(parse("7f00a000-7f00b000 r-xp 00000000 00:00 0 ").unwrap().1, "");
    }

    #[test]
    fn an_address_of_ours_is_found_in_our_program() {
        let mut processes = Processes::begin(0);
        let here = an_address_of_ours_is_found_in_our_program as fn() as usize as u64;
        let Found::File { file, offset } = processes.find(std::process::id(), here, 0) else { panic!() };
        assert_eq!(Path::new(&processes.files[file].path), std::env::current_exe().unwrap());
        assert!(offset > 0);
        assert_eq!(processes.find(std::process::id(), 16, 0), Found::Nothing);
        assert_eq!(processes.find(u32::MAX, here, 0), Found::Nothing);
    }
}
