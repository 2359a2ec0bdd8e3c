//! Why slow spans were slow: their time by cause, beside that of the ordinary ones.

use swtch_cost::{SlowSpan, SpanCause, SpanGroup, Why};

use super::Traces;
use crate::html::prelude::*;
use crate::why::{behind, headline, title};

/// The look of each cause, in the order of [`SpanCause::ALL`].
const CLASSES: [&str; SpanCause::ALL.len()] =
    ["fill c0", "fill c1", "fill c4", "fill c2", "fill c3", "fill c5", "idle"];

/// The section; nothing where no Trace has spans.
pub(super) fn section(subjects: Traces<'_>) -> Option<Section> {
    let intro = "A span is a piece of a program’s work, such as a request. The time of the slowest is \
                 divided by what their threads did and waited for. Beside it is that of the ordinary ones, \
                 the middle half by length.";
    let mut section = Section::new("spans", "Why the slow ones were slow", intro);
    for one in subjects.iter() {
        match &one.of.spans {
            None => {}
            Some(Err(why)) => {
                section = section.put([Notice::new(
                    one.prefixed("The spans beside the Trace are not shown:"),
                    vec![why.clone()],
                )]);
            }
            Some(Ok(whys)) => {
                for (place, why) in whys.iter().enumerate() {
                    let id = format!("figure-spans-{}-{place}", one.index);
                    section = section
                        .heading(one.prefixed(&why.span))
                        .say(headline(why))
                        .put([figure(id, &why.span, why).notes(why.notes.clone())])
                        .put(Block::folded("The slowest, one by one", slowest(why)));
                }
            }
        }
    }
    section.unless_empty()
}

fn figure(id: String, name: &str, why: &Why) -> Figure {
    let groups = [("The slowest", &why.slow), ("Ordinary", &why.ordinary)];
    let bars =
        groups.into_iter().filter(|(_, group)| group.count > 0).map(|(label, group)| bar(label, group));
    let shown = |cause: &SpanCause| groups.iter().any(|(_, group)| part(group, *cause).is_some());
    let legend = SpanCause::ALL.into_iter().filter(shown);
    let legend = legend.map(|cause| block_item(CLASSES[cause as usize], title(cause).to_owned()));
    let caption = format!(
        "What the time of {name} went to: of the {} slowest spans, and of {} ordinary ones.",
        text::count(why.slow.count as u64),
        text::count(why.ordinary.count as u64)
    );
    let label = format!("The time of {name} by cause, as shares");
    let bars: Vec<Stack> = bars.collect();
    Figure::new(id, caption, &label, table(why), &bars).legend(legend.collect())
}

fn part(group: &SpanGroup, cause: SpanCause) -> Option<&swtch_cost::CauseShare> {
    group.causes.iter().find(|part| part.cause == cause)
}

fn bar(label: &str, group: &SpanGroup) -> Stack {
    let label = format!("{label}: {}", group.mean_ns.map_or_else(String::new, text::ns));
    let parts = SpanCause::ALL.into_iter().filter_map(|cause| part(group, cause)).map(|part| {
        let mut tip = vec![title(part.cause).to_owned(), text::percent(part.share), text::ns(part.mean_ns)];
        tip.extend(Some(behind(part)).filter(|behind| !behind.is_empty()));
        StackPart { class: CLASSES[part.cause as usize].to_owned(), share: part.share, tip }
    });
    Stack { parts: parts.collect(), label }
}

fn table(why: &Why) -> Table {
    let rows = SpanCause::ALL.into_iter().filter_map(|cause| {
        let (slow, ordinary) = (part(&why.slow, cause), part(&why.ordinary, cause));
        slow.or(ordinary)?;
        let time = |part: Option<&swtch_cost::CauseShare>| part.map(|part| text::ns(part.mean_ns));
        let share = |part: Option<&swtch_cost::CauseShare>| part.map(|part| text::percent(part.share));
        let cells = vec![
            Cell::or_dash("The slowest", time(slow)),
            Cell::or_dash("Share", share(slow)),
            Cell::or_dash("Ordinary", time(ordinary)),
            Cell::or_dash("Share", share(ordinary)),
            Cell::text("Behind, or woken by", slow.map_or_else(String::new, behind)),
        ];
        Some(TableRow::new(title(cause), cells))
    });
    Table::new(format!("Mean time of {} by cause", why.span), "Cause", rows)
}

fn slowest(why: &Why) -> Table {
    let row = |span: &SlowSpan| {
        let mut parts: Vec<(&SpanCause, &u64)> = span.parts.iter().collect();
        parts.sort_by_key(|(_, ns)| std::cmp::Reverse(**ns));
        let parts =
            parts.into_iter().map(|(cause, ns)| format!("{} {}", title(*cause), text::ns(*ns as f64)));
        let cells = vec![
            Cell::time("Took", span.length_ns),
            Cell::text("Id", span.id.clone().unwrap_or_default()),
            Cell::text("Of that", parts.collect::<Vec<_>>().join(", ")),
        ];
        TableRow::new(text::moment(span.begin_ns as f64), cells)
    };
    Table::new(format!("The slowest spans of {}", why.span), "Began", why.slowest.iter().map(row)).sortable()
}
