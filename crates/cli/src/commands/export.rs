//! `swtch export`.

use crate::args::export::{ExportArgs, Format};
use crate::interrupt::Interruptible;
use crate::output::{self, WrongUsage};
use serde_json::{Value, json};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;
use swtch_profile::file;
use swtch_report::export::ExportError;
use swtch_report::tables::Form;
use swtch_report::{perfetto, prometheus, tables};
use swtch_trace::Trace;

/// What was written, for people and for machines.
struct Done {
    text: String,
    figures: Value,
    left_out: Vec<String>,
}

pub(crate) fn run(args: &ExportArgs) -> anyhow::Result<ExitCode> {
    let out = args.out.as_deref().filter(|out| *out != Path::new("-"));
    check(args, out)?;
    let trace = Trace::open(&args.trace)?;
    let Some(out) = out else { return to_standard_output(args, &trace) };
    let mut done = None;
    file::replace(out, |sink| {
        let sink = BufWriter::with_capacity(1 << 18, Interruptible::new(sink, None)?);
        done = Some(export(args, &trace, sink)?);
        Ok(())
    })?;
    let Some(Done { text, figures, left_out }) = done else { return Ok(ExitCode::SUCCESS) };
    if !left_out.is_empty() {
        output::complain_text(&format!("swtch: not in the file: {}", left_out.join("; ")));
    }
    if args.json.asked() {
        let mut summary = json!({
            "schema": "swtch/export/1",
            "trace": args.trace,
            "to": args.to.name(),
            "file": out,
            "bytes": std::fs::metadata(out).map(|found| found.len()).ok(),
        });
        if let (Some(summary), Value::Object(figures)) = (summary.as_object_mut(), figures) {
            summary.extend(figures);
            summary.insert("left_out".to_owned(), json!(left_out));
        }
        output::json(&args.json, &summary)?;
    } else {
        output::print(&format!("{}: {text}\n", out.display()));
    }
    Ok(ExitCode::SUCCESS)
}

/// What the options do not allow together.
fn check(args: &ExportArgs, out: Option<&Path>) -> Result<(), WrongUsage> {
    if matches!(args.to, Format::Perfetto | Format::Prometheus) && args.table.is_some() {
        let what = if args.to == Format::Perfetto { "a Perfetto trace has" } else { "metrics have" };
        return Err(WrongUsage(format!("{what} no tables; --table goes with --to parquet or csv")));
    }
    if args.to != Format::Prometheus && args.profile.is_some() {
        return Err(WrongUsage("only metrics have prices; --profile goes with --to prometheus".to_owned()));
    }
    if out.is_some() {
        return Ok(());
    }
    if !matches!(args.to, Format::Csv | Format::Prometheus) {
        return Err(WrongUsage(format!(
            "{} is no text for a terminal; say where with -o FILE",
            args.to.name()
        )));
    }
    if args.json.asked() && args.json.file().is_none() {
        let problem = "what is exported takes standard output; write --json=FILE, or export with -o FILE";
        return Err(WrongUsage(problem.to_owned()));
    }
    Ok(())
}

fn export(args: &ExportArgs, trace: &Trace, mut sink: impl Write + Send) -> Result<Done, ExportError> {
    let form = match args.to {
        Format::Perfetto => {
            let written = perfetto::write(trace, &mut sink)?;
            let text = format!(
                "{} switches, {} wake-ups, {} threads, {} counters; open it at https://ui.perfetto.dev",
                written.switches, written.wakeups, written.threads, written.counters
            );
            let figures = json!({
                "switches": written.switches,
                "wakeups": written.wakeups,
                "threads": written.threads,
                "counters": written.counters,
            });
            return Ok(Done { text, figures, left_out: written.left_out });
        }
        Format::Prometheus => return metrics(args, trace, sink),
        Format::Parquet => Form::Parquet,
        Format::Csv => Form::Csv,
    };
    let table = args.table.unwrap_or("switches");
    let rows = tables::write(trace, table, form, &mut sink)?;
    sink.flush()?;
    Ok(Done {
        text: format!("{rows} rows of the table {table}"),
        figures: json!({ "table": table, "rows": rows }),
        left_out: tables::left_out(trace),
    })
}

fn metrics(args: &ExportArgs, trace: &Trace, mut sink: impl Write) -> Result<Done, ExportError> {
    let model = output::prices(args.profile.as_deref()).map_err(io::Error::other)?;
    let text = prometheus::of_trace(trace, model.as_ref(), prometheus::Limits::default());
    sink.write_all(text.as_bytes())?;
    sink.flush()?;
    let samples = text.lines().filter(|line| !line.starts_with('#')).count();
    Ok(Done {
        text: format!("{samples} samples of metrics"),
        figures: json!({ "samples": samples }),
        left_out: tables::left_out(trace),
    })
}

/// A reader that has had enough (`| head`) is no failure.
fn to_standard_output(args: &ExportArgs, trace: &Trace) -> anyhow::Result<ExitCode> {
    match export(args, trace, BufWriter::with_capacity(1 << 16, io::stdout())) {
        Ok(Done { left_out, .. }) => {
            if !left_out.is_empty() {
                output::complain_text(&format!("swtch: not in it: {}", left_out.join("; ")));
            }
            Ok(ExitCode::SUCCESS)
        }
        Err(ExportError::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        Err(error) => Err(error.into()),
    }
}
