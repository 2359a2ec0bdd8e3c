//! Stacks for speedscope.app: a profile for each weight (<https://www.speedscope.app/file-format-schema.json>).

use super::{Numbers, rows};
use crate::export::{Exported, Exporter};
use crate::stack_weight::StackWeight;
use crate::tables::left_out;
use serde_json::{Value, json};

/// The row of the table of formats.
pub(crate) const EXPORTER: Exporter = Exporter {
    name: "speedscope",
    about: "Stacks for speedscope.app, a profile for each weight",
    is_text: true,
    has_table: false,
    has_weight: false,
    has_prices: false,
    has_spans: false,
    write: |trace, _, sink| {
        let rows = rows(trace)?;
        let mut frames = Numbers::default();
        let profiles: Vec<Value> = StackWeight::ALL
            .iter()
            .filter_map(|weight| {
                let weighed = rows.iter().map(|row| (row, weight.of(row))).filter(|(_, weight)| *weight > 0);
                let (samples, weights): (Vec<Vec<usize>>, Vec<u64>) = weighed
                    .map(|(row, weight)| {
                        let names = std::iter::once(row.task.as_str()).chain(row.frames.split(';'));
                        (names.map(|name| frames.of(name)).collect(), weight)
                    })
                    .unzip();
                let (label, time) = weight.label();
                (!samples.is_empty()).then(|| {
                    json!({
                        "type": "sampled",
                        "name": label,
                        "unit": if time { "nanoseconds" } else { "none" },
                        "startValue": 0,
                        "endValue": weights.iter().sum::<u64>(),
                        "samples": samples,
                        "weights": weights,
                    })
                })
            })
            .collect();
        let names: Vec<Value> = frames.names.iter().map(|name| json!({ "name": name })).collect();
        let count = profiles.len();
        let document = json!({
            "$schema": "https://www.speedscope.app/file-format-schema.json",
            "exporter": format!("swtch {}", env!("CARGO_PKG_VERSION")),
            "shared": { "frames": names },
            "profiles": profiles,
        });
        writeln!(sink, "{document}")?;
        sink.flush()?;
        let figures = [("stacks", rows.len().into()), ("profiles", count.into())];
        Ok(Exported::new(format!("{} stacks, {count} profiles", rows.len()), figures, left_out(trace)))
    },
};
