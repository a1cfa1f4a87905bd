//! A distribution of times, kept whole: exact quantiles, no buckets.

use serde::Serialize;

/// Times in nanoseconds.
#[derive(Debug, Default)]
pub struct Times(Vec<u64>);

/// The count, quantiles and maximum of a distribution; times are in microseconds.
#[derive(Debug, Serialize, PartialEq)]
pub struct Summary {
    count: usize,
    p50: f64,
    p99: f64,
    #[serde(rename = "p99.9")]
    p999: f64,
    max: f64,
}

impl Times {
    /// One more.
    pub fn add(&mut self, time: u64) {
        self.0.push(time);
    }

    /// All of them in short; `None` of none.
    pub fn summary(&mut self) -> Option<Summary> {
        self.0.sort_unstable();
        let last = *self.0.last()?;
        Some(Summary {
            count: self.0.len(),
            p50: self.quantile(500),
            p99: self.quantile(990),
            p999: self.quantile(999),
            max: micros(last),
        })
    }

    /// The least time that `thousandths` of all do not exceed.
    fn quantile(&self, thousandths: usize) -> f64 {
        let rank = (self.0.len() * thousandths).div_ceil(1000).max(1);
        micros(self.0[rank - 1])
    }
}

fn micros(nanos: u64) -> f64 {
    nanos as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_times_that_occurred() {
        type Case = (&'static str, Vec<u64>, Option<[f64; 4]>);
        let cases: [Case; 3] = [
            ("none", vec![], None),
            ("one", vec![7_000], Some([7.0; 4])),
            (
                "a thousand, backwards",
                (1..=1000).rev().map(|n| n * 1000).collect(),
                Some([500.0, 990.0, 999.0, 1000.0]),
            ),
        ];
        for (name, times, want) in cases {
            let got = Times(times).summary();
            let got = got.map(|s| [s.p50, s.p99, s.p999, s.max]);
            assert_eq!(got, want, "{name}");
        }
    }
}
