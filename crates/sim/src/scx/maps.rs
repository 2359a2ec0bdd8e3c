//! The maps of a scheduler (Linux kernel/bpf/arraymap.c, hashtab.c, bpf_task_storage.c, queue_stack_maps.c).
//!
//! A value has an address that never changes, as in the kernel: schedulers keep pointers to values over calls.

use super::abi::{E2BIG, EEXIST, EINVAL, ENOENT};
use std::collections::{BTreeMap, VecDeque};

/// Zeroed memory with an address that does not change; what points into it is C's.
#[derive(Debug)]
pub(super) struct Block {
    words: *mut u64,
    count: usize,
}

impl Block {
    fn new(bytes: usize) -> Self {
        let words: Box<[u64]> = vec![0; bytes.div_ceil(8).max(1)].into_boxed_slice();
        let count = words.len();
        Self { words: Box::into_raw(words).cast(), count }
    }

    /// The address `byte` bytes on.
    fn at(&self, byte: usize) -> *mut u8 {
        debug_assert!(byte < self.count * 8);
        self.words.cast::<u8>().wrapping_add(byte)
    }

    fn contains(&self, address: usize) -> Option<usize> {
        let byte = address.checked_sub(self.words.addr())?;
        (byte < self.count * 8).then_some(byte)
    }

    fn write(&self, byte: usize, value: &[u8]) {
        assert!(byte + value.len() <= self.count * 8);
        // SAFETY: within the block, as just asserted; a value that the scheduler passes in may be in the block itself.
        unsafe { std::ptr::copy(value.as_ptr(), self.at(byte), value.len()) }
    }

    /// Writes a value, with null for its pointers to objects of the kernel.
    fn write_value(&self, byte: usize, value: &[u8], kptrs: &[usize]) {
        self.write(byte, value);
        for kptr in kptrs {
            self.write(byte + kptr, &[0; size_of::<usize>()]);
        }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: it came from a boxed slice of this length.
        drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(self.words, self.count)) });
    }
}

/// What kind a map is and what it holds.
#[derive(Debug)]
enum Store {
    /// One value an index, by CPU or not.
    Array(Block),
    /// By key; the number says when it was last used.
    Hash { entries: BTreeMap<Box<[u8]>, (Block, u64)>, evicts: bool, uses: u64 },
    /// Last in, first out, or first in, first out.
    Queue { values: VecDeque<Box<[u8]>>, last_first: bool },
    /// By task.
    Tasks(Vec<Option<Block>>),
    /// Of the only cgroup.
    Cgroup(Option<Block>),
    /// None: pages of an arena belong to the core (`arena.rs`), and nothing reads ring buffers.
    Nothing,
}

/// A map.
#[derive(Debug)]
pub(super) struct Map {
    key_bytes: usize,
    value_bytes: usize,
    max_entries: usize,
    /// From one CPU's value to the next one's, bytes; 0 where CPUs have none of their own.
    per_cpu_bytes: usize,
    /// From one array's value to the next one's, bytes.
    stride_bytes: usize,
    /// Where a value points to objects of the kernel.
    kptrs: Vec<usize>,
    store: Store,
}

impl Map {
    /// A map of the type with this number (`enum bpf_map_type`, Linux include/uapi/linux/bpf.h) for a number of CPUs.
    pub(super) fn new(
        kind: u32,
        (key_bytes, value_bytes, max_entries): (u32, u32, u32),
        cpus: usize,
    ) -> Result<Self, String> {
        let (key_bytes, value_bytes, max_entries) =
            (key_bytes as usize, value_bytes as usize, max_entries as usize);
        let one_bytes = value_bytes.next_multiple_of(8);
        let is_per_cpu = matches!(kind, 5 | 6 | 10);
        let per_cpu_bytes = if is_per_cpu { one_bytes } else { 0 };
        let stride_bytes = if is_per_cpu { one_bytes * cpus } else { one_bytes };
        let store = match kind {
            2 | 6 => Store::Array(Block::new(stride_bytes * max_entries)),
            1 | 5 | 9 | 10 => Store::Hash { entries: BTreeMap::new(), evicts: kind >= 9, uses: 0 },
            22 | 23 => Store::Queue { values: VecDeque::new(), last_first: kind == 23 },
            29 => Store::Tasks(Vec::new()),
            32 => Store::Cgroup(None),
            27 | 33 => Store::Nothing,
            other => return Err(format!("maps of type {other} are not simulated")),
        };
        if !matches!(kind, 27 | 33) && (value_bytes == 0 || (!matches!(kind, 29 | 32) && max_entries == 0)) {
            return Err("its values or its number of entries have no size".to_owned());
        }
        Ok(Self {
            key_bytes,
            value_bytes,
            max_entries,
            per_cpu_bytes,
            stride_bytes,
            kptrs: Vec::new(),
            store,
        })
    }

    /// A value points to an object of the kernel there. Only an exchange sets such a pointer: whatever is copied into a value leaves none (Linux
    /// include/linux/bpf.h: `bpf_obj_memcpy`; kernel/bpf/arraymap.c: `bpf_obj_free_fields`).
    pub(super) fn add_kptr(&mut self, byte: usize) {
        if byte + size_of::<usize>() <= self.value_bytes {
            self.kptrs.push(byte);
        }
    }

    pub(super) fn key_bytes(&self) -> usize {
        self.key_bytes
    }

    pub(super) fn value_bytes(&self) -> usize {
        self.value_bytes
    }

    pub(super) fn is_array(&self) -> bool {
        matches!(self.store, Store::Array(_))
    }

    pub(super) fn has_cpus(&self) -> bool {
        self.per_cpu_bytes > 0
    }

    fn index(&self, key: &[u8]) -> Option<usize> {
        let index = u32::from_ne_bytes(key.get(..4)?.try_into().ok()?) as usize;
        (index < self.max_entries).then_some(index)
    }

    /// The value of a key, and of a CPU where CPUs have values of their own; null without one.
    #[inline]
    pub(super) fn lookup(&mut self, key: &[u8], cpu: usize) -> *mut u8 {
        let offset = self.per_cpu_bytes * cpu;
        if let Store::Array(block) = &self.store {
            return self
                .index(key)
                .map_or(std::ptr::null_mut(), |index| block.at(index * self.stride_bytes + offset));
        }
        let Store::Hash { entries, uses, .. } = &mut self.store else { return std::ptr::null_mut() };
        *uses += 1;
        match entries.get_mut(key) {
            Some((block, used)) => {
                *used = *uses;
                block.at(offset)
            }
            None => std::ptr::null_mut(),
        }
    }

    /// Sets the value of a key (`flags`: 0 in any case, 1 if there is none, 2 if there is one).
    pub(super) fn update(&mut self, key: &[u8], value: &[u8], cpu: usize, flags: u64) -> Result<(), i32> {
        let offset = self.per_cpu_bytes * cpu;
        let index = self.index(key);
        match &mut self.store {
            Store::Array(block) => {
                let index = index.ok_or(E2BIG)?;
                if flags == 1 {
                    return Err(EEXIST);
                }
                block.write_value(index * self.stride_bytes + offset, value, &self.kptrs);
            }
            Store::Hash { entries, evicts, uses } => {
                let is_there = entries.contains_key(key);
                match flags {
                    1 if is_there => return Err(EEXIST),
                    2 if !is_there => return Err(ENOENT),
                    _ => {}
                }
                if !is_there && entries.len() >= self.max_entries {
                    if !*evicts {
                        return Err(E2BIG);
                    }
                    let oldest =
                        entries.iter().min_by_key(|(_, (_, used))| *used).map(|(key, _)| key.clone());
                    oldest.and_then(|key| entries.remove(&key));
                }
                *uses += 1;
                // An update takes a new place in memory, as in the kernel, unless CPUs have values of their own.
                let entry = entries.entry(key.into()).or_insert_with(|| (Block::new(self.stride_bytes), 0));
                entry.1 = *uses;
                entry.0.write_value(offset, value, &self.kptrs);
            }
            _ => return Err(EINVAL),
        }
        Ok(())
    }

    pub(super) fn delete(&mut self, key: &[u8]) -> Result<(), i32> {
        match &mut self.store {
            Store::Hash { entries, .. } => entries.remove(key).map(|_| ()).ok_or(ENOENT),
            _ => Err(EINVAL),
        }
    }

    /// Adds a value to a queue or stack; `make_room` drops the oldest of a full one (`BPF_EXIST`).
    pub(super) fn push(&mut self, value: &[u8], make_room: bool) -> Result<(), i32> {
        let Store::Queue { values, .. } = &mut self.store else { return Err(EINVAL) };
        if values.len() >= self.max_entries {
            if !make_room {
                return Err(E2BIG);
            }
            values.pop_front();
        }
        values.push_back(value.into());
        Ok(())
    }

    /// Takes the next value of a queue or stack, or only looks at it.
    pub(super) fn pop(&mut self, keep: bool) -> Result<Box<[u8]>, i32> {
        let Store::Queue { values, last_first } = &mut self.store else { return Err(EINVAL) };
        let value = match (keep, *last_first) {
            (true, true) => values.back().cloned(),
            (true, false) => values.front().cloned(),
            (false, true) => values.pop_back(),
            (false, false) => values.pop_front(),
        };
        value.ok_or(ENOENT)
    }

    /// All keys.
    pub(super) fn keys(&self) -> Vec<Box<[u8]>> {
        match &self.store {
            Store::Array(_) => (0..self.max_entries as u32).map(|key| key.to_ne_bytes().into()).collect(),
            Store::Hash { entries, .. } => entries.keys().cloned().collect(),
            _ => Vec::new(),
        }
    }

    /// A task's value, or the cgroup's; `create` makes one if there is none, and copies `first` into it.
    #[inline]
    pub(super) fn of_task(&mut self, task: usize, create: bool, first: Option<&[u8]>) -> *mut u8 {
        let place = match &mut self.store {
            Store::Tasks(blocks) => {
                if blocks.len() <= task {
                    blocks.resize_with(task + 1, || None);
                }
                &mut blocks[task]
            }
            Store::Cgroup(block) => block,
            _ => return std::ptr::null_mut(),
        };
        if let Some(block) = place {
            return block.at(0);
        }
        if !create {
            return std::ptr::null_mut();
        }
        let block = place.insert(Block::new(self.value_bytes));
        if let Some(first) = first {
            block.write_value(0, first, &self.kptrs);
        }
        block.at(0)
    }

    /// Forgets a task's value. Whether there was one.
    pub(super) fn forget_task(&mut self, task: usize) -> bool {
        match &mut self.store {
            Store::Tasks(blocks) => blocks.get_mut(task).is_some_and(|block| block.take().is_some()),
            _ => false,
        }
    }

    /// The key of the value that an address is in, and the value's address.
    pub(super) fn key_at(&self, address: usize) -> Option<(Box<[u8]>, *mut u8)> {
        match &self.store {
            Store::Array(block) => {
                let index = block.contains(address)? / self.stride_bytes;
                Some(((index as u32).to_ne_bytes().into(), block.at(index * self.stride_bytes)))
            }
            Store::Hash { entries, .. } => entries
                .iter()
                .find(|(_, (block, _))| block.contains(address).is_some())
                .map(|(key, (block, _))| (key.clone(), block.at(0))),
            Store::Tasks(blocks) => {
                let mut blocks = blocks.iter().enumerate();
                blocks.find_map(|(task, block)| {
                    let block = block.as_ref().filter(|block| block.contains(address).is_some())?;
                    Some(((task as u32).to_ne_bytes().into(), block.at(0)))
                })
            }
            Store::Cgroup(block) => {
                let block = block.as_ref().filter(|block| block.contains(address).is_some())?;
                Some((Box::default(), block.at(0)))
            }
            Store::Queue { .. } | Store::Nothing => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(kind: u32, max_entries: u32) -> Map {
        Map::new(kind, (4, 12, max_entries), 3).unwrap()
    }

    fn read(address: *mut u8) -> Option<[u8; 12]> {
        // SAFETY: null or a value of 12 bytes of a map that lives.
        (!address.is_null()).then(|| unsafe { address.cast::<[u8; 12]>().read_unaligned() })
    }

    #[test]
    fn no_copy_brings_a_pointer_to_an_object_of_the_kernel() {
        for kind in [1, 2] {
            let mut map = map(kind, 4);
            map.add_kptr(4);
            let key = 1_u32.to_ne_bytes();
            map.update(&key, &[7; 12], 0, 0).unwrap();
            let found = read(map.lookup(&key, 0)).unwrap();
            assert_eq!(found, [[7; 4], [0; 4], [0; 4]].concat()[..], "{kind}");
        }
        let mut map = map(29, 0);
        map.add_kptr(4);
        assert_eq!(read(map.of_task(0, true, Some(&[7; 12]))).unwrap()[4..], [0; 8]);
    }

    #[test]
    fn arrays_are_there_from_the_beginning_and_end_where_they_say() {
        let mut map = map(2, 2);
        assert_eq!(read(map.lookup(&1_u32.to_ne_bytes(), 0)), Some([0; 12]));
        assert_eq!(map.update(&1_u32.to_ne_bytes(), &[7; 12], 0, 0), Ok(()));
        assert_eq!(read(map.lookup(&1_u32.to_ne_bytes(), 2)), Some([7; 12]));
        assert_eq!(read(map.lookup(&2_u32.to_ne_bytes(), 0)), None);
        assert_eq!(map.update(&2_u32.to_ne_bytes(), &[7; 12], 0, 0), Err(E2BIG));
        let inside = map.lookup(&1_u32.to_ne_bytes(), 0).addr() + 5;
        assert_eq!(map.key_at(inside).unwrap().0.as_ref(), 1_u32.to_ne_bytes());
        assert_eq!(map.keys().len(), 2);
    }

    #[test]
    fn cpus_have_values_of_their_own() {
        for kind in [5, 6] {
            let mut map = map(kind, 2);
            let key = 1_u32.to_ne_bytes();
            map.update(&key, &[1; 12], 0, 0).unwrap();
            map.update(&key, &[2; 12], 2, 0).unwrap();
            let values = [0, 1, 2].map(|cpu| read(map.lookup(&key, cpu)));
            assert_eq!(values, [Some([1; 12]), Some([0; 12]), Some([2; 12])]);
        }
    }

    #[test]
    fn a_full_hash_refuses_and_a_full_lru_forgets_the_oldest() {
        let key = |n: u32| n.to_ne_bytes();
        let (mut plain, mut lru) = (map(1, 2), map(9, 2));
        for n in 0..2 {
            plain.update(&key(n), &[n as u8; 12], 0, 1).unwrap();
            lru.update(&key(n), &[n as u8; 12], 0, 1).unwrap();
        }
        assert_eq!(plain.update(&key(0), &[0; 12], 0, 1), Err(EEXIST));
        assert_eq!(plain.update(&key(5), &[0; 12], 0, 2), Err(ENOENT));
        assert_eq!(plain.update(&key(5), &[0; 12], 0, 0), Err(E2BIG));
        lru.lookup(&key(0), 0);
        lru.update(&key(5), &[5; 12], 0, 0).unwrap();
        assert_eq!((read(lru.lookup(&key(0), 0)), read(lru.lookup(&key(1), 0))), (Some([0; 12]), None));
        assert_eq!((plain.delete(&key(0)), plain.delete(&key(0))), (Ok(()), Err(ENOENT)));
    }

    #[test]
    fn queues_and_stacks() {
        let (mut queue, mut stack) = (map(22, 2), map(23, 2));
        for map in [&mut queue, &mut stack] {
            map.push(&[1; 12], false).unwrap();
            map.push(&[2; 12], false).unwrap();
            assert_eq!(map.push(&[3; 12], false), Err(E2BIG));
        }
        assert_eq!((queue.pop(true).unwrap()[0], stack.pop(true).unwrap()[0]), (1, 2));
        assert_eq!((queue.pop(false).unwrap()[0], stack.pop(false).unwrap()[0]), (1, 2));
        queue.push(&[4; 12], true).unwrap();
        queue.push(&[5; 12], true).unwrap();
        assert_eq!(
            [queue.pop(false), queue.pop(false), queue.pop(false)].map(|v| v.map(|v| v[0])),
            [Ok(4), Ok(5), Err(ENOENT)]
        );
    }

    #[test]
    fn tasks_have_values_until_they_end() {
        let mut map = map(29, 0);
        assert!(map.of_task(5, false, None).is_null());
        let address = map.of_task(5, true, Some(&[9; 12]));
        assert_eq!((read(address), map.of_task(5, false, None)), (Some([9; 12]), address));
        assert!(map.forget_task(5) && !map.forget_task(5));
        assert!(Map::new(4, (4, 4, 4), 1).is_err());
    }
}
