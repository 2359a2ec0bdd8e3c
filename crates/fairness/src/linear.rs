//! Linear programs, by the dual simplex method.

/// Numbers below this count as 0, since the programs here have coefficients near 1.
const ZERO: f64 = 1e-9;
/// Steps without progress after which ties are broken by Bland's rule, which never goes round in a circle.
const PATIENCE: usize = 50;

/// `maximise sum c_j x_j` with `sum a_ij x_j <= b_i` and `x_j >= 0`, where no `c_j` is above 0.
///
/// At 0 such a program is best but need not be permitted: some `b_i` may be below 0. The dual simplex method (C. E. Lemke, 1954; V. Chvátal,
/// *Linear Programming*, 1983, chapter 10) goes from there, one exchange of variables at a time, to what is permitted, and stays best. It keeps a
/// dense table: rows for the variables that are not 0, columns for those that are, the objective in the last row.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    rows: usize,
    columns: usize,
    /// `rows + 1` rows of `columns + 1` numbers, the limit `b_i` last.
    table: Vec<f64>,
    /// The variable of a row and of a column: `j` for `x_j`, `columns + i` for what is left of limit `i`.
    row_variables: Vec<usize>,
    column_variables: Vec<usize>,
    /// A copy of the row in which variables are exchanged.
    pivot: Vec<f64>,
}

impl Program {
    /// Makes this a program of `rows` limits and `columns` variables, all of whose numbers are 0. Reuses the memory of the program before it.
    pub(crate) fn clear(&mut self, rows: usize, columns: usize) {
        (self.rows, self.columns) = (rows, columns);
        self.table.clear();
        self.table.resize((rows + 1) * (columns + 1), 0.0);
        self.row_variables.clear();
        self.row_variables.extend(columns..columns + rows);
        self.column_variables.clear();
        self.column_variables.extend(0..columns);
    }

    /// What a unit of `x_j` is worth; at most 0.
    pub(crate) fn set_worth(&mut self, column: usize, worth: f64) {
        debug_assert!(worth <= 0.0, "{worth} is above 0: the method would begin at what is not best");
        *self.at(self.rows, column) = -worth;
    }

    /// `a_ij`.
    pub(crate) fn set(&mut self, row: usize, column: usize, number: f64) {
        *self.at(row, column) = number;
    }

    /// `b_i`.
    pub(crate) fn set_limit(&mut self, row: usize, limit: f64) {
        *self.at(row, self.columns) = limit;
    }

    /// Solves it, and writes the variables into `solution`. `None` when the limits contradict each other, or rounding errors are in the way.
    pub(crate) fn solve(&mut self, solution: &mut [f64]) -> Option<()> {
        let (mut best, mut stuck) = (f64::INFINITY, 0);
        // Far more steps than any program of this kind was seen to need.
        for _ in 0..100 * (self.rows + self.columns + PATIENCE) {
            let is_careful = stuck > PATIENCE;
            let Some(row) = self.most_violated(is_careful) else {
                self.read(solution);
                return Some(());
            };
            let column = self.cheapest(row, is_careful)?;
            self.exchange(row, column);
            let now = self.table[self.rows * (self.columns + 1) + self.columns];
            stuck = if now < best - ZERO { 0 } else { stuck + 1 };
            best = best.min(now);
        }
        None
    }

    fn at(&mut self, row: usize, column: usize) -> &mut f64 {
        &mut self.table[row * (self.columns + 1) + column]
    }

    fn row(&self, row: usize) -> &[f64] {
        &self.table[row * (self.columns + 1)..][..=self.columns]
    }

    /// The limit that is violated most; by Bland's rule the one with the least variable.
    fn most_violated(&self, is_careful: bool) -> Option<usize> {
        let limit = |row: usize| self.table[row * (self.columns + 1) + self.columns];
        let violated = (0..self.rows).filter(|row| limit(*row) < -ZERO);
        if is_careful {
            return violated.min_by_key(|row| self.row_variables[*row]);
        }
        violated.min_by(|a, b| limit(*a).total_cmp(&limit(*b)))
    }

    /// The variable that costs least for what it contributes to a violated limit; of equals the one that contributes most, by Bland's rule the
    /// least.
    fn cheapest(&self, row: usize, is_careful: bool) -> Option<usize> {
        let (numbers, costs) = (self.row(row), self.row(self.rows));
        let mut found: Option<(usize, f64)> = None;
        for column in (0..self.columns).filter(|column| numbers[*column] < -ZERO) {
            let price = costs[column].max(0.0) / -numbers[column];
            let is_better = found.is_none_or(|(other, least)| {
                let is_equal = (price - least).abs() <= ZERO;
                let breaks_tie = if is_careful {
                    self.column_variables[column] < self.column_variables[other]
                } else {
                    numbers[column] < numbers[other]
                };
                if is_equal { breaks_tie } else { price < least }
            });
            if is_better {
                found = Some((column, price));
            }
        }
        found.map(|(column, _)| column)
    }

    /// The variable of the column takes the place of the row's.
    fn exchange(&mut self, row: usize, column: usize) {
        let width = self.columns + 1;
        let mut pivot = std::mem::take(&mut self.pivot);
        pivot.clear();
        pivot.extend_from_slice(self.row(row));
        let by = pivot[column];
        for number in &mut pivot {
            *number /= by;
        }
        pivot[column] = 1.0 / by;
        for (index, numbers) in self.table.chunks_exact_mut(width).enumerate() {
            let factor = numbers[column];
            if index == row {
                numbers.copy_from_slice(&pivot);
            } else if factor != 0.0 {
                numbers[column] = 0.0;
                for (number, pivot) in numbers.iter_mut().zip(&pivot) {
                    *number -= factor * pivot;
                }
            }
        }
        self.pivot = pivot;
        std::mem::swap(&mut self.row_variables[row], &mut self.column_variables[column]);
    }

    fn read(&self, solution: &mut [f64]) {
        solution.fill(0.0);
        for (row, variable) in self.row_variables.iter().enumerate() {
            if let Some(value) = solution.get_mut(*variable).filter(|_| *variable < self.columns) {
                *value = self.table[row * (self.columns + 1) + self.columns].max(0.0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Worths, then rows of numbers with their limit last.
    fn solve(worths: &[f64], rows: &[&[f64]]) -> Option<Vec<f64>> {
        let mut program = Program::default();
        program.clear(rows.len(), worths.len());
        worths.iter().enumerate().for_each(|(column, worth)| program.set_worth(column, *worth));
        for (row, numbers) in rows.iter().enumerate() {
            let (limit, numbers) = numbers.split_last().unwrap();
            numbers.iter().enumerate().for_each(|(column, number)| program.set(row, column, *number));
            program.set_limit(row, *limit);
        }
        let mut solution = vec![0.0; worths.len()];
        program.solve(&mut solution).map(|()| solution)
    }

    #[test]
    fn a_cheapest_diet() {
        // At least 4 of a and 5 of b. The first food has 2 and 1 of them for 3, the second 1 and 2 for 2.
        let found = solve(&[-3.0, -2.0], &[&[-2.0, -1.0, -4.0], &[-1.0, -2.0, -5.0]]).unwrap();
        assert!((found[0] - 1.0).abs() < 1e-9 && (found[1] - 2.0).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn what_is_permitted_from_the_beginning_stays() {
        assert_eq!(solve(&[-1.0], &[&[1.0, 2.0]]), Some(vec![0.0]));
    }

    #[test]
    fn contradictions_have_no_solution() {
        assert_eq!(solve(&[-1.0], &[&[-1.0, -2.0], &[1.0, 1.0]]), None);
    }

    #[test]
    fn ties_do_not_go_round_in_a_circle() {
        let found = solve(
            &[0.0, 0.0, 0.0],
            &[&[-1.0, -1.0, 0.0, -1.0], &[0.0, -1.0, -1.0, -1.0], &[1.0, 1.0, 1.0, 1.0]],
        )
        .unwrap();
        assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-9 && (found[1] - 1.0).abs() < 1e-9, "{found:?}");
    }
}
