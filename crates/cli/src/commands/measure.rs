//! `swtch measure`.

use crate::args::MeasureArgs;
use crate::commands::diff;
use crate::console::{Console, INTERRUPTS, ProgressLine};
use crate::output::{self, WrongUsage};
use anyhow::Context;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::slice;
use swtch_decide::{DiffOptions, FailIf, diff_profiles};
use swtch_measure::{MeasureError, Measurement, Options, Progress, measure};
use swtch_profile::check::check_with_samples;
use swtch_profile::file;
use swtch_profile::model::Ended;
use swtch_report::terminal;
use swtch_units::Observer;

pub(crate) fn run(args: &MeasureArgs) -> anyhow::Result<ExitCode> {
    // Read first: a mistyped name should not cost a minute and a half of measuring.
    let old = args.compare.as_deref().map(file::read).transpose()?;
    if let (Some(old), Some(new)) = (&args.compare, &args.with) {
        let (old, new) = (slice::from_ref(old), slice::from_ref(new));
        let options = DiffOptions { fail_if: fail_if(args), ..DiffOptions::default() };
        return diff::show(&swtch_decide::diff(old, new, &options)?, &args.json);
    }
    let place = place(args)?;
    let measured = measure(&options(args), &mut measuring()?);
    let mut measurement = measured.map_err(|error| match error {
        MeasureError::Options(error) => anyhow::Error::new(WrongUsage(error.to_string())),
        other => other.into(),
    })?;
    refuse_the_impossible(&mut measurement, place.as_ref())?;
    let interrupted = measurement.profile.provenance.ended == Ended::Interrupted;
    let saved =
        place.filter(|place| place.asked_for || !interrupted).map(|place| save(&mut measurement, &place));
    let mut status = ExitCode::SUCCESS;
    match &old {
        Some(old) => {
            let mut found = diff_profiles(slice::from_ref(old), slice::from_ref(&measurement.profile));
            found.add_verdicts(&fail_if(args));
            status = diff::show(&found, &args.json)?;
        }
        None if args.json.asked() => output::json(&args.json, &measurement.profile)?,
        None => output::print(&terminal::profile(&measurement.profile)),
    }
    match saved {
        Some(Ok(path)) if !args.json.asked() => output::print(&format!("Profile: {}\n", path.display())),
        Some(Err(error)) => return Err(error),
        _ => {}
    }
    Ok(if interrupted { ExitCode::FAILURE } else { status })
}

fn fail_if(args: &MeasureArgs) -> Vec<FailIf> {
    args.fail_if.map(FailIf::Verdict).into_iter().collect()
}

/// Steps of the progress bar.
const STEPS: u64 = 1000;

/// Shows the progress of a measurement; Ctrl-C ends it.
pub(super) fn measuring() -> anyhow::Result<impl Observer<Progress>> {
    let line =
        ProgressLine::at_once("{bar:30} {percent:>3} %  at most {prefix} left  {wide_msg}", Some(STEPS));
    Console::new(line, &INTERRUPTS, |line: &mut ProgressLine, progress: &Progress| {
        line.show(|bar| {
            bar.set_prefix(format!("{} s", progress.at_most.as_secs()));
            bar.set_message(progress.condition.clone());
            bar.set_position((progress.fraction * STEPS as f64) as u64);
        });
    })
}

fn options(args: &MeasureArgs) -> Options {
    Options {
        preset: args.preset(),
        methods: args.method.clone(),
        with_calls: false,
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

/// Decides before measuring, and tries the directory: a path that cannot be written must not cost a measurement.
fn place(args: &MeasureArgs) -> anyhow::Result<Option<Place>> {
    if let Some(path) = &args.out {
        file::check_writable(path)?;
        return Ok(Some(Place { path: path.clone(), asked_for: true }));
    }
    // A part of a Profile is not this machine's Profile.
    if args.no_save || args.partial() {
        return Ok(None);
    }
    Ok(file::own_path().map(|path| Place { path, asked_for: false }))
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

/// Keeps a Profile with figures that cannot be true next to the place where it would have gone, and prints none of it.
fn refuse_the_impossible(measurement: &mut Measurement, place: Option<&Place>) -> anyhow::Result<()> {
    let Err(refused) = check_with_samples(&measurement.profile, &measurement.samples) else { return Ok(()) };
    let path = refused_path(place.map(|place| place.path.as_path()));
    file::write(&mut measurement.profile, &measurement.samples, &path)
        .with_context(|| format!("the measurement is refused ({refused}) and cannot be kept"))?;
    Err(anyhow::Error::new(refused).context(format!(
        "the measurement is refused and kept as {}; please report this defect with that file",
        path.display()
    )))
}

/// `NAME.refused.json` next to `NAME.json`; in the current directory where the Profile would not have been kept.
fn refused_path(place: Option<&Path>) -> PathBuf {
    let regular = place.filter(|path| !path.exists() || path.is_file());
    regular.unwrap_or(Path::new("profile.json")).with_extension("refused.json")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use swtch_profile::samples::Sample;

    /// A measured Profile, with as many batches as it says.
    fn measurement() -> Measurement {
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/profiles/vm.json");
        let profile = file::read(&fixture).unwrap();
        let sample = Sample { rounds: 1, round_ns: 1.0, spin_ns: 1.0, ..Sample::default() };
        Measurement { samples: vec![sample; profile.noise.batches as usize], profile }
    }

    #[test]
    fn a_refused_measurement_is_kept_beside_the_good_older_one() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place { path: folder.path().join("profile.json"), asked_for: false };
        let mut good = measurement();
        assert!(refuse_the_impossible(&mut good, Some(&place)).is_ok());
        save(&mut good, &place).unwrap();
        let older = fs::read(&place.path).unwrap();
        let mut bad = measurement();
        bad.profile.direct[0].switch_cost_ns.ci_low = 1e9;
        let error = refuse_the_impossible(&mut bad, Some(&place)).unwrap_err();
        let text = format!("{error:#}");
        assert!(
            text.contains("profile.refused.json") && text.contains("ci_low: 1000000000 is more than"),
            "{text}"
        );
        assert!(!text.contains('\n'), "{text}");
        assert_eq!(fs::read(&place.path).unwrap(), older);
        assert!(folder.path().join("profile.refused.json").is_file());
        assert!(file::read(&folder.path().join("profile.refused.json")).is_err());
    }

    #[test]
    fn a_device_is_not_named_after() {
        assert_eq!(refused_path(Some(Path::new("/dev/null"))), Path::new("profile.refused.json"));
        assert_eq!(refused_path(None), Path::new("profile.refused.json"));
        assert_eq!(refused_path(Some(Path::new("a/b.json"))), Path::new("a/b.refused.json"));
    }
}
