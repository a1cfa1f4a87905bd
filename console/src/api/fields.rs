//! Fields that may be absent, null or given.

use serde::{Deserialize, Deserializer};

/// Reads a field that is there: `null` takes a value away, where an absent field leaves it.
///
/// # Errors
/// Those of the value.
pub fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}
