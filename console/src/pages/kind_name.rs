//! Kinds of subjects within sentences.

use std::borrow::Cow;

use trilane::limits::SubjectKind;

/// A kind of subject, in words.
pub fn kind_name(kind: &SubjectKind) -> Cow<'static, str> {
    match kind {
        SubjectKind::Key => t!("key"),
        SubjectKind::Owner => t!("owner"),
        SubjectKind::Member => t!("member"),
        SubjectKind::Team => t!("team"),
        SubjectKind::Group => t!("group"),
    }
}
