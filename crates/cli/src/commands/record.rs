//! `swtch record`.

mod live_line;

use super::measure::measuring;
use crate::args::record::RecordArgs;
use crate::output::{self, WrongUsage};
use anyhow::{Context, bail};
use live_line::LiveLine;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use swtch_cost::{CostModel, Inputs, advise, bill, caveats};
use swtch_decide::probe::kept;
use swtch_measure::{Options as MeasureOptions, Preset, measure};
use swtch_profile::file;
use swtch_record::{CommandStart, Options, RecordError, Recording, Target, record};
use swtch_report::recording::Summary;
use swtch_report::terminal;
use swtch_topology::Host;
use swtch_trace::Destination;
use swtch_trace::model::ProbedRefill;

pub(crate) fn run(args: &RecordArgs) -> anyhow::Result<ExitCode> {
    let Some(target) = args.target() else {
        return Err(WrongUsage(RecordError::NoCommand.to_string()).into());
    };
    if args.duration.is_some_and(|duration| duration.is_zero()) {
        return Err(
            WrongUsage("a duration of 0 s leaves nothing to record; write 10s or 5m".to_owned()).into()
        );
    }
    check_json(args, &target)?;
    // Read first: a mistyped name should not cost a recording.
    let given = args.profile.as_deref().map(file::read).transpose()?;
    let destination = match &args.out {
        Some(out) => Destination::named(out, args.force)?,
        None => Destination::free(&folder(&target))?,
    };
    let taken = args.out.is_none().then(|| folder(&target)).filter(|name| *name != destination.folder);
    let is_command = matches!(target, Target::Command(_));
    let spans = is_command.then(|| destination.spans()).transpose()?;
    let probed = match &target {
        Target::Command(command) => kept_probe(command),
        _ => None,
    };
    let options = Options {
        target,
        folder: destination.folder.clone(),
        duration: args.duration,
        source: args.source,
        mode: args.mode(),
        events_for: (!args.events).then_some(args.events_for),
        defer: args.defer,
        buffer_bytes: args.buffer,
        cost: args.cost.unwrap_or_default(),
        working_set: args.working_set,
        drop_capabilities: true,
        measures_later: given.is_none()
            && !args.no_profile
            && file::own_path().is_some_and(|own| !own.exists()),
        stacks: args.stacks.then_some(args.stack_entries),
        spans,
        sample: args.sample,
        start: CommandStart::default(),
        probed,
    };
    let mut line = LiveLine::new(is_command, args.duration).context("cannot listen for Ctrl-C")?;
    let recorded = record(&options, &mut line);
    drop(line);
    let recording = match recorded {
        Ok(recording) => {
            let folder = destination.settle(recording.header.provenance.ended)?;
            Recording { folder, ..recording }
        }
        Err(error) => {
            let status = error.shell_status();
            output::complain(&error.into());
            return Ok(ExitCode::from(status.unwrap_or(1)));
        }
    };
    let model = match (given, args.no_profile) {
        (Some(profile), _) => Some(CostModel::of(&profile)),
        (None, true) => None,
        (None, false) => own_model()?,
    };
    show(args, &recording, model.as_ref())?;
    if let Some(taken) = taken {
        let (taken, own) = (taken.display(), shown(&recording.folder));
        output::complain_text(&format!("swtch: {taken} exists and is kept; this Trace is {own}"));
    }
    let status = recording.header.exit_status.unwrap_or(0);
    Ok(ExitCode::from(u8::try_from(status).unwrap_or(1)))
}

/// The command itself writes to standard output, so no program could read a document there. A file that cannot be written should not
/// cost a recording.
fn check_json(args: &RecordArgs, target: &Target) -> anyhow::Result<()> {
    let shared = match args.json.file() {
        None => args.json.asked(),
        Some(path) => output::is_standard_output(path),
    };
    if shared && matches!(target, Target::Command(_)) {
        let problem = "--json would go to standard output, where the command prints too; write --json=FILE";
        return Err(WrongUsage(problem.to_owned()).into());
    }
    Ok(args.json.file().map_or(Ok(()), file::check_writable)?)
}

/// What `swtch probe` found for this command on this machine.
fn kept_probe(command: &[OsString]) -> Option<ProbedRefill> {
    let words: Vec<String> = command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    kept(&words, &Host::read(Path::new("/")).ok()?)
}

/// `make.swtch` for `/usr/bin/make`, `machine.swtch`, `pid-12.swtch`, `cgroup-web.swtch`, in this directory.
fn folder(target: &Target) -> PathBuf {
    let base = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = match target {
        Target::Command(command) => command.first().and_then(|program| base(Path::new(program))),
        Target::Processes(pids) => pids.first().map(|pid| format!("pid-{pid}")),
        Target::Cgroup(path) => base(Path::new(path)).map(|name| format!("cgroup-{name}")),
        Target::Machine => Some("machine".to_owned()),
    };
    PathBuf::from(format!("{}.swtch", name.unwrap_or_else(|| "record".to_owned())))
}

/// Prices of this machine: of its Profile, which is measured when there is none.
fn own_model() -> anyhow::Result<Option<CostModel>> {
    if let Some(model) = output::prices(None)? {
        return Ok(Some(model));
    }
    let Some(path) = file::own_path() else { return Ok(None) };
    output::complain_text("swtch: this machine has no Profile yet; measuring one takes ten seconds, once");
    let measured = measure(&MeasureOptions::preset(Preset::Quick), &mut measuring()?);
    let mut measurement = match measured {
        Ok(measurement) => measurement,
        Err(error) => bail!("no Profile to price with: {error}; --no-profile does without"),
    };
    if let Some(parent) = path.parent()
        && std::fs::create_dir_all(parent).is_ok()
    {
        file::write(&mut measurement.profile, &measurement.samples, &path)?;
    }
    Ok(Some(CostModel::of(&measurement.profile)))
}

fn show(args: &RecordArgs, recording: &Recording, model: Option<&CostModel>) -> anyhow::Result<()> {
    let Recording { header, tables, folder, .. } = recording;
    let inputs = Inputs { trace: tables.view(header), model, price: args.price };
    let bill = bill(inputs);
    let caveats = caveats(inputs, &bill);
    let advice = args.advise.then(|| advise(inputs, &bill));
    let summary = Summary { trace: inputs.trace, bill: &bill, caveats: &caveats, advice: advice.as_deref() };
    if args.json.asked() {
        return output::json(&args.json, &summary.json());
    }
    // The command's own output goes to standard output, so the summary must not.
    let text = format!("{}\nTrace: {}\n", terminal::recording(&summary), shown(folder));
    if matches!(header.scope, swtch_trace::model::Scope::Command { .. }) {
        output::complain_text(text.trim_end());
    } else {
        output::print(&text);
    }
    Ok(())
}

/// Relative to where we are, where that is shorter.
fn shown(folder: &Path) -> String {
    let here = std::env::current_dir().ok();
    let short = here.as_deref().and_then(|here| folder.strip_prefix(here).ok()).unwrap_or(folder);
    short.display().to_string()
}
