//! Profiles compared: each figure against the first Profile's, as `swtch diff` judges them.

use swtch_decide::{Change, Diff, diff_profiles};

use super::Profiles;
use crate::html::diff::{change_table, other_differences};
use crate::html::prelude::*;

/// The section; nothing for one Profile alone.
pub(super) fn section(subjects: Profiles<'_>) -> Option<Section> {
    if !subjects.several() {
        return None;
    }
    let first = &subjects.0[0];
    let intro = format!(
        "Each figure is divided by that of {}: a ratio above 1 is worse. Its 95\u{a0}% interval comes from \
         the differences between fresh processes on the same machine. A figure is worse or better when its \
         interval excludes 1 after the correction for the number of figures, by Holm's method. It is the \
         same when the whole interval is within 5\u{a0}%.",
        first.name
    );
    let mut section = Section::new("comparison", "Side by side", intro);
    for other in &subjects.0[1..] {
        let mut found =
            diff_profiles(std::slice::from_ref(&first.document), std::slice::from_ref(&other.document));
        // The page knows its Profiles by their names.
        for note in &mut found.notes {
            *note = note.replace("the old Profile", &first.name).replace("the new Profile", &other.name);
        }
        section = section
            .say(format!("{} against {}. {}", other.name, first.name, found.answer))
            .put(tables(&first.name, &other.name, &found))
            .put(other_differences(&found));
    }
    Some(section)
}

/// Switches and other operations in sight; the many figures of the curves and the ring are collapsed, because the charts show them.
fn tables(first: &str, other: &str, found: &Diff) -> Vec<Block> {
    let curve = |change: &&Change| change.metric.starts_with("c2,") || change.metric.starts_with("ring of");
    let (many, main): (Vec<&Change>, Vec<&Change>) = found.changes.iter().partition(curve);
    let table = |what: &str, changes: &[&Change]| {
        change_table(format!("{other} against {first}: {what}"), [first, other], changes)
    };
    let mut blocks = Vec::new();
    if found.changes.is_empty() {
        blocks.push(format!("{first} and {other} share no figure.").into());
    }
    blocks.push(table("switches and other operations", &main).into());
    let summary = format!("{} figures of the curves and the ring", many.len());
    blocks.extend(Block::folded(summary, table("curves and ring", &many)));
    blocks
}
