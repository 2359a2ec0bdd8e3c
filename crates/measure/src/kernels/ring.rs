//! A token round a ring of tasks joined by pipes, as lmbench's `lat_ctx` has it. The token may be a running sum of process
//! ids, checked by the leader. The baseline sends it through a second set of as many pipes in one process, hot.

use super::{SwitchLoop, broken};
use crate::sys::{self, Pipe};
use crate::traversal::Array;
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) struct PipeRing {
    pipes: Vec<Pipe>,
    own_pipes: Vec<Pipe>,
    sum_pids: bool,
    returned: AtomicU64,
}

impl PipeRing {
    /// A ring of `tasks`; `sum_pids` has every task add its process id to the token.
    pub(crate) fn new(tasks: usize, sum_pids: bool) -> Result<Self, i32> {
        sys::raise_open_files();
        let pipes = |count| (0..count).map(|_| Pipe::new()).collect::<Result<Vec<_>, _>>();
        Ok(Self { pipes: pipes(tasks)?, own_pipes: pipes(tasks)?, sum_pids, returned: AtomicU64::new(0) })
    }

    #[inline(always)]
    fn stamp(&self) -> u64 {
        if self.sum_pids { rustix::process::getpid().as_raw_nonzero().get() as u64 } else { 1 }
    }
}

#[inline(always)]
fn put(pipe: &Pipe, token: u64) {
    if rustix::io::write(&pipe.write, &token.to_ne_bytes()) != Ok(8) {
        broken();
    }
}

#[inline(always)]
fn take(pipe: &Pipe) -> u64 {
    let mut token = [0u8; 8];
    if rustix::io::read(&pipe.read, &mut token) != Ok(8) {
        broken();
    }
    u64::from_ne_bytes(token)
}

impl SwitchLoop for PipeRing {
    #[inline(always)]
    fn lead(&self, array: &Array) {
        put(&self.pipes[0], self.stamp());
        let token = take(&self.pipes[self.pipes.len() - 1]);
        self.returned.store(token, Ordering::Relaxed);
        std::hint::black_box(array.traverse());
    }

    #[inline(always)]
    fn follow(&self, index: usize, array: &Array) {
        let token = take(&self.pipes[index - 1]);
        std::hint::black_box(array.traverse());
        put(&self.pipes[index], token + self.stamp());
    }

    #[inline(always)]
    fn baseline(&self, array: &Array) {
        let mut token = 0;
        for pipe in &self.own_pipes {
            put(pipe, token + self.stamp());
            token = take(pipe);
            std::hint::black_box(array.traverse());
        }
    }

    fn verified(&self, pids: &dyn Fn(usize) -> u64) -> bool {
        let expected = if self.sum_pids {
            self.stamp() + (1..self.pipes.len()).map(pids).sum::<u64>()
        } else {
            self.pipes.len() as u64
        };
        self.returned.load(Ordering::Relaxed) == expected
    }
}
