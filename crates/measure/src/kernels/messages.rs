//! Messages through pipes or sockets: one task writes to all of them in turn, then the same task or one on another CPU reads them one after the
//! other, as a task with many receivers writes and each receiver reads (hackbench).
//!
//! The order is part of what a message costs. Messages of one channel are freed together and were not allocated together, which takes the allocator longer to free and
//! less long to allocate. With 4,000 messages under way in 20 sockets a write took 2,992 ns and a read 2,550; written socket by socket it was 3,414
//! and 2,256 (Linux 7.3, x86-64, counted instructions).
//!
//! No task sleeps and no context switch happens: the tasks hand over by spinning. So a message costs the two calls, and on another CPU
//! also the transfer of the kernel's cache lines from cache to cache.

use super::{SwitchLoop, broken};
use crate::clock::Clock;
use crate::sys;
use crate::traversal::Array;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::pipe::{PipeFlags, pipe_with};
use std::hint;
use std::sync::atomic::{AtomicBool, Ordering};
use swtch_profile::vocabulary::Carrier;

/// Length of a message: that of hackbench.
pub(crate) const MESSAGE_BYTES: usize = 100;

/// The ends of the pipes or sockets, and whose turn it is.
pub(crate) struct Messages {
    ends: Vec<(OwnedFd, OwnedFd)>,
    depth: u32,
    readers_turn: AtomicBool,
}

impl Messages {
    /// Opens `channels` pipes or sockets, each of which takes `depth` messages before it is read. `ENOBUFS` where one does not take them: pipes
    /// beyond `pipe-user-pages-soft` get a page or two, and `wmem_default` may have been lowered. No call on them waits, so none hangs.
    pub(crate) fn new(carrier: Carrier, channels: u32, depth: u32) -> Result<Self, i32> {
        sys::raise_open_files();
        let ends = (0..channels).map(|_| match carrier {
            Carrier::Pipe => pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK),
            Carrier::Socket => {
                let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
                socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)
            }
        });
        let ends = ends.collect::<Result<_, _>>().map_err(Errno::raw_os_error)?;
        let messages = Self { ends, depth, readers_turn: AtomicBool::new(false) };
        if !messages.are_written() {
            return Err(Errno::NOBUFS.raw_os_error());
        }
        messages.read_all();
        Ok(messages)
    }

    /// One task writes and reads a round. Returns the time of the writes and of the reads, by `clock`.
    #[inline(always)]
    pub(crate) fn timed_round(&self, clock: Clock) -> [u64; 2] {
        let start = clock.start();
        self.write_all();
        let middle = clock.stop();
        self.read_all();
        [middle - start, clock.stop() - middle]
    }

    #[inline(always)]
    fn write_all(&self) {
        if !self.are_written() {
            broken();
        }
    }

    /// Writes all messages, or up to one that there is no room for.
    #[inline(always)]
    fn are_written(&self) -> bool {
        for _ in 0..self.depth {
            for (_, write) in &self.ends {
                if rustix::io::write(write, &[0; MESSAGE_BYTES]) != Ok(MESSAGE_BYTES) {
                    return false;
                }
            }
        }
        true
    }

    #[inline(always)]
    fn read_all(&self) {
        for (read, _) in &self.ends {
            for _ in 0..self.depth {
                if rustix::io::read(read, &mut [0_u8; MESSAGE_BYTES]) != Ok(MESSAGE_BYTES) {
                    broken();
                }
            }
        }
    }

    #[inline(always)]
    fn wait_for_turn(&self, of_reader: bool) {
        while self.readers_turn.load(Ordering::Acquire) != of_reader {
            hint::spin_loop();
        }
    }
}

impl SwitchLoop for Messages {
    #[inline(always)]
    fn lead(&self, _array: &Array) {
        self.write_all();
        self.readers_turn.store(true, Ordering::Release);
        self.wait_for_turn(false);
    }

    #[inline(always)]
    fn follow(&self, _index: usize, _array: &Array) {
        self.wait_for_turn(true);
        self.read_all();
        self.readers_turn.store(false, Ordering::Release);
    }

    #[inline(always)]
    fn baseline(&self, _array: &Array) {
        self.write_all();
        self.read_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_messages_than_there_is_room_for_are_refused() {
        for carrier in Carrier::ALL {
            let made = |depth| Messages::new(carrier, 2, depth).map(|messages| messages.ends.len());
            assert_eq!((made(20), made(100_000)), (Ok(2), Err(libc::ENOBUFS)), "{carrier}");
        }
    }
}
