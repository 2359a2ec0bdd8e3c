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
/// Sets what calls on pipes and sockets take besides `pipe_ns`, and tells what had to be assumed.
///
/// - A call on a socket is half of a message through one socket on one CPU.
/// - `cold_*`: what a message takes more where 4,000 are under way.
/// - `*_lines_ns` and `*_data_ns` divide the time that a message takes more between two CPUs than on one. One part is its data. The other
///   is the kernel's own lines, which go there and back once for all messages that wait in a pipe. One message and many give both.
pub(super) fn set(costs: &mut Costs, profile: &Profile) -> Vec<Assumption> {
    let mut assumed = Vec::new();
    for carrier in Carrier::ALL {
        let rows = || profile.messages.iter().filter(|row| row.carrier == carrier);
        let is_socket = carrier == Carrier::Socket;
        let one_cpu =
            |wanted: fn(&&Message) -> bool| rows().filter(|row| row.one_cpu_ns.is_none()).find(wanted);
        let alone_ns = one_cpu(|row| row.channels == 1).map(|row| row.message_ns.median);
        if is_socket {
            costs.socket_ns = if let Some(both_ns) = alone_ns {
                let bytes_ns = one_cpu(|row| row.channels == 1)
                    .map_or(0, |row| row.message_bytes * costs.byte_ps / 1000);
                whole_ns(both_ns / 2.0).saturating_sub(bytes_ns)
            } else {
                let typical = Costs::typical();
                let ns = costs.pipe_ns * typical.socket_ns / typical.pipe_ns;
                let why = "the Profile has no messages; in the usual proportion to pipes";
                assumed.push(Assumption::new("socket_ns", ns.to_string(), why));
                ns
            };
        }
        let deep_ns = one_cpu(|row| row.channels > 1).map(|row| row.message_ns.median);
        let cold = if is_socket { &mut costs.cold_socket_ns } else { &mut costs.cold_pipe_ns };
        match (alone_ns, deep_ns) {
            (Some(alone_ns), Some(deep_ns)) => *cold = whole_ns((deep_ns - alone_ns) / 2.0),
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
