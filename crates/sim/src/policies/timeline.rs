//! Run queues ordered in time: the tasks of a CPU by a key, with the least virtual run time below each.
//!
//! The kernel has an augmented red-black tree (`cfs_rq->tasks_timeline`); here it is a treap, whose shape is given by a hash of
//! what is inserted, so that it is balanced without keeping colours and the same on every machine.

const NONE: u32 = u32::MAX;
/// A treap of a billion tasks is deeper than this with a probability that does not matter.
const DEEPEST: usize = 128;

#[derive(Clone, Copy, Debug)]
struct Node {
    key: i64,
    vruntime: i64,
    /// The least virtual run time at and below.
    least: i64,
    /// Orders equal keys: the one that came first goes first.
    order: u32,
    rank: u32,
    left: u32,
    right: u32,
}

/// The trees of all CPUs. A task is in one of them at most.
#[derive(Clone, Debug, Default)]
pub(super) struct Timelines {
    nodes: Vec<Node>,
    roots: Vec<u32>,
    inserted: u32,
}

impl Timelines {
    pub(super) fn set_cpus(&mut self, cpus: usize) {
        self.roots = vec![NONE; cpus];
    }

    pub(super) fn add_task(&mut self) {
        let node = Node { key: 0, vruntime: 0, least: 0, order: 0, rank: 0, left: NONE, right: NONE };
        self.nodes.push(node);
    }

    pub(super) fn is_empty(&self, cpu: usize) -> bool {
        self.roots[cpu] == NONE
    }

    fn before(&self, a: u32, b: u32) -> bool {
        let (a, b) = (&self.nodes[a as usize], &self.nodes[b as usize]);
        // Orders are compared as the kernel compares jiffies, so that they may wrap.
        a.key < b.key || (a.key == b.key && (a.order.wrapping_sub(b.order) as i32) < 0)
    }

    fn update(&mut self, number: u32) {
        let node = &self.nodes[number as usize];
        let (left, right) = (node.left, node.right);
        let mut least = node.vruntime;
        if left != NONE {
            least = least.min(self.nodes[left as usize].least);
        }
        if right != NONE {
            least = least.min(self.nodes[right as usize].least);
        }
        self.nodes[number as usize].least = least;
    }

    /// Puts a task into the tree of a CPU.
    pub(super) fn insert(&mut self, cpu: usize, task: usize, key: i64, vruntime: i64) {
        self.inserted = self.inserted.wrapping_add(1);
        let order = self.inserted;
        let rank = mix(order ^ (task as u32).rotate_left(16));
        self.nodes[task] = Node { key, vruntime, least: vruntime, order, rank, left: NONE, right: NONE };
        let task = task as u32;
        // Down to where its rank belongs; all on the way have it below them.
        let mut place = (NONE, false);
        let mut at = self.roots[cpu];
        while at != NONE && self.nodes[at as usize].rank >= rank {
            let node = &mut self.nodes[at as usize];
            node.least = node.least.min(vruntime);
            let goes_left = self.before(task, at);
            place = (at, goes_left);
            let node = &self.nodes[at as usize];
            at = if goes_left { node.left } else { node.right };
        }
        let (left, right) = self.split(at, task);
        self.nodes[task as usize].left = left;
        self.nodes[task as usize].right = right;
        self.update(task);
        self.attach(cpu, place, task);
    }

    fn attach(&mut self, cpu: usize, (parent, is_left): (u32, bool), child: u32) {
        match (parent, is_left) {
            (NONE, _) => self.roots[cpu] = child,
            (parent, true) => self.nodes[parent as usize].left = child,
            (parent, false) => self.nodes[parent as usize].right = child,
        }
    }

    /// Divides a subtree into what comes before a task and what comes after it.
    fn split(&mut self, mut at: u32, task: u32) -> (u32, u32) {
        let (mut left, mut right) = (NONE, NONE);
        let (mut left_end, mut right_end) = (NONE, NONE);
        let mut path = [NONE; DEEPEST];
        let mut depth = 0;
        while at != NONE {
            path[depth] = at;
            depth += 1;
            if self.before(task, at) {
                match right_end {
                    NONE => right = at,
                    end => self.nodes[end as usize].left = at,
                }
                right_end = at;
                at = self.nodes[at as usize].left;
            } else {
                match left_end {
                    NONE => left = at,
                    end => self.nodes[end as usize].right = at,
                }
                left_end = at;
                at = self.nodes[at as usize].right;
            }
        }
        if left_end != NONE {
            self.nodes[left_end as usize].right = NONE;
        }
        if right_end != NONE {
            self.nodes[right_end as usize].left = NONE;
        }
        path[..depth].iter().rev().for_each(|node| self.update(*node));
        (left, right)
    }

    /// Takes a task out of the tree of its CPU.
    pub(super) fn remove(&mut self, cpu: usize, task: usize) {
        let task = task as u32;
        let mut path = [NONE; DEEPEST];
        let mut depth = 0;
        let mut place = (NONE, false);
        let mut at = self.roots[cpu];
        while at != task {
            path[depth] = at;
            depth += 1;
            let goes_left = self.before(task, at);
            place = (at, goes_left);
            let node = &self.nodes[at as usize];
            at = if goes_left { node.left } else { node.right };
        }
        let Node { left, right, .. } = self.nodes[task as usize];
        self.merge(cpu, place, left, right);
        path[..depth].iter().rev().for_each(|node| self.update(*node));
    }

    /// Hangs two subtrees, one before the other, at a place.
    fn merge(&mut self, cpu: usize, mut place: (u32, bool), mut left: u32, mut right: u32) {
        let mut path = [NONE; DEEPEST];
        let mut depth = 0;
        loop {
            let next = match (left, right) {
                (NONE, other) | (other, NONE) => {
                    self.attach(cpu, place, other);
                    break;
                }
                (left, right) if self.nodes[left as usize].rank >= self.nodes[right as usize].rank => left,
                (_, right) => right,
            };
            self.attach(cpu, place, next);
            path[depth] = next;
            depth += 1;
            if next == left {
                left = self.nodes[next as usize].right;
                place = (next, false);
            } else {
                right = self.nodes[next as usize].left;
                place = (next, true);
            }
        }
        path[..depth].iter().rev().for_each(|node| self.update(*node));
    }

    /// The task with the least key.
    pub(super) fn first(&self, cpu: usize) -> Option<usize> {
        let mut at = self.roots[cpu];
        if at == NONE {
            return None;
        }
        while self.nodes[at as usize].left != NONE {
            at = self.nodes[at as usize].left;
        }
        Some(at as usize)
    }

    /// The task with the least key among those whose virtual run time fits. What fits must also fit when it is less.
    pub(super) fn first_fitting(&self, cpu: usize, fits: impl Fn(i64) -> bool) -> Option<usize> {
        let mut at = self.roots[cpu];
        if at == NONE || !fits(self.nodes[at as usize].least) {
            return None;
        }
        loop {
            let node = &self.nodes[at as usize];
            if node.left != NONE && fits(self.nodes[node.left as usize].least) {
                at = node.left;
            } else if fits(node.vruntime) {
                return Some(at as usize);
            } else {
                at = node.right;
            }
        }
    }

    /// Up to `most` tasks, those with the greatest keys first, until one fits.
    pub(super) fn last_fitting(&self, cpu: usize, most: usize, fits: impl Fn(usize) -> bool) -> Option<usize> {
        let mut path = [NONE; DEEPEST];
        let mut depth = 0;
        let mut at = self.roots[cpu];
        for _ in 0..most {
            while at != NONE {
                path[depth] = at;
                depth += 1;
                at = self.nodes[at as usize].right;
            }
            depth = depth.checked_sub(1)?;
            let task = path[depth];
            if fits(task as usize) {
                return Some(task as usize);
            }
            at = self.nodes[task as usize].left;
        }
        None
    }

    /// The second task by key.
    pub(super) fn second(&self, cpu: usize) -> Option<usize> {
        let mut parent = NONE;
        let mut at = self.roots[cpu];
        while at != NONE && self.nodes[at as usize].left != NONE {
            parent = at;
            at = self.nodes[at as usize].left;
        }
        if at == NONE {
            return None;
        }
        let mut next = self.nodes[at as usize].right;
        if next == NONE {
            return (parent != NONE).then_some(parent as usize);
        }
        while self.nodes[next as usize].left != NONE {
            next = self.nodes[next as usize].left;
        }
        Some(next as usize)
    }
}

/// A hash that spreads consecutive numbers (Chris Wellons, "lowbias32").
fn mix(mut bits: u32) -> u32 {
    bits ^= bits >> 16;
    bits = bits.wrapping_mul(0x7feb_352d);
    bits ^= bits >> 15;
    bits = bits.wrapping_mul(0x846c_a68b);
    bits ^ (bits >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_answers_as_a_sorted_list_does(steps in prop::collection::vec((0_usize..40, -20_i64..20, -20_i64..20), 1..200)) {
            let mut lines = Timelines::default();
            lines.set_cpus(2);
            (0..40).for_each(|_| lines.add_task());
            let mut list: Vec<(i64, usize, i64)> = Vec::new();
            for (task, key, vruntime) in steps {
                if let Some(place) = list.iter().position(|(_, known, _)| *known == task) {
                    list.remove(place);
                    lines.remove(1, task);
                } else {
                    let place = list.partition_point(|(known, _, _)| *known <= key);
                    list.insert(place, (key, task, vruntime));
                    lines.insert(1, task, key, vruntime);
                }
                prop_assert_eq!(lines.first(1), list.first().map(|row| row.1));
                prop_assert_eq!(lines.second(1), list.get(1).map(|row| row.1));
                prop_assert_eq!(lines.is_empty(1), list.is_empty());
                for limit in [-21, -5, 0, 5, 20] {
                    let fitting = list.iter().find(|row| row.2 <= limit).map(|row| row.1);
                    prop_assert_eq!(lines.first_fitting(1, |vruntime| vruntime <= limit), fitting);
                }
                let odd = list.iter().rev().take(5).find(|row| row.1 % 2 == 1).map(|row| row.1);
                prop_assert_eq!(lines.last_fitting(1, 5, |task| task % 2 == 1), odd);
            }
            prop_assert!(lines.is_empty(0));
        }
    }
}
