//! What stands out, and what to try.

use swtch_cost::Advice;

use super::{PricedTrace, Traces};
use crate::html::prelude::*;
use crate::wording::bill;

/// The section; nothing where nothing stands out.
pub(super) fn section(subjects: Traces<'_>) -> Option<Section> {
    let advice = subjects.each(|priced| &priced.advice);
    let item = |(one, advice): (One<'_, PricedTrace>, &Advice)| {
        Definition::new(one.prefixed(&advice.what), bill::reasons(advice))
    };
    let items: Vec<Definition> = advice.map(item).collect();
    let found = !items.is_empty();
    let blocks = vec![Block::Definitions { items }];
    found.then_some(Section { id: "advice", title: "What stands out", blocks })
}
