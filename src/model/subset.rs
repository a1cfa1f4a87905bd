//! Models of its group that a key may use, where that is not all of them.

use sha2::{Digest as _, Sha256};

/// The mark of a model's id in a key's record: the first bytes of its SHA-256. Names of 64 models would be kilobytes in
/// each record, and a feed's records stand in buckets that every lookup copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ModelTag([u8; Self::LEN]);

impl ModelTag {
    /// The length of a tag, in bytes.
    pub const LEN: usize = 8;

    /// The tag of the model with this id, as a catalog writes it.
    pub fn of(id: &str) -> Self {
        let digest: [u8; 32] = Sha256::digest(id).into();
        let [a, b, c, d, e, f, g, h, ..] = digest;
        Self([a, b, c, d, e, f, g, h])
    }

    /// The tag with these bytes.
    pub const fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes of the tag.
    pub const fn bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }
}

/// The models that a key may use, of those of its group. It is never empty: a key that may use nothing is disabled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelSubset(Box<[ModelTag]>);

impl ModelSubset {
    /// The most models that a key may list. With more it is a group.
    pub const MAX: usize = 64;

    /// The subset with these models; `None` for none, and for more than [`Self::MAX`].
    pub fn new(tags: impl IntoIterator<Item = ModelTag>) -> Option<Self> {
        let tags: Box<[ModelTag]> = tags.into_iter().collect();
        (1..=Self::MAX).contains(&tags.len()).then_some(Self(tags))
    }

    /// Whether the model with this id is one of them.
    pub fn contains(&self, id: &str) -> bool {
        self.0.contains(&ModelTag::of(id))
    }

    /// The tags.
    pub fn tags(&self) -> &[ModelTag] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records of other releases have these bytes.
    #[test]
    fn tags_stay() {
        assert_eq!(hex::encode(ModelTag::of("abc").bytes()), "ba7816bf8f01cfea");
    }

    #[test]
    fn what_a_subset_is() {
        let tags = |number: usize| (0..number).map(|n| ModelTag::of(&n.to_string()));
        for (case, number, is) in [
            ("none", 0, false),
            ("one", 1, true),
            ("the most", ModelSubset::MAX, true),
            ("one more", ModelSubset::MAX + 1, false),
        ] {
            assert_eq!(ModelSubset::new(tags(number)).is_some(), is, "{case}");
        }
        let subset = ModelSubset::new(tags(3)).unwrap();
        assert!(subset.contains("2") && !subset.contains("3"));
    }
}
