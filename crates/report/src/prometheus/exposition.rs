//! From sums to text, by the OpenMetrics library.

use super::family::{Family, FamilyKind, families};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeLabel, EncodeLabelSet, LabelSetEncoder, MetricEncoder,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use swtch_trace::tables::HistogramRow;

/// Counts in a dozen classes, and their sum.
#[derive(Clone, Debug)]
pub(crate) struct Distribution {
    /// Upper bounds of all classes but the last, ns.
    pub(crate) bounds_ns: &'static [u64],
    /// One more than bounds.
    pub(crate) counts: Vec<u64>,
    /// Of all values, ns.
    pub(crate) sum_ns: u64,
}

impl Distribution {
    pub(super) fn new(bounds_ns: &'static [u64]) -> Self {
        Self { bounds_ns, counts: vec![0; bounds_ns.len() + 1], sum_ns: 0 }
    }

    /// Adds finer classes; one that is in two of ours belongs to the upper one.
    pub(super) fn add<'a>(&mut self, rows: impl Iterator<Item = &'a HistogramRow>, sum_ns: u64) {
        for row in rows {
            // The kernel's last class, which ends at 2^32 ns, holds all above.
            let open = row.to_ns >= 1 << 32;
            let class = self.bounds_ns.iter().position(|bound| row.to_ns <= *bound && !open);
            let count = &mut self.counts[class.unwrap_or(self.bounds_ns.len())];
            *count = count.saturating_add(row.count);
        }
        self.sum_ns = self.sum_ns.saturating_add(sum_ns);
    }
}

/// What a series has.
#[derive(Clone, Debug)]
pub(crate) enum SeriesValue {
    /// A sum that never goes back; of time in ns.
    Count(u64),
    /// A figure of the moment.
    Number(f64),
    /// Values by class.
    Distribution(Distribution),
}

/// The type of an exemplar's labels. Other programs attach exemplars to samples; these samples have none.
type NoExemplar = [(&'static str, &'static str); 0];

impl SeriesValue {
    fn encode(&self, family: &Family, metric: &mut MetricEncoder<'_>) -> Result<(), fmt::Error> {
        match self {
            Self::Count(ns) if family.unit == Some("seconds") => {
                metric.encode_counter::<NoExemplar, f64, f64>(&(*ns as f64 / 1e9), None)
            }
            Self::Count(count) => metric.encode_counter::<NoExemplar, u64, f64>(count, None),
            Self::Number(value) => metric.encode_gauge(value),
            Self::Distribution(Distribution { bounds_ns, counts, sum_ns }) => {
                let bounds = bounds_ns.iter().map(|ns| *ns as f64 / 1e9);
                let buckets: Vec<(f64, u64)> =
                    bounds.chain([f64::INFINITY]).zip(counts.iter().copied()).collect();
                let all = counts.iter().sum();
                metric.encode_histogram::<NoExemplar>(*sum_ns as f64 / 1e9, all, &buckets, None)
            }
        }
    }
}

/// All series, as they are to be written.
#[derive(Debug, Default)]
pub(crate) struct Exposition {
    series: HashMap<&'static str, Vec<(Vec<String>, SeriesValue)>>,
}

impl Exposition {
    pub(super) fn new(
        counters: &BTreeMap<&'static str, BTreeMap<Vec<String>, u64>>,
        distributions: &BTreeMap<(&'static str, Vec<String>), Distribution>,
    ) -> Self {
        let mut exposition = Self::default();
        for (stem, series) in counters {
            let values = series.iter().map(|(labels, value)| (labels.clone(), SeriesValue::Count(*value)));
            exposition.series.insert(stem, values.collect());
        }
        for ((stem, labels), distribution) in distributions {
            let value = SeriesValue::Distribution(distribution.clone());
            exposition.series.entry(stem).or_default().push((labels.clone(), value));
        }
        exposition
    }

    /// A figure of the moment; nothing when it is absent.
    pub(super) fn gauge(&mut self, family: &'static Family, labels: &[String], value: Option<f64>) {
        if let Some(value) = value {
            let series = self.series.entry(family.stem).or_default();
            series.push((labels.to_vec(), SeriesValue::Number(value)));
        }
    }

    /// All metrics that have series, with these: the values of their labels, and what they have.
    pub(crate) fn families(&self) -> impl Iterator<Item = (&'static Family, &[(Vec<String>, SeriesValue)])> {
        families().iter().filter_map(|family| {
            let series = self.series.get(family.stem).filter(|series| !series.is_empty())?;
            Some((*family, series.as_slice()))
        })
    }

    /// The text. Metrics without series are left out.
    pub(super) fn text(self) -> String {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(self));
        let mut text = String::new();
        // Writing into a string does not fail.
        let _ = prometheus_client::encoding::text::encode(&mut text, &registry);
        text
    }
}

impl Collector for Exposition {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        for (family, series) in self.families() {
            let kind = match family.kind {
                FamilyKind::Counter => MetricType::Counter,
                FamilyKind::Gauge => MetricType::Gauge,
                FamilyKind::Histogram => MetricType::Histogram,
            };
            let unit = family.unit.map(|unit| Unit::Other(unit.to_owned()));
            let mut metric = encoder.encode_descriptor(family.stem, family.help, unit.as_ref(), kind)?;
            for (values, value) in series {
                if family.labels.is_empty() {
                    value.encode(family, &mut metric)?;
                } else {
                    let labels = Labels { names: family.labels, values };
                    value.encode(family, &mut metric.encode_family(&labels)?)?;
                }
            }
        }
        Ok(())
    }
}

struct Labels<'a> {
    names: &'static [&'static str],
    values: &'a [String],
}

impl EncodeLabelSet for Labels<'_> {
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> Result<(), fmt::Error> {
        for (name, value) in self.names.iter().zip(self.values) {
            (*name, value.as_str()).encode(encoder.encode_label())?;
        }
        Ok(())
    }
}
