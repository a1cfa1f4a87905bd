//! Statements with many rows, for SQLite: each statement is a message to the thread of its connection and back, which costs more
//! than a row.

/// The most rows of a statement. Statements with as many are prepared once.
pub const ROWS: usize = 100;

/// `VALUES (…), (…)` for so many rows and columns.
pub fn values(rows: usize, columns: usize) -> String {
    let row = format!("({})", vec!["?"; columns].join(", "));
    format!("VALUES {}", vec![row; rows].join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements() {
        assert_eq!(values(2, 3), "VALUES (?, ?, ?), (?, ?, ?)");
    }
}
