//! What a pipe or a socket holds, and when there is room in it.

use crate::costs::PAGE_BYTES;
use crate::workload::Pipe;
use std::collections::VecDeque;

/// What reading a message did to the room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Room {
    /// There is more of it: a page of a pipe has been read, or a quarter of a socket is left at most.
    pub(crate) more: bool,
    /// It was full when that happened.
    pub(crate) was_full: bool,
}

/// The messages of one pipe or socket.
#[derive(Clone, Debug)]
pub(crate) struct MessageBuffer {
    spec: Pipe,
    /// Bytes to be read.
    pub(crate) filled: u64,
    /// What they take of the capacity of a socket, and of memory.
    pub(crate) taken: u64,
    /// What is left to be read of each of a pipe's pages.
    pages: VecDeque<u32>,
    /// Where the next byte goes in the last of them.
    end: u32,
    /// The pipe has a page that is free: it keeps one of those that were read (`anon_pipe_put_page`).
    has_spare_page: bool,
}

impl MessageBuffer {
    pub(crate) fn new(spec: Pipe) -> Self {
        Self { spec, filled: 0, taken: 0, pages: VecDeque::new(), end: 0, has_spare_page: false }
    }

    /// Puts a message in, if there is room. One that is larger than the whole goes through when it is empty.
    pub(crate) fn put(&mut self, bytes: u32) -> bool {
        let needs = u64::from(bytes) + u64::from(self.spec.overhead_bytes);
        let fits = if self.counts_bytes() {
            self.taken + needs <= u64::from(self.spec.capacity_bytes) || self.taken == 0
        } else {
            self.put_in_pages(bytes)
        };
        if fits {
            self.filled += u64::from(bytes);
            self.taken += needs;
        }
        fits
    }

    /// Puts a message into the pages. The bytes beyond whole pages go to the end of the last page if it has room (`anon_pipe_write`).
    fn put_in_pages(&mut self, bytes: u32) -> bool {
        let over = bytes % PAGE_BYTES;
        let (rest, merges) = self.beyond_the_last_page(bytes);
        let fits = self.pages.is_empty()
            || self.pages.len() + rest.div_ceil(PAGE_BYTES) as usize <= self.most_pages();
        if !fits {
            return false;
        }
        if merges {
            self.end += over;
            if let Some(last) = self.pages.back_mut() {
                *last += over;
            }
        }
        let mut left = rest;
        self.has_spare_page &= rest == 0;
        while left > 0 {
            self.end = left.min(PAGE_BYTES);
            self.pages.push_back(self.end);
            left -= self.end;
        }
        true
    }

    /// What of a message goes into new pages, and whether the rest goes to the end of the last page.
    fn beyond_the_last_page(&self, bytes: u32) -> (u32, bool) {
        let over = bytes % PAGE_BYTES;
        let merges = over > 0 && !self.pages.is_empty() && self.end + over <= PAGE_BYTES;
        (if merges { bytes - over } else { bytes }, merges)
    }

    /// How many pages a pipe needs for a message besides those that it has.
    pub(crate) fn pages_needed(&self, bytes: u32) -> u32 {
        if self.counts_bytes() {
            return 0;
        }
        let pages = self.beyond_the_last_page(bytes).0.div_ceil(PAGE_BYTES);
        pages.saturating_sub(u32::from(self.has_spare_page))
    }

    /// Takes a message out. `None` when it is not there yet.
    pub(crate) fn take(&mut self, bytes: u32) -> Option<Room> {
        if self.filled < u64::from(bytes) {
            return None;
        }
        self.filled -= u64::from(bytes);
        self.taken = if self.filled == 0 {
            0
        } else {
            self.taken.saturating_sub(u64::from(bytes) + u64::from(self.spec.overhead_bytes))
        };
        if self.counts_bytes() && !self.spec.socket {
            return Some(Room { more: true, was_full: true });
        }
        if self.spec.socket {
            // unix_writable: at most a quarter of the send buffer is taken (net/unix/af_unix.c).
            let more = self.taken * 4 <= u64::from(self.spec.capacity_bytes);
            return Some(Room { more, was_full: more });
        }
        let mut room = Room::default();
        let mut left = bytes;
        while left > 0 {
            let is_full = self.is_full();
            let Some(first) = self.pages.front_mut() else { break };
            let read = left.min(*first);
            *first -= read;
            left -= read;
            if *first == 0 {
                self.pages.pop_front();
                self.has_spare_page = true;
                room = Room { more: true, was_full: room.was_full | is_full };
            }
        }
        Some(room)
    }

    /// Whether a pipe has no page left; what is left in its last page does not count (`pipe_full`).
    pub(crate) fn is_full(&self) -> bool {
        !self.counts_bytes() && self.pages.len() >= self.most_pages()
    }

    /// Sockets go by bytes, and so does a pipe of less than a page, which no kernel has but a specification may.
    fn counts_bytes(&self) -> bool {
        self.spec.socket || self.spec.capacity_bytes < PAGE_BYTES
    }

    fn most_pages(&self) -> usize {
        (self.spec.capacity_bytes / PAGE_BYTES).max(1) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn channel(socket: bool, capacity_bytes: u32, overhead_bytes: u32) -> MessageBuffer {
        MessageBuffer::new(Pipe { capacity_bytes, overhead_bytes, socket })
    }

    #[test]
    fn a_pipe_holds_forty_short_messages_a_page_and_gives_room_a_page_at_a_time() {
        let mut pipe = channel(false, 8192, 2);
        assert_eq!((0..100).take_while(|_| pipe.put(100)).count(), 80);
        assert!(pipe.is_full() && pipe.put(96) && !pipe.put(1));
        let rooms: Vec<Room> = std::iter::from_fn(|| pipe.take(100)).collect();
        assert_eq!(rooms.len(), 80);
        let with_room: Vec<(usize, bool)> = rooms
            .iter()
            .enumerate()
            .filter(|(_, room)| room.more)
            .map(|(n, room)| (n, room.was_full))
            .collect();
        // Only the first page came free while the pipe was full. The last message leaves 96 bytes behind.
        assert_eq!(with_room, [(39, true)]);
        assert_eq!(pipe.take(96), Some(Room { more: true, was_full: false }));
        assert_eq!(pipe.take(1), None);
    }

    #[test]
    fn a_pipe_needs_pages_beyond_the_one_that_it_keeps() {
        let mut pipe = channel(false, 65_536, 0);
        let fill = |pipe: &mut MessageBuffer, messages: usize| {
            let needed = |pipe: &mut MessageBuffer| (pipe.pages_needed(100), assert!(pipe.put(100))).0;
            (0..messages).map(|_| needed(pipe)).sum::<u32>()
        };
        // Forty messages a page. The first page is new, then it is kept.
        assert_eq!((fill(&mut pipe, 40), fill(&mut pipe, 41), pipe.pages_needed(10_000)), (1, 2, 2));
        while pipe.take(100).is_some() {}
        assert_eq!((fill(&mut pipe, 40), fill(&mut pipe, 80)), (0, 2));
        // A page that is read while others are written goes to the next message that needs one.
        assert!((0..40).all(|_| pipe.take(100).is_some()));
        assert_eq!((fill(&mut pipe, 1), pipe.pages_needed(4_096)), (0, 1));
        assert_eq!(channel(true, 1_000, 0).pages_needed(100), 0);
    }

    #[test]
    fn a_long_message_takes_pages_and_one_longer_than_the_pipe_goes_when_it_is_empty() {
        let mut pipe = channel(false, 16_384, 0);
        assert!(pipe.put(10_000) && pipe.put(4_096) && !pipe.put(4_096));
        assert_eq!(pipe.take(4_096), Some(Room { more: true, was_full: true }));
        assert!(pipe.put(4_096));
        let mut small = channel(false, 100, 0);
        assert!(small.put(80) && !small.put(80));
        assert_eq!(small.take(80), Some(Room { more: true, was_full: true }));
        assert!(small.put(10_000) && !small.put(1));
    }

    #[test]
    fn a_socket_has_room_again_when_a_quarter_is_left() {
        let mut socket = channel(true, 1000, 100);
        assert_eq!((0..9).take_while(|_| socket.put(100)).count(), 5);
        let rooms = [(); 4].map(|()| socket.take(100).map(|room| room.more));
        assert_eq!(rooms, [Some(false), Some(false), Some(false), Some(true)]);
    }
}
