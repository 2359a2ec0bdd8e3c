//! Text, divided by commas.

use crate::export::ExportError;
use std::io::{self, Write};
use swtch_trace::TraceError;
use swtch_trace::tables::{Cell, Column, Columns};

pub(super) fn write<R: Columns>(
    rows: impl Iterator<Item = Result<R, TraceError>>,
    mut sink: impl Write,
) -> Result<u64, ExportError> {
    let columns = R::columns();
    let names: Vec<&str> = columns.iter().map(|column| column.about().name).collect();
    writeln!(sink, "{}", names.join(","))?;
    let mut count = 0;
    for row in rows {
        line(&columns, &row?, &mut sink)?;
        count += 1;
    }
    sink.flush()?;
    Ok(count)
}

fn line<R>(columns: &[Box<dyn Column<R>>], row: &R, sink: &mut impl Write) -> io::Result<()> {
    for (index, column) in columns.iter().enumerate() {
        if index > 0 {
            sink.write_all(b",")?;
        }
        match column.cell(row) {
            None => {}
            Some(Cell::Number(number)) => write!(sink, "{number}")?,
            Some(Cell::Real(number)) => write!(sink, "{number}")?,
            Some(Cell::Flag(flag)) => write!(sink, "{flag}")?,
            Some(Cell::Text(text)) => write_text(text, sink)?,
        }
    }
    sink.write_all(b"\n")
}

/// RFC 4180, section 2, rules 5 to 7. An empty text is quoted too, so that it is not taken for an absent one.
fn write_text(text: &str, sink: &mut impl Write) -> io::Result<()> {
    if !text.is_empty() && !text.contains(['"', ',', '\n', '\r']) {
        return sink.write_all(text.as_bytes());
    }
    write!(sink, "\"{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use swtch_trace::tables::{HistogramRow, InterruptKind, InterruptRow};

    #[test]
    fn what_divides_is_quoted_and_what_is_absent_is_empty() {
        let row = InterruptRow {
            kind: InterruptKind::Soft,
            line: String::new(),
            name: "a \"b\", c".to_owned(),
            cpu: None,
            count: 7,
            ns: Some(0),
        };
        let mut text = Vec::new();
        assert_eq!(write([Ok(row)].into_iter(), &mut text).unwrap(), 1);
        let expected = "kind,line,name,cpu,count,ns\nsoft,\"\",\"a \"\"b\"\", c\",,7,0\n";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }

    #[test]
    fn a_table_without_rows_has_its_names() {
        let mut text = Vec::new();
        assert_eq!(write(std::iter::empty::<Result<HistogramRow, _>>(), &mut text).unwrap(), 0);
        assert_eq!(text, b"metric,of,from_ns,to_ns,count\n");
    }
}
