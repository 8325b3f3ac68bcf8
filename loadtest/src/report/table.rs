//! Aligned columns for a terminal.

use super::text::Style;

/// How a cell is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ink {
    Plain,
    Good,
    Bad,
    Caution,
    Dim,
    Strong,
}

/// A table: a heading row, then rows of cells. The first column is on the left, the others on the right, unless said otherwise.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<Vec<(String, Ink)>>,
    left: Vec<usize>,
}

impl Table {
    /// A table with this heading.
    pub(super) fn new(heading: &[&str]) -> Self {
        let heading = heading.iter().map(|name| ((*name).to_owned(), Ink::Dim)).collect();
        Self { rows: vec![heading], left: vec![0] }
    }

    /// Puts a column on the left.
    pub(super) fn left(mut self, column: usize) -> Self {
        self.left.push(column);
        self
    }

    /// Adds a row.
    pub(super) fn row(&mut self, cells: Vec<(String, Ink)>) {
        self.rows.push(cells);
    }

    /// Adds a row in plain ink.
    pub(super) fn plain(&mut self, cells: Vec<String>) {
        self.row(cells.into_iter().map(|cell| (cell, Ink::Plain)).collect());
    }

    /// The lines, indented, without spaces at their ends.
    pub(super) fn lines(&self, style: Style) -> Vec<String> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            self.rows
                .iter()
                .filter_map(|row| row.get(column))
                .map(|(cell, _)| cell.chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        self.rows.iter().map(|row| self.line(row, &widths, style)).collect()
    }

    fn line(&self, row: &[(String, Ink)], widths: &[usize], style: Style) -> String {
        let mut line = String::new();
        for (column, (cell, ink)) in row.iter().enumerate() {
            let space = " ".repeat(widths[column].saturating_sub(cell.chars().count()));
            line.push_str("  ");
            let inked = style.ink(cell, *ink);
            if self.left.contains(&column) {
                line.push_str(&inked);
                // Nothing follows the last cell.
                if column + 1 < row.len() {
                    line.push_str(&space);
                }
            } else {
                line.push_str(&space);
                line.push_str(&inked);
            }
        }
        line.truncate(line.trim_end().len());
        line
    }
}
