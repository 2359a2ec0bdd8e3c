//! The tasks that belong to the target at this moment.

use super::reading::Reader;
use super::{ProcfsError, SampleTarget};
use crate::system::Cgroup;
use crate::task_info;
use crate::thread_files;
use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A process that does not descend from the target is checked again only after this many samples. Its number may be another process's by then.
const SAMPLES_BETWEEN_QUESTIONS: u64 = 16;

/// What a list of members is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Listed {
    Processes,
    Threads,
}

/// The members of a target.
#[derive(Debug)]
pub(super) enum TargetMembers {
    Descendants { members: HashSet<u32>, strangers: HashSet<u32>, samples: u64 },
    Processes(Vec<u32>),
    Cgroup { group: Cgroup, folder: PathBuf },
    Machine,
}

impl TargetMembers {
    /// # Errors
    /// When the target is not there.
    pub(super) fn new(root: &Path, target: &SampleTarget, reader: &mut Reader) -> Result<Self, ProcfsError> {
        let mut check = |pid: u32| match parent(reader, pid) {
            Some(_) => Ok(pid),
            None => Err(ProcfsError::NoProcess { pid }),
        };
        Ok(match target {
            SampleTarget::Machine => Self::Machine,
            SampleTarget::Descendants { pid, .. } => Self::Descendants {
                members: HashSet::from([check(*pid)?]),
                strangers: HashSet::new(),
                samples: 0,
            },
            SampleTarget::Processes(pids) => {
                Self::Processes(pids.iter().map(|pid| check(*pid)).collect::<Result<_, _>>()?)
            }
            SampleTarget::Cgroup(group) => {
                let folder = group.located(root);
                threads_of(&folder, group.threads_file(), &mut Vec::new())
                    .map_err(|source| ProcfsError::NoCgroup { group: group.folder.clone(), source })?;
                Self::Cgroup { group: group.clone(), folder }
            }
        })
    }

    /// Writes the numbers of the members into `found`; nothing when the target is gone for good.
    pub(super) fn list(&mut self, reader: &mut Reader, found: &mut Vec<u32>) -> Option<Listed> {
        found.clear();
        match self {
            Self::Machine => reader.numbers(".", found).ok()?,
            Self::Processes(pids) => {
                found.extend_from_slice(pids);
                (!pids.is_empty()).then_some(())?;
            }
            Self::Cgroup { group, folder } => {
                threads_of(folder, group.threads_file(), found).ok()?;
                return Some(Listed::Threads);
            }
            Self::Descendants { members, strangers, samples } => {
                *samples += 1;
                if samples.is_multiple_of(SAMPLES_BETWEEN_QUESTIONS) {
                    strangers.clear();
                }
                reader.numbers(".", found).ok()?;
                descend(reader, found, members, strangers);
                (!members.is_empty()).then_some(())?;
            }
        }
        Some(Listed::Processes)
    }

    /// A process is no more; its number may come back as another's.
    pub(super) fn forget(&mut self, pid: u32) {
        match self {
            Self::Descendants { members, .. } => drop(members.remove(&pid)),
            Self::Processes(pids) => pids.retain(|known| *known != pid),
            Self::Cgroup { .. } | Self::Machine => {}
        }
    }
}

/// Leaves in `found`, all processes of the machine, those that descend from members.
fn descend(
    reader: &mut Reader,
    found: &mut Vec<u32>,
    members: &mut HashSet<u32>,
    strangers: &mut HashSet<u32>,
) {
    let there: HashSet<u32> = found.iter().copied().collect();
    members.retain(|pid| there.contains(pid));
    strangers.retain(|pid| there.contains(pid));
    let mut unknown: Vec<(u32, u32)> = found
        .iter()
        .filter(|pid| !members.contains(pid) && !strangers.contains(pid))
        .filter_map(|pid| Some((*pid, parent(reader, *pid)?)))
        .collect();
    task_info::adopt(members, &mut unknown);
    strangers.extend(unknown.iter().map(|(pid, _)| *pid));
    found.retain(|pid| members.contains(pid));
}

/// The parent of a process. Asked of its main thread, as the file of the process adds up all threads.
fn parent(reader: &mut Reader, pid: u32) -> Option<u32> {
    Some(thread_files::stat(reader.other(&format!("{pid}/task/{pid}/stat")).ok()?)?.parent_pid)
}

/// The threads of a cgroup and of those below it.
fn threads_of(folder: &Path, file: &str, found: &mut Vec<u32>) -> io::Result<()> {
    let text = fs::read(folder.join(file))?;
    let numbers = text.split(|byte| *byte == b'\n').filter_map(thread_files::number);
    found.extend(numbers.filter_map(|number| u32::try_from(number).ok()));
    for entry in fs::read_dir(folder)?.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            // A group below may be removed between the two steps.
            let _ = threads_of(&entry.path(), file, found);
        }
    }
    Ok(())
}
