//! Reads the JUnit XML that pytest writes with `--junitxml`.

use crate::step::{Counts, Skip};

/// The counts of one pytest run. Only what pytest writes is understood: a `testcase` element with at most one outcome
/// element inside.
pub(crate) fn counts(xml: &str) -> Counts {
    let mut counts = Counts::default();
    for case in xml.split("<testcase ").skip(1) {
        let Some(head_end) = tag_end(case) else { continue };
        let head = &case[..head_end];
        let name = format!("{}::{}", attribute(head, "classname"), attribute(head, "name"));
        counts.times.extend(attribute(head, "time").parse().ok().map(|seconds: f64| (name.clone(), seconds)));
        let body =
            if head.ends_with('/') { "" } else { case[head_end..].split("</testcase>").next().unwrap_or("") };
        if body.contains("<failure") || body.contains("<error") {
            if let Some((_, failure)) = body.split_once("<failure ").or_else(|| body.split_once("<error ")) {
                let message = attribute(&failure[..tag_end(failure).unwrap_or(failure.len())], "message");
                counts.details.push(format!("{name}: {message}"));
            }
            counts.failures.push(name);
        } else if let Some((_, skipped)) = body.split_once("<skipped ") {
            let reason = attribute(&skipped[..tag_end(skipped).unwrap_or(skipped.len())], "message");
            counts.skips.push(Skip { name, reason });
        } else {
            counts.passed += 1;
        }
    }
    counts
}

/// Where the tag that the text is inside of ends; a `>` in a quoted value does not end it.
fn tag_end(text: &str) -> Option<usize> {
    let mut quoted = false;
    text.char_indices().find_map(|(place, c)| {
        quoted ^= c == '"';
        (c == '>' && !quoted).then_some(place)
    })
}

fn attribute(tag: &str, name: &str) -> String {
    // The blank keeps `name` from being found in `classname`.
    let spaced = format!(" {tag}");
    let value = spaced
        .split_once(&format!(" {name}=\""))
        .map_or("", |(_, rest)| rest.split('"').next().unwrap_or(""));
    // The ampersand last, so that an escaped escape is not undone twice.
    [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&#10;", " "), ("&amp;", "&")]
        .iter()
        .fold(value.to_owned(), |text, (escaped, plain)| text.replace(escaped, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    // As written by pytest 9.
    const REPORT: &str = r#"<?xml version="1.0" encoding="utf-8"?><testsuites name="pytest tests"><testsuite name="pytest" errors="1" failures="1" skipped="1" tests="5" time="0.055"><testcase classname="test_a" name="test_ok[a&gt;b]" time="0.001" /><testcase classname="test_a" name="test_prints" time="0.001"><system-out>hi &lt;failure</system-out></testcase><testcase classname="test_a" name="test_skip" time="0.000"><skipped type="pytest.skip" message="no &quot;chromium&quot; &gt; here">/x/test_a.py:7: no</skipped></testcase><testcase classname="test_a" name="test_bad" time="0.001"><failure message="assert 1 &gt; 2">def test_bad()</failure></testcase><testcase classname="test_a" name="test_err" time="0.001"><error message="failed on setup">x</error></testcase></testsuite></testsuites>"#;

    #[test]
    fn every_outcome_is_counted() {
        let counts = counts(REPORT);
        assert_eq!(counts.passed, 2);
        assert_eq!(counts.failures, ["test_a::test_bad", "test_a::test_err"]);
        assert_eq!(counts.details[0], "test_a::test_bad: assert 1 > 2");
        let skip = Skip { name: "test_a::test_skip".into(), reason: "no \"chromium\" > here".into() };
        assert_eq!(counts.skips, [skip]);
    }

    #[test]
    fn an_empty_or_broken_report_counts_nothing() {
        assert_eq!(counts(""), Counts::default());
        assert_eq!(counts("<testcase name=\"x"), Counts::default());
    }
}
