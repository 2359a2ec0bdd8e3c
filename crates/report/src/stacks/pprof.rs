//! Stacks for pprof: <https://github.com/google/pprof/blob/main/proto/profile.proto>, compressed as that asks, with blocks that are stored as they are.

use super::{Numbers, rows};
use crate::export::{Exported, Exporter};
use crate::proto::Message;
use crate::stack_weight::StackWeight;
use crate::tables::left_out;
use swtch_trace::Trace;
use swtch_trace::tables::StackRow;

/// The row of the table of formats.
pub(crate) const EXPORTER: Exporter = Exporter {
    name: "pprof",
    about: "Stacks for pprof, a sample type for each weight",
    is_text: false,
    has_table: false,
    has_weight: false,
    has_prices: false,
    has_spans: false,
    write: |trace, _, sink| {
        let rows = rows(trace)?;
        sink.write_all(&gzip(profile(trace, rows).bytes()))?;
        sink.flush()?;
        Ok(Exported::new(format!("{} stacks", rows.len()), [("stacks", rows.len().into())], left_out(trace)))
    },
};

fn profile(trace: &Trace, rows: &[StackRow]) -> Message {
    let (mut profile, mut texts, mut functions) =
        (Message::default(), Numbers::default(), Numbers::default());
    // The first text is the empty one, and no function has the number 0.
    texts.of("");
    functions.of("");
    for weight in StackWeight::ALL {
        let (kind, unit) =
            (texts.of(weight.name()), texts.of(if weight.label().1 { "nanoseconds" } else { "count" }));
        profile.message(1, |kind_of_value| {
            kind_of_value.number(1, kind as u64);
            kind_of_value.number(2, unit as u64);
        });
    }
    for row in rows {
        let labels = [("task", row.task.as_str()), ("reason", row.reason.name())];
        let labels = labels.map(|(key, value)| (texts.of(key), texts.of(value)));
        profile.message(2, |sample| {
            for name in row.frames.rsplit(';') {
                sample.number(1, functions.of(name) as u64);
            }
            for weight in StackWeight::ALL {
                sample.number(2, weight.of(row));
            }
            for (key, value) in labels {
                sample.message(3, |label| {
                    label.number(1, key as u64);
                    label.number(2, value as u64);
                });
            }
        });
    }
    for (number, name) in functions.names.iter().enumerate().skip(1) {
        let text = texts.of(name) as u64;
        // A location for each function: addresses are not kept.
        profile.message(4, |location| {
            location.number(1, number as u64);
            location.message(4, |line| line.number(1, number as u64));
        });
        profile.message(5, |function| {
            function.number(1, number as u64);
            function.number(2, text);
            function.number(3, text);
        });
    }
    for text in &texts.names {
        profile.text(6, text);
    }
    profile.number(9, trace.header.provenance.started_unix_ns);
    profile.number(10, trace.header.duration_ns);
    profile
}

/// A file of gzip (RFC 1952) whose blocks are not compressed.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    const BLOCK: usize = 0xffff;
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    let blocks = bytes.len().div_ceil(BLOCK).max(1);
    for index in 0..blocks {
        let block = &bytes[index * BLOCK..bytes.len().min((index + 1) * BLOCK)];
        let length = block.len() as u16;
        out.push(u8::from(index + 1 == blocks));
        out.extend(length.to_le_bytes());
        out.extend((!length).to_le_bytes());
        out.extend_from_slice(block);
    }
    out.extend(crc32fast::hash(bytes).to_le_bytes());
    out.extend((bytes.len() as u32).to_le_bytes());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_files_have_several_blocks() {
        let long = vec![7; 70_000];
        let file = gzip(&long);
        assert_eq!((file[10], file[10 + 5 + 0xffff], file.len()), (0, 1, 10 + 5 + 0xffff + 5 + 4465 + 8));
    }
}
