//! Goes to the threads of one sample.

use super::{SampleCounters, Sampler};
use crate::sources::procfs::SampleTarget;
use crate::sources::procfs::counters::Counters;
use crate::sources::procfs::members::TargetMembers;
use crate::sources::procfs::tracked::{Tracked, Unread};
use crate::thread_files;

impl Sampler {
    /// All threads of a process.
    pub(super) fn process(&mut self, pid: u32, counters: &mut SampleCounters) {
        self.visit(pid, pid, counters);
        let Some(leader) = self.threads.get(&pid) else { return };
        // Only a thread of the process could have made another one, and the only one has just been read.
        if leader.siblings == 1 {
            return;
        }
        let mut tids = std::mem::take(&mut self.tids);
        tids.clear();
        if self.reader.numbers(&format!("{pid}/task"), &mut tids).is_ok() {
            for tid in tids.iter().filter(|tid| **tid != pid) {
                self.visit(pid, *tid, counters);
            }
        }
        self.tids = tids;
    }

    /// A thread of which only its number is known.
    pub(super) fn member_thread(&mut self, tid: u32, counters: &mut SampleCounters) {
        let known = self.threads.get(&tid).map(|thread| thread.pid);
        let pid = known.or_else(|| {
            let text = self.reader.other(&format!("{tid}/status")).ok()?;
            u32::try_from(thread_files::status_number(text, b"Tgid")?).ok()
        });
        if let Some(pid) = pid {
            self.visit(pid, tid, counters);
        }
    }

    fn visit(&mut self, pid: u32, tid: u32, counters: &mut SampleCounters) {
        // A number that went to another process between two samples.
        if self.threads.get(&tid).is_some_and(|thread| thread.pid != pid) {
            self.finish_thread(tid, true);
        }
        let mut fresh = None;
        let thread = match self.threads.get_mut(&tid) {
            Some(thread) => thread,
            None => fresh.insert(Tracked::new(pid, tid, counters.now_ns)),
        };
        let is_new = thread.samples == 0;
        let outcome = thread.read(&mut self.reader, &mut self.present, self.tick_ns);
        match outcome {
            Ok(mut delta) => {
                if is_new {
                    let whole_life =
                        matches!(self.target, SampleTarget::Descendants { since_birth: true, .. });
                    thread.since_birth =
                        (whole_life || thread.started_ticks >= self.begin_ticks) && !self.left.contains(&tid);
                    thread.first = if thread.since_birth { Counters::ZERO } else { thread.last };
                    delta = thread.counted();
                    self.threads_born += u64::from(thread.started_ticks >= self.begin_ticks);
                }
                thread.samples += 1;
                thread.seen = self.samples;
                thread.last_ns = counters.now_ns;
                if let Some(hierarchy) = &self.hierarchy {
                    thread.look_for_group(&mut self.reader, hierarchy, false);
                }
                counters.delta = counters.delta.plus(&delta);
                self.evidence.note(&thread.last, &delta);
                if !thread.is_over() {
                    self.pids.insert(pid);
                    counters.sampled.threads += 1;
                    counters.sampled.runnable += u64::from(thread.state == b'R');
                }
                if let Some(thread) = fresh {
                    self.threads.insert(tid, thread);
                }
            }
            Err(why) => {
                self.evidence.refused += u64::from(why == Unread::Refused);
                if let Some(thread) = fresh {
                    self.reader.close(thread.files);
                } else if why == Unread::Gone {
                    self.finish_thread(tid, true);
                }
                if why == Unread::Gone && tid == pid {
                    self.members.forget(pid);
                }
            }
        }
    }

    /// Ends the threads that this sample did not list.
    pub(super) fn retire(&mut self, counters: &mut SampleCounters) {
        let sample = self.samples;
        let unseen: Vec<(u32, u32)> = self
            .threads
            .values()
            .filter(|thread| thread.seen != sample)
            .map(|thread| (thread.pid, thread.tid))
            .collect();
        for (pid, tid) in unseen {
            // A list can miss one; and one that left the cgroup, or ended a moment ago, can be read a last time.
            self.visit(pid, tid, counters);
            let Some(thread) = self.threads.get(&tid) else { continue };
            let readable = thread.seen == sample;
            if !readable {
                self.finish_thread(tid, true);
            } else if matches!(self.members, TargetMembers::Cgroup { .. }) {
                if !thread.is_over() {
                    counters.sampled.threads -= 1;
                    counters.sampled.runnable -= u64::from(thread.state == b'R');
                    self.left.insert(tid);
                }
                self.finish_thread(tid, false);
            }
        }
    }

    fn finish_thread(&mut self, tid: u32, ended: bool) {
        if let Some(thread) = self.threads.remove(&tid) {
            self.finished.push(thread.thread(ended));
            self.reader.close(thread.files);
        }
    }
}
