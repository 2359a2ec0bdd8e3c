//! Where the curve's borders agree with the caches the machine reports.

use swtch_profile::Profile;
use swtch_profile::fields::ProfilePart;
use swtch_profile::model::{Knee, RegionKind};

use super::Profiles;
use crate::html::prelude::*;

/// The section.
pub(super) fn section(subjects: Profiles<'_>) -> Section {
    let intro = "Two tasks share a cache of size L as long as both arrays fit (each at most L/2): the curve \
                 is flat. Beyond that it rises, and when one array alone outgrows the cache it levels off, \
                 as the lone task misses as often (Li, Ding and Shen 2007, section 3.1). The borders found \
                 in the measured curve are compared with the caches the machine reports. A border agrees \
                 when it is within a factor of two of what a cache predicts.";
    let has = |p: &Profile| !p.knees.is_empty() || !p.regions.is_empty();
    Section::new("knees", "Do the borders agree with the caches?", intro)
        .put(subjects.iter().filter_map(|one| Some(one.prefixed(&verdict(one.of)?))))
        .put([knees(subjects), regions(subjects)])
        .put(subjects.missing("regions of the curve", ProfilePart::Regions, has))
}

fn verdict(profile: &Profile) -> Option<String> {
    let all = profile.knees.len();
    if all == 0 {
        let one = "No border was found: the curve has one region only.";
        return (!profile.regions.is_empty()).then(|| one.to_owned());
    }
    let agreeing = profile.knees.iter().filter(|knee| knee.agrees).count();
    let borders = if all == 1 { "border" } else { "borders" };
    Some(match agreeing {
        0 if all == 1 => "The one border found agrees with no cache the machine reports.".to_owned(),
        0 => format!("None of the {all} {borders} found agrees with a cache the machine reports."),
        n if n == all && all == 1 => {
            "The one border found agrees with a cache the machine reports.".to_owned()
        }
        2 if all == 2 => "Both borders found agree with caches the machine reports.".to_owned(),
        n if n == all => format!("All {all} {borders} found agree with caches the machine reports."),
        n => format!(
            "{n} of the {all} {borders} found {} with a cache the machine reports.",
            if n == 1 { "agrees" } else { "agree" }
        ),
    })
}

/// The row's other cells say what was found and what was predicted.
fn judgement(knee: &Knee) -> &'static str {
    match (knee.agrees, knee.cache_level) {
        (true, _) => "yes",
        (false, Some(_)) => "no",
        (false, None) => "no reported cache is near",
    }
}

fn turn(kind: &str) -> String {
    match kind {
        "rise" => "rises".to_owned(),
        "plateau" => "levels off".to_owned(),
        other => other.to_owned(),
    }
}

fn knees(subjects: Profiles<'_>) -> Table {
    let rows = subjects.each(|profile| &profile.knees).map(|(one, knee)| {
        let level = knee.cache_level.map_or_else(|| "none near".to_owned(), |level| format!("L{level}"));
        let cells = vec![
            Cell::text("The curve", turn(&knee.kind)),
            Cell::text("Cache", level),
            Cell::or_dash("Cache size", knee.cache_bytes.map(text::bytes)),
            Cell::or_dash("Predicted", knee.predicted_bytes.map(text::bytes)),
            Cell::text("Agrees?", judgement(knee)),
        ];
        one.row(text::bytes(knee.array_bytes), cells)
    });
    Table::new("Borders found in the curve and the nearest cache", "Border at", rows)
}

fn regions(subjects: Profiles<'_>) -> Table {
    let rows = subjects.each(|profile| &profile.regions).map(|(one, region)| {
        let meaning = match region.kind {
            RegionKind::Fits => "both arrays stay in the cache; the curve is flat",
            RegionKind::Interferes => "one array fits, both do not; the curve rises",
            RegionKind::Exceeds => "one task alone misses too; the difference no longer grows",
        };
        let cells = vec![
            Cell::number("From", text::bytes(region.from_bytes)),
            Cell::number("To", text::bytes(region.to_bytes)),
            Cell::text("What happens", meaning),
        ];
        one.row(naming::region_name(region.kind), cells)
    });
    Table::new("Regions of the curve", "Region", rows)
}
