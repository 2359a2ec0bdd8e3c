//! Lists of numbers as `sbatch --array=` takes them.

use swtch_units::number_list;

/// Numbers in order as `0,3,17-19`.
pub fn array(numbers: &[usize]) -> String {
    number_list(numbers.iter().map(|number| *number as u64))
}

/// Reads such a list.
///
/// # Errors
/// When it is not one.
pub fn parse_array(text: &str) -> Result<Vec<usize>, String> {
    let wrong = || format!("'{text}' is not a list of shards; write 3 or 0,3,17-19");
    let mut numbers = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) =
            (first.trim().parse().map_err(|_| wrong())?, last.trim().parse().map_err(|_| wrong())?);
        if first > last {
            return Err(wrong());
        }
        numbers.extend(first..=last);
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_short_and_read_back() {
        assert_eq!(array(&[]), "");
        for (numbers, text) in
            [(vec![7], "7"), (vec![0, 1, 2], "0-2"), (vec![3, 17, 40, 41, 42], "3,17,40-42")]
        {
            assert_eq!(array(&numbers), text);
            assert_eq!(parse_array(text).unwrap(), numbers);
        }
        for text in ["", "a", "3-1", "1,,2", "-1"] {
            assert!(parse_array(text).is_err(), "{text}");
        }
    }
}
