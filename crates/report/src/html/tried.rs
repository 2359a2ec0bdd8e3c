//! The page of tried settings: what to keep, what was predicted and measured of each, and the evidence.

use super::prelude::*;
use crate::compared::{circumstances, digits};
use crate::tried::{answer, goal, place, prediction_note};
use swtch_decide::remedies::TriedSettings;
use swtch_topology::Unavailable;

impl Subject for TriedSettings {
    const KIND: &'static str = "trial";
    const HEAD: &'static str = "Trial";
    const NOTHING: ReportError = ReportError::NoTrials;

    fn origin(&self) -> String {
        "tried".to_owned()
    }

    fn unavailable(&self) -> Vec<&Unavailable> {
        self.comparison.unavailable.iter().collect()
    }

    fn line(&self) -> String {
        let comparison = &self.comparison;
        format!("{} settings · Linux {} · {} CPUs", self.candidates.len(), comparison.kernel, comparison.cpus)
    }

    fn answer(&self, _alone: bool) -> Vec<String> {
        vec![answer(self), self.keep.clone()]
    }

    fn written(&self) -> String {
        format!("swtch {}", self.comparison.swtch_version)
    }

    fn title(_subjects: Subjects<'_, Self>) -> String {
        "Settings that were tried on a command".to_owned()
    }

    fn sections(subjects: Subjects<'_, Self>) -> Vec<Section> {
        subjects.iter().flat_map(|one| sections(one.of)).collect()
    }
}

fn sections(tried: &TriedSettings) -> Vec<Section> {
    let intro = format!(
        "The {} with each setting over that without: 0.5 is half. The interval is that of the measured ratio.",
        goal(tried.goal)
    );
    let settings = Section::new("settings", "Predicted and measured", intro)
        .put([settings(tried)])
        .say_all(tried.candidates.iter().filter_map(prediction_note));
    let advice = tried.advice.iter().map(|one| {
        TableRow::new(
            one.what.clone(),
            vec![
                Cell::text("Evidence", one.evidence.clone()),
                Cell::text("What to try", one.try_this.clone()),
            ],
        )
    });
    let not_tried = tried
        .not_tried
        .iter()
        .map(|one| TableRow::new(one.what.clone(), vec![Cell::text("Why not", one.why.clone())]));
    vec![
        settings,
        Section::bare("recording", "In the recording")
            .put([Table::new("What stands out", "What", advice).or("Nothing stands out.")]),
        Section::bare("not-tried", "Not tried").put([Table::new(
            "Settings that were not run",
            "Setting",
            not_tried,
        )
        .or("Every setting was run.")]),
        Section::bare("how", "How it was measured")
            .say_all(circumstances(&tried.comparison).into_iter().chain(place(tried))),
    ]
}

fn settings(tried: &TriedSettings) -> Block {
    let rows = tried.candidates.iter().map(|one| {
        let number = |title: &'static str, value: Option<f64>| {
            value.map_or_else(|| Cell::dash(title), |value| Cell::sorted(title, digits(value), value))
        };
        let interval = one.ci_low.zip(one.ci_high);
        let interval = interval.map(|(low, high)| format!("{} to {}", digits(low), digits(high)));
        TableRow::new(
            one.what.clone(),
            vec![
                number("Predicted", one.predicted_ratio),
                number("Measured", one.measured_ratio),
                Cell::or_dash("95\u{a0}% interval", interval),
                Cell::text("Verdict", one.verdict.name()),
                Cell::text("Because", one.because.clone().unwrap_or_default()),
                Cell::text("Command line", one.command.clone()),
            ],
        )
    });
    Table::new("Settings, and what they do", "Setting", rows).sortable().or("No setting could be tried here.")
}
