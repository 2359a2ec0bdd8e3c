//! What stands out, and what to try.

use super::super::page::{Block, Definition, Section};
use super::Traces;
use crate::terminal::recording;

/// The section; nothing where nothing stands out.
pub(super) fn section(subjects: Traces<'_>) -> Option<Section> {
    let items: Vec<Definition> = subjects
        .iter()
        .flat_map(|(index, named)| {
            named
                .advice
                .iter()
                .map(move |one| Definition::new(subjects.prefixed(index, &one.what), recording::reasons(one)))
        })
        .collect();
    let blocks = vec![Block::Definitions { items }];
    let found = subjects.iter().any(|(_, named)| !named.advice.is_empty());
    found.then_some(Section { id: "advice", title: "What stands out", blocks })
}
