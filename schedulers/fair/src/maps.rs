//! The maps of the BPF half that are read and written in every interval: what applications had, and their orders.
//!
//! Many entries take one call into the kernel, and not one call each.

use crate::controller::AppId;
use crate::kinds::{ByKind, KINDS};
use crate::usage::Usage;
use libbpf_rs::{MapCore, MapFlags, Result};

/// Entries that one call brings. The kernel brings whole buckets of a hash table, so more than a bucket can hold.
const BATCH: u32 = 64;

/// The size of `struct order` of the BPF half.
pub const ORDER_BYTES: usize = 4 * ORDER_WORDS;
/// Shares, slowdowns, the weight of a task, and a word that is not used.
const ORDER_WORDS: usize = 2 * KINDS + 2;
/// A weight of 1 in the BPF half.
const NICE_0: f64 = 10_000.0;
/// All of the time in the BPF half.
const WHOLE: f64 = (1 << 20) as f64;

/// How many applications the map `usages` has room for, on a machine of this many CPUs. A look at all of it looks at every place, also those that are
/// empty. The kernel takes out those that ran longest ago when it is full; they count from nothing when they run again.
pub fn applications_at_most(cpus: usize) -> u32 {
    (256 * cpus).next_power_of_two().clamp(1024, 16384) as u32
}

/// What every application in the map `usages` had.
///
/// # Errors
/// When the kernel does not let it be read.
pub fn usages(usages: &impl MapCore) -> Result<Vec<(AppId, Usage)>> {
    let entries = usages.lookup_batch(BATCH, MapFlags::ANY, MapFlags::ANY)?;
    let parse = |(key, value): (Vec<u8>, Vec<u8>)| {
        Some((AppId::from_ne_bytes(key.try_into().ok()?), Usage::parse(&value)?))
    };
    Ok(entries.filter_map(parse).collect())
}

/// Writes orders into the map `orders`.
///
/// # Errors
/// When the kernel does not let it be written.
pub fn give(orders: &impl MapCore, given: &[(AppId, [u8; ORDER_BYTES])]) -> Result<()> {
    if given.is_empty() {
        return Ok(());
    }
    let keys: Vec<u8> = given.iter().flat_map(|(app, _)| app.to_ne_bytes()).collect();
    let values: Vec<u8> = given.iter().flat_map(|(_, order)| *order).collect();
    orders.update_batch(&keys, &values, given.len() as u32, MapFlags::ANY, MapFlags::ANY)
}

/// `struct order` of the BPF half, of a share for every kind of core there is. Shares together are all of the time: what rounding loses is the slowest
/// kind's.
pub(crate) fn order(shares: &[f64], slowdown: &ByKind<f64>, weight: f64) -> [u8; ORDER_BYTES] {
    let part = |number: f64| (number * WHOLE) as u32;
    let mut words = [0_u32; ORDER_WORDS];
    let mut rest = part(1.0);
    if let Some((_, faster)) = shares.split_last() {
        for (word, share) in words.iter_mut().zip(faster) {
            *word = part(share.clamp(0.0, 1.0)).min(rest);
            rest -= *word;
        }
        words[faster.len()] = rest;
    }
    for (word, slowdown) in words[KINDS..].iter_mut().zip(slowdown) {
        *word = part(*slowdown);
    }
    // At least 1, as 0 stands for the tasks' own.
    words[2 * KINDS] = if weight > 0.0 { ((weight * NICE_0) as u32).max(1) } else { 0 };
    let mut bytes = [0; ORDER_BYTES];
    for (bytes, word) in bytes.chunks_exact_mut(4).zip(words) {
        bytes.copy_from_slice(&word.to_ne_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_larger_machine_has_room_for_more_applications() {
        assert_eq!([1, 6, 64, 1000].map(applications_at_most), [1024, 2048, 16384, 16384]);
    }

    #[test]
    fn the_shares_of_an_order_are_all_of_the_time() {
        let words = |shares: &[f64]| -> Vec<u32> {
            let bytes = order(shares, &[1.0, 2.0, 4.0, 1.0], 0.5);
            bytes.chunks_exact(4).map(|word| u32::from_ne_bytes(word.try_into().unwrap())).collect()
        };
        let whole = 1 << 20;
        assert_eq!(words(&[0.25, 0.75])[..4], [whole / 4, whole / 4 * 3, 0, 0]);
        assert_eq!(words(&[0.25, 0.75])[4..], [whole, 2 * whole, 4 * whole, whole, 5000, 0]);
        for shares in [[1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0], [1.0, 1e-12, 0.0], [0.7, 0.300_000_1, -1e-7]] {
            assert_eq!(words(&shares)[..3].iter().sum::<u32>(), whole, "{shares:?}");
        }
    }
}
