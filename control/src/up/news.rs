//! The lines that were not among those of the time before.

use std::sync::{Mutex, PoisonError};

/// The lines that were told last.
#[derive(Debug, Default)]
pub struct News(Mutex<Vec<String>>);

impl News {
    /// Finds the lines that are new.
    pub fn of(&self, all: &[String]) -> Vec<String> {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let new = all.iter().filter(|line| !told.contains(line));
        let new = new.cloned().collect();
        *told = all.to_owned();
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_new() {
        let news = News::default();
        let lines = |all: &[&str]| {
            all.iter()
                .map(|line| (*line).to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(news.of(&lines(&["a"])), ["a"]);
        assert_eq!(news.of(&lines(&["a", "b"])), ["b"]);
        assert_eq!(news.of(&lines(&["b"])), [""; 0]);
        assert_eq!(
            news.of(&lines(&["a", "b"])),
            ["a"],
            "it went and came again"
        );
    }
}
