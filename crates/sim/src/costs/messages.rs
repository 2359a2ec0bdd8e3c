//! What messages take, from a Profile's measured ones.

use super::Costs;
use crate::assumption::Assumption;
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

/// Sets what calls on pipes and sockets take besides `pipe_ns`, and tells what had to be assumed.
///
/// - A call on a socket is half of a message through one socket on one CPU.
/// - `*_write_more_ns`: what the write takes beyond half of a message.
/// - `cold_*`: what a message takes more where 4,000 are under way, or where none finds its memory near, if 1,000 were measured too.
/// - `near_cache_bytes`: how many sockets' messages do.
/// - `*_lines_ns` and `*_data_ns` divide the time that a message takes more between two CPUs than on one. One part is its data. The other
///   is the kernel's own lines, which go there and back once for all messages that wait in a pipe. One message and many give both.
pub(super) fn set(costs: &mut Costs, profile: &Profile) -> Vec<Assumption> {
    let mut assumed = Vec::new();
    for carrier in Carrier::ALL {
        let rows = || profile.messages.iter().filter(|row| row.carrier == carrier);
        let is_socket = carrier == Carrier::Socket;
        let mut one_cpu: Vec<&Message> = rows().filter(|row| row.one_cpu_ns.is_none()).collect();
        one_cpu.sort_by_key(|row| under_way(row));
        let alone = one_cpu.iter().copied().find(|row| row.channels == 1);
        let alone_ns = alone.map(|row| row.message_ns.median);
        if is_socket {
            costs.socket_ns = if let Some(both_ns) = alone_ns {
                let bytes_ns = alone.map_or(0, |row| row.message_bytes * costs.byte_ps / 1000);
                whole_ns(both_ns / 2.0).saturating_sub(bytes_ns)
            } else {
                let typical = Costs::typical();
                let ns = costs.pipe_ns * typical.socket_ns / typical.pipe_ns;
                let why = "the Profile has no messages; in the usual proportion to pipes";
                assumed.push(Assumption::new("socket_ns", ns.to_string(), why));
                ns
            };
        }
        let deep = one_cpu.last().copied().filter(|row| row.channels > 1);
        let mut far = 1.0;
        if let [alone, half, deep] = one_cpu[..]
            && is_socket
            && let Some(near) = Near::of(alone, half, deep)
        {
            far = near.far;
            // One message under way is near: it is what the others are compared with.
            let bytes = (u64::from(SOCKET_OVERHEAD_BYTES) + deep.message_bytes) as f64;
            costs.near_cache_bytes = (near.messages.max(1.0) * bytes).round() as u64;
        }
        let deep_ns = deep.map(|row| row.message_ns.median);
        let near_more_ns = alone.map_or(0.0, write_more_ns);
        let cold_more_ns = deep.map_or(0.0, |deep| far * (write_more_ns(deep) - near_more_ns));
        let more = if is_socket {
            [&mut costs.socket_write_more_ns, &mut costs.cold_socket_write_more_ns]
        } else {
            [&mut costs.pipe_write_more_ns, &mut costs.cold_pipe_write_more_ns]
        };
        [*more[0], *more[1]] = [near_more_ns, cold_more_ns].map(|ns| ns.round() as i64);
        let cold = if is_socket { &mut costs.cold_socket_ns } else { &mut costs.cold_pipe_ns };
        match (alone_ns, deep_ns) {
            (Some(alone_ns), Some(deep_ns)) => *cold = whole_ns(far * (deep_ns - alone_ns) / 2.0),
            _ => assumed.push(Assumption::new(
                &format!("cold_{carrier}_ns"),
                cold.to_string(),
                "the Profile has no messages; that of an ordinary server",
            )),
        }
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

/// Messages that are in a row's pipes or sockets when all are written.
fn under_way(row: &Message) -> u64 {
    u64::from(row.channels) * u64::from(row.depth)
}

/// The messages that find their memory near, of many that are written and then read.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Near {
    messages: f64,
    /// What a message with far memory takes more than one with near memory, for each ns that the mean of the deep row does.
    far: f64,
}

impl Near {
    /// Of N messages under way N - C have far memory: two such rows give C, and what far memory takes more.
    fn of(alone: &Message, half: &Message, deep: &Message) -> Option<Self> {
        let more_ns = |row: &Message| row.message_ns.median - alone.message_ns.median;
        let (half_ns, deep_ns) = (more_ns(half), more_ns(deep));
        let (half_n, deep_n) = (under_way(half) as f64, under_way(deep) as f64);
        if deep_n <= half_n || deep_ns <= 0.0 {
            return None;
        }
        // far * (1 - C / N) for both.
        let near_ns = (deep_ns - half_ns).clamp(0.0, deep_ns) / (1.0 / half_n - 1.0 / deep_n);
        let far_ns = deep_ns + near_ns / deep_n;
        Some(Self { messages: near_ns / far_ns, far: far_ns / deep_ns })
    }
}

/// What the write of a message takes more than half of it, ns; nothing where that was not measured.
fn write_more_ns(row: &Message) -> f64 {
    row.write_share.map_or(0.0, |share| row.message_ns.median * (share - 0.5))
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
            with(0.55, row(Carrier::Socket, Placement::SameCpu, (1, 1), 4_000.0, None)),
            with(0.6, row(Carrier::Socket, Placement::SameCpu, (200, 20), 5_000.0, None)),
        ]);
        let calls = [false, true].map(|reads| {
            let deep = crate::costs::Memory { is_read: reads, is_deep: true, ..Default::default() };
            let call_ns = costs.call_ns(true, 100, reads);
            (call_ns, call_ns + costs.distant_ns(true, deep))
        });
        assert_eq!(calls, [(2_200, 3_000), (1_800, 2_000)]);
    }

    #[test]
    fn two_depths_give_how_many_messages_are_near() {
        // 400 find near memory; the others take 1,000 ns more.
        let deep = |channels: u32| {
            let messages = f64::from(channels * 20);
            row(
                Carrier::Socket,
                Placement::SameCpu,
                (channels, 20),
                4_000.0 + 1_000.0 * (1.0 - 400.0 / messages),
                None,
            )
        };
        let alone = row(Carrier::Socket, Placement::SameCpu, (1, 1), 4_000.0, None);
        let (costs, _) = costs_of(vec![alone.clone(), deep(200), deep(50)]);
        assert_eq!((costs.near_cache_bytes, costs.cold_socket_ns), (400 * 768, 500));
        let dear = row(Carrier::Socket, Placement::SameCpu, (50, 20), 5_000.0, None);
        assert_eq!(costs_of(vec![alone.clone(), dear, deep(200)]).0.near_cache_bytes, 768);
    }

    #[test]
    fn a_socket_is_half_of_a_message_less_its_bytes_and_nothing_is_negative() {
        let (costs, assumed) = costs_of(vec![
            row(Carrier::Socket, Placement::SameCpu, (1, 1), 1_620.0, None),
            row(Carrier::Socket, Placement::SameCpu, (200, 20), 1_500.0, None),
            row(Carrier::Socket, Placement::OtherPackage, (16, 1), 2_600.0, Some(1_600.0)),
            row(Carrier::Socket, Placement::OtherPackage, (16, 16), 2_900.0, Some(1_600.0)),
        ]);
        assert_eq!((costs.socket_ns, costs.cold_socket_ns), (800, 0));
        // Dearer when deep: no lines, all of it data.
        assert_eq!((costs.socket_lines_ns, costs.socket_data_ns), (0, 1_000));
        assert_eq!(assumed, ["cold_pipe_ns", "pipe_lines_ns and pipe_data_ns"]);
    }
}
