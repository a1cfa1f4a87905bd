//! From a model name as a client writes it to the name in the catalog.
//!
//! The three protocols name models differently, so each has a rule of its own, a [`NameRule`]:
//! protocol B folds a family of spellings to one canonical tier, A merges dated variants where the
//! operator says that they cost the same, C only knows an optional `models/` prefix.

use std::borrow::Cow;

/// The folding rule of a catalog, after its group's protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameRule {
    /// Names are compared as written; `-YYYY-MM-DD` is looked at by [`strip_dashed_date`].
    A,
    /// Names are folded by [`fold_tier`].
    B,
    /// One leading `models/` is dropped.
    C,
}

impl NameRule {
    /// The form of `name` under which a catalog indexes it.
    pub fn fold(self, name: &str) -> Cow<'_, str> {
        match self {
            Self::A => Cow::Borrowed(name),
            Self::B => fold_tier(name),
            Self::C => Cow::Borrowed(name.strip_prefix("models/").unwrap_or(name)),
        }
    }
}

/// Whether a name says that its model reasons without being asked to.
pub fn names_reasoning(name: &str) -> bool {
    name.contains("-thinking")
}

/// Folds a protocol B name to its tier, `<family>-<tier>-<major>[-<minor>]`.
///
/// To a fixpoint: a context suffix such as `[1m]`, one `-thinking`, one date (`-YYYYMMDD` or
/// `@YYYYMMDD`, a plausible calendar date) are dropped, in whatever order they stand, and a dotted
/// version number is written with hyphens. All of these name the same tier at the same price.
/// Suffixes that change what is bought (`-fast`, `-latest`, `-preview`) stay.
///
/// Folding is idempotent: `fold_tier(fold_tier(x)) == fold_tier(x)`.
pub fn fold_tier(name: &str) -> Cow<'_, str> {
    let mut rest = name;
    let mut thinking_seen = false;
    loop {
        if let Some(shorter) = strip_context(rest).or_else(|| strip_compact_date(rest)) {
            rest = shorter;
        } else if let Some(shorter) = rest.strip_suffix("-thinking")
            && !thinking_seen
            && !shorter.is_empty()
        {
            thinking_seen = true;
            rest = shorter;
        } else {
            break;
        }
    }
    // A second `-thinking` must not fold away on a second pass.
    if thinking_seen && rest.ends_with("-thinking") {
        return Cow::Borrowed(name);
    }
    hyphenate_version(rest)
}

/// The other way to write a folded name whose minor version is 0: with it or without it.
///
/// `claude-x-4` ↔ `claude-x-4-0`; a name with another minor, or with no version, has no other way.
pub fn zero_minor_twin(folded: &str) -> Option<String> {
    let is_number = |s: &str| (1..=2).contains(&s.len()) && s.bytes().all(|b| b.is_ascii_digit());
    let (head, last) = folded.rsplit_once('-')?;
    if !is_number(last) {
        return None;
    }
    match head.rsplit_once('-') {
        Some((rest, major)) if is_number(major) => {
            // Of three numbers at the end none is a minor.
            let one_major = rest
                .rsplit_once('-')
                .is_none_or(|(_, tier)| !is_number(tier));
            (last == "0" && one_major).then(|| head.to_owned())
        }
        _ => Some(format!("{folded}-0")),
    }
}

/// `claude-x-4-5[1m]` → `claude-x-4-5`: a context-window suffix of decimal digits and `m` or `k`.
fn strip_context(name: &str) -> Option<&str> {
    let (head, digits) = name.strip_suffix("]")?.rsplit_once('[')?;
    let digits = digits
        .strip_suffix(['m', 'M'])
        .or_else(|| digits.strip_suffix(['k', 'K']))?;
    (!head.is_empty()
        && (1..=4).contains(&digits.len())
        && digits.bytes().all(|b| b.is_ascii_digit()))
    .then_some(head)
}

/// `claude-x-4-5-20251101` or `…@20251101` → `claude-x-4-5`.
fn strip_compact_date(name: &str) -> Option<&str> {
    let (head, date) = name.split_at_checked(name.len().checked_sub(9)?)?;
    let digits = date.strip_prefix(['-', '@'])?;
    let (year, month_day) = digits.split_at_checked(4)?;
    let (month, day) = month_day.split_at_checked(2)?;
    (!head.is_empty() && plausible_date(year, month, day)).then_some(head)
}

/// `gpt-5.1-2025-11-13` → `gpt-5.1`: a protocol A name without its date, or `None` where it has none.
pub fn strip_dashed_date(name: &str) -> Option<&str> {
    let (head, date) = name.split_at_checked(name.len().checked_sub(11)?)?;
    let [b'-', _, _, _, _, b'-', _, _, b'-', _, _] = date.as_bytes() else {
        return None;
    };
    let (year, month, day) = (date.get(1..5)?, date.get(6..8)?, date.get(9..)?);
    (!head.is_empty() && plausible_date(year, month, day)).then_some(head)
}

/// Whether the three digit groups are a calendar date of this century.
fn plausible_date(year: &str, month: &str, day: &str) -> bool {
    let number = |digits: &str, len: usize| {
        (digits.len() == len && digits.bytes().all(|b| b.is_ascii_digit()))
            .then(|| digits.parse::<u16>().ok())
            .flatten()
    };
    let (Some(year), Some(month), Some(day)) = (number(year, 4), number(month, 2), number(day, 2))
    else {
        return false;
    };
    let Some(month) = u8::try_from(month)
        .ok()
        .and_then(|m| time::Month::try_from(m).ok())
    else {
        return false;
    };
    (2000..2100).contains(&year)
        && u8::try_from(day)
            .is_ok_and(|day| time::Date::from_calendar_date(i32::from(year), month, day).is_ok())
}

/// Writes the dot of each `<digits>.<digits>` version segment as a hyphen, where both numbers have
/// one or two digits and the segment stands between hyphens or at the end.
fn hyphenate_version(name: &str) -> Cow<'_, str> {
    let is_version = |segment: &str| {
        segment.split_once('.').is_some_and(|(major, minor)| {
            [major, minor]
                .iter()
                .all(|n| (1..=2).contains(&n.len()) && n.bytes().all(|b| b.is_ascii_digit()))
        })
    };
    if !name.split('-').any(is_version) {
        return Cow::Borrowed(name);
    }
    let segments: Vec<Cow<'_, str>> = name
        .split('-')
        .map(|s| {
            if is_version(s) {
                Cow::Owned(s.replace('.', "-"))
            } else {
                Cow::Borrowed(s)
            }
        })
        .collect();
    Cow::Owned(segments.join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn protocol_b_names_fold_to_their_tier() {
        let cases = [
            ("canonical", "claude-opus-4-5", "claude-opus-4-5"),
            ("dated", "claude-opus-4-5-20251101", "claude-opus-4-5"),
            ("dotted minor", "claude-sonnet-4.6", "claude-sonnet-4-6"),
            (
                "dotted minor 2 digits",
                "claude-opus-5.12",
                "claude-opus-5-12",
            ),
            (
                "thinking",
                "claude-sonnet-4-5-thinking",
                "claude-sonnet-4-5",
            ),
            (
                "thinking, dotted",
                "claude-sonnet-4.5-thinking",
                "claude-sonnet-4-5",
            ),
            (
                "date then thinking",
                "claude-sonnet-4-5-20250929-thinking",
                "claude-sonnet-4-5",
            ),
            (
                "thinking then date",
                "claude-sonnet-4-5-thinking-20250929",
                "claude-sonnet-4-5",
            ),
            (
                "context",
                "claude-sonnet-4-5-20250929[1m]",
                "claude-sonnet-4-5",
            ),
            (
                "context, thinking",
                "claude-sonnet-4-5-thinking[2m]",
                "claude-sonnet-4-5",
            ),
            ("at-date", "claude-opus-4-1@20250805", "claude-opus-4-1"),
            (
                "eight digits are a date, not a minor",
                "claude-opus-4-20250514",
                "claude-opus-4",
            ),
            ("no minor", "claude-sonnet-5", "claude-sonnet-5"),
            (
                "no version",
                "claude-mythos-preview",
                "claude-mythos-preview",
            ),
            ("legacy order", "claude-3.5-sonnet", "claude-3-5-sonnet"),
            (
                "legacy order, dated",
                "claude-3-5-sonnet-20241022",
                "claude-3-5-sonnet",
            ),
            (
                "not a month",
                "claude-opus-4-5-20251301",
                "claude-opus-4-5-20251301",
            ),
            (
                "not a day",
                "claude-opus-4-5-20250230",
                "claude-opus-4-5-20250230",
            ),
            (
                "not this century",
                "claude-opus-4-5-19990101",
                "claude-opus-4-5-19990101",
            ),
            (
                "-fast is another price",
                "claude-opus-4-6-fast",
                "claude-opus-4-6-fast",
            ),
            (
                "-latest stays",
                "claude-3-5-haiku-latest",
                "claude-3-5-haiku-latest",
            ),
            (
                "@default stays",
                "claude-sonnet-5@default",
                "claude-sonnet-5@default",
            ),
            (
                "v2@date: only the date",
                "claude-3-5-sonnet-v2@20241022",
                "claude-3-5-sonnet-v2",
            ),
            (
                "one -thinking only",
                "claude-x-5-thinking-thinking",
                "claude-x-5-thinking-thinking",
            ),
            ("only a suffix", "-thinking", "-thinking"),
            ("only a date", "-20250101", "-20250101"),
            ("not a context", "claude-x[beta]", "claude-x[beta]"),
            ("three-digit minor", "claude-x-4.512", "claude-x-4.512"),
            ("not ASCII", "claude-ö-4.5", "claude-ö-4-5"),
        ];
        for (case, name, want) in cases {
            assert_eq!(fold_tier(name), want, "{case}: {name}");
        }
    }

    #[test]
    fn a_minor_of_zero_is_no_minor() {
        let cases = [
            ("with it", "claude-opus-4-0", Some("claude-opus-4")),
            ("without it", "claude-opus-4", Some("claude-opus-4-0")),
            ("another minor", "claude-opus-4-5", None),
            ("behind another minor", "claude-opus-4-5-0", None),
            ("no version", "claude-mythos-preview", None),
            ("legacy order", "claude-3-5-sonnet", None),
            ("one word", "claude", None),
        ];
        for (case, name, want) in cases {
            assert_eq!(zero_minor_twin(name).as_deref(), want, "{case}");
        }
    }

    #[test]
    fn protocol_a_dates() {
        let cases = [
            ("dated", "gpt-5.1-2025-11-13", Some("gpt-5.1")),
            ("image model", "gpt-image-2-2026-04-21", Some("gpt-image-2")),
            ("undated", "gpt-5.1", None),
            ("month and day only", "gpt-4-0613", None),
            ("compact date", "gpt-4-20250613", None),
            ("no such day", "gpt-5-2025-02-30", None),
            ("nothing before it", "-2025-02-03", None),
        ];
        for (case, name, want) in cases {
            assert_eq!(strip_dashed_date(name), want, "{case}");
        }
    }

    #[test]
    fn protocol_c_drops_one_prefix() {
        let cases = [
            ("short", "gemini-2.5-flash", "gemini-2.5-flash"),
            ("prefixed", "models/gemini-2.5-flash", "gemini-2.5-flash"),
            ("twice", "models/models/x", "models/x"),
        ];
        for (case, name, want) in cases {
            assert_eq!(NameRule::C.fold(name), want, "{case}");
        }
    }

    proptest! {
        #![proptest_config(crate::seeds_beside_source())]

        #[test]
        fn folding_is_idempotent(name in "(claude|x)(-[a-z]{1,6}){0,2}(-[0-9]{1,2}([.-][0-9]{1,3})?)?((-thinking)|(-20[0-9]{6})|(@20[0-9]{6})|(\\[[0-9]m\\])){0,4}") {
            let once = fold_tier(&name).into_owned();
            prop_assert_eq!(fold_tier(&once), once.as_str());
        }

        #[test]
        fn folding_never_invents_a_name(name in "\\PC{0,40}") {
            let folded = fold_tier(&name).into_owned();
            prop_assert!(folded.len() <= name.len());
        }
    }
}
