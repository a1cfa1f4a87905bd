//! Rows and columns: aligned for people, or as CSV.

use std::borrow::Cow;
use std::io::{self, Write};

use csv::{Terminator, WriterBuilder};

use crate::terminal::printable;

/// Between two columns for people.
const GAP: &str = "  ";

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputColumn {
    name: Cow<'static, str>,
    is_number: bool,
    is_optional: bool,
}

impl OutputColumn {
    /// One of texts, aligned to the left.
    pub fn text(name: &'static str) -> Self {
        Self::named(name.into())
    }

    /// The same with a name that is given on the command line.
    pub fn named(name: Cow<'static, str>) -> Self {
        Self {
            name,
            is_number: false,
            is_optional: false,
        }
    }

    /// One of numbers, aligned to the right.
    pub fn number(name: &'static str) -> Self {
        Self {
            is_number: true,
            ..Self::text(name)
        }
    }

    /// The same column, left out for people where no row has anything in it.
    pub fn optional(self) -> Self {
        Self {
            is_optional: true,
            ..self
        }
    }

    fn aligned(&self, cell: &str, width: usize) -> String {
        if self.is_number {
            format!("{cell:>width$}")
        } else {
            format!("{cell:<width$}")
        }
    }
}

/// A table: a row is a cell for each column.
#[derive(Debug)]
pub struct OutputTable<R> {
    /// The columns, in their order.
    pub columns: Vec<OutputColumn>,
    /// The rows.
    pub rows: R,
    /// The total rows. For people they stand apart.
    pub totals: Vec<Vec<String>>,
}

impl<R: IntoIterator<Item = Vec<String>>> OutputTable<R> {
    /// A table without total rows.
    pub fn new(columns: impl Into<Vec<OutputColumn>>, rows: R) -> Self {
        Self {
            columns: columns.into(),
            rows,
            totals: Vec::new(),
        }
    }

    /// Writes it for people: aligned, without characters that control a terminal.
    ///
    /// # Errors
    /// As the output gives them.
    pub fn write_aligned(self, out: &mut dyn Write) -> io::Result<()> {
        let visible = |row: Vec<String>| row.iter().map(|cell| printable(cell)).collect();
        let rows: Vec<Vec<String>> = self.rows.into_iter().map(visible).collect();
        let totals: Vec<Vec<String>> = self.totals.into_iter().map(visible).collect();
        let cells = |place: usize| {
            let all = rows.iter().chain(&totals);
            all.filter_map(move |row| row.get(place))
        };
        let columns = self.columns.iter().enumerate();
        let columns: Vec<(usize, usize, &OutputColumn)> = columns
            .filter(|(place, column)| {
                !column.is_optional || cells(*place).any(|cell| !cell.is_empty())
            })
            .map(|(place, column)| {
                let widths = cells(place).map(|cell| cell.chars().count());
                let width = widths.fold(column.name.chars().count(), usize::max);
                (place, width, column)
            })
            .collect();
        let mut line = |cell: &dyn Fn(usize, usize, &OutputColumn) -> String| {
            let cells = columns.iter().map(|(place, width, column)| {
                column.aligned(&cell(*place, *width, column), *width)
            });
            let line = cells.collect::<Vec<_>>().join(GAP);
            writeln!(out, "{}", line.trim_end())
        };
        let of_row = |row: &[String], place: usize| row.get(place).cloned().unwrap_or_default();
        line(&|_, _, column| column.name.clone().into_owned())?;
        if !totals.is_empty() {
            line(&|_, width, _| "-".repeat(width))?;
        }
        for row in &rows {
            line(&|place, _, _| of_row(row, place))?;
        }
        if !totals.is_empty() {
            line(&|_, width, _| "-".repeat(width))?;
        }
        for row in &totals {
            line(&|place, _, _| of_row(row, place))?;
        }
        Ok(())
    }

    /// Writes it as CSV (RFC 4180): a header, the rows, the total rows. A row is written before the next is made.
    ///
    /// # Errors
    /// As the output gives them.
    pub fn write_csv(self, out: &mut dyn Write) -> io::Result<()> {
        let mut csv = WriterBuilder::new()
            .terminator(Terminator::CRLF)
            .from_writer(out);
        csv.write_record(self.columns.iter().map(|column| &*column.name))?;
        for row in self.rows.into_iter().chain(self.totals) {
            csv.write_record(&row)?;
        }
        csv.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: &[&[&str]]) -> Vec<Vec<String>> {
        let row = |row: &&[&str]| row.iter().map(|&cell| cell.to_owned()).collect();
        rows.iter().map(row).collect()
    }

    fn aligned(table: OutputTable<Vec<Vec<String>>>) -> String {
        let mut out = Vec::new();
        table.write_aligned(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn columns() -> [OutputColumn; 3] {
        [
            OutputColumn::text("id"),
            OutputColumn::text("none").optional(),
            OutputColumn::text("é").optional(),
        ]
    }

    #[test]
    fn columns_are_aligned_and_empty_ones_left_out() {
        let table = OutputTable::new(columns(), rows(&[&["long", "", "1"], &["x\u{1b}", "", ""]]));
        assert_eq!(aligned(table), "id    é\nlong  1\nx\u{fffd}\n");
        let table = OutputTable::new(columns(), Vec::new());
        assert_eq!(aligned(table), "id\n", "no rows");
    }

    #[test]
    fn totals_stand_apart() {
        let table = OutputTable {
            columns: vec![OutputColumn::text("key"), OutputColumn::number("count")],
            rows: rows(&[&["a", "7"], &["longer", "1000000"]]),
            totals: rows(&[&["TOTAL", "1000007"]]),
        };
        let want = "\
key       count
------  -------
a             7
longer  1000000
------  -------
TOTAL   1000007
";
        assert_eq!(aligned(table), want);
    }

    #[test]
    fn csv() {
        let table = OutputTable {
            columns: columns().to_vec(),
            rows: rows(&[&["a,\"b\"", "", "1"]]),
            totals: rows(&[&["TOTAL", "", "1"]]),
        };
        let mut out = Vec::new();
        table.write_csv(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "id,none,é\r\n\"a,\"\"b\"\"\",,1\r\nTOTAL,,1\r\n");
    }
}
