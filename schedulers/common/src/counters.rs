//! Counters that a scheduler keeps by CPU in its map `counters`.

use crate::layout::Place;
use serde_json::{Map, Value};
use swtch_sched_ext::CpuCounters;

/// Counters are numbers of 64 bits.
const WORD_BYTES: usize = 8;

/// Takes the values of a per-CPU map apart.
pub(crate) fn parse(fields: &[(String, Place)], values: &[Vec<u8>]) -> Vec<CpuCounters> {
    let one = |(cpu, value): (usize, &Vec<u8>)| CpuCounters {
        cpu: cpu as u32,
        counts: fields.iter().map(|(name, place)| (name.clone(), count(value, *place))).collect(),
    };
    values.iter().enumerate().map(one).collect()
}

fn count(value: &[u8], place: Place) -> Value {
    let word = |index: usize| {
        let start = place.offset + index * WORD_BYTES;
        let bytes = value.get(start..start + WORD_BYTES).and_then(|bytes| bytes.try_into().ok());
        u64::from_ne_bytes(bytes.unwrap_or_default())
    };
    match place.bytes / WORD_BYTES {
        0 | 1 => word(0).into(),
        words => (0..words).map(word).collect(),
    }
}

/// The sums over all CPUs.
pub fn total(cpus: &[CpuCounters]) -> Map<String, Value> {
    let mut sums = Map::new();
    for (name, value) in cpus.iter().flat_map(|cpu| &cpu.counts) {
        let sum = sums.get(name).map_or_else(|| value.clone(), |sum| added(sum, value));
        sums.insert(name.clone(), sum);
    }
    sums
}

fn added(one: &Value, other: &Value) -> Value {
    match (one, other) {
        (Value::Array(one), Value::Array(other)) => {
            one.iter().zip(other).map(|(one, other)| added(one, other)).collect()
        }
        _ => (one.as_u64().unwrap_or(0) + other.as_u64().unwrap_or(0)).into(),
    }
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

    #[test]
    fn arrays_stay_together() {
        let fields = [("a".to_owned(), Place { offset: 8, bytes: 16 })];
        let value = |numbers: [u64; 3]| numbers.map(u64::to_ne_bytes).concat();
        let cpus = parse(&fields, &[value([9, 1, 2]), value([9, 10, 20])]);
        assert_eq!(serde_json::to_string(&total(&cpus)).unwrap(), r#"{"a":[11,22]}"#);
    }
}
