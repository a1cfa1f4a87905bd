//! How many tokens a request has used, as far as anybody knows.

/// Tokens of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// So many.
    Exactly(u64),
    /// So many were reported of an answer that was cut short, and nobody knows how many more there were.
    AtLeast(u64),
}

impl Count {
    /// What is counted where `estimate` was guessed: what is known, else the guess stands. Whoever breaks off
    /// before the usage is told so gains nothing by it.
    pub fn settled(self, estimate: u64) -> u64 {
        match self {
            Self::Exactly(count) => count,
            Self::AtLeast(count) => count.max(estimate),
        }
    }
}

impl Default for Count {
    fn default() -> Self {
        Self::Exactly(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted() {
        let cases = [
            ("known", Count::Exactly(7), 7),
            ("known, more than guessed", Count::Exactly(700), 700),
            ("unknown", Count::AtLeast(0), 100),
            ("a part is known", Count::AtLeast(12), 100),
            ("more was reported than guessed", Count::AtLeast(300), 300),
        ];
        for (case, count, want) in cases {
            assert_eq!(count.settled(100), want, "{case}");
        }
    }
}
