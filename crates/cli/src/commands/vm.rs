//! `swtch vm`.

use super::guest_cpus::give_cpus;
use super::own_program::{search_path_for, with_own_program};
use super::sched::usage;
use crate::args::vm::VmArgs;
use crate::console::{Console, ProgressLine};
use crate::output::{self, WrongUsage};
use anyhow::Context;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::slice;
use std::time::Duration;
use swtch_decide::diff_profiles;
use swtch_report::terminal;
use swtch_sched::{KernelRun, SchedError, kernels_table, make_program_for, measures};
use swtch_units::Observer;
use swtch_units::TextTable;
use swtch_vm::{Accelerator, AvailableKernel, Event, Spec, Stream, available_kernels, config_diff};

/// The spinner turns this often.
const TICK: Duration = Duration::from_millis(120);

pub(crate) fn run(args: &VmArgs) -> anyhow::Result<ExitCode> {
    if args.list_kernels {
        output::print(&kernels_to_choose_from(&available_kernels(args.arch)?));
        return Ok(ExitCode::SUCCESS);
    }
    let mut specs = args.specs(&args.command);
    give_cpus(&mut specs, args.machine.as_deref())?;
    for spec in &specs {
        // Before anything is searched for, and the first guest boots.
        spec.check().map_err(|error| WrongUsage(error.to_string()))?;
    }
    let (own, search_path) = search_path_for(args.arch)?;
    let command = with_own_program(&args.command, &own);
    let made = tempfile::tempdir().context("cannot make a directory for the scheduler's program")?;
    for spec in &mut specs {
        spec.command.clone_from(&command);
        make_program_for(spec, &search_path, made.path()).map_err(usage)?;
    }
    if let [spec] = &specs[..] { one(args, spec, &own) } else { several(args, specs, &own) }
}

/// The newest of each series, such as 6.12, and which are here.
fn kernels_to_choose_from(kernels: &[AvailableKernel]) -> String {
    let series =
        |kernel: &AvailableKernel| kernel.version.splitn(3, '.').take(2).collect::<Vec<_>>().join(".");
    let mut table = TextTable::new(["kernel", "newest", "older", "here", "sched_ext"]).left([1, 3, 4]);
    for of_one in kernels.chunk_by(|one, other| series(one) == series(other)) {
        let Some((newest, older)) = of_one.split_first() else { continue };
        let here: Vec<&str> =
            of_one.iter().filter(|kernel| kernel.kept).map(|kernel| kernel.version.as_str()).collect();
        let sched_ext = match of_one.iter().find_map(|kernel| kernel.sched_ext) {
            Some(true) => "yes",
            Some(false) => "no",
            None => "",
        };
        table.row([
            series(newest),
            newest.version.clone(),
            older.len().to_string(),
            here.join(" "),
            sched_ext.to_owned(),
        ]);
    }
    table.to_string()
}

/// One guest: the command's output and exit status pass through.
fn one(args: &VmArgs, spec: &Spec, own: &Path) -> anyhow::Result<ExitCode> {
    match swtch_vm::run(spec, own, &mut watching(args, String::new(), false)?) {
        Ok(outcome) => {
            let warnings = [outcome.memory_warning(spec.memory_mib), outcome.not_returned];
            for warning in warnings.into_iter().flatten() {
                output::complain_text(&format!("swtch: {warning}"));
            }
            Ok(ExitCode::from(u8::try_from(outcome.exited.shell_status()).unwrap_or(1)))
        }
        Err(error) => {
            let status = error.shell_status();
            output::complain(&error.into());
            Ok(ExitCode::from(status.unwrap_or(1)))
        }
    }
}

/// Several guests, the later ones compared with the first.
fn several(args: &VmArgs, specs: Vec<Spec>, own: &Path) -> anyhow::Result<ExitCode> {
    measures(&specs[0].command, own).map_err(|error| WrongUsage(error.to_string()))?;
    let count = specs.len();
    let mut runs = Vec::with_capacity(count);
    for (index, spec) in specs.into_iter().enumerate() {
        let (name, memory_mib) = (name(args, &spec), spec.memory_mib);
        let mut console = watching(args, format!("{} of {count}: ", index + 1), true)?;
        let run = KernelRun::of(spec, name, own, &mut console);
        drop(console);
        let run = run.map_err(|error| match error {
            SchedError::Wish(text) => WrongUsage(text).into(),
            error => anyhow::Error::from(error),
        })?;
        if let Some(warning) = run.outcome.memory_warning(memory_mib) {
            output::complain_text(&format!("swtch: {warning}"));
        }
        runs.push(run);
    }
    show(args, &runs)?;
    Ok(ExitCode::SUCCESS)
}

/// How this guest differs from the others.
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
fn show(args: &VmArgs, runs: &[KernelRun]) -> anyhow::Result<()> {
    let Some((first, others)) = runs.split_first() else { return Ok(()) };
    let mut documents = Vec::new();
    for other in others {
        let (Some(old), Some(new)) = (&first.profile, &other.profile) else { continue };
        let found = diff_profiles(slice::from_ref(old), slice::from_ref(new));
        found.check().context("the comparison is refused; please report this defect")?;
        if args.json {
            documents.push(serde_json::json!({
                "before": first.name, "after": other.name, "comparison": found
            }));
        } else {
            let text = terminal::diff(&found);
            output::print(&format!("before: {}\nafter:  {}\n{text}\n", first.name, other.name));
        }
    }
    if args.json {
        let document = serde_json::json!({ "runs": runs, "comparisons": documents });
        output::print(&(serde_json::to_string_pretty(&document)? + "\n"));
    } else if first.profile.is_none() {
        output::print(&kernels_table(runs));
    }
    if let (false, Some((first, others))) = (args.json, args.kernel.split_first()) {
        for other in others {
            let words = config_diff(args.arch, args.energy_model, first, other)
                .map_or_else(|| "not known of both".to_owned(), |found| found.in_words());
            output::print(&format!("configuration, {} to {}: {words}\n", first.display(), other.display()));
        }
    }
    Ok(())
}

/// Passes a guest's output on, and shows on a terminal that it boots. Where there are several guests, `which` begins what is shown;
/// `quiet` keeps its command's output back.
fn watching(args: &VmArgs, which: String, quiet: bool) -> anyhow::Result<impl Observer<Event>> {
    let (json, console) = (args.json && !quiet, args.console);
    let line = ProgressLine::at_once("{spinner} {wide_msg}", None);
    Console::new(line, &[SIGINT, SIGTERM, SIGHUP], move |line: &mut ProgressLine, event: &Event| {
        let mut spin = |text: &str| {
            line.show_always(|bar| {
                bar.reset();
                bar.enable_steady_tick(TICK);
                bar.set_message(format!("{which}{text}"));
            });
        };
        match event {
            event if json => {
                let text = serde_json::to_string(event).unwrap_or_default();
                output::print(&(text + "\n"));
            }
            Event::Preparing { text } => spin(text),
            Event::Booting { kernel, accelerator } => {
                let how = match accelerator {
                    Accelerator::Kvm => "with KVM",
                    Accelerator::CountedInstructions => "counting its instructions",
                    _ => "in emulation",
                };
                spin(&format!("booting {kernel} {how}"));
            }
            Event::Booted { .. } => spin("booted; starting the command"),
            Event::Busy { percent } => output::complain_text(&format!(
                "swtch: the guest's kernel was busy for {percent} % of its CPUs' time when the command started; times and counts include that"
            )),
            Event::Started if quiet => spin("measuring"),
            // From here on the terminal is the command's.
            Event::Started => line.clear(),
            Event::Output { stream, bytes } if !quiet => pass_on(*stream, bytes),
            Event::Kernel { line } if console => output::complain_text(line),
            _ => {}
        }
    })
}

/// A reader that has closed the pipe is not a failure.
fn pass_on(stream: Stream, bytes: &[u8]) {
    let written = match stream {
        Stream::Stdout => {
            let mut out = io::stdout().lock();
            out.write_all(bytes).and_then(|()| out.flush())
        }
        Stream::Stderr => io::stderr().lock().write_all(bytes),
    };
    drop(written);
}
