//! Tables for people, aligned.

use std::io::{self, Write};

use crate::terminal::printable;

/// Writes rows, the first of which is the head. A column that has nothing in any other row is left out.
pub fn write<const N: usize>(rows: &[[String; N]], out: &mut impl Write) -> io::Result<()> {
    let width = |place: usize| {
        let column = rows.iter().filter_map(|row| row.get(place));
        column
            .map(|cell| printable(cell).chars().count())
            .max()
            .unwrap_or(0)
    };
    let is_used = |place: &usize| {
        let mut body = rows.iter().skip(1).filter_map(|row| row.get(*place));
        *place == 0 || body.any(|cell| !cell.is_empty())
    };
    let columns: Vec<(usize, usize)> = (0..N)
        .filter(is_used)
        .map(|place| (place, width(place)))
        .collect();
    for row in rows {
        let cells = columns.iter().filter_map(|(place, width)| {
            let cell = printable(row.get(*place)?);
            Some(format!("{cell:<width$}"))
        });
        let line = cells.collect::<Vec<_>>().join("  ");
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_empty_ones_left_out() {
        let rows = [["id", "none", "é"], ["long", "", "1"], ["x\u{1b}", "", ""]];
        let rows = rows.map(|row| row.map(str::to_owned));
        let mut out = Vec::new();
        write(&rows, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "id    é\nlong  1\nx\u{fffd}\n");
        let mut out = Vec::new();
        write(&rows[..1], &mut out).unwrap();
        assert_eq!(out, b"id\n", "no rows");
    }
}
