//! Kernel against kernel: the same command in several guests.

use crate::error::SchedError;
use serde::Serialize;
use std::ffi::OsString;
use std::path::Path;
use swtch_profile::{Profile, file};
use swtch_units::{Observer, TextTable};
use swtch_vm::{Accelerator, Event, Outcome, Spec};

/// The Profile that `swtch measure` writes in the guest, and that comes back.
const PROFILE: &str = "versus-profile.json";

/// The run in one guest.
#[derive(Clone, Debug, Serialize)]
pub struct KernelRun {
    /// Kernel and command line, as far as they differ.
    pub name: String,
    /// What the guest's kernel counted.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// The guest's Profile, if the command is `swtch measure`.
    #[serde(skip)]
    pub profile: Option<Profile>,
}

impl KernelRun {
    /// Runs the guest `spec`, called `name`. `program` is this program, which the guest needs.
    ///
    /// # Errors
    /// When the guest or its command fails, or the guest's Profile cannot be read.
    pub fn of(
        mut spec: Spec,
        name: String,
        program: &Path,
        observer: &mut dyn Observer<Event>,
    ) -> Result<Self, SchedError> {
        let measures = measures(&spec.command, program)?;
        let back = tempfile::tempdir().map_err(SchedError::system("making a directory for the Profiles"))?;
        if measures {
            spec.command.extend(["--out", PROFILE].map(OsString::from));
            spec.fetch.push(PROFILE.into());
            spec.fetch_into = Some(back.path().to_owned());
        }
        let outcome = swtch_vm::run(&spec, program, observer)
            .map_err(|source| SchedError::Vm { policies: name.clone(), source: Box::new(source) })?;
        let status = outcome.exited.shell_status();
        if status != 0 {
            let command = spec.command.first().map(|word| word.to_string_lossy().into_owned());
            let how = format!("ended with status {status} (run it alone to see its messages)");
            return Err(SchedError::Command { policy: name, command: command.unwrap_or_default(), how });
        }
        let profile = measures.then(|| file::read(&back.path().join(PROFILE))).transpose()?;
        Ok(Self { name, outcome, profile })
    }
}

/// Whether the command is `swtch measure`, whose Profiles can be compared.
///
/// # Errors
/// [`SchedError::Wish`] when it has an option that the comparison needs for itself.
pub fn measures(command: &[OsString], program: &Path) -> Result<bool, SchedError> {
    let is_it = command.first().is_some_and(|word| Path::new(word) == program)
        && command.get(1).is_some_and(|word| word == "measure");
    let taken = ["-o", "--out", "--no-save", "--compare", "--json"];
    match command.iter().skip(2).find(|word| taken.iter().any(|name| *word == name)) {
        Some(word) if is_it => Err(SchedError::Wish(format!(
            "leave {} out: when kernels are compared, the Profiles are compared here",
            word.to_string_lossy()
        ))),
        _ => Ok(is_it),
    }
}

/// What the kernels counted, as text.
pub fn kernels_table(runs: &[KernelRun]) -> String {
    // The instructions of all CPUs are not a time that a machine would take.
    let counted = runs.iter().all(|run| run.outcome.accelerator == Accelerator::CountedInstructions);
    let time = if counted { "virtual ms" } else { "time, ms" };
    let mut table = TextTable::new(["", "switches", time, "forks"]);
    for run in runs {
        let exited = &run.outcome.exited;
        let ms = format!("{:.6}", exited.elapsed_ns as f64 / 1e6);
        table.row([run.name.clone(), exited.context_switches.to_string(), ms, exited.forks.to_string()]);
    }
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use swtch_vm::Exited;

    fn words(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn only_swtch_measure_gives_profiles() {
        let own = Path::new("/bin/swtch");
        assert!(measures(&words("/bin/swtch measure --quick"), own).unwrap());
        for other in ["/bin/swtch record -o x", "hackbench measure --out x", "/bin/swtch"] {
            assert!(!measures(&words(other), own).unwrap(), "{other}");
        }
        let error = measures(&words("/bin/swtch measure --quick --json"), own).unwrap_err();
        assert!(error.to_string().contains("leave --json out"), "{error}");
    }

    #[test]
    fn counts_stand_below_each_other() {
        let run = |name: &str, context_switches| KernelRun {
            name: name.to_owned(),
            outcome: Outcome {
                kernel: "7.3".to_owned(),
                accelerator: Accelerator::CountedInstructions,
                inputs: String::new(),
                exited: Exited {
                    status: Some(0),
                    signal: None,
                    elapsed_ns: 1_500_000,
                    context_switches,
                    forks: 3,
                    oom_kills: 0,
                },
                out_of_memory: None,
                not_returned: None,
            },
            profile: None,
        };
        let text = kernels_table(&[run("preempt=lazy", 100), run("preempt=full", 23_510)]);
        assert_eq!(
            text,
            "              switches  virtual ms  forks\n\
             preempt=lazy       100    1.500000      3\n\
             preempt=full     23510    1.500000      3\n"
        );
    }
}
