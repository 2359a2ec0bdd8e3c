//! `swtch export`.

use crate::args::export::ExportArgs;
use crate::console::Interruptible;
use crate::output::{self, WrongUsage};
use serde_json::json;
use std::io::{self, BufWriter};
use std::path::Path;
use std::process::ExitCode;
use swtch_cost::has_switches;
use swtch_profile::file;
use swtch_report::export::{ExportError, ExportOptions, Exported};
use swtch_trace::Trace;
use swtch_trace::spans::Spans;

pub(crate) fn run(args: &ExportArgs) -> anyhow::Result<ExitCode> {
    let out = args.out.as_deref().filter(|out| *out != Path::new("-"));
    args.to
        .check(
            args.table.is_some(),
            args.weight.is_some(),
            args.profile.is_some(),
            args.spans.spans.is_some(),
            out.is_some(),
        )
        .map_err(WrongUsage)?;
    if out.is_none() && args.json.asked() && args.json.file().is_none() {
        let problem = "--json cannot go to standard output, where the export goes; write --json=FILE, or export with -o FILE";
        return Err(WrongUsage(problem.to_owned()).into());
    }
    let trace = Trace::open(&args.trace)?;
    let model = if args.to.has_prices { output::prices(args.profile.as_deref())? } else { None };
    let spans = if args.to.has_spans { spans(args, &trace)? } else { None };
    let options = ExportOptions {
        table: args.table,
        weight: args.weight,
        model: model.as_ref(),
        spans: spans.as_ref().map(|spans| (spans, args.spans.slowest)),
    };
    let Some(out) = out else {
        let mut sink = BufWriter::with_capacity(1 << 16, io::stdout());
        return match (args.to.write)(&trace, &options, &mut sink) {
            Ok(exported) => {
                complain_of_left_out(&exported, "standard output");
                Ok(ExitCode::SUCCESS)
            }
            // A reader that closes early (`| head`) is not a failure.
            Err(ExportError::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                Ok(ExitCode::SUCCESS)
            }
            Err(error) => Err(error.into()),
        };
    };
    let mut exported = Exported::default();
    file::replace(out, |sink| {
        let mut sink = BufWriter::with_capacity(1 << 18, Interruptible::new(sink, None)?);
        exported = (args.to.write)(&trace, &options, &mut sink)?;
        Ok(())
    })?;
    complain_of_left_out(&exported, "the file");
    if args.json.asked() {
        let mut summary = json!({
            "schema": "swtch/export/1",
            "trace": args.trace,
            "to": args.to.name,
            "file": out,
            "bytes": std::fs::metadata(out).map(|found| found.len()).ok(),
        });
        if let Some(summary) = summary.as_object_mut() {
            summary.extend(exported.figures);
            summary.insert("left_out".to_owned(), json!(exported.left_out));
        }
        output::json(&args.json, &summary)?;
    } else {
        output::print(&format!("{}: {}\n", out.display(), exported.text));
    }
    Ok(ExitCode::SUCCESS)
}

/// The spans that were named, else those beside the Trace; of the latter a defect is only said.
fn spans(args: &ExportArgs, trace: &Trace) -> anyhow::Result<Option<Spans>> {
    let Some(file) = args.spans.file(&args.trace) else { return Ok(None) };
    let read = has_switches(trace)
        .map_err(anyhow::Error::from)
        .and_then(|()| Ok(Spans::read(&file, args.spans.source(), trace.view())?));
    match read {
        Err(error) if args.spans.spans.is_none() => {
            output::complain_text(&format!("swtch: no spans are exported: {error}"));
            Ok(None)
        }
        read => read.map(Some),
    }
}

fn complain_of_left_out(exported: &Exported, place: &str) {
    if !exported.left_out.is_empty() {
        output::complain_text(&format!("swtch: not in {place}: {}", exported.left_out.join("; ")));
    }
}
