//! Whole measurements on the machine the tests run on: shapes and ratios, never absolute times.

use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use swtch_measure::{Class, Method, Options, Preset, Progress, Tasks, measure};
use swtch_profile::model::{Direct, Ended, Profile};
use swtch_topology::Placement;
use swtch_units::{Observer, Silent};

fn pipe_only(time_limit: Duration) -> Options {
    Options {
        preset: Preset::Quick,
        methods: Some(vec![Method::Pipe]),
        placements: Some(vec![Placement::SameCpu]),
        classes: Some(vec![Class::Normal]),
        sizes_bytes: Some(vec![64 << 10]),
        time_limit: Some(time_limit),
        ..Options::default()
    }
}

fn row(profile: &Profile, tasks: Tasks) -> &Direct {
    profile.direct.iter().find(|row| row.tasks == tasks).unwrap()
}

/// One at a time: two runs on one CPU would be each other's noise.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn a_small_run_answers_every_question_it_was_asked() {
    let _alone = alone();
    let measurement = measure(&pipe_only(Duration::from_secs(3)), &mut Silent).unwrap();
    let profile = &measurement.profile;
    for tasks in Tasks::ALL {
        let row = row(profile, tasks);
        let cost = &row.switch_cost_ns;
        assert!(cost.median > 0.0 && cost.ci_low <= cost.median && cost.median <= cost.ci_high);
        assert!(
            cost.undisturbed > 0.0 && cost.undisturbed <= cost.median * 1.02,
            "{} against {}",
            cost.undisturbed,
            cost.median
        );
        assert!(cost.launches >= 5 && cost.launch_medians.len() == cost.launches as usize);
        if let Some(switches) = row.switches_per_round_trip {
            assert!((switches - 2.0).abs() < 0.1, "{switches} switches in a round trip of two");
        }
    }
    // Two tasks cannot take less than the system calls they make.
    let process = row(profile, Tasks::Process);
    assert!(process.round_trip_ns.median > 2.0 * process.baseline_ns);
    // The trap of a cost below zero at 64 KiB, which a baseline measured first and once gives.
    let total = &profile.total[0];
    assert_eq!((total.array_bytes, total.total_cost_ns.median > 0.0), (64 << 10, true));
    assert!(measurement.samples.iter().all(|sample| sample.baseline_ns > 0.0));
    // The preemption model decides how often tasks switch: known, or known why not.
    let kernel = &profile.host.kernel;
    assert!(kernel.preemption.is_some() || kernel.preemption_source.is_some());
    assert_eq!(profile.provenance.ended, Ended::Complete);
}

/// Under load a figure is several times the undisturbed one, and other tools print it without a word.
#[test]
fn a_loaded_processor_is_noticed() {
    let _alone = alone();
    let quiet = measure(&pipe_only(Duration::from_secs(2)), &mut Silent).unwrap().profile;
    let cpu = row(&quiet, Tasks::Thread).cpus[0].to_string();
    let Ok(mut busy) = Command::new("taskset")
        .args(["-c", &cpu, "sh", "-c", "while :; do :; done"])
        .stdin(Stdio::null())
        .spawn()
    else {
        eprintln!("SKIP a_loaded_processor_is_noticed: taskset (Debian's util-linux) is not here");
        return;
    };
    let loaded = measure(&pipe_only(Duration::from_secs(3)), &mut Silent);
    busy.kill().unwrap();
    busy.wait().unwrap();
    let loaded = loaded.unwrap().profile;
    let share = loaded.noise.foreign_share.unwrap();
    assert!(share > 0.1 && share > quiet.noise.foreign_share.unwrap(), "foreign share {share}");
    let flagged = loaded.direct.iter().any(|row| !row.switch_cost_ns.flags.is_empty());
    assert!(loaded.noise.rejected > 0 || flagged, "{:?}", loaded.noise);
}

struct StopAfter(Duration, Instant);

impl Observer<Progress> for StopAfter {
    fn event(&mut self, progress: &Progress) {
        assert!((0.0..=1.0).contains(&progress.fraction));
    }

    fn stop(&mut self) -> bool {
        self.1.elapsed() > self.0
    }
}

#[test]
fn an_interrupted_run_keeps_what_is_complete() {
    let _alone = alone();
    let options = Options::preset(Preset::Full);
    let began = Instant::now();
    let measurement = measure(&options, &mut StopAfter(Duration::from_secs(2), began)).unwrap();
    assert!(began.elapsed() < Duration::from_secs(30), "15 minutes were asked for, 2 seconds given");
    let profile = measurement.profile;
    assert_eq!(profile.provenance.ended, Ended::Interrupted);
    assert!(profile.unavailable.iter().any(|row| row.reason.contains("interrupted")));
}
