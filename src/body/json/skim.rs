//! What lies below all that is looked for: strings, and what commonly is between them, passed over in one go.

use super::{JsonScanner, State, Text};
use crate::body::nesting::Container;
use crate::text::{is_whitespace, passable_run, skip_whitespace};

impl JsonScanner {
    /// Reads on in a string that nobody reads, and from there as far as nothing but brackets, commas, colons and more such
    /// strings come; gives what is left of the chunk.
    ///
    /// It stops before whatever else there is, be it right or wrong; before the closing bracket of a member of the
    /// outermost object; and behind the opening quote of a key that is compared.
    // It needs all registers for itself.
    #[inline(never)]
    pub(super) fn skim<'a>(&mut self, chunk: &'a [u8]) -> &'a [u8] {
        let mut rest = chunk;
        let mut in_object = self.nesting.inner() == Some(Container::Object);
        let mut is_key = self.text == Text::NestedKey;
        let state = 'strings: loop {
            rest = rest.get(passable_run(rest)..).unwrap_or_default();
            let [b'"', behind @ ..] = rest else {
                break State::Text;
            };
            rest = to_token(behind);
            let mut value_next = is_key;
            if is_key {
                let [b':', behind @ ..] = rest else {
                    break State::Colon;
                };
                rest = to_token(behind);
            }
            // The brackets and commas up to the next string.
            loop {
                if value_next {
                    match rest {
                        [b'"', behind @ ..] => {
                            (rest, is_key) = (behind, false);
                            continue 'strings;
                        }
                        [b'{', behind @ ..] => {
                            if self.nesting.open(Container::Object).is_err() {
                                break 'strings State::Value;
                            }
                            in_object = true;
                            rest = to_token(behind);
                            let [b'"', behind @ ..] = rest else {
                                break 'strings State::FirstKey;
                            };
                            (rest, is_key) = (behind, true);
                            continue 'strings;
                        }
                        [b'[', behind @ ..] => {
                            if self.nesting.open(Container::Array).is_err() {
                                break 'strings State::Value;
                            }
                            in_object = false;
                            rest = to_token(behind);
                            // An empty one is rare.
                            if matches!(rest, [] | [b']', ..]) {
                                break 'strings State::FirstItem;
                            }
                        }
                        _ => break 'strings State::Value,
                    }
                } else {
                    match rest {
                        [b',', behind @ ..] if !in_object => {
                            rest = to_token(behind);
                            value_next = true;
                        }
                        [b',', behind @ ..] => {
                            rest = to_token(behind);
                            let [b'"', behind @ ..] = rest else {
                                break 'strings State::Key;
                            };
                            rest = behind;
                            is_key = true;
                            if self.object().is_some() {
                                self.begin_key();
                                return rest;
                            }
                            continue 'strings;
                        }
                        [b'}', behind @ ..] if in_object && self.nesting.depth() > 2 => {
                            rest = to_token(behind);
                            in_object = self.close_inner();
                        }
                        [b']', behind @ ..] if !in_object && self.nesting.depth() > 2 => {
                            rest = to_token(behind);
                            in_object = self.close_inner();
                        }
                        _ => break 'strings State::AfterValue,
                    }
                }
            }
        };
        self.text = if is_key { Text::NestedKey } else { Text::Value };
        self.state = state;
        rest
    }

    /// Closes an array or object that is no member of the outermost object; whether what is around it is an object.
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
