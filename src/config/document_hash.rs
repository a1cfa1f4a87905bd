//! By which number a gateway shows which document it has in force.

use sha2::{Digest as _, Sha256};

/// The name of the gauge in Envoy that shows it.
pub const GAUGE: &str = "trilane_config_hash";

/// The number of a document with this SHA-256: its first 52 bits. Envoy and what reads its stats show numbers as doubles, which
/// hold 53 bits.
pub fn of_digest(digest: &[u8; 32]) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = *digest;
    u64::from_be_bytes([a, b, c, d, e, f, g, h]) >> 12
}

/// The number of a document: of its text, as the gateway gets it.
pub fn of_text(text: &[u8]) -> u64 {
    of_digest(&Sha256::digest(text).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_begins_the_digest_and_is_exact_as_a_double() {
        // e3b0c44298fc1c14…: of nothing.
        assert_eq!(of_text(b""), 0x000e_3b0c_4429_8fc1);
        assert_ne!(of_text(b"{}"), of_text(b"{ }"));
        assert_eq!(of_digest(&[0xff; 32]), (1 << 52) - 1);
    }
}
