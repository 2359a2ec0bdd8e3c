//! The picture of the screen in the book, from a recorded Trace: what the terminal shows, cell by cell. `SWTCH_WRITE_PAGES=1` writes it.

use super::super::{Look, Settings, State, Window, draw};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};
use serde_json::Value;
use std::fmt::Write;
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;
use swtch_trace::tables::{CpuRow, Tables};
use swtch_trace::{Snapshot, Trace};

/// The screen in columns and lines, and a cell of it in pixels.
const SIZE: (u16, u16) = (104, 24);
const CELL: (f64, f64) = (7.8, 17.0);
/// Around the screen, in pixels.
const MARGIN: f64 = 10.0;
const PAPER: &str = "#1c1f26";

#[test]
fn the_picture_in_the_book_is_this_screen() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let drawn = svg(&screen(&whole(&root.join("fixtures/traces/waits.swtch"))));
    let path = root.join("docs/pictures/top.svg");
    if std::env::var_os("SWTCH_WRITE_PAGES").is_some() {
        fs::write(&path, &drawn).unwrap();
    }
    let shown = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        shown == drawn,
        "docs/pictures/top.svg is old; SWTCH_WRITE_PAGES=1 cargo test --lib the_picture_in_the_book"
    );
}

/// A Trace as one window, from nothing to its end.
fn whole(trace: &Path) -> Window {
    let Trace { header, tables, .. } = Trace::open(trace).unwrap();
    let mut begin = serde_json::to_value(&header).unwrap();
    zero(&mut begin["totals"]);
    zero(&mut begin["recorder"]["cpu_ns"]);
    let cpus = tables.cpus.iter().map(|row| CpuRow { cpu: row.cpu, ..nothing_yet() }).collect();
    let before = Snapshot {
        at_ns: 0,
        unix_ns: 0,
        header: serde_json::from_value(begin).unwrap(),
        tables: Tables { cpus, ..Tables::default() },
    };
    let after = Snapshot { at_ns: header.duration_ns, unix_ns: 0, header, tables };
    Window::between(&before, &after, None)
}

/// Counters as they are before anything happened: what is counted is 0, what is not known stays so.
fn zero(value: &mut Value) {
    match value {
        Value::Number(number) => *number = 0.into(),
        Value::Array(values) => values.iter_mut().for_each(zero),
        Value::Object(values) => values.values_mut().for_each(zero),
        _ => {}
    }
}

fn nothing_yet() -> CpuRow {
    CpuRow {
        user_ns: Some(0),
        system_ns: Some(0),
        irq_ns: Some(0),
        softirq_ns: Some(0),
        steal_ns: Some(0),
        iowait_ns: Some(0),
        ..CpuRow::default()
    }
}

fn screen(window: &Window) -> Buffer {
    let interval = Duration::from_secs(window.length_ns / 1_000_000_000);
    let mut state = State::new(Settings { interval, ..Settings::default() });
    state.take(window.clone());
    let mut terminal = Terminal::new(TestBackend::new(SIZE.0, SIZE.1)).unwrap();
    let look = Look { colour: true, host: "box", clock: "15:27:34 UTC" };
    terminal.draw(|frame| draw(frame, &mut state, &look)).unwrap();
    terminal.backend().buffer().clone()
}

fn svg(screen: &Buffer) -> String {
    let [width, height] =
        [(SIZE.0, CELL.0), (SIZE.1, CELL.1)].map(|(cells, pixels)| f64::from(cells) * pixels + 2.0 * MARGIN);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.1} {height:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
         font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\" font-size=\"13\">\n\
         <rect width=\"{width:.1}\" height=\"{height:.1}\" rx=\"6\" fill=\"{PAPER}\"/>\n"
    );
    for y in 0..SIZE.1 {
        let cell = |x: u16| &screen[(x, y)];
        let blank = |x: u16| x >= SIZE.0 || cell(x).symbol() == " ";
        for papers in runs(|x, next| colours(cell(x)).1 == colours(cell(next)).1) {
            if let Some(paper) = colours(cell(papers.start)).1 {
                let (x, y, width) = place(&papers, y);
                let height = CELL.1;
                writeln!(svg, "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height}\" fill=\"{paper}\"/>").unwrap();
            }
        }
        let look = |x: u16| (colours(cell(x)), cell(x).modifier.contains(Modifier::BOLD));
        // Two blanks are a gap: what follows has a place of its own, so that columns are in line, whichever font there is.
        for words in runs(|x, next| {
            look(x) == look(next) && !(blank(next) && blank(next + 1)) && !(blank(x) && blank(x + 1))
        }) {
            let text: String = words.clone().map(|x| cell(x).symbol()).collect();
            if !text.trim().is_empty() {
                let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
                let ((ink, _), bold) = look(words.start);
                let weight = if bold { " font-weight=\"bold\"" } else { "" };
                let (x, y, width) = place(&words, y);
                let line = y + 13.0;
                writeln!(svg, "<text x=\"{x:.1}\" y=\"{line:.1}\" textLength=\"{width:.1}\" fill=\"{ink}\"{weight} xml:space=\"preserve\">{text}</text>").unwrap();
            }
        }
    }
    svg + "</svg>\n"
}

/// The columns of a line in runs: as long as one cell goes with the next.
fn runs(goes_with: impl Fn(u16, u16) -> bool) -> Vec<Range<u16>> {
    let ends = (1..SIZE.0).filter(|x| !goes_with(x - 1, *x)).chain([SIZE.0]);
    let mut start = 0;
    ends.map(|end| std::mem::replace(&mut start, end)..end).collect()
}

/// Left edge, upper edge and width of cells, in pixels.
fn place(cells: &Range<u16>, y: u16) -> (f64, f64, f64) {
    let at = |cell: u16, pixels: f64| MARGIN + f64::from(cell) * pixels;
    (at(cells.start, CELL.0), at(y, CELL.1), f64::from(cells.end - cells.start) * CELL.0)
}

/// Ink, and paper where a cell has its own.
fn colours(cell: &Cell) -> (&'static str, Option<&'static str>) {
    let ink = match cell.fg {
        Color::Red => "#ff6b6b",
        Color::Green => "#7ec97e",
        Color::Blue => "#6ca8f0",
        Color::Magenta => "#d08be0",
        Color::Yellow => "#e0c060",
        Color::Cyan => "#5fd0d8",
        _ if cell.modifier.contains(Modifier::DIM) => "#8a919e",
        _ => "#dfe3ea",
    };
    if cell.modifier.contains(Modifier::REVERSED) { (PAPER, Some(ink)) } else { (ink, None) }
}
