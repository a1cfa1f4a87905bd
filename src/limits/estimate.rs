//! The estimate of the tokens that a request may use, made before it is forwarded.

use super::rate::Rate;
use crate::money::Amount;

/// The use that a request reserves until its usage is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Estimate {
    /// Tokens that the model will read.
    pub input: u64,
    /// Tokens that it will write.
    pub output: u64,
    /// The expected cost. Only budgets use it.
    pub charge: Amount,
    /// Whether it names a model without a price, which no budget can count.
    pub unpriced: bool,
}

/// Tokens that a model writes where the request sets no cap.
const UNCAPPED: u64 = 1000;

impl Estimate {
    /// Of a request with so many tokens of `input` that makes a model write `candidates` answers and caps the output of
    /// each at `cap`.
    pub fn of(input: u64, cap: Option<u64>, candidates: u64) -> Self {
        Self {
            input,
            output: cap.unwrap_or(UNCAPPED).saturating_mul(candidates),
            charge: Amount::ZERO,
            unpriced: false,
        }
    }

    /// Of a request that makes a model read only, as embeddings do.
    pub fn of_reading(input: u64) -> Self {
        Self::of(input, Some(0), 1)
    }

    /// In units of `rate`, cut to the whole `limit`: a request that is estimated beyond the limit is admitted when the
    /// bucket is empty, and settled like every other.
    pub fn units(self, rate: Rate, limit: u32) -> u64 {
        let units = match rate {
            Rate::Requests => 1,
            Rate::InputTokens => self.input,
            Rate::OutputTokens => self.output,
        };
        units.min(u64::from(limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates() {
        let cases = [
            (0, None, 1, (0, UNCAPPED)),
            (1, Some(0), 1, (1, 0)),
            (1, Some(7), 3, (1, 21)),
            (1, None, 2, (1, 2 * UNCAPPED)),
            (1, Some(7), 0, (1, 0)),
            (1, Some(7), u64::MAX, (1, u64::MAX)),
        ];
        for (read, cap, candidates, (input, output)) in cases {
            let want = Estimate {
                input,
                output,
                ..Estimate::default()
            };
            let got = Estimate::of(read, cap, candidates);
            assert_eq!(got, want, "{read}, {cap:?}, {candidates}");
        }
        let reading = Estimate {
            input: 2,
            ..Estimate::default()
        };
        assert_eq!(Estimate::of_reading(2), reading);
        let large = Estimate::of(1_000_000, Some(64_000), 1);
        assert_eq!(large.units(Rate::Requests, 5), 1);
        assert_eq!(large.units(Rate::InputTokens, 1000), 1000);
        assert_eq!(large.units(Rate::OutputTokens, 100_000), 64_000);
    }
}
