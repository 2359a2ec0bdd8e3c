//! Scripts in a virtual machine, with the programs of this build.

use crate::common::{home, run, skip, stderr, stdout, swtch};
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One guest at a time: two on two CPUs would each take longer than their patience.
static MACHINE: Mutex<()> = Mutex::new(());

pub fn machine() -> MutexGuard<'static, ()> {
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether there can be no guest here; says so.
pub fn cannot(test: &str) -> bool {
    if cfg!(not(target_arch = "x86_64")) {
        skip(test, "guests are x86-64, and run this machine's programs");
        return true;
    }
    let missing = Command::new("qemu-system-x86_64").arg("--version").output().is_err();
    if missing {
        skip(test, "QEMU is not installed and tools/setup could not install it");
    }
    missing
}

/// Kernels are kept next to the build, for all tests.
pub fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("vm-cache")
}

/// A script for a guest's shell, and the guest.
#[derive(Clone, Debug)]
pub struct Guest<'a> {
    pub cpus: u32,
    /// QEMU counts instructions, and CPUs are equally fast.
    pub deterministic: bool,
    /// More of the kernel's command line.
    pub append: &'a str,
    /// Variables of the script, by name.
    pub settings: &'a [(&'a str, &'a str)],
    /// Programs that the script needs; it finds them, and `swtch`, on its PATH.
    pub programs: &'a [&'a str],
}

impl Guest<'_> {
    /// What a script of `tests/guests/scripts` prints, both streams. It must end with status 0.
    pub fn prints(&self, script: &str) -> String {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/guests/scripts").join(script);
        let mut text = "exec 2>&1\n".to_owned();
        for (name, value) in self.settings {
            text.push_str(&format!("{name}='{value}'\n"));
        }
        text.push_str(&std::fs::read_to_string(path).unwrap());
        let home = home();
        let mut command = swtch(home.path());
        command.env("XDG_CACHE_HOME", cache()).env("TMPDIR", home.path()).env("PATH", search_path());
        command.args(["vm", if self.deterministic { "--deterministic" } else { "--emulate" }]);
        // Under some loads the guest's first process has to wait for its turn, and this machine may be busy with something else too.
        command.args([
            "--cpus",
            &self.cpus.to_string(),
            "--append",
            self.append,
            "--hang-after",
            "10m",
            "--boot-timeout",
            "10m",
        ]);
        for program in self.programs.iter().chain(&["swtch"]) {
            command.arg("--copy").arg(find(program));
        }
        let output = run(command.args(["--", "sh", "-c", &text]));
        let said = stdout(&output);
        println!("{said}");
        assert_eq!(output.status.code(), Some(0), "{said}{}", stderr(&output));
        said
    }
}

/// The directories of this build, then those of this process.
fn folders() -> Vec<PathBuf> {
    let build = Path::new(env!("CARGO_BIN_EXE_swtch")).parent().unwrap().to_owned();
    let path = env::var_os("PATH").unwrap_or_default();
    [build.clone(), build.join("examples")].into_iter().chain(env::split_paths(&path)).collect()
}

fn search_path() -> OsString {
    env::join_paths(folders()).unwrap()
}

/// Where a program is. A missing one does not justify a skip: `make test` builds ours and `tools/setup test` installs the others.
pub fn find(program: &str) -> PathBuf {
    let found = folders().into_iter().map(|folder| folder.join(program)).find(|path| path.is_file());
    found.unwrap_or_else(|| {
        panic!(
            "{program} is missing: tools/setup test installs tools; cargo build --release -p scx_flsched -p scx_fair \
             -p scx_global_fifo -p scx_file -p swtch-slow --bins --examples builds ours (without --release if this test is)"
        )
    })
}

/// What follows `start` on lines that begin with it.
pub fn beginning_with<'a>(said: &'a str, start: &'a str) -> impl Iterator<Item = &'a str> {
    said.lines().filter_map(move |line| line.trim().strip_prefix(start))
}
