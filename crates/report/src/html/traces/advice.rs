//! What stands out, and what to try.

use swtch_cost::Advice;

use super::{PricedTrace, Traces};
use crate::html::prelude::*;
use crate::wording::bill;

/// The section; nothing where nothing stands out.
pub(super) fn section(subjects: Traces<'_>) -> Option<Section> {
    let of = |one: One<'_, PricedTrace>| {
        let item = |advice: &Advice| Definition::new(one.prefixed(&advice.what), bill::reasons(advice));
        one.of.advice.iter().map(item).collect::<Vec<_>>()
    };
    let items: Vec<Definition> = subjects.iter().flat_map(of).collect();
    let found = !items.is_empty();
    let blocks = vec![Block::Definitions { items }];
    found.then_some(Section { id: "advice", title: "What stands out", blocks })
}
