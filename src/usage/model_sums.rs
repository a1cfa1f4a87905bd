//! Usage of other models for an answer, by the names that the upstream gives them.

use super::short_text::ShortText;

/// The maximum number of models that are told apart.
pub(super) const MAX_OTHERS: usize = 4;

/// The number of sums for each model.
pub(super) const SUMS: usize = 6;

/// Sums by name, in the order of the names' first entry. Most answers have none, so they take no room before the first.
#[derive(Clone, Default)]
pub(super) struct ModelSums(Vec<ModelSum>);

#[derive(Clone, Copy, Default)]
pub(super) struct ModelSum {
    name: ShortText,
    /// The totals beside the list are said to contain these; the name may be missing then.
    pub(super) in_totals: bool,
    pub(super) sums: [u64; SUMS],
}

impl ModelSum {
    pub(super) fn name(&self) -> Option<&str> {
        self.name.text()
    }
}

impl ModelSums {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds to what is summed up under a name. Where there is no room for another name, the last one has it: what was used is
    /// never lost.
    pub(super) fn add(&mut self, name: &[u8], in_totals: bool, more: [u64; SUMS]) {
        let known = self.as_slice();
        let same = |other: &ModelSum| other.in_totals == in_totals && other.name.as_bytes() == name;
        let at = known.iter().position(same);
        let at = at.unwrap_or_else(|| self.begin(name, in_totals));
        if let Some(other) = self.0.get_mut(at) {
            for (sum, more) in other.sums.iter_mut().zip(more) {
                *sum = sum.saturating_add(more);
            }
        }
    }

    /// Takes a new name, if there is room; gives the place of what is to be added to.
    fn begin(&mut self, name: &[u8], in_totals: bool) -> usize {
        if self.0.len() < MAX_OTHERS {
            let mut other = ModelSum {
                in_totals,
                ..ModelSum::default()
            };
            other.name.set(name);
            self.0.push(other);
        }
        self.0.len().saturating_sub(1)
    }

    pub(super) fn as_slice(&self) -> &[ModelSum] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fifth_name_joins_the_last() {
        let mut others = ModelSums::default();
        for round in 0..2 {
            for (name, value) in [
                (b"a", 1),
                (b"b", 2),
                (b"c", 3),
                (b"d", 4),
                (b"e", 50),
                (b"a", 100),
            ] {
                others.add(name, false, [value, 0, 0, 0, 0, u64::MAX]);
            }
            let sums = others.as_slice().iter();
            let sums: Vec<_> = sums
                .map(|other| (other.name().unwrap(), other.sums[0]))
                .collect();
            let times = round + 1;
            let want = [
                ("a", 101 * times),
                ("b", 2 * times),
                ("c", 3 * times),
                ("d", 54 * times),
            ];
            assert_eq!(sums, want);
            assert_eq!(others.as_slice()[0].sums[5], u64::MAX);
        }
        others.clear();
        assert!(others.as_slice().is_empty());
        others.add(b"d", false, [7; SUMS]);
        others.add(b"d", true, [8; SUMS]);
        assert_eq!(others.as_slice()[0].sums, [7; SUMS]);
        assert_eq!(others.as_slice()[1].sums, [8; SUMS], "told apart");
    }
}
