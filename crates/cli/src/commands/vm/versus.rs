//! Kernel against kernel: the same command in several guests, and what differs.

use super::{tell_of_memory, watch::Watch};
use crate::args::vm::VmArgs;
use crate::output::{self, WrongUsage};
use anyhow::{Context, bail};
use serde::Serialize;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use swtch_profile::{Profile, compare, file};
use swtch_report::terminal;
use swtch_units::aligned;
use swtch_vm::{Accelerator, Outcome, Spec};

/// What `swtch measure` writes in the guest, and what comes back.
const PROFILE: &str = "versus-profile.json";

/// One guest's run.
#[derive(Serialize)]
struct Run {
    /// Kernel and command line, as far as they differ.
    name: String,
    #[serde(flatten)]
    outcome: Outcome,
    #[serde(skip)]
    profile: Option<Profile>,
}

pub(super) fn run(
    args: &VmArgs,
    specs: Vec<Spec>,
    own: &Path,
    watch: &mut Watch,
) -> anyhow::Result<ExitCode> {
    let measures = measures(&specs[0].command, own)?;
    watch.quiet = true;
    let count = specs.len();
    let mut runs = Vec::with_capacity(count);
    for (index, spec) in specs.into_iter().enumerate() {
        watch.which = format!("{} of {count}: ", index + 1);
        let name = name(args, &spec);
        let ran = one(spec, name, measures, own, watch);
        watch.clear();
        runs.push(ran?);
    }
    show(args, &runs)?;
    Ok(ExitCode::SUCCESS)
}

/// Whether the command is `swtch measure`, whose Profiles can be compared.
fn measures(command: &[OsString], own: &Path) -> anyhow::Result<bool> {
    let is_it = command.first().is_some_and(|program| Path::new(program) == own)
        && command.get(1).is_some_and(|word| word == "measure");
    let taken = ["-o", "--out", "--no-save", "--compare", "--json"];
    let other = command.iter().skip(2).find(|word| taken.iter().any(|name| *word == name));
    match other {
        Some(word) if is_it => {
            let word = word.to_string_lossy();
            Err(WrongUsage(format!(
                "leave {word} out: when kernels are compared, the Profiles are compared here"
            ))
            .into())
        }
        _ => Ok(is_it),
    }
}

fn one(mut spec: Spec, name: String, measures: bool, own: &Path, watch: &mut Watch) -> anyhow::Result<Run> {
    let back = tempfile::tempdir().context("cannot make a folder for the Profiles")?;
    if measures {
        spec.command.extend(["--out", PROFILE].map(OsString::from));
        spec.fetch.push(PROFILE.into());
        spec.fetch_into = Some(back.path().to_owned());
    }
    let outcome = swtch_vm::run(&spec, own, watch).with_context(|| name.clone())?;
    tell_of_memory(&spec, &outcome);
    let status = outcome.exited.shell_status();
    if status != 0 {
        bail!(
            "{name}: the command ended with status {status}, so there is nothing to compare; run it alone to see its messages"
        );
    }
    let profile = measures.then(|| file::read(&back.path().join(PROFILE))).transpose()?;
    Ok(Run { name, outcome, profile })
}

/// What tells this guest from the others.
fn name(args: &VmArgs, spec: &Spec) -> String {
    let kernel = spec.kernel.as_deref().map(|path| path.display().to_string());
    let mut parts: Vec<String> = kernel.filter(|_| args.kernel.len() > 1).into_iter().collect();
    if args.append.len() > 1 {
        let line = spec.append.trim();
        parts.push(if line.is_empty() { "(nothing appended)".to_owned() } else { line.to_owned() });
    }
    parts.join(" ")
}

/// Every guest against the first.
fn show(args: &VmArgs, runs: &[Run]) -> anyhow::Result<()> {
    let Some((first, others)) = runs.split_first() else { return Ok(()) };
    let mut documents = Vec::new();
    for other in others {
        let (Some(old), Some(new)) = (&first.profile, &other.profile) else { continue };
        let found = compare::compare(old, new);
        found.check().context("the comparison is refused; please report this defect")?;
        if args.json {
            let comparison = swtch_report::comparison_json(old, new, &found);
            documents.push(serde_json::json!({
                "before": first.name, "after": other.name, "comparison": comparison
            }));
        } else {
            let text = terminal::comparison(old, new, &found);
            output::print(&format!("before: {}\nafter:  {}\n{text}\n", first.name, other.name));
        }
    }
    if args.json {
        let document = serde_json::json!({ "runs": runs, "comparisons": documents });
        output::print(&(serde_json::to_string_pretty(&document)? + "\n"));
    } else if first.profile.is_none() {
        output::print(&table(runs));
    }
    Ok(())
}

/// What the kernels counted.
fn table(runs: &[Run]) -> String {
    // Instructions of all CPUs are no time that a machine would take.
    let counted = runs.iter().all(|run| run.outcome.accelerator == Accelerator::CountedInstructions);
    let time = if counted { "virtual ms" } else { "time, ms" };
    let mut rows = vec![["", "switches", time, "forks"].map(str::to_owned).to_vec()];
    rows.extend(runs.iter().map(|run| {
        let exited = &run.outcome.exited;
        let ms = format!("{:.6}", exited.elapsed_ns as f64 / 1e6);
        vec![run.name.clone(), exited.context_switches.to_string(), ms, exited.forks.to_string()]
    }));
    aligned(&rows, |column| column > 0)
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
        let run = |name: &str, context_switches| Run {
            name: name.to_owned(),
            outcome: Outcome {
                kernel: "7.3".to_owned(),
                accelerator: Accelerator::CountedInstructions,
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
        let text = table(&[run("preempt=lazy", 100), run("preempt=full", 23_510)]);
        assert_eq!(
            text,
            "              switches  virtual ms  forks\n\
             preempt=lazy       100    1.500000      3\n\
             preempt=full     23510    1.500000      3\n"
        );
    }
}
