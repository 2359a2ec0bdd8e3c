//! The preemption model. No single file has it everywhere, so several are read, the most reliable first.

use crate::files::Files;
use crate::host::major_minor;

const DEBUGFS: &str = "/sys/kernel/debug/sched/preempt";

/// The model and how it was learned.
#[derive(Debug, PartialEq)]
pub(crate) struct Preemption {
    /// `none`, `voluntary`, `lazy`, `full` or `rt`.
    pub(crate) model: Option<String>,
    /// Where it was read; or why it is not known.
    pub(crate) source: String,
}

impl Preemption {
    fn known(model: &str, source: impl Into<String>) -> Self {
        Self { model: Some(model.to_owned()), source: source.into() }
    }

    fn unknown(why: impl Into<String>) -> Self {
        Self { model: None, source: why.into() }
    }
}

/// Finds the model.
///
/// `uname -v` alone decides only for `PREEMPT_RT`. `PREEMPT_DYNAMIC` means that the model can be changed while the system runs.
/// Plain `PREEMPT` means full or, from Linux 6.13 on, lazy. No word means none or voluntary (init/Makefile and
/// kernel/Kconfig.preempt, Linux 6.18).
pub(crate) fn read(files: &Files, release: &str, version: &str) -> Preemption {
    let words: Vec<&str> = version.split_whitespace().collect();
    // The patches before Linux 5.4 wrote "PREEMPT RT".
    if words.contains(&"PREEMPT_RT") || words.windows(2).any(|pair| pair == ["PREEMPT", "RT"]) {
        return Preemption::known("rt", "uname -v");
    }
    if let Some(model) = files.text(DEBUGFS).as_deref().and_then(chosen) {
        return Preemption::known(model, DEBUGFS);
    }
    let dynamic = words.contains(&"PREEMPT_DYNAMIC");
    if dynamic && let Some(model) = files.text("proc/cmdline").as_deref().and_then(from_command_line) {
        return Preemption::known(model, format!("kernel command line, preempt={model}"));
    }
    if let Some((model, path)) = from_config(files, release) {
        let since = if dynamic { ", the default, which may have been changed since" } else { "" };
        return Preemption::known(model, format!("{path}{since}"));
    }
    if dynamic {
        return Preemption::unknown(format!(
            "it can change at run time (PREEMPT_DYNAMIC), and {DEBUGFS} cannot be read"
        ));
    }
    if words.contains(&"PREEMPT") {
        if major_minor(release).is_some_and(|version| version >= (6, 13)) {
            return Preemption::unknown("uname -v says PREEMPT, which means full or lazy since Linux 6.13");
        }
        return Preemption::known("full", "uname -v");
    }
    Preemption::unknown("uname -v names no model, which leaves none or voluntary")
}

/// The model as a name that does not borrow from a file.
fn model_named(name: &str) -> Option<&'static str> {
    ["none", "voluntary", "lazy", "full"].into_iter().find(|model| *model == name)
}

/// The value in parentheses of `none voluntary (full) lazy`.
fn chosen(text: &str) -> Option<&'static str> {
    let (_, rest) = text.split_once('(')?;
    model_named(rest.split_once(')')?.0)
}

/// The last `preempt=` of the kernel command line; what follows `--` is for the first process.
fn from_command_line(text: &str) -> Option<&'static str> {
    text.split_whitespace()
        .take_while(|word| *word != "--")
        .filter_map(|word| model_named(word.strip_prefix("preempt=")?))
        .last()
}

/// The model that the kernel's configuration chooses, and the file that says so.
fn from_config(files: &Files, release: &str) -> Option<(&'static str, String)> {
    if release.is_empty() || release.contains('/') {
        return None;
    }
    [format!("/boot/config-{release}"), format!("/lib/modules/{release}/config")]
        .into_iter()
        .find_map(|path| Some((from_config_text(&files.text(&path)?)?, path)))
}

fn from_config_text(text: &str) -> Option<&'static str> {
    [
        ("CONFIG_PREEMPT_RT=y", "rt"),
        ("CONFIG_PREEMPT_LAZY=y", "lazy"),
        ("CONFIG_PREEMPT=y", "full"),
        ("CONFIG_PREEMPT_VOLUNTARY=y", "voluntary"),
        ("CONFIG_PREEMPT_NONE=y", "none"),
    ]
    .into_iter()
    .find(|(option, _)| text.lines().any(|line| line.trim() == *option))
    .map(|(_, model)| model)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs;

    fn model(version: &str, release: &str, tree: &[(&str, &str)]) -> Preemption {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in tree {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        read(&Files::under(root.path()), release, version)
    }

    #[test]
    fn the_surest_source_wins() {
        let debugfs = ("sys/kernel/debug/sched/preempt", "none voluntary (full) lazy\n");
        let cmdline = ("proc/cmdline", "quiet preempt=none preempt=lazy -- preempt=full\n");
        let config = (
            "boot/config-6.8",
            "CONFIG_PREEMPT_BUILD=y\nCONFIG_PREEMPT_VOLUNTARY=y\nCONFIG_PREEMPT_DYNAMIC=y\n",
        );
        let dynamic = "#1 SMP PREEMPT_DYNAMIC Mon";
        let found = |tree: &[(&str, &str)]| model(dynamic, "6.8", tree);
        assert_eq!(found(&[debugfs, cmdline, config]), Preemption::known("full", DEBUGFS));
        assert_eq!(found(&[cmdline, config]).model.as_deref(), Some("lazy"));
        assert_eq!(found(&[config]).model.as_deref(), Some("voluntary"));
        assert!(found(&[config]).source.contains("may have been changed"));
        assert_eq!(found(&[]).model, None);
        assert_eq!(model("#1 SMP PREEMPT_RT Mon", "6.12", &[debugfs]).model.as_deref(), Some("rt"));
    }

    #[test]
    fn a_command_line_has_no_say_in_a_fixed_kernel() {
        let cmdline = ("proc/cmdline", "preempt=none");
        assert_eq!(model("#1 SMP PREEMPT Mon", "5.10.0", &[cmdline]).model.as_deref(), Some("full"));
    }

    #[test]
    fn a_word_alone_says_less_than_it_seems() {
        assert_eq!(model("#1 SMP PREEMPT Mon", "6.12.9", &[]).model.as_deref(), Some("full"));
        assert_eq!(model("#1 SMP PREEMPT Mon", "6.13.0", &[]).model, None);
        assert_eq!(model("#1 SMP Mon", "6.1.0", &[]).model, None);
        assert_eq!(model("", "", &[]).model, None);
    }

    proptest! {
        #[test]
        fn never_panics(text in "(?s).{0,100}") {
            let _ = (chosen(&text), from_command_line(&text), from_config_text(&text), major_minor(&text));
        }
    }
}
