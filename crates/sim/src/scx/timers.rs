//! The scheduler's own timers (`bpf_timer`, Linux kernel/bpf/helpers.c).

use super::abi::{EBUSY, EINVAL};
use super::maps::Map;
use std::collections::BTreeSet;
use std::ffi::c_void;

/// What a timer calls: the map, the key and the value that it is in.
pub(super) type Callback = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_void) -> i32;

/// A timer in a map's value.
pub(super) struct Timer {
    pub(super) callback: Option<Callback>,
    /// The scheduler's variable of the map.
    pub(super) map: *mut c_void,
    pub(super) key: Box<[u8]>,
    pub(super) value: *mut u8,
    pub(super) cpu: u32,
    /// When it rings, and its turn among those that ring then.
    set: Option<(u64, u64)>,
}

/// All timers.
#[derive(Default)]
pub(super) struct Timers {
    all: Vec<Timer>,
    set: BTreeSet<(u64, u64, usize)>,
    turns: u64,
}

impl Timers {
    /// A timer at an address inside a map, whose variable is at `variable`. Its number.
    pub(super) fn add(&mut self, map: &Map, variable: *mut c_void, address: usize) -> Result<u64, i32> {
        let (key, value) = map.key_at(address).ok_or(EINVAL)?;
        self.all.push(Timer { callback: None, map: variable, key, value, cpu: 0, set: None });
        Ok(self.all.len() as u64)
    }

    pub(super) fn get(&mut self, number: u64) -> Result<&mut Timer, i32> {
        let place = usize::try_from(number).ok().and_then(|number| number.checked_sub(1)).ok_or(EINVAL)?;
        self.all.get_mut(place).ok_or(EINVAL)
    }

    /// Sets a timer, also one that is set already.
    pub(super) fn start(&mut self, number: u64, at_ns: u64, cpu: u32) -> Result<(), i32> {
        self.cancel(number)?;
        self.turns += 1;
        let turn = self.turns;
        let timer = self.get(number)?;
        if timer.callback.is_none() {
            return Err(EINVAL);
        }
        timer.set = Some((at_ns, turn));
        timer.cpu = cpu;
        self.set.insert((at_ns, turn, number as usize));
        Ok(())
    }

    /// Stops a timer. Whether it was set.
    pub(super) fn cancel(&mut self, number: u64) -> Result<bool, i32> {
        match self.get(number)?.set.take() {
            Some((at_ns, turn)) => Ok(self.set.remove(&(at_ns, turn, number as usize))),
            None => Ok(false),
        }
    }

    /// When the next one rings, ns.
    pub(super) fn first_ns(&self) -> Option<u64> {
        self.set.first().map(|(at_ns, _, _)| *at_ns)
    }

    /// Takes the next timer that rings at a time or before.
    pub(super) fn take(&mut self, now_ns: u64) -> Option<&mut Timer> {
        let (at_ns, turn, number) = *self.set.first()?;
        if at_ns > now_ns {
            return None;
        }
        self.set.remove(&(at_ns, turn, number));
        let timer = &mut self.all[number - 1];
        timer.set = None;
        Some(timer)
    }

    /// An error if a value's timer has been made already.
    pub(super) fn unmade(number: u64) -> Result<(), i32> {
        if number == 0 { Ok(()) } else { Err(EBUSY) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" fn nothing(_: *mut c_void, _: *mut c_void, _: *mut c_void) -> i32 {
        0
    }

    #[test]
    fn timers_ring_in_their_order_and_can_be_set_again() {
        let mut map = Map::new(2, (4, 16, 4), 1).unwrap();
        let address = |map: &mut Map, key: u32| map.lookup(&key.to_ne_bytes(), 0).addr();
        let mut timers = Timers::default();
        for key in 0..3 {
            let at = address(&mut map, key);
            let number = timers.add(&map, std::ptr::null_mut(), at).unwrap();
            assert_eq!(timers.start(number, 5, 0), Err(EINVAL), "no callback yet");
            timers.get(number).unwrap().callback = Some(nothing);
        }
        timers.start(1, 30, 0).unwrap();
        timers.start(2, 20, 1).unwrap();
        timers.start(3, 20, 2).unwrap();
        timers.start(1, 10, 3).unwrap();
        assert_eq!((timers.cancel(3), timers.cancel(3)), (Ok(true), Ok(false)));
        assert_eq!(timers.first_ns(), Some(10));
        assert!(timers.take(9).is_none());
        let first = timers.take(25).map(|timer| (timer.cpu, timer.key.clone())).unwrap();
        assert_eq!(first, (3, 0_u32.to_ne_bytes().into()));
        assert_eq!(timers.take(25).map(|timer| timer.cpu), Some(1));
        assert!(timers.take(u64::MAX).is_none());
        assert!(
            timers.get(0).is_err()
                && timers.get(4).is_err()
                && timers.add(&map, std::ptr::null_mut(), 1).is_err()
        );
    }
}
