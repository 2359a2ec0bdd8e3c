//! Where the curve's borders agree with the caches the machine reports.

use swtch_profile::Profile;
use swtch_profile::fields::Part;
use swtch_profile::model::{Knee, RegionKind};

use super::super::naming::region_name;
use super::super::page::{Block, Cell, Section, Table};
use super::super::text;
use super::Subjects;

/// The section.
pub(in crate::html) fn section(subjects: Subjects<'_>) -> Section {
    let mut blocks = vec![Block::paragraph(
        "Two tasks share a cache of size L as long as both arrays fit (each at most L/2): the curve is flat. Beyond \
         that it rises, and when one array alone outgrows the cache it levels off, as the lone task misses as often \
         (Li, Ding and Shen 2007, section 3.1). The borders found in the measured curve are set beside the caches the \
         machine reports; one agrees when it lies within a factor of two of what a cache predicts.",
    )];
    for (index, named) in subjects.iter() {
        blocks.extend(verdict(subjects, index, &named.profile).map(Block::paragraph));
    }
    if subjects.iter().any(|(_, named)| !named.profile.knees.is_empty()) {
        blocks.push(Block::Table(knees(subjects)));
    }
    if subjects.iter().any(|(_, named)| !named.profile.regions.is_empty()) {
        blocks.push(Block::Table(regions(subjects)));
    }
    let has = |p: &Profile| !p.knees.is_empty() || !p.regions.is_empty();
    blocks.extend(subjects.missing("regions of the curve", Part::Regions, has).map(Block::Notice));
    Section { id: "knees", title: "Do the borders agree with the caches?", blocks }
}

fn verdict(subjects: Subjects<'_>, index: usize, profile: &Profile) -> Option<String> {
    let all = profile.knees.len();
    if all == 0 {
        return (!profile.regions.is_empty())
            .then(|| subjects.prefixed(index, "No border was found: the curve has one region only."));
    }
    let agreeing = profile.knees.iter().filter(|knee| knee.agrees).count();
    let borders = if all == 1 { "border" } else { "borders" };
    let sentence = match agreeing {
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
    };
    Some(subjects.prefixed(index, &sentence))
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

fn knees(subjects: Subjects<'_>) -> Table {
    let head = subjects.head("Border at", &["The curve", "Cache", "Cache size", "Predicted", "Agrees?"]);
    let mut table = Table::new("Borders found in the curve and the nearest cache", &head);
    for (index, named) in subjects.iter() {
        for knee in &named.profile.knees {
            let size = |bytes: Option<u64>| Cell::number(bytes.map_or_else(|| "–".to_owned(), text::bytes));
            let cells = vec![
                Cell::text(turn(&knee.kind)),
                Cell::text(
                    knee.cache_level.map_or_else(|| "none near".to_owned(), |level| format!("L{level}")),
                ),
                size(knee.cache_bytes),
                size(knee.predicted_bytes),
                Cell::text(judgement(knee)),
            ];
            table.row(text::bytes(knee.array_bytes), subjects.cells(index, cells));
        }
    }
    table
}

fn regions(subjects: Subjects<'_>) -> Table {
    let mut table =
        Table::new("Regions of the curve", &subjects.head("Region", &["From", "To", "What happens"]));
    for (index, named) in subjects.iter() {
        for region in &named.profile.regions {
            let meaning = match region.kind {
                RegionKind::Fits => "both arrays stay in the cache; the curve is flat",
                RegionKind::Interferes => "one array fits, both do not; the curve rises",
                RegionKind::Exceeds => "one task alone misses too; the difference no longer grows",
            };
            let cells = vec![
                Cell::number(text::bytes(region.from_bytes)),
                Cell::number(text::bytes(region.to_bytes)),
                Cell::text(meaning),
            ];
            table.row(region_name(region.kind), subjects.cells(index, cells));
        }
    }
    table
}
