//! Speedups of real applications, from the files in `experiments/data`.

use anyhow::{Context, Result, ensure};

const MEASURED: &str = include_str!("../data/pe_speedups.csv");
const ESTIMATED: &str = include_str!("../data/speedups_2.8_0.8_estimated.csv");

/// An application and its speedup.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Application {
    /// Its name in the file.
    pub(crate) name: String,
    /// How many times faster it is on a fast core.
    pub(crate) speedup: f64,
}

/// SPEC CPU2017 on one CPU: the 13 floating-point and 10 integer applications of one collection, sorted by speedup.
///
/// # Errors
/// When the file does not have exactly these 23.
pub(crate) fn spec_2017(cpu: &str, collection: &str) -> Result<Vec<Application>> {
    let wanted = ["fp2017_rate1", "int2017_rate1"].map(|suite| format!("{suite}/data-{collection}"));
    let mut found = Vec::new();
    for record in records(MEASURED, &["pair", "suite", "benchmark", "speedup"])? {
        if record[0] == cpu && wanted.contains(&record[1]) {
            found.push(application(&record[2], &record[3])?);
        }
    }
    ensure!(found.len() == 23, "{} of 23 applications on {cpu} in {collection}", found.len());
    Ok(sorted(found))
}

/// 39 programs of MiBench, SPLASH-2 and PARSEC, from 0.8 to 2.8 GHz, estimated and sorted by speedup.
///
/// # Errors
/// When the file cannot be read.
pub(crate) fn estimated() -> Result<Vec<Application>> {
    let columns = ["benchmark", "estimated_speedup_2.8_over_0.8"];
    let found = records(ESTIMATED, &columns)?
        .iter()
        .map(|record| application(&record[0], &record[1]))
        .collect::<Result<Vec<_>>>()?;
    ensure!(found.len() == 39, "{} of 39 applications", found.len());
    Ok(sorted(found))
}

/// `count` of them at even ranks, the first and the last among them: a rule, not a choice.
pub(crate) fn evenly_spread(sorted: &[Application], count: usize) -> Vec<Application> {
    let step = (sorted.len() - 1) as f64 / (count - 1) as f64;
    (0..count).map(|index| sorted[(index as f64 * step).round() as usize].clone()).collect()
}

/// The `count` neighbours whose first and last differ least; the slowest of those that are alike.
pub(crate) fn most_alike(sorted: &[Application], count: usize) -> Vec<Application> {
    let spread = |window: &&[Application]| window[count - 1].speedup - window[0].speedup;
    let tightest = sorted.windows(count).min_by(|a, b| spread(a).total_cmp(&spread(b)));
    tightest.map(<[Application]>::to_vec).unwrap_or_default()
}

/// Their speedups.
pub(crate) fn values(applications: &[Application]) -> Vec<f64> {
    applications.iter().map(|application| application.speedup).collect()
}

fn sorted(mut applications: Vec<Application>) -> Vec<Application> {
    applications.sort_by(|a, b| a.speedup.total_cmp(&b.speedup).then_with(|| a.name.cmp(&b.name)));
    applications
}

fn application(name: &str, speedup: &str) -> Result<Application> {
    let speedup = speedup.parse().with_context(|| format!("{name}: {speedup} is not a speedup"))?;
    Ok(Application { name: name.to_owned(), speedup })
}

/// These columns of a table of values without quotes, in the order asked for.
fn records(table: &str, columns: &[&str]) -> Result<Vec<Vec<String>>> {
    let mut lines = table.lines();
    let header: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let places = columns
        .iter()
        .map(|column| {
            header.iter().position(|name| name == column).with_context(|| format!("no column {column}"))
        })
        .collect::<Result<Vec<_>>>()?;
    lines
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            ensure!(cells.len() == header.len(), "{} cells instead of {}: {line}", cells.len(), header.len());
            Ok(places.iter().map(|place| cells[*place].to_owned()).collect())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_files_are_read_and_sorted() {
        let measured = spec_2017("Apple_M1_P-Core_O3", "bookworm").unwrap();
        assert_eq!(measured[0], Application { name: "557.xz_r".to_owned(), speedup: 1.9853 });
        assert_eq!(measured[22], Application { name: "519.lbm_r".to_owned(), speedup: 4.4125 });
        assert!(spec_2017("Apple_M1_P-Core_O3-flto", "bookworm").is_err(), "ten applications only");
        let estimated = estimated().unwrap();
        assert_eq!((estimated[0].speedup, estimated[38].speedup), (1.499, 3.5));
        assert!(measured.is_sorted_by_key(|application| application.speedup));
    }

    #[test]
    fn rules_take_what_they_say() {
        let applications: Vec<Application> = [1.0, 1.5, 1.6, 1.7, 2.5, 3.0, 4.0]
            .map(|speedup| Application { name: String::new(), speedup })
            .to_vec();
        assert_eq!(values(&evenly_spread(&applications, 3)), [1.0, 1.7, 4.0]);
        assert_eq!(values(&evenly_spread(&applications, 4)), [1.0, 1.6, 2.5, 4.0]);
        assert_eq!(values(&most_alike(&applications, 3)), [1.5, 1.6, 1.7]);
    }

    #[test]
    fn a_broken_table_is_an_error() {
        assert!(records("a,b\n1,2\n3\n", &["a"]).is_err());
        assert!(records("a,b\n1,2\n", &["c"]).is_err());
        assert_eq!(records("a,b\n1,2\n", &["b", "a"]).unwrap(), [["2", "1"]]);
    }
}
