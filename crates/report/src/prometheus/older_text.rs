//! The older text format, for clients that do not read OpenMetrics.
//!
//! Source: Prometheus, "Exposition formats", text-based format 0.0.4. It has the same samples; a counter's type stands under its whole name, and
//! there are no units and no end.

/// The name of the format, for `Content-Type`.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Whether a client that sends this header `Accept` asks for the older format: it names `text/plain` and not OpenMetrics, or prefers it.
///
/// ```
/// use swtch_report::prometheus::wants_older_text;
/// assert!(wants_older_text("text/plain;version=0.0.4"));
/// assert!(!wants_older_text("application/openmetrics-text;version=1.0.0,text/plain;q=0.5") && !wants_older_text("*/*"));
/// ```
pub fn wants_older_text(accept: &str) -> bool {
    let weight = |name: &str| {
        let found =
            accept.split(',').map(str::trim).filter(|one| one.split(';').next().map(str::trim) == Some(name));
        let weights = found.map(|one| {
            let q = one.split(';').find_map(|part| part.trim().strip_prefix("q="));
            q.and_then(|q| q.parse().ok()).unwrap_or(1.0)
        });
        weights.fold(0.0, f64::max)
    };
    weight("text/plain") > weight("application/openmetrics-text")
}

/// OpenMetrics text in the older format.
pub fn older_text(open_metrics: &str) -> String {
    let mut text = String::with_capacity(open_metrics.len());
    // HELP comes before TYPE, which says whether it is a counter's.
    let mut help = "";
    for line in open_metrics.lines() {
        if line.starts_with("# UNIT ") || line == "# EOF" {
            continue;
        }
        if line.starts_with("# HELP ") {
            help = line;
            continue;
        }
        if let Some(name) = line.strip_prefix("# TYPE ").and_then(|rest| rest.strip_suffix(" counter")) {
            let meaning =
                help.strip_prefix("# HELP ").and_then(|rest| rest.strip_prefix(name)).unwrap_or_default();
            text += &format!("# HELP {name}_total{meaning}\n# TYPE {name}_total counter\n");
            help = "";
            continue;
        }
        for part in [std::mem::take(&mut help), line] {
            if !part.is_empty() {
                text += part;
                text.push('\n');
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_stay_and_counters_have_their_whole_name() {
        let open = "# HELP a_seconds Time.\n# TYPE a_seconds counter\n# UNIT a_seconds seconds\na_seconds_total{x=\"y\"} 1.5\n\
                    # HELP b Now.\n# TYPE b gauge\nb 2.0\n# EOF\n";
        let older = "# HELP a_seconds_total Time.\n# TYPE a_seconds_total counter\na_seconds_total{x=\"y\"} 1.5\n\
                     # HELP b Now.\n# TYPE b gauge\nb 2.0\n";
        assert_eq!(older_text(open), older);
    }

    #[test]
    fn who_asks_for_both_gets_what_it_prefers() {
        assert!(wants_older_text("application/openmetrics-text;q=0.3, text/plain;q=0.5"));
        assert!(!wants_older_text("") && !wants_older_text("text/html, */*;q=0.1"));
    }
}
