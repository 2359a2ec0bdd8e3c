//! The only cgroup, as the scheduler sees it.

use super::abi;
use std::ffi::{c_char, c_void};

/// What schedulers know of the root: its number, as in the kernel, and that it has no name.
const ROOT_ID: u64 = 1;

/// The root, and what its pointers point to.
#[derive(Debug)]
pub(super) struct Cgroup {
    shown: Box<abi::Cgroup>,
    /// Kept as long as `shown`, which points to it.
    _node: Box<abi::KernfsNode>,
    set: Box<abi::CssSet>,
}

impl Cgroup {
    /// The root.
    pub(super) fn root() -> Self {
        let node = Box::new(abi::KernfsNode { id: ROOT_ID, name: c"".as_ptr().cast::<c_char>() });
        let mut shown = Box::new(abi::Cgroup {
            node: std::ptr::null(),
            level: 0,
            own: abi::CgroupState { cgroup: std::ptr::null(), references: 0, parent: std::ptr::null() },
            ancestors: [std::ptr::null()],
        });
        shown.node = &raw const *node;
        shown.own.cgroup = &raw const *shown;
        shown.ancestors = [&raw const *shown];
        let set = Box::new(abi::CssSet { default: &raw const *shown });
        Self { shown, _node: node, set }
    }

    /// `struct cgroup`.
    pub(super) fn shown(&mut self) -> *mut c_void {
        (&raw mut *self.shown).cast()
    }

    /// `struct task_group`, which begins with the group's state.
    pub(super) fn task_group(&mut self) -> *mut c_void {
        (&raw mut self.shown.own).cast()
    }

    /// `struct css_set` of the tasks in it.
    pub(super) fn set(&mut self) -> *mut c_void {
        (&raw mut *self.set).cast()
    }
}
