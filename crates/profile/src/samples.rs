//! The batches behind a Profile, as a Parquet table that DuckDB, pandas, Polars and Spark read.

use parquet::basic::{ConvertedType, Repetition, Type as PhysicalType};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use std::io::Write;
use std::sync::Arc;

/// One batch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// Method, or the reference's name.
    pub work: String,
    /// `thread` or `process`.
    pub tasks: String,
    /// Tasks that took part.
    pub count: u32,
    /// Placement by name.
    pub placement: String,
    /// `normal` or `fifo`.
    pub class: String,
    /// Each task's array; 0 for none.
    pub array_bytes: u64,
    /// Stride; absent without an array.
    pub stride_bytes: Option<u64>,
    /// Access; absent without an array.
    pub access: Option<String>,
    /// Number of the fresh process within its condition.
    pub launch: u32,
    /// When it began, CLOCK_MONOTONIC, ns.
    pub started_ns: u64,
    /// Rounds in the batch.
    pub rounds: u32,
    /// Time of a round with switches, ns.
    pub round_ns: f64,
    /// Time of one baseline operation, ns.
    pub baseline_ns: f64,
    /// Baseline operations in a round.
    pub baseline_per_round: f64,
    /// Voluntary switches per round.
    pub voluntary_per_round: f64,
    /// Involuntary switches per round.
    pub involuntary_per_round: f64,
    /// Share of the batch in which none of its tasks ran; absent when they were on several processors.
    pub off_cpu_share: Option<f64>,
    /// Time of the fixed spin before it, ns.
    pub spin_ns: f64,
    /// Whether the leader changed processors.
    pub migrated: bool,
    /// Why it was left out; absent when it entered.
    pub spoiled: Option<String>,
}

/// A column: how to get it from the rows.
enum Column {
    Text(fn(&Sample) -> Option<&str>),
    Integer(fn(&Sample) -> Option<u64>),
    Small(fn(&Sample) -> u32),
    Real(fn(&Sample) -> Option<f64>),
    Flag(fn(&Sample) -> bool),
}

/// The table's columns, in order.
const COLUMNS: [(&str, Column); 20] = [
    ("work", Column::Text(|row| Some(&row.work))),
    ("tasks", Column::Text(|row| Some(&row.tasks))),
    ("count", Column::Small(|row| row.count)),
    ("placement", Column::Text(|row| Some(&row.placement))),
    ("class", Column::Text(|row| Some(&row.class))),
    ("array_bytes", Column::Integer(|row| Some(row.array_bytes))),
    ("stride_bytes", Column::Integer(|row| row.stride_bytes)),
    ("access", Column::Text(|row| row.access.as_deref())),
    ("launch", Column::Small(|row| row.launch)),
    ("started_ns", Column::Integer(|row| Some(row.started_ns))),
    ("rounds", Column::Small(|row| row.rounds)),
    ("round_ns", Column::Real(|row| Some(row.round_ns))),
    ("baseline_ns", Column::Real(|row| Some(row.baseline_ns))),
    ("baseline_per_round", Column::Real(|row| Some(row.baseline_per_round))),
    ("voluntary_per_round", Column::Real(|row| Some(row.voluntary_per_round))),
    ("involuntary_per_round", Column::Real(|row| Some(row.involuntary_per_round))),
    ("off_cpu_share", Column::Real(|row| row.off_cpu_share)),
    ("spin_ns", Column::Real(|row| Some(row.spin_ns))),
    ("migrated", Column::Flag(|row| row.migrated)),
    ("spoiled", Column::Text(|row| row.spoiled.as_deref())),
];

impl Column {
    fn field(&self, name: &str) -> Result<Type, ParquetError> {
        let (physical, converted, optional) = match self {
            Self::Text(_) => (PhysicalType::BYTE_ARRAY, ConvertedType::UTF8, true),
            Self::Integer(_) => (PhysicalType::INT64, ConvertedType::NONE, true),
            Self::Small(_) => (PhysicalType::INT32, ConvertedType::NONE, false),
            Self::Real(_) => (PhysicalType::DOUBLE, ConvertedType::NONE, true),
            Self::Flag(_) => (PhysicalType::BOOLEAN, ConvertedType::NONE, false),
        };
        Type::primitive_type_builder(name, physical)
            .with_converted_type(converted)
            .with_repetition(if optional { Repetition::OPTIONAL } else { Repetition::REQUIRED })
            .build()
    }

    fn write<W: Write + Send>(
        &self,
        rows: &[Sample],
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<(), ParquetError> {
        let mut column = group
            .next_column()?
            .ok_or_else(|| ParquetError::General("more columns than the schema has".to_owned()))?;
        match self {
            Self::Text(get) => {
                let values: Vec<ByteArray> = rows.iter().filter_map(get).map(ByteArray::from).collect();
                let levels = levels(rows, |row| get(row).is_some());
                column.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None)?;
            }
            Self::Integer(get) => {
                let values: Vec<i64> = rows.iter().filter_map(get).map(|value| value as i64).collect();
                let levels = levels(rows, |row| get(row).is_some());
                column.typed::<Int64Type>().write_batch(&values, Some(&levels), None)?;
            }
            Self::Real(get) => {
                let values: Vec<f64> = rows.iter().filter_map(get).collect();
                let levels = levels(rows, |row| get(row).is_some());
                column.typed::<DoubleType>().write_batch(&values, Some(&levels), None)?;
            }
            Self::Small(get) => {
                let values: Vec<i32> = rows.iter().map(|row| get(row) as i32).collect();
                column.typed::<Int32Type>().write_batch(&values, None, None)?;
            }
            Self::Flag(get) => {
                let values: Vec<bool> = rows.iter().map(get).collect();
                column.typed::<BoolType>().write_batch(&values, None, None)?;
            }
        }
        column.close()
    }
}

fn levels(rows: &[Sample], present: impl Fn(&Sample) -> bool) -> Vec<i16> {
    rows.iter().map(|row| i16::from(present(row))).collect()
}

/// Writes the table.
///
/// # Errors
/// When `sink` does not take it (a full disk).
pub fn write<W: Write + Send>(rows: &[Sample], sink: W) -> Result<(), ParquetError> {
    let fields = COLUMNS
        .iter()
        .map(|(name, column)| column.field(name).map(Arc::new))
        .collect::<Result<Vec<_>, _>>()?;
    let schema = Type::group_type_builder("samples").with_fields(fields).build()?;
    let properties = Arc::new(WriterProperties::builder().set_created_by("swtch".to_owned()).build());
    let mut writer = SerializedFileWriter::new(sink, Arc::new(schema), properties)?;
    let mut group = writer.next_row_group()?;
    for (_, column) in &COLUMNS {
        column.write(rows, &mut group)?;
    }
    group.close()?;
    writer.close().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};

    #[test]
    fn what_is_written_is_read_back() {
        let rows = [
            Sample {
                work: "pipe".to_owned(),
                round_ns: 2000.5,
                off_cpu_share: Some(0.5),
                ..Sample::default()
            },
            Sample { stride_bytes: Some(64), spoiled: Some("migrated".to_owned()), ..Sample::default() },
        ];
        let mut file = Vec::new();
        write(&rows, &mut file).unwrap();
        let reader = SerializedFileReader::new(bytes::Bytes::from(file)).unwrap();
        let read: Vec<String> =
            reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
        assert_eq!(read.len(), 2);
        assert!(read[0].contains("work: \"pipe\"") && read[0].contains("round_ns: 2000.5"), "{}", read[0]);
        assert!(read[0].contains("spoiled: null") && read[1].contains("spoiled: \"migrated\""));
        assert!(read[1].contains("stride_bytes: 64") && read[1].contains("off_cpu_share: null"));
    }
}
