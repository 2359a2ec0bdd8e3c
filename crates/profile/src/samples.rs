//! The batches behind a Profile, as a Parquet table that DuckDB, pandas, Polars and Spark read.

use std::io::{self, Write};
use swtch_columns::{Column, Columns, column};

swtch_columns::table! {
    /// One batch.
    pub struct Sample in "samples" of [crate::model::SCHEMA, crate::model::OLDER], nullable ["text", "u64", "f64"], earlier earlier;
    {
        /// Method, or the reference's name.
        pub work: String [none],
        /// `thread` or `process`.
        pub tasks: String [none],
        /// Tasks that took part.
        pub count: u32 [count],
        /// Placement by name.
        pub placement: String [none],
        /// `normal` or `fifo`.
        pub class: String [none],
        /// Each task's array; 0 for none.
        pub array_bytes: u64 [bytes],
        /// Stride; absent without an array.
        pub stride_bytes: Option<u64> [bytes],
        /// Access; absent without an array.
        pub access: Option<String> [none],
        /// Number of the fresh process within its condition.
        pub launch: u32 [id],
        /// When it began, CLOCK_MONOTONIC, ns.
        pub started_ns: u64 [ns],
        /// Rounds in the batch.
        pub rounds: u32 [count],
        /// Time of a round with switches, ns.
        pub round_ns: f64 [ns],
        /// Time of one baseline operation, ns.
        pub baseline_ns: f64 [ns],
        /// Baseline operations in a round.
        pub baseline_per_round: f64 [count],
        /// Voluntary switches per round.
        pub voluntary_per_round: f64 [count],
        /// Involuntary switches per round.
        pub involuntary_per_round: f64 [count],
        /// Share of the batch in which none of its tasks ran; absent when they were on several CPUs.
        pub off_cpu_share: Option<f64> [share],
        /// Time of the fixed spin before it, ns.
        pub spin_ns: f64 [ns],
        /// Whether the leader changed CPUs.
        pub migrated: bool [none],
        /// Why it was left out; absent when it entered.
        pub rejected: Option<String> [none],
    }
}

/// The columns of [`OLDER`](crate::model::OLDER) files: `rejected` was called `spoiled`.
fn earlier() -> Vec<Vec<Box<dyn Column<Sample>>>> {
    let mut columns = Sample::columns();
    columns.pop();
    let about = ["spoiled", "none", "", "Why it was left out; absent when it entered."];
    columns.push(column(about, |row: &Sample| &row.rejected, |row, why| row.rejected = why));
    vec![columns]
}

/// Writes the table.
///
/// # Errors
/// When `sink` does not take it (a full disk).
pub fn write<W: Write + Send>(rows: &[Sample], sink: W) -> io::Result<()> {
    swtch_columns::encode(rows, sink)
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::basic::Repetition;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use swtch_columns::TableFile;

    #[test]
    fn what_is_written_is_read_back() {
        let rows = [
            Sample {
                work: "pipe".to_owned(),
                round_ns: 2000.5,
                off_cpu_share: Some(0.5),
                ..Sample::default()
            },
            Sample { stride_bytes: Some(64), rejected: Some("migrated".to_owned()), ..Sample::default() },
        ];
        let mut file = tempfile::NamedTempFile::new().unwrap();
        write(&rows, file.as_file_mut()).unwrap();
        let read = TableFile::<Sample>::open(file.path()).unwrap().rows().unwrap();
        assert_eq!(read, rows);
    }

    /// Files of all versions can be put together: the columns have their names, types and nulls since the first.
    #[test]
    fn the_schema_is_what_it_was() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        write(&[Sample::default()], file.as_file_mut()).unwrap();
        let reader = SerializedFileReader::new(file.reopen().unwrap()).unwrap();
        let schema = reader.metadata().file_metadata().schema().get_fields().to_vec();
        let columns: Vec<String> = schema
            .iter()
            .map(|field| {
                let required = field.get_basic_info().repetition() == Repetition::REQUIRED;
                let kind = field.get_physical_type();
                format!("{} {kind}{}", field.name(), if required { " required" } else { "" })
            })
            .collect();
        let expected = [
            "work BYTE_ARRAY",
            "tasks BYTE_ARRAY",
            "count INT32 required",
            "placement BYTE_ARRAY",
            "class BYTE_ARRAY",
            "array_bytes INT64",
            "stride_bytes INT64",
            "access BYTE_ARRAY",
            "launch INT32 required",
            "started_ns INT64",
            "rounds INT32 required",
            "round_ns DOUBLE",
            "baseline_ns DOUBLE",
            "baseline_per_round DOUBLE",
            "voluntary_per_round DOUBLE",
            "involuntary_per_round DOUBLE",
            "off_cpu_share DOUBLE",
            "spin_ns DOUBLE",
            "migrated BOOLEAN required",
            "rejected BYTE_ARRAY",
        ];
        assert_eq!(columns, expected);
    }
}
