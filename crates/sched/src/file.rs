//! Schedulers that are files, on their way into a guest: there is no compiler there, so each becomes a program of its own here.

use crate::error::SchedError;
use crate::find::{Found, PREFIX, SearchPath, name_of_file};
use crate::process::in_words;
use std::path::Path;
use std::process::{Command, Stdio};
use swtch_vm::Spec;

/// Makes `scx_NAME` of a scheduler's file in a directory, and takes it into a guest of this machine's kind, with the kernel's options that its programs may ask for.
pub(crate) fn take_program(spec: &mut Spec, found: &Found, folder: &Path) -> Result<(), SchedError> {
    if !spec.arch.is_native() {
        return Err(SchedError::Wish(format!(
            "{} becomes a program of this machine's kind, and the guest is {}; name a scheduler instead",
            found.file.as_deref().unwrap_or(&found.path).display(),
            spec.arch
        )));
    }
    let program = folder.join(format!("{PREFIX}{}", found.name));
    make_program(found, &program)?;
    spec.kernel_config = true;
    spec.beside.push(program);
    Ok(())
}

/// Makes a program of a scheduler's file. What the compiler says passes to standard error.
pub(crate) fn make_program(found: &Found, program: &Path) -> Result<(), SchedError> {
    let status = Command::new(&found.path)
        .args(&found.file)
        .arg("--program")
        .arg(program)
        .stdin(Stdio::null())
        .status()
        .map_err(SchedError::system(format!("starting {}", found.path.display())))?;
    if status.success() {
        return Ok(());
    }
    let name = found.file.as_deref().unwrap_or(&found.path).display().to_string();
    Err(SchedError::NotMade { name, how: in_words(status) })
}

/// Where a guest is to load a scheduler that is a file, or of the cache: a file becomes a program in `folder`, and its name takes the file's place.
///
/// # Errors
/// When the file or its loader is not here, or it does not compile.
pub fn make_program_for(spec: &mut Spec, search_path: &SearchPath, folder: &Path) -> Result<(), SchedError> {
    let Some(word) = spec.scheduler.first_mut() else { return Ok(()) };
    let name = word.to_string_lossy().into_owned();
    if name_of_file(&name).is_none() {
        // One that is not here is missed later, by the guest's own rules, with its own message.
        let Ok(found) = search_path.find(&name) else { return Ok(()) };
        spec.kernel_config = !found.own;
        if let Some(version) = found.version {
            let bare = name.strip_prefix(PREFIX).unwrap_or(&name).split('@').next().unwrap_or_default();
            *word = format!("{bare}@{version}").into();
            spec.beside.push(found.path);
        }
        return Ok(());
    }
    let found = search_path.find(&name)?;
    *word = found.name.clone().into();
    take_program(spec, &found, folder)
}
