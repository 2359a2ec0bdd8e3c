//! Counters that a scheduler keeps by CPU in its map `counters`.

use crate::layout::Place;
use serde::Serialize;
use serde_json::{Map, Value};

/// The counters of one CPU, by the names that the scheduler's source gives them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CpuCounters {
    /// The CPU's number.
    pub cpu: u32,
    /// Counts since loading, in the source's order.
    #[serde(flatten)]
    pub counts: Map<String, Value>,
}

/// Takes the values of a per-CPU map apart.
pub(crate) fn parse(fields: &[(String, Place)], values: &[Vec<u8>]) -> Vec<CpuCounters> {
    let count = |value: &[u8], place: &Place| {
        let bytes = value.get(place.offset..place.offset + 8).and_then(|bytes| bytes.try_into().ok());
        u64::from_ne_bytes(bytes.unwrap_or_default())
    };
    let one = |(cpu, value): (usize, &Vec<u8>)| CpuCounters {
        cpu: cpu as u32,
        counts: fields.iter().map(|(name, place)| (name.clone(), count(value, place).into())).collect(),
    };
    values.iter().enumerate().map(one).collect()
}

/// The sums over all CPUs.
pub fn total(cpus: &[CpuCounters]) -> Map<String, Value> {
    let mut sums = Map::new();
    for (name, value) in cpus.iter().flat_map(|cpu| &cpu.counts) {
        let sum = sums.entry(name).or_insert(Value::from(0_u64));
        *sum = (sum.as_u64().unwrap_or(0) + value.as_u64().unwrap_or(0)).into();
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_named_in_their_order_and_summed() {
        let fields = ["b", "a"].iter().enumerate();
        let fields: Vec<(String, Place)> =
            fields.map(|(index, name)| ((*name).to_owned(), Place { offset: index * 8, bytes: 8 })).collect();
        let value = |b: u64, a: u64| [b.to_ne_bytes(), a.to_ne_bytes()].concat();
        let cpus = parse(&fields, &[value(1, 2), value(10, 20)]);
        assert_eq!(serde_json::to_string(&cpus[1]).unwrap(), r#"{"cpu":1,"b":10,"a":20}"#);
        assert_eq!(serde_json::to_string(&total(&cpus)).unwrap(), r#"{"b":11,"a":22}"#);
    }
}
