//! Writes SVG: the few elements the charts need, with every text escaped.

use std::fmt::Write;

/// Which of a chart's two drawings.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    /// For desks and paper.
    Wide,
    /// For phones; drawn at the width of a 360 px screen less its margins.
    Narrow,
}

impl Size {
    /// Width of the drawing in pixels.
    pub(super) fn width(self) -> f64 {
        self.pick(760.0, 328.0)
    }

    /// The first for the wide drawing, the second for the narrow one.
    pub(super) fn pick<T>(self, wide: T, narrow: T) -> T {
        if self == Self::Wide { wide } else { narrow }
    }

    /// The class by which the style shows one drawing and hides the other.
    pub(super) fn class(self) -> &'static str {
        self.pick("chart wide", "chart narrow")
    }
}

/// An SVG picture under construction.
#[derive(Default)]
pub(super) struct Svg {
    body: String,
}

impl Svg {
    /// A straight line.
    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(num);
        self.put(format_args!(r#"<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" class="{class}"/>"#));
    }

    /// A rectangle by its upper left corner and its size.
    pub(super) fn rect(&mut self, at: (f64, f64), size: (f64, f64), class: &str) {
        let [x, y, width, height] = [at.0, at.1, size.0.max(0.0), size.1.max(0.0)].map(num);
        self.put(format_args!(
            r#"<rect x="{x}" y="{y}" width="{width}" height="{height}" class="{class}"/>"#
        ));
    }

    /// A circle.
    pub(super) fn circle(&mut self, at: (f64, f64), radius: f64, class: &str) {
        let [x, y, radius] = [at.0, at.1, radius].map(num);
        self.put(format_args!(r#"<circle cx="{x}" cy="{y}" r="{radius}" class="{class}"/>"#));
    }

    /// Straight lines through points; `closed` makes it an area.
    pub(super) fn polyline(&mut self, points: &[(f64, f64)], closed: bool, class: &str) {
        let mut path = String::new();
        for (i, (x, y)) in points.iter().enumerate() {
            let _ = write!(path, "{}{} {}", if i == 0 { 'M' } else { 'L' }, num(*x), num(*y));
        }
        if closed {
            path.push('Z');
        }
        self.put(format_args!(r#"<path d="{path}" class="{class}"/>"#));
    }

    /// A line of text; the class says how it is anchored (`end`, `mid`, start by default).
    pub(super) fn text(&mut self, at: (f64, f64), class: &str, text: &str) {
        let ([x, y], text) = ([at.0, at.1].map(num), escape(text));
        self.put(format_args!(r#"<text x="{x}" y="{y}" class="{class}">{text}</text>"#));
    }

    /// A mark that stands for a figure: `tip` names it, line by line. The point is where a pointer looks for it.
    pub(super) fn mark(&mut self, at: (f64, f64), class: &str, tip: &[String], draw: impl FnOnce(&mut Self)) {
        let ([x, y], tip) = ([at.0, at.1].map(num), escape(&tip.join("\n")));
        self.put(format_args!(r#"<g class="mark {class}" data-x="{x}" data-y="{y}"><title>{tip}</title>"#));
        draw(self);
        self.body.push_str("</g>");
    }

    /// The whole picture. `label` is its accessible name.
    pub(super) fn finish(self, size: (f64, f64), class: &str, label: &str) -> String {
        self.picture(size, class, &format!(r#"role="img" aria-label="{}""#, escape(label)))
    }

    /// The picture as a decoration next to a text that says the same.
    pub(super) fn finish_decoration(self, size: (f64, f64)) -> String {
        self.picture(size, "sign", r#"aria-hidden="true""#)
    }

    fn picture(self, size: (f64, f64), class: &str, attributes: &str) -> String {
        let ([width, height], body) = ([size.0, size.1].map(num), self.body);
        format!(
            r#"<svg class="{class}" viewBox="0 0 {width} {height}" width="{width}" height="{height}" {attributes}>{body}</svg>"#
        )
    }

    fn put(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = self.body.write_fmt(element);
    }
}

/// One decimal is a tenth of a pixel; more digits would only make the page larger.
fn num(value: f64) -> String {
    let rounded = (value * 10.0).round() / 10.0;
    // Adding zero turns -0 into 0.
    format!("{}", if rounded.is_finite() { rounded + 0.0 } else { 0.0 })
}

/// Makes a text safe inside elements and quoted attributes.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_names_are_escaped() {
        let mut svg = Svg::default();
        svg.text((0.0, 0.0), "", "<script>");
        svg.mark((1.0, 2.0), "", &["a\"b".to_owned(), "c&d".to_owned()], |_| {});
        let page = svg.finish((10.0, 10.0), "wide", "\"><script>");
        assert!(!page.contains("<script>"));
        assert!(page.contains("a&quot;b\nc&amp;d"));
        assert!(page.contains("aria-label=\"&quot;&gt;&lt;script&gt;\""));
    }

    #[test]
    fn numbers_are_short_and_finite() {
        assert_eq!([1.0, 1.26, -0.01, f64::NAN].map(num), ["1", "1.3", "0", "0"]);
    }
}
