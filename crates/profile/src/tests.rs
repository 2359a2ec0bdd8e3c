//! A small Profile for tests.

use crate::model::{
    Clock, Direct, Ended, Estimate, Noise, Profile, Provenance, References, SCHEMA, Unavailable,
};
use crate::vocabulary::{Class, Method, Tasks};
use swtch_topology::{Host, Placement};

/// An estimate around `median` whose launches differ by one per cent.
pub(crate) fn estimate(median: f64) -> Estimate {
    Estimate {
        median,
        ci_low: median * 0.99,
        ci_high: median * 1.01,
        mean: median * 1.05,
        min: median * 0.9,
        undisturbed: median * 0.92,
        undisturbed_quantile: 0.05,
        cov: 0.03,
        batches: 200,
        rejected: 3,
        launches: 10,
        launch_medians: (0..10).map(|launch| median * (0.995 + 0.001 * f64::from(launch))).collect(),
        batch_length: 100,
        normality_p: Some(0.001),
        lag1_autocorrelation: Some(0.1),
        ended: Ended::Precision,
        flags: Vec::new(),
    }
}

/// A Profile with one direct cost of `median`.
pub(crate) fn profile_with(median: f64) -> Profile {
    Profile {
        schema: SCHEMA.to_owned(),
        provenance: Provenance {
            source: "measured".to_owned(),
            swtch_version: "0.1.0".to_owned(),
            started_unix_s: 1_700_000_000,
            elapsed_s: 9.0,
            preset: "quick".to_owned(),
            precision: 0.01,
            ended: Ended::Complete,
            launches: 10,
            order_seed: 1,
        },
        host: Host { architecture: "x86_64".to_owned(), ..Host::default() },
        clock: Clock {
            source: "tsc".to_owned(),
            frequency_hz: Some(2.5e9),
            calibration_ppm: Some(1.0),
            resolution_ns: 0.4,
            overhead_ns: 12.0,
            fallback_why: None,
        },
        direct: vec![Direct {
            method: Method::Pipe,
            tasks: Tasks::Thread,
            placement: Placement::SameCpu,
            cpus: vec![1],
            class: Class::Normal,
            switch_cost_ns: estimate(median),
            round_trip_ns: estimate(median * 3.0),
            switches_per_round_trip: Some(2.0),
            involuntary_share: Some(0.4),
            expected_switches_per_round_trip: 2.0,
            baseline_ns: median / 2.0,
        }],
        total: Vec::new(),
        ring: Vec::new(),
        regions: Vec::new(),
        knees: Vec::new(),
        messages: Vec::new(),
        references: References::default(),
        noise: Noise { batches: 1_000_000, ..Noise::default() },
        unavailable: vec![Unavailable::new(crate::fields::CLASS_FIFO, "no privilege")],
        samples: None,
    }
}

pub(crate) fn profile() -> Profile {
    profile_with(1000.0)
}
