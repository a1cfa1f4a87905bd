//! Reasons that the gateway's own checks of a document give most often, in the language of the page; the others stay in English.

use std::borrow::Cow;

use crate::language::translated;

/// Of amounts, prices and multipliers.
const REASONS: [&str; 8] = [
    text!("must be a plain decimal number in a string, such as \"10.00\""),
    text!("must be a plain decimal number in a string, such as \"1.25\""),
    text!("must be a plain decimal number in a string, such as \"0.2000\""),
    text!("has more than 20 fractional digits"),
    text!("has more than 6 fractional digits"),
    text!("has more than 4 fractional digits"),
    text!("is out of range (at most 1000000000)"),
    text!("is out of range (at most 1000000)"),
];

/// The reason of a problem.
pub fn reason(english: &str) -> Cow<'_, str> {
    let known = REASONS.into_iter().find(|known| *known == english);
    known.map_or(Cow::Borrowed(english), translated)
}

#[cfg(test)]
mod tests {
    use trilane::money::{Amount, Multiplier, Price};

    use super::*;

    #[test]
    fn reasons_are_those_of_the_gateway() {
        let long = "1.0000000000000000000001";
        let mut given = Vec::new();
        for wrong in ["x", long, "9999999999999"] {
            given.extend(Amount::parse(wrong).err());
            given.extend(Price::parse(wrong).err());
            given.extend(Multiplier::parse(wrong).err());
        }
        for reason in given.iter() {
            assert!(REASONS.contains(reason), "{reason}");
        }
        for reason in REASONS {
            assert!(given.contains(&reason), "{reason}");
        }
    }
}
