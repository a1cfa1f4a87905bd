//! Names within sentences.

use std::borrow::Cow;

use trilane::limits::SubjectKind;

use crate::cases::names::Name;
use crate::markup::Markup;

/// A name in place of an id, as the macro of `parts.html` writes it.
pub fn named(of: &Name) -> Markup {
    let mut made = if of.text == of.id {
        Markup::name(&of.text)
    } else {
        Markup::name_of(&of.id, &of.text)
    };
    if of.is_removed {
        made.push(&Markup::text(" "));
        made.push(&Markup::quiet(&t!("removed")));
    }
    made
}

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
