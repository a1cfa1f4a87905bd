//! Parts of an answer that are worth reading: a tree of keys for each form of each protocol.
//!
//! The tables are constants, one file a protocol; the [`Extractor`](super::extractor::Extractor) follows them
//! and knows no key itself.

use super::doubt::{Doubts, Terms};
use super::numbers::{Numbers, Slot, SlotSet};
use super::{Call, Usage};
use crate::text::same;

/// The slot of money in 10^-10 dollars (xAI), in each table that has it.
pub(super) const TICKS: Slot = 16;

/// The roles of the numbers of a usage object.
pub(super) struct Roles {
    /// All input, in a number or in several.
    pub(super) input: SlotSet,
    /// All output.
    pub(super) output: SlotSet,
    /// The sum of both.
    pub(super) total: Option<Slot>,
    /// A stream begins with it, its output not counted yet.
    pub(super) begins_stream: bool,
    /// By the protocol's page, the total has output that stands in no part.
    pub(super) unnamed_output: bool,
    /// Sets in which tokens may move from one number to another: in a report that comes to no less, zero means zero.
    pub(super) moves: &'static [SlotSet],
    /// Made up of the entries of a list: a list stands for the one before.
    pub(super) lists: SlotSet,
    /// Those of the entry that is being read: they have no other role.
    pub(super) scratch: SlotSet,
}

/// Everything that is particular to one wire form.
pub(super) struct WireTable {
    /// The root of an answer that is one JSON document.
    pub(super) document: Node,
    /// The root of an event of a stream.
    pub(super) event: Node,
    /// The wire paths of the numbers, inside the usage object, by [`Slot`]. Slots beyond are not shown.
    pub(super) names: &'static [&'static str],
    pub(super) merge: Merge,
    /// The numbers that stand beside the usage object: another one does not stand for these.
    pub(super) beside: SlotSet,
    /// Returns the class of an event of this `type`; `None` for one not worth reading on.
    pub(super) event_of: fn(&[u8]) -> Option<EventClass>,
    /// The other sign that ends a stream, beside an event of that kind.
    pub(super) ends: Ends,
    /// Calls that are reported as numbers: their sum stands for what was counted.
    pub(super) calls: &'static [(Call, Slot)],
    /// A whole answer reports all of its calls: what was counted is for one that was left.
    pub(super) reports_calls: bool,
    /// The number of images that were made: it stands for what was counted.
    pub(super) images_made: Option<Slot>,
    /// The roles of the numbers.
    pub(super) roles: Roles,
    /// The numbers' names in doubts.
    pub(super) terms: Terms,
    /// The usage that the numbers mean.
    pub(super) usage: fn(&Numbers) -> Counted,
}

/// The sums of a usage object.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counted {
    /// Nothing if none of the numbers that count was reported.
    pub(super) usage: Option<Usage>,
    /// Tokens of the total that stand in no part.
    pub(super) unnamed: u64,
    pub(super) doubts: Doubts,
}

/// The rule by which an event's numbers are merged with those of the events before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Merge {
    /// A usage object stands for all before it.
    Replace,
    /// Each number stands for the same one before it.
    Update,
}

/// The sign that ends a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    /// An event that says so.
    Event,
    /// `[DONE]`.
    Word,
    /// A reason to finish, in whatever event.
    Reason,
}

/// The role of an event in a stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum EventClass {
    /// An event that may carry something.
    #[default]
    Plain,
    /// The protocol's own end.
    End,
    /// The last image, finished, or the end behind all of them.
    Image,
    /// A finished image of several.
    OneImage,
    /// A part of the response: the text in it and the work it tells of count, nothing else does.
    Part,
    /// The beginning of such a part. It may yet say nothing.
    PartBegun,
    /// The beginning of something that the model does: it is counted again when it is done.
    Begun,
    /// A part of a picture that is being made.
    PartialPicture,
    /// A part of the response that is sound, in base64.
    Sound,
    /// An error, whatever else it says.
    Error,
}

impl EventClass {
    /// Whether it is a part of the response, which tells no numbers.
    pub(super) fn is_part(self) -> bool {
        matches!(
            self,
            Self::Part | Self::PartBegun | Self::Begun | Self::PartialPicture | Self::Sound
        )
    }

    /// Whether it counts as often as it comes.
    pub(super) fn is_counted(self) -> bool {
        matches!(
            self,
            Self::Image | Self::OneImage | Self::Begun | Self::PartialPicture | Self::Sound
        )
    }
}

/// Strings that are worth reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextField {
    Id,
    Model,
    /// The reason why the model stopped.
    Finish,
    /// The status of the response (Responses).
    Status,
    Tier,
    Speed,
    InferenceGeo,
    ErrorType,
    ErrorCode,
    /// An amount of money, a number that is no plain integer.
    Cost,
    /// Not kept: the type of an event.
    EventType,
    /// Not kept: an error that is a mere string.
    BareError,
    /// Not kept: the type of an entry of a list, or what it is of.
    EntryType,
    /// Not kept: the model of an entry.
    EntryModel,
    /// Not kept: how an entry stands.
    EntryStatus,
    /// Not kept: the type of what an entry does.
    EntryAction,
    /// Not kept: a search, in a list of them.
    Query,
    /// Not kept: the name of a tool, which the model wrote.
    ToolName,
}

impl TextField {
    /// The number of fields that are kept: those before [`TextField::EventType`].
    pub(super) const KEPT: usize = Self::EventType as usize;
}

/// Values whose beginning or end means something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Marker {
    /// A usage object.
    Usage,
    /// An error object.
    Error,
    /// An image in a list.
    Image,
    /// An item of an outermost array.
    Element,
    /// `usage.iterations`.
    Iterations,
    /// An entry of it.
    Iteration,
    /// A list of what a total is made up of, by modality; the parts that are told apart have these slots.
    Modalities(Modalities),
    /// An entry of it.
    Modality(Modalities),
    /// Something that the model did: a message, or a call of a tool.
    Item,
    /// A block of Messages: a text, or a call of a tool.
    Block,
    /// A tool that it may call.
    Tool,
    /// A place on a map that it found.
    Place,
    /// Something that a vendor alone has whose total has output in no part.
    UnnamedOutput,
    /// Text of the model: a message, or a part of it.
    Written,
    /// The parts of its reasoning, which upstreams repeat that have it as one text too.
    ReasoningParts,
    /// A picture or sound, whichever its type says.
    Media,
    /// Sound.
    Sound,
}

/// The place of an amount of money: a number if it is a plain integer, else [`TextField::Cost`].
pub(super) const COST: Slot = 55;
/// Set to 1 where [`Marker::UnnamedOutput`] stands.
pub(super) const UNNAMED_OUTPUT: Slot = 54;
/// The status of an answer by the vendor's own word, where it says 200 to everything; 0 is none.
pub(super) const FAILURE: Slot = 53;

/// The slots of the parts of a total.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Modalities {
    pub(super) audio: Slot,
    pub(super) image: Slot,
    /// The number of the entry that is being read.
    pub(super) entry: Slot,
}

/// The part of a value that the model wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Generated {
    /// Nothing.
    No,
    /// A string.
    Text,
    /// A string, or all that stands in an object or array.
    Any,
    /// A string of reasoning, unless it stands there already under another name.
    Reasoning,
    /// The same in one of its parts.
    ReasoningPart,
    /// A string that is the data or the address of a picture or sound: its length is no text's.
    Data,
}

/// The forms of a value that are read; any other value is skipped.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    /// The members that are read of an object.
    pub(super) members: Option<&'static [NodeMember]>,
    /// The items that are read of an array.
    pub(super) items: Option<&'static Self>,
    /// The slot of a number.
    pub(super) number: Option<Slot>,
    /// The field of a string.
    pub(super) text: Option<TextField>,
    /// Whether its length counts, for a string that is not read otherwise, or an object or array none of whose members is.
    pub(super) generated: Generated,
    /// The marker of an object or array.
    pub(super) mark: Option<Marker>,
}

/// A key and its value.
pub(super) type NodeMember = (&'static str, Node);

impl Node {
    /// Of no interest.
    pub(super) const NONE: Self = Self {
        members: None,
        items: None,
        number: None,
        text: None,
        generated: Generated::No,
        mark: None,
    };

    /// Text that the model wrote.
    pub(super) const TEXT: Self = Self {
        generated: Generated::Text,
        ..Self::NONE
    };

    /// Something that the model wrote, be it a text or not.
    pub(super) const WRITTEN: Self = Self {
        generated: Generated::Any,
        ..Self::NONE
    };

    /// Reasoning that the model wrote.
    pub(super) const REASONING: Self = Self {
        generated: Generated::Reasoning,
        ..Self::NONE
    };

    /// A part of its reasoning.
    pub(super) const REASONING_PART: Self = Self {
        generated: Generated::ReasoningPart,
        ..Self::NONE
    };

    /// The data or the address of a picture or sound.
    pub(super) const DATA: Self = Self {
        generated: Generated::Data,
        ..Self::NONE
    };

    /// The value of a key of this object.
    pub(super) fn member(&self, key: &[u8]) -> Option<&'static Self> {
        self.members?
            .iter()
            .find(|(name, _)| same(name.as_bytes(), key))
            .map(|(_, node)| node)
    }

    pub(super) const fn marked(self, mark: Marker) -> Self {
        Self {
            mark: Some(mark),
            ..self
        }
    }
}

pub(super) const fn number(slot: Slot) -> Node {
    Node {
        number: Some(slot),
        ..Node::NONE
    }
}

pub(super) const fn text(text: TextField) -> Node {
    Node {
        text: Some(text),
        ..Node::NONE
    }
}

pub(super) const fn object(members: &'static [NodeMember]) -> Node {
    Node {
        members: Some(members),
        ..Node::NONE
    }
}

pub(super) const fn array(item: &'static Node) -> Node {
    Node {
        items: Some(item),
        ..Node::NONE
    }
}

/// The outermost value: an object, or an array of such objects.
pub(super) const fn root(members: &'static [NodeMember], element: &'static Node) -> Node {
    Node {
        members: Some(members),
        items: Some(element),
        ..Node::NONE
    }
}

/// The `error` of protocol A and its like: an object, or a mere string.
pub(super) const ERROR: Node = Node {
    text: Some(TextField::BareError),
    ..object(&[
        ("type", text(TextField::ErrorType)),
        ("code", text(TextField::ErrorCode)),
    ])
    .marked(Marker::Error)
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usage::Wire;

    /// All objects of a table.
    fn objects(node: &Node, found: &mut Vec<&'static [NodeMember]>) {
        found.extend(node.members);
        for (_, member) in node.members.unwrap_or_default() {
            objects(member, found);
        }
        if let Some(item) = node.items {
            objects(item, found);
        }
    }

    #[test]
    fn keys_are_found_as_if_compared_byte_by_byte() {
        let mut found = Vec::new();
        for wire in Wire::ALL {
            objects(&wire.table().document, &mut found);
            objects(&wire.table().event, &mut found);
        }
        for members in found {
            let check = |key: &[u8]| {
                let same = members
                    .iter()
                    .find(|(name, _)| name.bytes().eq(key.iter().copied()));
                let want = same.map(|(_, node)| core::ptr::from_ref(node));
                let got = object(members).member(key).map(core::ptr::from_ref);
                assert_eq!(got, want, "{}", key.escape_ascii());
                got.is_some()
            };
            assert!(!check(b""));
            for (name, _) in members {
                let name = name.as_bytes();
                assert!(check(name), "{}", name.escape_ascii());
                for at in 0..name.len() {
                    check(&name[..at]);
                    check(&name[at..]);
                    let mut other = name.to_vec();
                    other[at] ^= 1;
                    check(&other);
                    other.insert(at, b'_');
                    check(&other);
                }
                check(&[name, b"s"].concat());
            }
        }
    }
}
