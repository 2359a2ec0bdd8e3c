//! The table of a sweep: a row a run, in Parquet.

use super::Point;
use super::runs::{SweepError, file_error};
use crate::summary::{Durations, Summary};
use parquet::basic::{ConvertedType, Repetition, Type as PhysicalType};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

/// Under which the sweep's identity is in the file.
const IDENTITY: &str = "swtch.sweep";
/// Rows of a group.
const GROUP_ROWS: usize = 1 << 16;

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Row {
    pub(super) run: u64,
    machine: String,
    workload: String,
    policy: String,
    seed: u64,
    /// Why it failed.
    error: Option<String>,
    figures: Option<Figures>,
}

/// Whole numbers, in the order of their columns.
const COUNTS: [&str; 26] = [
    "makespan_ns",
    "context_switches",
    "voluntary",
    "involuntary",
    "from_idle",
    "migrations",
    "wakeups",
    "ticks",
    "events",
    "wait_count",
    "wait_p50_ns",
    "wait_p90_ns",
    "wait_p99_ns",
    "wait_max_ns",
    "request_count",
    "request_p50_ns",
    "request_p90_ns",
    "request_p99_ns",
    "request_max_ns",
    "cpu_run_ns",
    "cpu_idle_ns",
    "cpu_switch_ns",
    "cpu_spin_ns",
    "cpu_tick_ns",
    "cpu_refill_ns",
    "cpu_barrier_ns",
];

/// What a run came to. How long it took is left out: the same sweep gives the same bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Figures {
    complete: bool,
    spin_share: f64,
    /// As [`COUNTS`].
    counts: Vec<Option<u64>>,
    /// Speeds of the applications as JSON, where the machine has several kinds of core.
    application_speeds: Option<String>,
}

impl Figures {
    pub(super) fn of(run: &Summary) -> Self {
        let times = |times: Durations| [Some(times.count), times.p50, times.p90, times.p99, times.max];
        let mut counts: Vec<Option<u64>> = [
            run.makespan_ns,
            run.context_switches,
            run.voluntary,
            run.involuntary,
            run.from_idle,
            run.migrations,
            run.wakeups,
            run.ticks,
            run.events,
        ]
        .map(Some)
        .to_vec();
        counts.extend(times(run.wait_ns));
        counts.extend(run.request_ns.map_or([None; 5], times));
        counts.extend(run.cpu_ns.parts().map(|(_, ns)| Some(ns)));
        let speeds = run.fairness.as_ref().map(|fairness| {
            let of_each = fairness.applications.iter().map(|one| (one.name.as_str(), one.speed));
            serde_json::json!(of_each.collect::<BTreeMap<_, _>>()).to_string()
        });
        Self { complete: run.complete, spin_share: run.spin_share, counts, application_speeds: speeds }
    }
}

impl Row {
    pub(super) fn new(point: &Point<'_>, found: Result<Figures, String>) -> Self {
        let (figures, error) = match found {
            Ok(figures) => (Some(figures), None),
            Err(error) => (None, Some(error)),
        };
        Self {
            run: point.run,
            machine: point.machine.to_owned(),
            workload: point.workload.to_owned(),
            policy: point.policy.to_owned(),
            seed: point.seed,
            error,
            figures,
        }
    }
}

/// A whole number of a row.
type Whole = Box<dyn Fn(&Row) -> Option<u64>>;

/// A column: how to get it from the rows.
enum Column {
    Text(fn(&Row) -> Option<&str>),
    Integer(Whole),
    Real(fn(&Row) -> Option<f64>),
    Flag(fn(&Row) -> Option<bool>),
}

fn columns() -> Vec<(&'static str, Column)> {
    let mut all = vec![
        ("run", Column::Integer(Box::new(|row| Some(row.run)))),
        ("machine", Column::Text(|row| Some(&row.machine))),
        ("workload", Column::Text(|row| Some(&row.workload))),
        ("policy", Column::Text(|row| Some(&row.policy))),
        ("seed", Column::Integer(Box::new(|row| Some(row.seed)))),
        ("complete", Column::Flag(|row| Some(row.figures.as_ref()?.complete))),
    ];
    let count = |place: usize| move |row: &Row| *row.figures.as_ref()?.counts.get(place)?;
    all.extend(
        COUNTS.iter().enumerate().map(|(place, name)| (*name, Column::Integer(Box::new(count(place))))),
    );
    all.push(("spin_share", Column::Real(|row| Some(row.figures.as_ref()?.spin_share))));
    all.push(("application_speeds", Column::Text(|row| row.figures.as_ref()?.application_speeds.as_deref())));
    all.push(("error", Column::Text(|row| row.error.as_deref())));
    all
}

impl Column {
    fn field(&self, name: &str) -> Result<Type, ParquetError> {
        let (physical, converted) = match self {
            Self::Text(_) => (PhysicalType::BYTE_ARRAY, ConvertedType::UTF8),
            Self::Integer(_) => (PhysicalType::INT64, ConvertedType::NONE),
            Self::Real(_) => (PhysicalType::DOUBLE, ConvertedType::NONE),
            Self::Flag(_) => (PhysicalType::BOOLEAN, ConvertedType::NONE),
        };
        Type::primitive_type_builder(name, physical)
            .with_converted_type(converted)
            .with_repetition(Repetition::OPTIONAL)
            .build()
    }

    fn write<W: Write + Send>(
        &self,
        rows: &[Row],
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<(), ParquetError> {
        let mut column = group
            .next_column()?
            .ok_or_else(|| ParquetError::General("more columns than the schema has".to_owned()))?;
        match self {
            Self::Text(get) => {
                let (values, levels) = split(rows, |row| get(row).map(ByteArray::from));
                column.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None)?;
            }
            Self::Integer(get) => {
                let (values, levels) = split(rows, |row| get(row).map(|value| value as i64));
                column.typed::<Int64Type>().write_batch(&values, Some(&levels), None)?;
            }
            Self::Real(get) => {
                let (values, levels) = split(rows, get);
                column.typed::<DoubleType>().write_batch(&values, Some(&levels), None)?;
            }
            Self::Flag(get) => {
                let (values, levels) = split(rows, get);
                column.typed::<BoolType>().write_batch(&values, Some(&levels), None)?;
            }
        }
        column.close()
    }
}

/// The values that are there, and for each row whether it is.
fn split<T>(rows: &[Row], get: impl Fn(&Row) -> Option<T>) -> (Vec<T>, Vec<i16>) {
    let found: Vec<Option<T>> = rows.iter().map(get).collect();
    let levels = found.iter().map(|value| i16::from(value.is_some())).collect();
    (found.into_iter().flatten().collect(), levels)
}

/// Writes the table, whole or not at all; what failed comes back.
///
/// # Errors
/// When it cannot be written.
pub(super) fn write(out: &Path, identity: &str, rows: Vec<Row>) -> Result<Vec<String>, SweepError> {
    swtch_profile::file::replace(out, |file| {
        encode(&rows, identity, io::BufWriter::new(file)).map_err(io::Error::other)
    })?;
    let describe = |row: Row| {
        Some(format!(
            "run {} ({} under {} on {}): {}",
            row.run, row.workload, row.policy, row.machine, row.error?
        ))
    };
    Ok(rows.into_iter().filter_map(describe).collect())
}

fn encode<W: Write + Send>(rows: &[Row], identity: &str, sink: W) -> Result<(), ParquetError> {
    let columns = columns();
    let fields = columns.iter().map(|(name, column)| column.field(name).map(Arc::new));
    let fields = fields.collect::<Result<Vec<_>, _>>()?;
    let schema = Type::group_type_builder("runs").with_fields(fields).build()?;
    let metadata = vec![KeyValue::new(IDENTITY.to_owned(), identity.to_owned())];
    let properties = WriterProperties::builder().set_key_value_metadata(Some(metadata)).build();
    let mut writer = SerializedFileWriter::new(sink, Arc::new(schema), Arc::new(properties))?;
    for rows in rows.chunks(GROUP_ROWS) {
        let mut group = writer.next_row_group()?;
        for (_, column) in &columns {
            column.write(rows, &mut group)?;
        }
        group.close()?;
    }
    writer.close()?;
    Ok(())
}

/// Whether the table is there already.
///
/// # Errors
/// When something else is: another sweep's, or no such table at all.
pub(super) fn is_there(out: &Path, identity: &str) -> Result<bool, SweepError> {
    let file = match File::open(out) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(file_error(format!("cannot read {}", out.display()))(error)),
    };
    let path = out.display();
    let refuse = |what: &str| {
        Err(SweepError::Wrong(format!("{path} is {what}; delete it or choose another place for the table")))
    };
    let Ok(reader) = SerializedFileReader::new(file) else { return refuse("there and no table of a sweep") };
    let pairs = reader.metadata().file_metadata().key_value_metadata();
    let found = pairs.into_iter().flatten().find(|pair| pair.key == IDENTITY);
    match found.and_then(|pair| pair.value.as_deref()) {
        Some(found) if found == identity => Ok(true),
        Some(_) => refuse("the table of another sweep: it, its part, or a file it names was changed since"),
        None => refuse("there and no table of a sweep"),
    }
}
