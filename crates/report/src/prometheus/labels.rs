//! Values of labels: of bounded length, and without control characters.

/// Bytes of a label's value at most.
const LABEL_BYTES: usize = 200;
/// Bytes of a reason at most: room for what failed and for the remedy, each whole.
const REASON_BYTES: usize = 1000;

/// A reason as a label: as many of its clauses as have room, each whole, for half a remedy is none.
pub(super) fn reason(text: &str) -> String {
    const MORE: &str = "; more: swtch doctor";
    let text = clean(text);
    if text.len() <= REASON_BYTES {
        return text;
    }
    let room = REASON_BYTES - MORE.len();
    let whole = text.match_indices("; ").map(|(at, _)| at).take_while(|at| *at <= room).last();
    match whole {
        Some(end) => format!("{}{MORE}", &text[..end]),
        None => shortened(&text, REASON_BYTES),
    }
}

fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// A text as a label: of bounded length, the beginning and the end, and without control characters.
pub(super) fn label(text: &str) -> String {
    shortened(&clean(text), LABEL_BYTES)
}

fn shortened(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let half = (most - '…'.len_utf8()) / 2;
    let head = (0..=half).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    let tail = (text.len() - half..text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len());
    format!("{}…{}", &text[..head], &text[tail..])
}

/// A cgroup's path as a label. A name that is not a path stands for a cgroup whose path is not known. Such a name counts under [`OTHER`], since
/// each occurs only once: that of a removed cgroup has its number.
pub(super) fn cgroup_label(path: &str) -> Option<String> {
    path.starts_with('/').then(|| label(path))
}
