//! Members of an object, as they nearly always come: whole, and one right behind the other.

use super::string::plain_text;
use super::{Extractor, ExtractorState};
use crate::usage::table::Node;
use crate::usage::tally::UsageTally;

impl Extractor {
    /// Reads on from behind the opening quote of a key: members whose values are numbers or `null`, and what comes before the
    /// first other value.
    pub(super) fn members<'a>(
        &mut self,
        bytes: &'a [u8],
        lines: bool,
        tally: &mut UsageTally,
    ) -> &'a [u8] {
        let mut rest = bytes;
        loop {
            let Some((key, after)) = plain_text(rest) else {
                self.key = true;
                self.state = ExtractorState::Text;
                return self.text(rest, lines, tally);
            };
            self.find_member(key);
            let [b':', value @ ..] = after else {
                self.state = ExtractorState::Colon;
                return after;
            };
            let Some(after) = self.usual_word(value, tally) else {
                self.state = ExtractorState::Value;
                return value;
            };
            let [b',', b'"', next @ ..] = after else {
                return self.end_value(after);
            };
            rest = next;
        }
    }

    /// Finds what the table says of the value of this key.
    pub(super) fn find_member(&mut self, key: &[u8]) {
        let (_, object) = self.path.inner();
        self.node = object.member(key).unwrap_or(&Node::NONE);
    }
}
