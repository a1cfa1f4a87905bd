//! Structural skip below all that is looked for: strings, and the bytes usual between them, in one go.

use super::part::PartHint;
use super::{JsonScanner, JsonState, StringRole};
use crate::text::{Container, is_whitespace, number_length, skip_string, skip_whitespace};

impl JsonScanner {
    /// Reads on in a string that nobody reads, or from a comma, as far as the values come that nobody reads; gives what
    /// is left of the chunk.
    ///
    /// It stops before whatever is wrong, or cut by the chunk's end; before a string that may be a part of the input;
    /// before the brackets of what is watched, and of what is only text; and behind the opening quote of a key that is
    /// compared.
    // It needs all registers for itself.
    #[inline(never)]
    pub(super) fn skip_nested<'a>(&mut self, chunk: &'a [u8]) -> &'a [u8] {
        let mut rest = chunk;
        let mut in_object = self.nesting.inner() == Some(Container::Object);
        let mut in_string = matches!(self.state, JsonState::Text);
        let mut is_key = in_string && self.text == StringRole::NestedKey;
        let reads_parts = self.reads_parts();
        let watched = usize::from(self.scopes.depth());
        let floor = watched.max(usize::from(self.text_depth));
        let mut hint = PartHint::None;
        // Whether the string being read may have begun in a chunk before.
        let mut begun = true;
        let state = 'strings: loop {
            if in_string {
                let length = skip_string(rest, &mut self.unicode_escapes);
                let (text, after) = rest.split_at_checked(length).unwrap_or((rest, &[]));
                rest = after;
                let [b'"', behind @ ..] = rest else {
                    if is_key && reads_parts {
                        self.keep_key(text, begun);
                    }
                    break JsonState::Text;
                };
                rest = to_token(behind);
                if is_key && reads_parts {
                    hint = if begun {
                        self.hint_of_kept(text)
                    } else {
                        PartHint::of(text)
                    };
                }
            }
            let mut value_next = is_key;
            if is_key {
                let [b':', behind @ ..] = rest else {
                    break JsonState::Colon;
                };
                rest = to_token(behind);
            }
            (in_string, begun) = (true, false);
            // The brackets and commas up to the next string.
            loop {
                if value_next {
                    match rest {
                        [b'"', behind @ ..] if hint == PartHint::None || !hint.may_be_part() => {
                            (rest, is_key, hint) = (behind, false, PartHint::None);
                            continue 'strings;
                        }
                        [b'"', ..] => break 'strings JsonState::Value,
                        [b'{' | b'[', ..] if hint != PartHint::None && hint.is_text() => {
                            break 'strings JsonState::Value;
                        }
                        [b'{', behind @ ..] => {
                            if self.nesting.open(Container::Object).is_err() {
                                break 'strings JsonState::Value;
                            }
                            in_object = true;
                            if hint != PartHint::None || self.holder != 0 {
                                self.note_holder(hint);
                                hint = PartHint::None;
                            }
                            rest = to_token(behind);
                            let [b'"', behind @ ..] = rest else {
                                break 'strings JsonState::FirstKey;
                            };
                            (rest, is_key) = (behind, true);
                            continue 'strings;
                        }
                        [b'[', behind @ ..] => {
                            if self.nesting.open(Container::Array).is_err() {
                                break 'strings JsonState::Value;
                            }
                            in_object = false;
                            hint = PartHint::None;
                            rest = to_token(behind);
                            // An empty one is rare.
                            if matches!(rest, [] | [b']', ..]) {
                                break 'strings JsonState::FirstItem;
                            }
                        }
                        [b'-' | b'0'..=b'9', ..] => {
                            let Some(length) = number_length(rest) else {
                                break 'strings JsonState::Value;
                            };
                            rest = to_token(rest.get(length..).unwrap_or_default());
                            (value_next, hint) = (false, PartHint::None);
                        }
                        [b't', b'r', b'u', b'e', behind @ ..]
                        | [b'f', b'a', b'l', b's', b'e', behind @ ..]
                        | [b'n', b'u', b'l', b'l', behind @ ..] => {
                            rest = to_token(behind);
                            (value_next, hint) = (false, PartHint::None);
                        }
                        _ => break 'strings JsonState::Value,
                    }
                } else {
                    match rest {
                        [b',', behind @ ..] if !in_object => {
                            rest = to_token(behind);
                            // What is watched may begin here.
                            if self.nesting.depth() == watched {
                                break 'strings JsonState::Value;
                            }
                            value_next = true;
                        }
                        [b',', behind @ ..] => {
                            rest = to_token(behind);
                            let [b'"', behind @ ..] = rest else {
                                break 'strings JsonState::Key;
                            };
                            rest = behind;
                            is_key = true;
                            if self.nesting.depth() == watched {
                                self.begin_key();
                                return rest;
                            }
                            continue 'strings;
                        }
                        [b'}', behind @ ..] if in_object && self.nesting.depth() > floor => {
                            rest = to_token(behind);
                            in_object = self.close_inner();
                        }
                        [b']', behind @ ..] if !in_object && self.nesting.depth() > floor => {
                            rest = to_token(behind);
                            in_object = self.close_inner();
                        }
                        _ => break 'strings JsonState::AfterValue,
                    }
                }
            }
        };
        self.text = if is_key {
            StringRole::NestedKey
        } else {
            StringRole::Value
        };
        self.state = state;
        self.hint = hint;
        rest
    }

    /// Keeps part of a key that the chunk's end cuts.
    #[inline(never)]
    fn keep_key(&mut self, fragment: &[u8], begun: bool) {
        if !begun {
            self.key.clear();
        }
        self.key.push(fragment);
    }

    /// Returns the hint of a key that ends with `fragment`, and may have begun in a chunk before.
    #[inline(never)]
    fn hint_of_kept(&mut self, fragment: &[u8]) -> PartHint {
        if self.key.is_empty() {
            return PartHint::of(fragment);
        }
        self.key.push(fragment);
        PartHint::of(self.key.bytes())
    }

    /// Notes whether the object that was just opened has a part in it.
    #[inline(never)]
    pub(super) fn note_holder(&mut self, hint: PartHint) {
        self.holder = if hint.holds() { self.depth() } else { 0 };
    }

    /// Closes an array or object that is not watched; whether what is around it is an object.
    fn close_inner(&mut self) -> bool {
        self.nesting.close();
        self.nesting.inner() == Some(Container::Object)
    }
}

/// The bytes from the next one that is not whitespace.
#[inline]
fn to_token(bytes: &[u8]) -> &[u8] {
    match bytes {
        [byte, ..] if is_whitespace(*byte) => skip_whitespace(bytes),
        _ => bytes,
    }
}

#[cfg(test)]
mod tests;
