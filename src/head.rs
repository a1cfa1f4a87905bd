//! A message head as Envoy hands it over: names in lower case, values as bytes.

use core::ops::Range;

/// The names and values of a request's or response's header block, pseudo-headers included.
///
/// Values are bytes because a client may send any octet but NUL, CR and LF (RFC 9110, section 5.5).
/// `Debug` prints names only: a value may be a credential.
#[derive(Clone, Default)]
pub struct Head {
    /// All texts, with whatever else stands between them.
    bytes: Vec<u8>,
    fields: Vec<FieldPlace>,
    names: NameFilter,
}

/// The names that may be there: a Bloom filter with one bit for a name. Most of the headers that are looked for are absent.
#[derive(Debug, Clone, Default)]
struct NameFilter([u64; 4]);

impl NameFilter {
    /// The word and the bit of a name.
    fn place(name: &[u8]) -> (usize, u64) {
        // Many begin alike, with `x-`.
        let [first, last] =
            [name.first(), name.last()].map(|byte| byte.map_or(0, |it| (*it).into()));
        let sum = name
            .len()
            .wrapping_mul(31)
            .wrapping_add(first)
            .wrapping_add(last.wrapping_mul(5));
        (sum / 64 % 4, 1_u64.rotate_left(sum as u32))
    }

    fn add(&mut self, name: &[u8]) {
        let (word, bit) = Self::place(name);
        if let Some(word) = self.0.get_mut(word) {
            *word |= bit;
        }
    }

    /// Whether the name may be there; if not, it is not.
    fn may_contain(&self, name: &[u8]) -> bool {
        let (word, bit) = Self::place(name);
        self.0.get(word).is_some_and(|word| word & bit != 0)
    }
}

/// The place of a header's name and value.
#[derive(Debug, Clone)]
struct FieldPlace {
    name: Range<usize>,
    value: Range<usize>,
}

/// The occurrence of a header in a [`Head`], with its value where it is unambiguous.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occurrence<'a> {
    /// The header is not there.
    Absent,
    /// It occurs once, with this value (which may be empty).
    Once(&'a [u8]),
    /// It occurs more than once.
    Repeated,
}

impl Head {
    /// Takes pairs in order, names already in lower case.
    pub fn new(pairs: Vec<(String, Vec<u8>)>) -> Self {
        Self::handed_over(header_block(&pairs))
    }

    /// Takes a [`header_block`]. Total on any bytes: of one that says what it has not got, nothing is taken.
    pub fn handed_over(bytes: Vec<u8>) -> Self {
        let fields = fields(&bytes).unwrap_or_default();
        let mut head = Self {
            bytes,
            fields,
            names: NameFilter::default(),
        };
        let mut names = NameFilter::default();
        head.names().for_each(|name| names.add(name));
        head.names = names;
        head
    }

    /// The first value of `name`, or `None` where the header is absent.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.values(name).next()
    }

    /// The value of `name` if it occurs exactly once; security decisions read headers this way.
    pub fn single(&self, name: &str) -> Occurrence<'_> {
        let mut values = self.values(name);
        match (values.next(), values.next()) {
            (None, _) => Occurrence::Absent,
            (Some(value), None) => Occurrence::Once(value),
            (Some(_), Some(_)) => Occurrence::Repeated,
        }
    }

    /// Whether `name` occurs at all.
    pub fn contains(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Every value of `name`, in the order sent.
    pub fn values<'s>(&'s self, name: &str) -> impl Iterator<Item = &'s [u8]> {
        let may_be_there = self.names.may_contain(name.as_bytes());
        let fields = if may_be_there { &*self.fields } else { &[] };
        fields
            .iter()
            .filter(move |field| {
                field.name.len() == name.len() && self.text(&field.name) == name.as_bytes()
            })
            .map(|field| self.text(&field.value))
    }

    /// The names in the order sent, repeated ones repeatedly.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.fields.iter().map(|field| self.text(&field.name))
    }

    /// The `:method` pseudo-header; empty where it is missing.
    pub fn method(&self) -> &[u8] {
        self.get(":method").unwrap_or_default()
    }

    /// The `:path` pseudo-header with its query; empty where it is missing.
    pub fn target(&self) -> &[u8] {
        self.get(":path").unwrap_or_default()
    }

    fn text(&self, place: &Range<usize>) -> &[u8] {
        self.bytes.get(place.clone()).unwrap_or_default()
    }
}

/// A header block as a proxy-wasm host hands it over in one buffer (ABI 0.2.1): the number of fields, the lengths of each
/// one's name and value (all of them 32 bits, little endian), and then names and values themselves, a zero byte behind
/// each.
pub fn header_block(pairs: &[(impl AsRef<[u8]>, impl AsRef<[u8]>)]) -> Vec<u8> {
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX).to_le_bytes();
    let mut bytes = number(pairs.len()).to_vec();
    for (name, value) in pairs {
        bytes.extend(number(name.as_ref().len()));
        bytes.extend(number(value.as_ref().len()));
    }
    for (name, value) in pairs {
        for text in [name.as_ref(), value.as_ref()] {
            bytes.extend_from_slice(text);
            bytes.push(0);
        }
    }
    bytes
}

/// Finds the places of the texts of a header block in its buffer; `None` where it is none.
fn fields(bytes: &[u8]) -> Option<Vec<FieldPlace>> {
    /// The lengths of a name and a value.
    const LENGTHS: usize = 2 * size_of::<u32>();
    let (count, rest) = bytes.split_first_chunk()?;
    let count = usize::try_from(u32::from_le_bytes(*count)).ok()?;
    let lengths = rest.get(..count.checked_mul(LENGTHS)?)?;
    let mut at = size_of::<u32>().checked_add(lengths.len())?;
    let mut next = |length: &[u8; 4]| {
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        let place = at..at.checked_add(length)?;
        at = place.end.checked_add(1)?;
        (at <= bytes.len()).then_some(place)
    };
    let (lengths, _) = lengths.as_chunks::<4>();
    let (pairs, _) = lengths.as_chunks::<2>();
    let mut fields = Vec::with_capacity(count);
    for [name, value] in pairs {
        let (name, value) = (next(name)?, next(value)?);
        fields.push(FieldPlace { name, value });
    }
    Some(fields)
}

impl core::fmt::Debug for Head {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let names = self.names().map(String::from_utf8_lossy);
        f.debug_list().entries(names).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pairs(of: &[(&str, &[u8])]) -> Vec<(String, Vec<u8>)> {
        of.iter()
            .map(|(n, v)| ((*n).to_owned(), v.to_vec()))
            .collect()
    }

    fn head(of: &[(&str, &[u8])]) -> Head {
        Head::new(pairs(of))
    }

    fn read(head: &Head) -> Vec<(String, Vec<u8>)> {
        let name = |name: &[u8]| String::from_utf8(name.to_vec()).unwrap();
        head.fields
            .iter()
            .map(|field| {
                (
                    name(head.text(&field.name)),
                    head.text(&field.value).to_vec(),
                )
            })
            .collect()
    }

    #[test]
    fn occurrences_are_told_apart() {
        let head = head(&[("a", b"1"), ("b", b""), ("a", b"2")]);
        let cases = [
            ("absent", "c", Occurrence::Absent),
            ("empty is present", "b", Occurrence::Once(b"")),
            ("twice", "a", Occurrence::Repeated),
        ];
        for (name, header, want) in cases {
            assert_eq!(head.single(header), want, "{name}");
        }
    }

    #[test]
    fn debug_prints_no_value() {
        let text = format!("{:?}", head(&[("x-api-key", b"sk-secret")]));
        assert_eq!(text, r#"["x-api-key"]"#);
    }

    #[test]
    fn a_block_has_lengths_and_texts() {
        let want = [
            &[2, 0, 0, 0][..],
            &[5, 0, 0, 0, 3, 0, 0, 0],
            &[7, 0, 0, 0, 0, 0, 0, 0],
            b":path\0/v1\0",
            b"x-empty\0\0",
        ];
        let block = header_block(&[(":path", "/v1"), ("x-empty", "")]);
        assert_eq!(block, want.concat());
    }

    #[test]
    fn what_the_buffer_has_not_got_is_not_taken() {
        let good = header_block(&pairs(&[(":method", b"GET"), ("a", b"")]));
        assert_eq!(Head::handed_over(good.clone()).method(), b"GET", "whole");
        for len in 0..good.len() {
            let head = Head::handed_over(good[..len].to_vec());
            assert_eq!(head.names().count(), 0, "cut after {len}");
        }
        let lies: [(&str, usize, [u8; 4]); 3] = [
            ("more fields", 0, [3, 0, 0, 0]),
            ("no end of fields", 0, [0xFF; 4]),
            ("a long name", 4, [0xFF; 4]),
        ];
        for (case, at, number) in lies {
            let mut bytes = good.clone();
            bytes[at..at + 4].copy_from_slice(&number);
            assert_eq!(Head::handed_over(bytes).names().count(), 0, "{case}");
        }
    }

    proptest! {
        #![proptest_config(crate::seeds_beside_source())]

        #[test]
        fn pairs_are_read_as_they_were_written(
            pairs in prop::collection::vec(("[a-z:-]{0,12}", prop::collection::vec(1..=255u8, 0..20)), 0..20),
        ) {
            let head = Head::new(pairs.clone());
            for (name, _) in &pairs {
                let values: Vec<_> = pairs.iter().filter(|(other, _)| other == name).map(|(_, value)| &value[..]).collect();
                prop_assert_eq!(head.values(name).collect::<Vec<_>>(), values, "{}", name);
            }
            prop_assert_eq!(read(&head), pairs);
        }

        #[test]
        fn total_on_any_buffer(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let head = Head::handed_over(bytes);
            let _ = (read_any(&head), head.get("a"));
        }
    }

    fn read_any(head: &Head) -> usize {
        head.fields
            .iter()
            .map(|f| head.text(&f.name).len() + head.text(&f.value).len())
            .sum()
    }
}
