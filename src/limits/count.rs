//! The tokens that a request has used, as far as they are known.

/// Tokens of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// The exact number.
    Exactly(u64),
    /// The number reported by a response that was cut short; the rest is unknown.
    AtLeast(u64),
}

impl Count {
    /// Returns the number to count in place of `estimate`: the known one, and at least the estimate where the rest is unknown. So a
    /// client gains nothing by aborting before the usage is reported.
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
