//! What messages take, from a Profile's measured ones.

use super::{Costs, EvictionCosts, NEAR_MESSAGE_BYTES, PAGE_BYTES};
use crate::assumption::Assumption;
use crate::slabs::{self, SlabCosts, SlabWork};
use swtch_profile::model::{Message, Profile};
use swtch_profile::vocabulary::Carrier;
use swtch_topology::Placement;

/// Placements on two CPUs, the likeliest distance of a wake-up first.
pub(super) const APART: [Placement; 6] = [
    Placement::SharedL3,
    Placement::SamePackage,
    Placement::SharedL2,
    Placement::OtherPackage,
    Placement::OtherCoreKind,
    Placement::SmtSibling,
];

/// What a short message takes of a socket's memory beyond its length. It is accounted with its sk_buff and the end of its data's memory, 768
/// bytes for 100 (`SKB_TRUESIZE`, include/linux/skbuff.h, Linux 6.18).
pub(crate) const SOCKET_OVERHEAD_BYTES: u32 = 668;

/// A row with more than this multiple of the messages of the deep one is of what caches do not hold.
const MANY_TIMES: f64 = 2.0;

/// Places in what [`calls_ns`] gives.
const WRITE: usize = 0;
const READ: usize = 1;

/// Sets what calls on pipes and sockets take besides `pipe_ns`, and tells what had to be assumed.
///
/// - A call on a socket is half of a message through one socket on one CPU.
/// - `*_write_more_ns`: what the write takes beyond half of a message.
/// - `cold_pipe_*`: what a message takes more where 4,000 are under way.
/// - `near_cache_bytes` and `slabs`: how many sockets' messages find their memory near, and what the others take more.
/// - `evicted`: what messages of sockets take more where more are under way than the caches hold.
/// - `*_lines_ns` and `*_data_ns` divide the time that a message takes more between two CPUs than on one. One part is its data. The other
///   is the kernel's own lines, which go there and back once for all messages that wait in a pipe. One message and many give both.
pub(super) fn set(costs: &mut Costs, profile: &Profile) -> Vec<Assumption> {
    let mut assumed = Vec::new();
    for carrier in Carrier::ALL {
        let rows = || profile.messages.iter().filter(|row| row.carrier == carrier);
        let one_cpu = Rows::of(rows().filter(|row| row.one_cpu_ns.is_none()).collect());
        let is_socket = carrier == Carrier::Socket;
        if is_socket {
            assumed.extend(set_socket(costs, one_cpu.alone));
        }
        match (one_cpu.alone, one_cpu.deep) {
            (Some(alone), Some(deep)) if is_socket => set_slabs(costs, alone, deep, one_cpu),
            (Some(alone), Some(deep)) => {
                let more = [0, 1].map(|call| calls_ns(deep)[call] - calls_ns(alone)[call]);
                costs.cold_pipe_ns = whole_ns(f64::midpoint(more[WRITE], more[READ]));
                costs.cold_pipe_write_more_ns = half_of_difference(more);
                costs.pipe_page_ns = one_cpu.few.map_or(0, |few| page_ns(few, deep));
            }
            _ => {
                let value = if is_socket { costs.slabs.flush_ns } else { costs.cold_pipe_ns };
                let why = "the Profile has no messages; that of an ordinary server";
                assumed.push(Assumption::new(&format!("cold_{carrier}_ns"), value.to_string(), why));
            }
        }
        let more_ns = one_cpu.alone.map_or(0, |alone| half_of_difference(calls_ns(alone)));
        *if is_socket { &mut costs.socket_write_more_ns } else { &mut costs.pipe_write_more_ns } = more_ns;
        let (lines, data) = if is_socket {
            (&mut costs.socket_lines_ns, &mut costs.socket_data_ns)
        } else {
            (&mut costs.pipe_lines_ns, &mut costs.pipe_data_ns)
        };
        let apart =
            APART.iter().find_map(|placement| between(rows().filter(|row| row.placement == *placement)));
        match apart {
            Some((lines_ns, data_ns)) => (*lines, *data) = (lines_ns, data_ns),
            None => assumed.push(Assumption::new(
                &format!("{carrier}_lines_ns and {carrier}_data_ns"),
                format!("{lines} and {data} ns"),
                "no messages between two CPUs were measured; those of an ordinary server",
            )),
        }
    }
    assumed
}

/// Sets what a call on a socket takes where one message is under way.
fn set_socket(costs: &mut Costs, alone: Option<&Message>) -> Option<Assumption> {
    if let Some(alone) = alone {
        let bytes_ns = alone.message_bytes * costs.byte_ps / 1000;
        costs.socket_ns = whole_ns(alone.message_ns.median / 2.0).saturating_sub(bytes_ns);
        return None;
    }
    let typical = Costs::typical();
    costs.socket_ns = costs.pipe_ns * typical.socket_ns / typical.pipe_ns;
    let why = "the Profile has no messages; in the usual proportion to pipes";
    Some(Assumption::new("socket_ns", costs.socket_ns.to_string(), why))
}

/// Sets how many messages of sockets find their memory near, and what the others take more.
///
/// Of M messages under way M - C are not near, and their reads take more: two rows give C. What writes and reads had to do in each row is
/// simulated, and the times are fitted to that by least squares.
fn set_slabs(costs: &mut Costs, alone: &Message, deep: &Message, rows: Rows) {
    let more_ns = |row: &Message, call: usize| calls_ns(row)[call] - calls_ns(alone)[call];
    // Slabs are discarded where a few messages of each socket lie together, which takes reads longer.
    if let Some(near) = rows.half.and_then(|half| {
        let full = rows.few.unwrap_or(deep);
        near_messages((under_way(half), more_ns(half, READ)), (under_way(full), more_ns(full, READ)))
    }) {
        // One message under way is near: it is what the others are compared with.
        costs.near_cache_bytes = (near.max(1.0) * NEAR_MESSAGE_BYTES as f64).round() as u64;
    }
    let measured: Vec<&Message> = [rows.half, Some(deep), rows.few].into_iter().flatten().collect();
    let work: Vec<[SlabWork; 2]> =
        measured.iter().map(|row| slabs::round(costs.near_messages(), row.channels, row.depth)).collect();
    let fitted = |call: usize, parts: fn(SlabWork) -> [u64; 2]| {
        let rows = measured.iter().zip(&work).map(|(row, work)| {
            let [a, b] = parts(work[call]).map(|count| count as f64 / under_way(row));
            (a, b, more_ns(row, call))
        });
        least_squares(&rows.collect::<Vec<_>>()).map(whole_ns)
    };
    let [partial_ns, new_ns] = fitted(WRITE, |work| [work.partial, work.new]);
    let [flush_ns, discard_ns] = fitted(READ, |work| [work.flushed, work.discarded]);
    costs.slabs = SlabCosts { partial_ns, new_ns, flush_ns, discard_ns };
    costs.evicted = rows.many.map_or(EvictionCosts::default(), |many| evicted(costs, alone, deep, many));
}

/// What a row with more messages than the caches hold takes beyond one message and the work with slabs.
fn evicted(costs: &Costs, alone: &Message, deep: &Message, many: &Message) -> EvictionCosts {
    let work = slabs::round(costs.near_messages(), many.channels, many.depth);
    let [write_ns, read_ns] = [WRITE, READ].map(|call| {
        let slabs_ns = costs.slabs.ns(work[call]) as f64 / under_way(many);
        whole_ns(calls_ns(many)[call] - calls_ns(alone)[call] - slabs_ns)
    });
    let [from_messages, to_messages] = [deep, many].map(|row| under_way(row) as u64);
    EvictionCosts { from_messages, to_messages, write_ns, read_ns }
}

/// How many messages are near: `(messages under way, what one takes more)` of two rows, where `more * (1 - C / M)` holds for both.
fn near_messages((few, few_ns): (f64, f64), (many, many_ns): (f64, f64)) -> Option<f64> {
    if many <= few || many_ns <= 0.0 {
        return None;
    }
    let near_ns = (many_ns - few_ns).clamp(0.0, many_ns) / (1.0 / few - 1.0 / many);
    Some(near_ns / (many_ns + near_ns / many))
}

/// `x` and `y`, neither negative, for which `a * x + b * y` comes nearest to the third of each row.
fn least_squares(rows: &[(f64, f64, f64)]) -> [f64; 2] {
    let sum = |of: fn(&(f64, f64, f64)) -> f64| rows.iter().map(of).sum::<f64>();
    let (aa, ab, bb) = (sum(|row| row.0 * row.0), sum(|row| row.0 * row.1), sum(|row| row.1 * row.1));
    let (at, bt) = (sum(|row| row.0 * row.2), sum(|row| row.1 * row.2));
    let determinant = aa * bb - ab * ab;
    let both = [at * bb - bt * ab, bt * aa - at * ab].map(|part| part / determinant);
    let alone = |squares: f64, with: f64| if squares > 0.0 { (with / squares).max(0.0) } else { 0.0 };
    // Rows in which one is a multiple of the other do not tell them apart.
    if determinant > 1e-9 * aa * bb && both.iter().all(|part| *part >= 0.0) {
        both
    } else if bt * bt * aa > at * at * bb {
        [0.0, alone(bb, bt)]
    } else {
        [alone(aa, at), 0.0]
    }
}

/// Half of what a write takes more than a read.
fn half_of_difference([write_ns, read_ns]: [f64; 2]) -> i64 {
    ((write_ns - read_ns) / 2.0).round() as i64
}

/// A carrier's rows on one CPU.
#[derive(Clone, Copy, Debug, Default)]
struct Rows<'a> {
    /// One message under way.
    alone: Option<&'a Message>,
    /// A few messages in each of most channels.
    deep: Option<&'a Message>,
    /// As many in each of fewer.
    half: Option<&'a Message>,
    /// More in each of fewer.
    few: Option<&'a Message>,
    /// More in each of nearly as many: several times as many under way.
    many: Option<&'a Message>,
}

impl<'a> Rows<'a> {
    fn of(rows: Vec<&'a Message>) -> Self {
        let (alone, many): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.channels == 1);
        let Some(deep) = many.iter().copied().max_by_key(|row| row.channels) else {
            return Self { alone: alone.first().copied(), ..Self::default() };
        };
        let fewer = |deeper: bool| {
            let is_so = |row: &&Message| {
                row.channels < deep.channels
                    && under_way(row) <= under_way(deep)
                    && if deeper { row.depth > deep.depth } else { row.depth == deep.depth }
            };
            many.iter().copied().find(is_so)
        };
        let most = many.iter().copied().max_by(|one, other| under_way(one).total_cmp(&under_way(other)));
        Self {
            alone: alone.first().copied(),
            deep: Some(deep),
            half: fewer(false),
            few: fewer(true),
            many: most.filter(|most| under_way(most) > MANY_TIMES * under_way(deep)),
        }
    }
}

/// Messages that are in a row's pipes or sockets when all are written.
fn under_way(row: &Message) -> f64 {
    f64::from(row.channels) * f64::from(row.depth)
}

/// What a page takes that a pipe has to get, ns. The pages of `few` less those of `deep`, in each pipe and round: a pipe keeps one.
fn page_ns(few: &Message, deep: &Message) -> u64 {
    let pages =
        |row: &Message| f64::from(row.depth.div_ceil((PAGE_BYTES / row.message_bytes.max(1) as u32).max(1)));
    let pages_more = pages(few) - pages(deep);
    if pages_more <= 0.0 {
        return 0;
    }
    whole_ns((few.message_ns.median - deep.message_ns.median) * f64::from(few.depth) / pages_more)
}

/// The write and the read of a message, ns; equal where the Profile does not tell them apart.
fn calls_ns(row: &Message) -> [f64; 2] {
    let write_ns = row.message_ns.median * row.write_share.unwrap_or(0.5);
    [write_ns, row.message_ns.median - write_ns]
}

/// What a call pays for the kernel's lines, and a message for its data, from rows of two depths on one placement.
fn between<'a>(rows: impl Iterator<Item = &'a Message>) -> Option<(u64, u64)> {
    let mut extras: Vec<(f64, f64)> = rows
        .filter_map(|row| Some((f64::from(row.depth), row.message_ns.median - row.one_cpu_ns?)))
        .collect();
    extras.sort_by(|a, b| a.0.total_cmp(&b.0));
    let ((shallow, single_ns), (deep, queued_ns)) = (*extras.first()?, *extras.last()?);
    if deep <= shallow {
        return None;
    }
    let both_ns =
        ((single_ns - queued_ns) / (1.0 / shallow - 1.0 / deep)).clamp(0.0, single_ns.max(0.0) * shallow);
    Some((whole_ns(both_ns / 2.0), whole_ns(single_ns - both_ns / shallow)))
}

/// A difference of measurements can come out negative.
pub(super) fn whole_ns(ns: f64) -> u64 {
    ns.max(0.0).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use swtch_profile::model::Estimate;

    fn row(
        carrier: Carrier,
        placement: Placement,
        size: (u32, u32),
        message_ns: f64,
        one_cpu_ns: Option<f64>,
    ) -> Message {
        let text = include_str!("../../fixtures/server.json");
        let profile: Profile = serde_json::from_str(text).expect("a Profile");
        let any = profile.direct[0].switch_cost_ns.clone();
        Message {
            carrier,
            placement,
            cpus: vec![0],
            channels: size.0,
            depth: size.1,
            message_bytes: 100,
            message_ns: Estimate { median: message_ns, ..any },
            write_share: None,
            one_cpu_ns,
        }
    }

    fn costs_of(messages: Vec<Message>) -> (Costs, Vec<String>) {
        let text = include_str!("../../fixtures/server.json");
        let profile: Profile = serde_json::from_str(text).expect("a Profile");
        let mut costs = Costs::typical();
        let assumed = set(&mut costs, &Profile { messages, ..profile });
        (costs, assumed.into_iter().map(|assumption| assumption.what).collect())
    }

    #[test]
    fn lines_and_data_come_from_one_message_and_many() {
        // 300 ns of lines for each round of a pipe, 200 ns of data for each message: 500 more with one, 220 with 15.
        let (costs, assumed) = costs_of(vec![
            row(Carrier::Pipe, Placement::SameCpu, (1, 1), 560.0, None),
            row(Carrier::Pipe, Placement::SameCpu, (200, 20), 640.0, None),
            row(Carrier::Pipe, Placement::SharedL3, (16, 1), 1_060.0, Some(560.0)),
            row(Carrier::Pipe, Placement::SharedL3, (16, 15), 720.0, Some(500.0)),
        ]);
        assert_eq!((costs.pipe_lines_ns, costs.pipe_data_ns, costs.cold_pipe_ns), (150, 200, 40));
        assert_eq!(assumed, ["socket_ns", "cold_socket_ns", "socket_lines_ns and socket_data_ns"]);
    }

    #[test]
    fn writes_take_as_much_more_than_reads_as_was_measured() {
        let with = |write_share, row| Message { write_share: Some(write_share), ..row };
        let (costs, _) = costs_of(vec![
            with(0.55, row(Carrier::Pipe, Placement::SameCpu, (1, 1), 4_000.0, None)),
            with(0.6, row(Carrier::Pipe, Placement::SameCpu, (200, 20), 5_000.0, None)),
            with(0.55, row(Carrier::Socket, Placement::SameCpu, (1, 1), 8_000.0, None)),
        ]);
        let calls = [false, true].map(|reads| {
            // What pipe_ns is comes from elsewhere.
            let more_ns = costs.call_ns(false, 100, reads) as i64 - costs.message_ns(false, 100) as i64;
            (more_ns + costs.locked_ns(false, 100) as i64, costs.far_pipe_ns(reads))
        });
        assert_eq!(calls, [(200, 800), (-200, 200)]);
        assert_eq!([false, true].map(|reads| costs.call_ns(true, 100, reads)), [4_400, 3_600]);
    }

    /// Rows of sockets as they would be with 300 messages near and these costs.
    fn rows_of(near: usize, true_costs: SlabCosts) -> Vec<Message> {
        let deep = |channels: u32, depth: u32| {
            let messages = f64::from(channels * depth);
            let [write, read] = slabs::round(near, channels, depth);
            let write_ns = 2_200.0 + true_costs.ns(write) as f64 / messages;
            let both_ns = write_ns + 1_800.0 + true_costs.ns(read) as f64 / messages;
            let row = row(Carrier::Socket, Placement::SameCpu, (channels, depth), both_ns, None);
            Message { write_share: Some(write_ns / both_ns), ..row }
        };
        let alone = row(Carrier::Socket, Placement::SameCpu, (1, 1), 4_000.0, None);
        let alone = Message { write_share: Some(0.55), ..alone };
        vec![deep(20, 200), alone, deep(50, 20), deep(200, 20)]
    }

    #[test]
    fn rows_of_two_sizes_give_how_many_messages_are_near_and_what_slabs_take() {
        let true_costs = SlabCosts { partial_ns: 3_000, new_ns: 13_000, flush_ns: 500, discard_ns: 0 };
        let near = |found: u64, truth: u64| found.abs_diff(truth) <= truth / 20;
        let costs = costs_of(rows_of(300, true_costs)).0;
        assert!(near(costs.near_messages() as u64, 300), "{}", costs.near_messages());
        let found = [costs.slabs.partial_ns, costs.slabs.new_ns, costs.slabs.flush_ns];
        assert!(
            found.into_iter().zip([3_000, 13_000, 500]).all(|(found, truth)| near(found, truth)),
            "{found:?}"
        );
        assert!(costs.slabs.discard_ns < 100, "{:?}", costs.slabs);
        // Two rows with many messages are enough.
        let fewer = costs_of(rows_of(300, true_costs)[1..].to_vec()).0;
        let found = [fewer.near_messages() as u64, fewer.slabs.flush_ns];
        assert!(near(found[0], 300) && near(found[1], 500), "{found:?}");
        // Dearer with fewer under way: none is near.
        let dear = row(Carrier::Socket, Placement::SameCpu, (50, 20), 9_000.0, None);
        let rows = rows_of(300, true_costs);
        assert_eq!(costs_of(vec![rows[1].clone(), dear, rows[3].clone()]).0.near_messages(), 1);
    }

    #[test]
    fn what_more_messages_than_caches_hold_take_is_beside_the_work_with_slabs() {
        let slabs = SlabCosts { partial_ns: 3_000, new_ns: 13_000, flush_ns: 500, discard_ns: 0 };
        let mut rows = rows_of(300, slabs);
        let many = |write_ns: f64, read_ns: f64| {
            let [write, read] = slabs::round(300, 160, 200).map(|work| slabs.ns(work) as f64 / 32_000.0);
            let (write_ns, both_ns) =
                (2_200.0 + write + write_ns, 4_000.0 + write + read + write_ns + read_ns);
            let row = row(Carrier::Socket, Placement::SameCpu, (160, 200), both_ns, None);
            Message { write_share: Some(write_ns / both_ns), ..row }
        };
        rows.push(many(300.0, 500.0));
        let found = costs_of(rows.clone()).0.evicted;
        // The times of the slabs are fitted, so they are off by some per cent.
        assert!(found.write_ns.abs_diff(300) <= 60 && found.read_ns.abs_diff(500) <= 60, "{found:?}");
        assert_eq!((found.from_messages, found.to_messages), (4_000, 32_000));
        let read_ns = [3_000, 18_000, 32_000, 99_000].map(|others| found.ns(others, true));
        assert_eq!(read_ns, [0, found.read_ns / 2, found.read_ns, found.read_ns]);
        // Cheaper is noise, and without such a row nothing is known.
        *rows.last_mut().unwrap() = many(-90.0, -90.0);
        assert_eq!(costs_of(rows.clone()).0.evicted.ns(32_000, true), 0);
        rows.pop();
        assert_eq!(costs_of(rows).0.evicted, EvictionCosts::default());
    }

    #[test]
    fn times_of_two_kinds_of_work_are_not_negative() {
        let near = |[x, y]: [f64; 2], (a, b): (f64, f64)| (x - a).abs() + (y - b).abs() < 1e-9;
        assert!(near(least_squares(&[(1.0, 0.0, 5.0), (1.0, 1.0, 7.0), (0.0, 2.0, 4.0)]), (5.0, 2.0)));
        // The second would be -1.
        assert!(near(least_squares(&[(1.0, 0.0, 5.0), (1.0, 1.0, 4.0)]), (4.5, 0.0)));
        assert!(near(least_squares(&[(1.0, 2.0, 6.0), (2.0, 4.0, 12.0)]), (6.0, 0.0)));
        assert_eq!(least_squares(&[(0.0, 0.0, 3.0)]), [0.0, 0.0]);
        assert_eq!(least_squares(&[]), [0.0, 0.0]);
    }

    #[test]
    fn pages_are_what_deep_pipes_take_more() {
        // 200 messages are five pages, of which a pipe keeps one: 80 ns a message are 4,000 ns for each of the four.
        let pipe = |size, ns| row(Carrier::Pipe, Placement::SameCpu, size, ns, None);
        let rows = |few_ns| vec![pipe((1, 1), 560.0), pipe((200, 20), 600.0), pipe((20, 200), few_ns)];
        let page_ns = |few_ns| costs_of(rows(few_ns)).0.pipe_page_ns;
        assert_eq!((page_ns(680.0), page_ns(590.0), costs_of(rows(680.0)).0.cold_pipe_ns), (4_000, 0, 20));
        assert_eq!(costs_of(rows(680.0)[..2].to_vec()).0.pipe_page_ns, 0);
    }

    #[test]
    fn a_socket_is_half_of_a_message_less_its_bytes_and_nothing_is_negative() {
        let (costs, assumed) = costs_of(vec![
            row(Carrier::Socket, Placement::SameCpu, (1, 1), 1_620.0, None),
            row(Carrier::Socket, Placement::SameCpu, (200, 20), 1_500.0, None),
            row(Carrier::Socket, Placement::OtherPackage, (16, 1), 2_600.0, Some(1_600.0)),
            row(Carrier::Socket, Placement::OtherPackage, (16, 16), 2_900.0, Some(1_600.0)),
        ]);
        assert_eq!((costs.socket_ns, costs.slabs), (800, SlabCosts::default()));
        // Dearer when deep: no lines, all of it data.
        assert_eq!((costs.socket_lines_ns, costs.socket_data_ns), (0, 1_000));
        assert_eq!(assumed, ["cold_pipe_ns", "pipe_lines_ns and pipe_data_ns"]);
    }
}
