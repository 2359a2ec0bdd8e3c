//! `swtch measure`.

use crate::args::MeasureArgs;
use crate::output::{self, WrongUsage};
use crate::progress::Bar;
use anyhow::Context;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use swtch_measure::{MeasureError, Measurement, Options, measure};
use swtch_profile::model::Ended;
use swtch_profile::{Profile, compare, file};
use swtch_report::terminal;

pub(crate) fn run(args: &MeasureArgs) -> anyhow::Result<ExitCode> {
    // Read first: a mistyped name should not cost a minute and a half of measuring.
    let old = args.compare.as_deref().map(file::read).transpose()?;
    if let (Some(old), Some(new)) = (&old, &args.with) {
        show_comparison(old, &file::read(new)?, args.json)?;
        return Ok(ExitCode::SUCCESS);
    }
    let place = place(args)?;
    let mut bar = Bar::new().context("cannot listen for Ctrl-C")?;
    let measured = measure(&options(args), &mut bar);
    bar.clear();
    let mut measurement = measured.map_err(|error| match error {
        MeasureError::Options(error) => anyhow::Error::new(WrongUsage(error.to_string())),
        other => other.into(),
    })?;
    let interrupted = measurement.profile.provenance.ended == Ended::Interrupted;
    let saved =
        place.filter(|place| place.asked_for || !interrupted).map(|place| save(&mut measurement, &place));
    match &old {
        Some(old) => show_comparison(old, &measurement.profile, args.json)?,
        None if args.json => output::print(&(serde_json::to_string_pretty(&measurement.profile)? + "\n")),
        None => output::print(&terminal::profile(&measurement.profile)),
    }
    match saved {
        Some(Ok(path)) if !args.json => output::print(&format!("Profile: {}\n", path.display())),
        Some(Err(error)) => return Err(error),
        _ => {}
    }
    Ok(if interrupted { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn options(args: &MeasureArgs) -> Options {
    Options {
        preset: args.preset(),
        methods: args.method.clone(),
        sizes_bytes: args.sizes.clone(),
        strides_bytes: args.strides.clone(),
        accesses: args.access.clone(),
        placements: args.placement.clone(),
        classes: args.class.clone(),
        precision: args.precision,
        time_limit: args.time_limit,
        max_array_bytes: args.max_array,
        order_seed: args.seed,
    }
}

/// Where the Profile will go.
struct Place {
    path: PathBuf,
    asked_for: bool,
}

/// Decides before measuring, and tries the folder: an unwritable place should not cost a measurement.
fn place(args: &MeasureArgs) -> anyhow::Result<Option<Place>> {
    if let Some(path) = &args.out {
        file::check_writable(path)?;
        return Ok(Some(Place { path: path.clone(), asked_for: true }));
    }
    // A part of a Profile is not this machine's Profile.
    if args.no_save || args.partial() {
        return Ok(None);
    }
    Ok(output::own_profile().map(|path| Place { path, asked_for: false }))
}

fn save(measurement: &mut Measurement, place: &Place) -> anyhow::Result<PathBuf> {
    if let (false, Some(folder)) = (place.asked_for, place.path.parent()) {
        fs::create_dir_all(folder).with_context(|| {
            format!("cannot make {} for this machine's profile; use --out FILE", folder.display())
        })?;
    }
    file::write(&mut measurement.profile, &measurement.samples, &place.path)?;
    Ok(place.path.clone())
}

fn show_comparison(old: &Profile, new: &Profile, json: bool) -> anyhow::Result<()> {
    let found = compare::compare(old, new);
    let text = if json { serde_json::to_string_pretty(&found)? + "\n" } else { terminal::comparison(&found) };
    output::print(&text);
    Ok(())
}
