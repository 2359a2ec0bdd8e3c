//! This program: where it is, and what stands next to it.

use anyhow::Context;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use swtch_sched::SearchPath;
use swtch_vm::{Arch, guest_program};

/// This program, and where schedulers are searched for.
pub(super) fn search_path() -> anyhow::Result<(PathBuf, SearchPath)> {
    let program = env::current_exe().context("cannot find this program")?;
    let path = env::var_os("PATH").unwrap_or_default();
    let search_path = SearchPath::new(&program, &path).and(swtch_sched::cache_of_schedulers());
    Ok((program, search_path))
}

/// The program for guests of this kind, and where schedulers for them are searched for.
pub(super) fn search_path_for(arch: Arch) -> anyhow::Result<(PathBuf, SearchPath)> {
    let (own, search_path) = search_path()?;
    if arch.is_native() {
        return Ok((own, search_path));
    }
    let program = guest_program(arch, &own)?;
    let search_path = SearchPath::beside(&program);
    Ok((program, search_path))
}

/// `swtch` is this program, wherever it is installed.
pub(super) fn with_own_program(command: &[OsString], own: &Path) -> Vec<OsString> {
    let mut command = command.to_vec();
    if let Some(program) = command.first_mut()
        && program == "swtch"
    {
        *program = PathBuf::from(own).into_os_string();
    }
    command
}
