//! Sizes of files, as people write them.

use std::str::FromStr;

use serde::Deserialize;

/// The units, in bytes.
const UNITS: [(char, u64); 3] = [('k', 1 << 10), ('M', 1 << 20), ('G', 1 << 30)];

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct FileSize(pub u64);

impl FromStr for FileSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let in_units = UNITS.iter().find_map(|(unit, bytes)| {
            let number = text.strip_suffix(*unit)?;
            Some((number, *bytes))
        });
        let (number, unit) = in_units.unwrap_or((text, 1));
        let size = number
            .parse::<u64>()
            .ok()
            .filter(|_| !number.starts_with('+'));
        match size.and_then(|size| size.checked_mul(unit)) {
            Some(size) if size > 0 => Ok(Self(size)),
            _ => Err(
                "expected a number of bytes, perhaps with k, M or G behind it, such as 256M"
                    .to_owned(),
            ),
        }
    }
}

impl TryFrom<String> for FileSize {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, want) in [
            ("1", Some(1)),
            ("10k", Some(10_240)),
            ("256M", Some(268_435_456)),
            ("2G", Some(2_147_483_648)),
            ("0", None),
            ("", None),
            ("k", None),
            ("+1", None),
            ("-1", None),
            ("1m", None),
            ("1.5G", None),
            ("99999999999999999999G", None),
            ("18446744073709551615G", None),
        ] {
            assert_eq!(text.parse().ok(), want.map(FileSize), "{text}");
        }
    }
}
