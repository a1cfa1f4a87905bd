//! How many tokens a request may use, guessed before anybody knows.

use super::Rate;

/// What a request is taken to cost until its usage is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Estimate {
    /// Tokens that the model will read.
    pub input: u64,
    /// Tokens that it will write.
    pub output: u64,
}

/// Bytes of a request body for each token it has: the rule of thumb that model makers give for
/// English text, and on the safe side for the JSON around it.
const BYTES_PER_TOKEN: u64 = 4;
/// Tokens that a model writes where the request sets no cap.
const UNCAPPED: u64 = 1000;

impl Estimate {
    /// Of a request that makes a model write: its body has `body_bytes`, and it caps the output at
    /// `cap`.
    pub fn of(body_bytes: u64, cap: Option<u64>) -> Self {
        Self {
            input: body_bytes.div_ceil(BYTES_PER_TOKEN),
            output: cap.unwrap_or(UNCAPPED),
        }
    }

    /// In units of `rate`, as far as a limit of `limit` can hold: a request that is estimated beyond
    /// it is admitted when nothing else is, and settled like every other.
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
            (0, None, 0, UNCAPPED),
            (1, Some(0), 1, 0),
            (4, Some(7), 1, 7),
            (4001, Some(32_000), 1001, 32_000),
        ];
        for (bytes, cap, input, output) in cases {
            let want = Estimate { input, output };
            assert_eq!(Estimate::of(bytes, cap), want, "{bytes}, {cap:?}");
        }
        let large = Estimate::of(4_000_000, Some(64_000));
        assert_eq!(large.units(Rate::Requests, 5), 1);
        assert_eq!(large.units(Rate::InputTokens, 1000), 1000);
        assert_eq!(large.units(Rate::OutputTokens, 100_000), 64_000);
    }
}
