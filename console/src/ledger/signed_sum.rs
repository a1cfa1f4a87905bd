//! Differences of sums, which may be less than nothing.

use super::charge::Sum;

/// A sum of money, or the difference of two: exact, and it may be less than nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SignedSum {
    is_negative: bool,
    amount: Sum,
}

impl SignedSum {
    /// A sum less another of the same currency.
    pub fn difference(of: &Sum, less: &Sum) -> Self {
        let is_negative = less > of;
        let (greater, smaller) = if is_negative { (less, of) } else { (of, less) };
        Self {
            is_negative,
            amount: smaller.below(greater),
        }
    }

    /// Fractional digits that the exact value needs.
    pub fn places(&self) -> u32 {
        self.amount.places()
    }

    /// The exact value, without zeros at its end.
    pub fn text(&self) -> String {
        self.signed(self.amount.text())
    }

    /// With so many fractional digits, rounded half away from zero where the exact value has more.
    pub fn shown(&self, places: u32) -> String {
        self.signed(self.amount.shown(places))
    }

    /// With its sign, unless nothing is left of it.
    fn signed(&self, amount: String) -> String {
        let is_nothing = amount.bytes().all(|byte| matches!(byte, b'0' | b'.'));
        if self.is_negative && !is_nothing {
            format!("-{amount}")
        } else {
            amount
        }
    }
}

impl From<Sum> for SignedSum {
    fn from(amount: Sum) -> Self {
        Self {
            is_negative: false,
            amount,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_exact() {
        // (a sum, less another, exactly, with two places)
        for (of, less, text, shown) in [
            ("3", "1", "2", "2.00"),
            ("1", "3", "-2", "-2.00"),
            ("0", "0", "0", "0.00"),
            (
                "0.1",
                "0.30000000000000000001",
                "-0.20000000000000000001",
                "-0.20",
            ),
            ("0.125", "0.25", "-0.125", "-0.13"),
            ("0.25", "0.125", "0.125", "0.13"),
            ("1", "1.004", "-0.004", "0.00"),
            (
                "9000000000000000000000.25",
                "0.5",
                "8999999999999999999999.75",
                "8999999999999999999999.75",
            ),
        ] {
            let sum = |text| Sum::parse(text).unwrap();
            let got = SignedSum::difference(&sum(of), &sum(less));
            assert_eq!(
                (got.text().as_str(), got.shown(2).as_str()),
                (text, shown),
                "{of} - {less}"
            );
        }
    }
}
