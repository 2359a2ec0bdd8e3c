//! What a reader sees of a page.

/// The page without the style, the script and the tags; spaces that do not break become plain ones.
pub(crate) fn visible(page: &str) -> String {
    let body = &page[page.find("<body>").unwrap()..page.rfind("<script>").unwrap()];
    let mut text = String::new();
    let mut inside_tag = false;
    for c in body.chars() {
        match c {
            '<' => inside_tag = true,
            '>' => inside_tag = false,
            '\u{a0}' => text.push(' '),
            c if !inside_tag => text.push(c),
            _ => {}
        }
    }
    // As the template escapes them.
    text.replace("&#x2f;", "/").replace("&#x27;", "'")
}
