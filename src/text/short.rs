//! Texts of a few bytes.

use super::lanes::Bytes16;
use super::string::Needles;

/// Whether all of a text is plain characters of a JSON string: ASCII, no `"`, no `\`, no control character under 0x20.
pub(crate) fn is_plain(text: &[u8]) -> bool {
    let all_plain = |bytes: &Bytes16| Needles::known().plain_of(false, bytes) == bytes.len();
    match text.last_chunk() {
        Some(last) => text.as_chunks().0.iter().all(all_plain) && all_plain(last),
        None => all_plain(&spread(text)),
    }
}

/// The bytes of a shorter text, some of them more than once, and perhaps letters.
fn spread(short: &[u8]) -> Bytes16 {
    let [low, high] = if let Some((first, last)) = ends(short) {
        [u64::from_le_bytes(*first), u64::from_le_bytes(*last)]
    } else if let Some((first, last)) = ends(short) {
        let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
        [u64::from(first) | (u64::from(last) << 32), LETTERS]
    } else if let (Some((first, last)), middle) = (ends::<1>(short), short.get(1)) {
        let [first, last, middle] = [first[0], last[0], *middle.unwrap_or(&b'a')].map(u64::from);
        [
            first | (last << 8) | (middle << 16) | (LETTERS << 24),
            LETTERS,
        ]
    } else {
        [LETTERS; 2]
    };
    (u128::from(low) | (u128::from(high) << 64)).to_le_bytes()
}

const LETTERS: u64 = u64::from_ne_bytes([b'a'; 8]);

/// Copies bytes to their place, which is as long.
///
/// The usual way to do that is in WebAssembly a call of its host, which for a few bytes is most of the work.
pub(crate) fn copy_short(bytes: &[u8], place: &mut [u8]) {
    // The last bytes may overlap those before with the same.
    if copy_ends::<16>(bytes, place) {
        let blocks = place.as_chunks_mut().0.iter_mut();
        for (place, block) in blocks.zip(bytes.as_chunks::<16>().0) {
            *place = *block;
        }
    } else if !copy_ends::<8>(bytes, place) && !copy_ends::<4>(bytes, place) {
        for (place, byte) in place.iter_mut().zip(bytes).take(3) {
            *place = *byte;
        }
    }
}

/// Copies the first and the last so many bytes, if there are as many.
fn copy_ends<const LENGTH: usize>(bytes: &[u8], place: &mut [u8]) -> bool {
    let Some((first, last)) = ends::<LENGTH>(bytes) else {
        return false;
    };
    if let Some(place) = place.first_chunk_mut() {
        *place = *first;
    }
    if let Some(place) = place.last_chunk_mut() {
        *place = *last;
    }
    true
}

/// The first and the last so many bytes.
fn ends<const LENGTH: usize>(bytes: &[u8]) -> Option<(&[u8; LENGTH], &[u8; LENGTH])> {
    Some((bytes.first_chunk()?, bytes.last_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::skip_plain;

    #[test]
    fn plain_is_what_runs_to_the_end() {
        for length in 0..70 {
            let text = vec![b'x'; length];
            assert!(is_plain(&text), "{length} bytes");
            for place in 0..length {
                for byte in 0..=255_u8 {
                    let mut text = text.clone();
                    text[place] = byte;
                    let want = skip_plain(&text) == length;
                    assert_eq!(is_plain(&text), want, "{byte:#x} at {place} of {length}");
                }
            }
        }
    }

    #[test]
    fn bytess_of_any_length_are_copied() {
        for length in 0..100 {
            let bytes: Vec<u8> = (1..=length).collect();
            let mut place = vec![0; bytes.len()];
            copy_short(&bytes, &mut place);
            assert_eq!(place, bytes, "{length} bytes");
        }
    }
}
