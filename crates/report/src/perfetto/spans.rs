//! Spans: a slice each, and in the slow ones a slice for each part of their time.

use super::{Packets, event, packet};
use crate::proto::Message;
use crate::why::title;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use swtch_cost::{DividedSpan, SpanPart};
use swtch_trace::spans::{Span, Spans};

/// The number of the first track; the others, of counters and stacks, are fewer.
const FIRST_TRACK: u64 = 1 << 32;

/// Writes the spans: those of a name on one track, and on more where they overlap. Says how many.
pub(super) fn write(
    spans: &Spans,
    slow: &[DividedSpan<'_>],
    start_ns: u64,
    packets: &mut Packets<impl Write>,
) -> io::Result<u64> {
    let parts: HashMap<*const Span, &[SpanPart]> =
        slow.iter().map(|one| (std::ptr::from_ref(one.span), one.parts.as_slice())).collect();
    // By name, the end of the last span on each of its tracks.
    let mut tracks: BTreeMap<&str, Vec<(u64, u64)>> = BTreeMap::new();
    let mut next_track = FIRST_TRACK;
    for span in &spans.spans {
        let of_name = tracks.entry(&span.name).or_default();
        let free = of_name.iter().position(|(_, end_ns)| *end_ns <= span.begin_ns);
        let index = free.unwrap_or(of_name.len());
        if free.is_none() {
            of_name.push((next_track, 0));
            next_track += 1;
            track(of_name[index].0, &span.name, packets)?;
        }
        of_name[index].1 = span.end_ns;
        let parts = parts.get(&std::ptr::from_ref(span)).copied().unwrap_or_default();
        slices(span, parts, of_name[index].0, start_ns, packets)?;
    }
    Ok(spans.spans.len() as u64)
}

fn track(uuid: u64, name: &str, packets: &mut Packets<impl Write>) -> io::Result<()> {
    packets.put(|packet| {
        packet.message(packet::TRACK_DESCRIPTOR, |track| {
            track.number(1, uuid);
            track.text(2, &format!("spans: {name}"));
        });
    })
}

/// A span, with its parts within it.
fn slices(
    span: &Span,
    parts: &[SpanPart],
    track: u64,
    start_ns: u64,
    packets: &mut Packets<impl Write>,
) -> io::Result<()> {
    let mut event = |at_ns: u64, kind: u64, about: &dyn Fn(&mut Message)| {
        packets.put(|packet| {
            packet.number(packet::TIMESTAMP, start_ns.saturating_add(at_ns));
            packet.message(packet::TRACK_EVENT, |event| {
                event.number(event::TYPE, kind);
                event.number(event::TRACK, track);
                about(event);
            });
        })
    };
    event(span.begin_ns, event::SLICE_BEGIN, &|event| {
        event.text(event::NAME, &span.name);
        if let Some(id) = &span.id {
            event.message(event::ANNOTATIONS, |annotation| {
                annotation.text(10, "id");
                annotation.text(6, id);
            });
        }
    })?;
    for part in parts {
        let name = match &part.behind {
            Some(behind) => format!("{}: {behind}", title(part.cause)),
            None => title(part.cause).to_owned(),
        };
        event(part.from_ns, event::SLICE_BEGIN, &|event| event.text(event::NAME, &name))?;
        event(part.to_ns, event::SLICE_END, &|_| {})?;
    }
    event(span.end_ns, event::SLICE_END, &|_| {})
}
