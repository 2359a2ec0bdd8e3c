//! The circumstances: machine, tiers, prices, and what could not be had.

use swtch_faas::Document;
use swtch_faas::response::{self, Response};
use swtch_faas::tiers::{Price, Tiers};

use super::{Functions, language, place, runtime, studies};
use crate::html::prelude::*;
use crate::html::sections::host;

const UNSAID: &str = "not said";

/// The section.
pub(super) fn section(subjects: Functions<'_>) -> Section {
    let mut section = Section::bare("machine", "The machine and the prices");
    for (one, tiers) in studies(subjects) {
        let caption = format!("The tiers, after {} ({}).", tiers.tier_set.name, tiers.tier_set.source);
        section = section
            .put([tier_table(&one.prefixed(&caption), tiers)])
            .put(priced_by(tiers).map(|sources| one.prefixed(&sources)));
    }
    let facts = if subjects.any(|document| document.tiers().is_none()) {
        subjects.fact_table("Facts about the function and the machine", facts)
    } else {
        let facts =
            |document: &Document| document.tiers().map_or_else(Vec::new, |tiers| host::facts(&tiers.host));
        subjects.fact_table("Facts about the machine", facts)
    };
    section.put([facts]).put(subjects.all_reasons())
}

/// The machine in a few words, as the function sees it.
pub(super) fn words(host: &response::Host) -> Vec<String> {
    let online = host.cpus_online.unwrap_or(0) as usize;
    host::words_of(host.cpu_model.as_deref().unwrap_or(&host.architecture), online, &host.kernel_release)
}

fn tier_table(caption: &str, tiers: &Tiers) -> Table {
    let rows = tiers.tiers.iter().map(|tier| {
        let quota =
            |(quota, period): (f64, f64)| format!("{} of {}", text::ns(quota * 1e3), text::ns(period * 1e3));
        let groups = text::or_dash(tier.cgroup_version, |version| format!("v{version}"));
        let price = tier.price.as_ref();
        let rounding = price.and_then(|price| price.rounding_ms);
        let cells = vec![
            Cell::figure("Memory", tier.memory_mb.map(|mb| mb as f64), |mb| format!("{mb}\u{a0}MB")),
            Cell::figure("CPUs", tier.cpus, |cpus| format!("{cpus:.3}")),
            Cell::or_dash("Quota", tier.quota_us.zip(tier.period_us).map(quota)),
            Cell::text("Cgroups", groups),
            Cell::figure("Dollars a second", price.map(|price| price.usd_per_second), text::dollars),
            Cell::figure("Rounded up to", rounding, |ms| text::ns_tick(ms * 1e6)),
            Cell::text("As of", text::or_dash(price, |price| price.dated.clone())),
        ];
        TableRow::new(&tier.name, cells)
    });
    Table::new(caption, "Tier", rows)
}

fn prices(tiers: &Tiers) -> impl Iterator<Item = &Price> {
    tiers.tiers.iter().filter_map(|tier| tier.price.as_ref())
}

/// Where the prices come from, each source once; nothing when no tier has one.
fn priced_by(tiers: &Tiers) -> Option<String> {
    let source = |price: &Price| format!("{} as of {} ({})", price.platform, price.dated, price.source);
    let sources = once(prices(tiers).map(source));
    (!sources.is_empty()).then(|| format!("Prices: {}.", sources.join("; ")))
}

/// The price that was looked up first.
pub(super) fn oldest_price(tiers: &Tiers) -> Option<&Price> {
    prices(tiers).min_by(|one, other| one.dated.cmp(&other.dated))
}

/// Whether a price was looked up more than a year before the study.
pub(super) fn is_old(price: &Price, tiers: &Tiers) -> bool {
    match (date(&price.dated), date(&tiers.provenance.created_at)) {
        (Some((year, rest)), Some((now, today))) => (year + 1, rest) < (now, today),
        _ => false,
    }
}

/// Year, and month and day as one number, of `2026-11-22` or what begins so; a date without a day is its first.
fn date(text: &str) -> Option<(u32, u32)> {
    let day = text.split('T').next().unwrap_or(text);
    let mut parts = day.splitn(3, '-').map(|part| part.parse::<u32>().ok());
    let (year, month) = (parts.next()??, parts.next()??);
    Some((year, month * 100 + parts.next().flatten().unwrap_or(1)))
}

/// The same facts of every document.
fn facts(document: &Document) -> Vec<(&'static str, String)> {
    match document {
        Document::Response(response) => of_response(response),
        Document::Tiers(tiers) => of_tiers(tiers),
    }
}

const FACTS: [&str; 11] = [
    "Function",
    "Ran",
    "Runtime",
    "Start",
    "CPU model",
    "Architecture",
    "CPUs",
    "Kernel",
    "Memory limit",
    "Clock",
    "Request",
];

fn of_response(response: &Response) -> Vec<(&'static str, String)> {
    let Response { handler, platform, invocation, host, clock, .. } = response;
    let said = |value: Option<String>| value.unwrap_or_else(|| UNSAID.to_owned());
    let counted = |count: Option<u32>| said(count.map(|count| count.to_string()));
    let cpus =
        platform.cpus.map_or_else(String::new, |cpus| format!("; the platform says {}", text::amount(cpus)));
    let sandbox = host.sandbox.as_ref().map_or_else(String::new, |sandbox| format!(", in {sandbox}"));
    let clock = clock.as_ref().map(|clock| {
        let ns = |value: Option<f64>| value.map_or_else(|| "an unknown time".to_owned(), text::ns);
        let source = clock.source.as_deref().unwrap_or("a clock");
        format!("{source}: steps of {}, reading costs {}", ns(clock.resolution_ns), ns(clock.cost_ns))
    });
    let parameters = response.request.iter().map(|(name, value)| format!("{name} {}", parameter(value)));
    let values = [
        format!("{} handler {}", language(&handler.language), handler.version),
        format!(
            "{}{}",
            place(response),
            platform.source.as_ref().map_or_else(String::new, |source| format!(" (from {source})"))
        ),
        runtime(response),
        format!(
            "{}, invocation {} of its process",
            if invocation.cold { "cold" } else { "warm" },
            invocation.number
        ),
        said(host.cpu_model.clone()),
        host.architecture.clone(),
        format!("{} online, {} allowed{cpus}", counted(host.cpus_online), counted(host.cpus_allowed)),
        format!("{}{sandbox}", host.kernel_release),
        host.memory_limit_bytes.map_or_else(|| "none".to_owned(), text::bytes),
        said(clock),
        parameters.collect::<Vec<_>>().join(", "),
    ];
    FACTS.into_iter().zip(values).collect()
}

/// A parameter of a request without JSON's signs.
fn parameter(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Array(values) => values.iter().map(parameter).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

fn of_tiers(tiers: &Tiers) -> Vec<(&'static str, String)> {
    let Tiers { function, host, provenance, .. } = tiers;
    let online = host.cpus.iter().filter(|cpu| cpu.online).count();
    let values = [
        format!("{} ({})", function.name, function.kind),
        if function.deployed { "deployed" } else { "on this machine, under cgroups" }.to_owned(),
        function.language.as_deref().map_or_else(|| UNSAID.to_owned(), |name| language(name).to_owned()),
        "both kinds; the invocations say which".to_owned(),
        host.cpu_model.clone().unwrap_or_else(|| UNSAID.to_owned()),
        host.architecture.clone(),
        format!("{online} online"),
        host.kernel.release.clone(),
        "by tier".to_owned(),
        UNSAID.to_owned(),
        provenance.command.join(" "),
    ];
    FACTS.into_iter().zip(values).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_compared_by_year_and_day() {
        assert_eq!(date("2026-11-22T04:00:00Z"), Some((2026, 1122)));
        assert_eq!(date("2025-08"), Some((2025, 801)));
        assert_eq!(date("last year"), None);
    }
}
