//! What stands out, and what to try.

use super::super::page::{Block, Definition, Section};
use super::{NamedTrace, Traces};
use crate::wording::bill;
use swtch_cost::Advice;

/// The section; nothing where nothing stands out.
pub(super) fn section(subjects: Traces<'_>) -> Option<Section> {
    let of = |(index, named): (usize, &NamedTrace)| {
        let item = |one: &Advice| Definition::new(subjects.prefixed(index, &one.what), bill::reasons(one));
        named.advice.iter().map(item).collect::<Vec<_>>()
    };
    let items: Vec<Definition> = subjects.iter().flat_map(of).collect();
    let blocks = vec![Block::Definitions { items }];
    let found = subjects.iter().any(|(_, named)| !named.advice.is_empty());
    found.then_some(Section { id: "advice", title: "What stands out", blocks })
}
