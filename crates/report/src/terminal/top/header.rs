//! The lines above the table: what the machine does, and what that costs it.

use super::cells::{self, percent, rate};
use super::state::State;
use super::window::{CostSource, CpuRates, Window};
use swtch_stats::LEAST_WINDOWS;
use swtch_trace::SourceKind;

/// How a piece of text is highlighted. Important facts are shown by words or signs too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    Strong,
    Quiet,
    Warning,
    User,
    System,
    Interrupt,
    Steal,
}

/// Pieces of a line, from left to right.
pub(super) type Pieces = Vec<(String, Tone)>;

fn plain(text: impl Into<String>) -> (String, Tone) {
    (text.into(), Tone::Plain)
}

fn quiet(text: impl Into<String>) -> (String, Tone) {
    (text.into(), Tone::Quiet)
}

/// The program's name, and how often and from which source it takes its figures.
pub(super) fn about(window: &Window, state: &State, host: &str, clock: &str) -> Pieces {
    let seconds = state.interval().as_secs_f64();
    let mut pieces = vec![("swtch top".to_owned(), Tone::Strong)];
    if state.is_paused() {
        pieces.push(("PAUSED".to_owned(), Tone::Warning));
    }
    if let Some(share) = window.totals.own_cpu_share {
        pieces.push(plain(format!("swtch {} % CPU", percent(Some(share)))));
    }
    pieces.push(quiet(format!("every {seconds} s")));
    pieces.push(quiet(source(&window.source)));
    pieces.extend([host, clock].into_iter().filter(|text| !text.is_empty()).map(quiet));
    pieces
}

fn source(recorder: &str) -> &str {
    recorder.parse().map_or(recorder, |source: SourceKind| source.facts().what)
}

/// How many switches.
pub(super) fn switches(window: &Window) -> Pieces {
    let totals = &window.totals;
    let mut pieces = vec![(format!("Switches {}/s", rate(window.switches_per_s())), Tone::Strong)];
    let kinds = [
        (totals.voluntary_per_s, "voluntary"),
        (totals.involuntary_per_s, "involuntary"),
        (totals.idle_per_s, "from idle"),
    ];
    pieces.extend(kinds.iter().map(|(per_s, kind)| plain(format!("{} {kind}", rate(*per_s)))));
    pieces
}

/// What they cost.
pub(super) fn cost(window: &Window) -> Pieces {
    let totals = &window.totals;
    let Some(share) = totals.cost_share else {
        return vec![
            ("Cost unknown".to_owned(), Tone::Warning),
            plain("no Profile; 'swtch measure' makes one"),
        ];
    };
    let share = share.words(|share| percent(Some(share)));
    let mut pieces = vec![(format!("Cost {share} % of all CPUs"), Tone::Strong)];
    if let Some(each) = totals.cost_ns {
        pieces.push(plain(format!("{} a switch", each.words(cells::time))));
    }
    pieces.push(quiet(match window.cost_source {
        CostSource::InPlace => "measured in place",
        _ => "by this machine's Profile",
    }));
    if let Some(sampled) = &totals.sampled {
        let few = if sampled.windows < LEAST_WINDOWS { ", too few to decide by" } else { "" };
        let (windows, share) = (sampled.windows, 100.0 * sampled.share);
        pieces.push(quiet(format!("sampled in {windows} windows, {share:.1} % of the time{few}")));
    }
    pieces
}

/// Tasks, what moves them, and what was missed.
pub(super) fn tasks(window: &Window) -> Pieces {
    let totals = &window.totals;
    let mut pieces = vec![plain(format!("Tasks {} seen, {} active", totals.tasks, totals.active))];
    let lost = match (totals.lost, totals.lost_ever) {
        (0, 0) => None,
        (now, ever) => Some((format!("LOST {now} events, {ever} in all"), Tone::Warning)),
    };
    pieces.extend(lost);
    let rates = [
        (totals.wakeups_per_s, "wake-ups"),
        (totals.migrations_per_s, "migrations"),
        (totals.forks_per_s, "forks"),
    ];
    let known = rates.into_iter().filter(|(per_s, _)| per_s.is_some());
    pieces.extend(known.map(|(per_s, what)| plain(format!("{} {what}/s", rate(per_s)))));
    let pressure: Vec<String> = totals
        .pressure
        .iter()
        .filter(|(resource, _)| ["cpu", "io", "memory"].contains(&resource.as_str()))
        .map(|(resource, share)| format!("{resource} {}", percent(Some(*share))))
        .collect();
    if !pressure.is_empty() {
        pieces.push(plain(format!("pressure % {}", pressure.join(" "))));
    }
    if totals.lost_ever == 0 && window.source.starts_with("bpf") {
        pieces.push(quiet("no event lost"));
    }
    pieces
}

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The last figures as a row of blocks, as high as they are large against the largest of them.
pub(super) fn sparkline<'a>(figures: impl DoubleEndedIterator<Item = &'a f64>, width: usize) -> String {
    let mut last: Vec<f64> = figures.rev().take(width).copied().collect();
    last.reverse();
    let most = last.iter().copied().fold(0.0, f64::max);
    last.into_iter().map(|figure| if most > 0.0 { block(figure / most) } else { BLOCKS[0] }).collect()
}

fn block(share: f64) -> char {
    BLOCKS[((share * 8.0) as usize).min(7)]
}

/// Share of a CPU's time that is not idle.
fn busy(cpu: &CpuRates) -> Option<f64> {
    let shares = &cpu.shares;
    shares.user.map(|_| 1.0 - shares.idle.unwrap_or(0.0) - shares.iowait.unwrap_or(0.0))
}

/// A bar for each CPU, or a block for each if the bars do not fit in this number of lines.
pub(super) fn processors(cpus: &[CpuRates], width: usize, lines: usize) -> Vec<Pieces> {
    const LEAST: usize = 26;
    if cpus.is_empty() || lines == 0 {
        return Vec::new();
    }
    let columns = (width / LEAST).clamp(1, 8).min(cpus.len());
    // Half a line is enough to read a bar; more side by side only where they would take too many lines.
    let least = columns.min(2);
    let columns = (least..=columns).find(|columns| cpus.len().div_ceil(*columns) <= lines).unwrap_or(columns);
    if cpus.len().div_ceil(columns) > lines {
        return strips(cpus, width, lines);
    }
    let each = (width + 1) / columns - 1;
    let rows = cpus.len().div_ceil(columns);
    // Down, then right, as they are numbered.
    (0..rows)
        .map(|row| {
            let mut pieces = Vec::new();
            for cpu in (0..columns).filter_map(|column| cpus.get(column * rows + row)) {
                if !pieces.is_empty() {
                    pieces.push(plain(" "));
                }
                pieces.extend(bar(cpu, each));
            }
            pieces
        })
        .collect()
}

/// `  0[||||##!      42.0]`: what of its time went into programs, the kernel, interrupts, and to others.
fn bar(cpu: &CpuRates, width: usize) -> Pieces {
    let inner = width.saturating_sub(5);
    let figure = percent(busy(cpu));
    let room = inner.saturating_sub(figure.chars().count());
    let shares = &cpu.shares;
    let parts = [
        (shares.user.unwrap_or(0.0), '|', Tone::User),
        (shares.system.unwrap_or(0.0), '#', Tone::System),
        (shares.irq.unwrap_or(0.0) + shares.softirq.unwrap_or(0.0), '!', Tone::Interrupt),
        (shares.steal.unwrap_or(0.0), 's', Tone::Steal),
    ];
    let mut pieces = vec![quiet(format!("{:>3}[", cpu.cpu))];
    let (mut sum, mut drawn) = (0.0, 0);
    for (share, sign, tone) in parts {
        sum += share;
        let until = ((sum * room as f64).round() as usize).min(room);
        pieces.push((sign.to_string().repeat(until.saturating_sub(drawn)), tone));
        drawn = until.max(drawn);
    }
    pieces.push(plain(" ".repeat(room - drawn)));
    pieces.push(plain(figure));
    pieces.push(quiet("]"));
    pieces
}

/// A block for each CPU; of more than fit, a block for the busiest of some neighbours.
fn strips(cpus: &[CpuRates], width: usize, lines: usize) -> Vec<Pieces> {
    let per_line = width.saturating_sub(10).max(1);
    let together = cpus.len().div_ceil(per_line * lines);
    let blocks: Vec<char> = cpus
        .chunks(together)
        .map(|some| {
            some.iter()
                .filter_map(busy)
                .fold(None, |most: Option<f64>, share| Some(most.map_or(share, |most| most.max(share))))
        })
        .map(|most| most.map_or('?', block))
        .collect();
    blocks
        .chunks(per_line)
        .enumerate()
        .map(|(line, blocks)| {
            let first = cpus.get(line * per_line * together).map_or(0, |cpu| cpu.cpu);
            vec![quiet(format!("CPU {first:>4} ")), (blocks.iter().collect(), Tone::User)]
        })
        .collect()
}
