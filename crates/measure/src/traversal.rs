//! A task's own array and the ways of going through it.
//!
//! Every element is touched exactly once a pass, by a volatile access. So a read is not optimised away, a write does not
//! become a memset, and both arms of a measurement run this same code.

use crate::sys;
use std::ptr;
use swtch_profile::vocabulary::Access;

/// Size of an element, bytes.
pub const ELEMENT_BYTES: u64 = 8;

/// How a task goes through its array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pattern {
    /// Size of the array in bytes; 0 for no array.
    pub array_bytes: u64,
    /// Step between elements in bytes, at least one element.
    pub stride_bytes: u64,
    /// What is done with each element.
    pub access: Access,
}

impl Pattern {
    /// No array at all: the pattern of the direct cost.
    pub const NONE: Self =
        Self { array_bytes: 0, stride_bytes: ELEMENT_BYTES, access: Access::ReadModifyWrite };
}

/// Private memory of one task, mapped and touched by the task itself.
#[derive(Debug)]
pub(crate) struct Array {
    start: *mut u64,
    elements: usize,
    stride: usize,
    access: Access,
}

impl Array {
    /// Maps and touches an array for `pattern`. Pages are small (no transparent huge pages). So each process draws their
    /// placement in a physically indexed cache again, and a lucky one is not mistaken for the machine.
    ///
    /// # Errors
    /// The error number of `mmap`.
    pub(crate) fn map(pattern: Pattern) -> Result<Self, i32> {
        let elements = (pattern.array_bytes / ELEMENT_BYTES) as usize;
        let stride = (pattern.stride_bytes / ELEMENT_BYTES).max(1) as usize;
        let start = if elements == 0 {
            ptr::NonNull::dangling().as_ptr()
        } else {
            sys::map_private(elements * ELEMENT_BYTES as usize)?.cast()
        };
        let array = Self { start, elements, stride, access: pattern.access };
        for index in 0..elements {
            // SAFETY: `index` is within the mapping of `elements` elements.
            unsafe { array.start.add(index).write_volatile(index as u64) };
        }
        Ok(array)
    }

    /// Goes through the array once: from element 0 every stride-th, then from element 1, until each was touched once
    /// (Li, Ding, Shen 2007, section 3.2). Returns a value that depends on what was read.
    #[inline(never)]
    pub(crate) fn traverse(&self) -> u64 {
        match self.access {
            Access::Read => self.visit(|sum, element| {
                // SAFETY: `visit` hands out pointers within the mapping only.
                sum.wrapping_add(unsafe { element.read_volatile() })
            }),
            Access::Write => self.visit(|sum, element| {
                // SAFETY: as above; the mapping is writable and this task's own.
                unsafe { element.write_volatile(sum) };
                sum
            }),
            Access::ReadModifyWrite => self.visit(|sum, element| {
                // SAFETY: as above.
                unsafe { element.write_volatile(element.read_volatile().wrapping_add(1)) };
                sum
            }),
        }
    }

    /// Where the array is, to distinguish two of them.
    #[cfg(test)]
    pub(crate) fn address(&self) -> usize {
        self.start.addr()
    }

    #[inline(always)]
    fn visit(&self, touch: impl Fn(u64, *mut u64) -> u64) -> u64 {
        let mut sum = 0;
        for first in 0..self.stride.min(self.elements) {
            let mut index = first;
            while index < self.elements {
                // SAFETY: `index` is below the number of elements mapped.
                sum = touch(sum, unsafe { self.start.add(index) });
                index += self.stride;
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents(array: &Array) -> Vec<u64> {
        // SAFETY: the array maps this many elements.
        (0..array.elements).map(|index| unsafe { array.start.add(index).read() }).collect()
    }

    /// The trap: a read that is optimised away touches nothing. The sum proves that every element was loaded once.
    #[test]
    fn a_read_loads_every_element_once_at_any_stride() {
        for stride_bytes in [8, 16, 24, 64, 4096, 8192] {
            let array =
                Array::map(Pattern { array_bytes: 8192, stride_bytes, access: Access::Read }).unwrap();
            assert_eq!(array.traverse(), (0..1024).sum::<u64>(), "stride {stride_bytes}");
        }
    }

    #[test]
    fn read_modify_write_touches_every_element_once_at_any_stride() {
        for stride_bytes in [8, 24, 64, 4096] {
            let array =
                Array::map(Pattern { array_bytes: 8192, stride_bytes, access: Access::ReadModifyWrite })
                    .unwrap();
            array.traverse();
            assert_eq!(contents(&array), (1..=1024).collect::<Vec<u64>>(), "stride {stride_bytes}");
        }
    }

    #[test]
    fn a_write_overwrites_every_element() {
        let array =
            Array::map(Pattern { array_bytes: 4096, stride_bytes: 16, access: Access::Write }).unwrap();
        array.traverse();
        assert!(contents(&array).iter().all(|element| *element == 0));
    }

    /// The trap of a write that becomes one call to memset: the compiled code of the traversal calls nothing.
    #[test]
    fn the_compiled_traversal_calls_no_library() {
        let program = std::env::current_exe().unwrap();
        let Ok(listing) = std::process::Command::new("objdump")
            .args(["--disassemble", "--demangle", "--no-show-raw-insn"])
            .arg(program)
            .output()
        else {
            eprintln!(
                "SKIP the_compiled_traversal_calls_no_library: objdump (Debian's binutils) is not here"
            );
            return;
        };
        let text = String::from_utf8_lossy(&listing.stdout);
        let begin =
            text.find("traversal::Array::traverse>:").expect("the traversal is a function of its own");
        let body = text[begin..].split("\n\n").next().unwrap();
        let calls: Vec<&str> = body
            .lines()
            .filter(|line| ["call", "bl\t", "memset"].iter().any(|word| line.contains(word)))
            .filter(|line| !line.contains("panic"))
            .collect();
        assert!(body.lines().count() > 10 && calls.is_empty(), "{calls:?}");
    }

    #[test]
    fn no_array_is_no_work() {
        assert_eq!(Array::map(Pattern::NONE).unwrap().traverse(), 0);
    }
}
