//! A model's name without what vendors and their resellers put around it.
//!
//! An answer rarely names the model as it was asked for: `gpt-x` comes back as `gpt-x-2025-11-13`, as `openai/gpt-x`,
//! `accounts/fireworks/models/gpt-x` or `gpt-x:free`, and `claude-x-4-5` as `us.anthropic.claude-x-4-5-20250929-v1:0`.

/// A name, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BareName<'a> {
    /// Without all that follows.
    pub(super) base: &'a str,
    /// Without a prefix: with its revision and its tag.
    pub(super) whole: &'a str,
    /// With its revision, without its tag.
    pub(super) untagged: &'a str,
    /// A date, or a number of three digits.
    revision: Option<&'a str>,
    /// The part behind `:` or `@`.
    tag: Option<&'a str>,
}

impl<'a> BareName<'a> {
    pub(super) fn of(name: &'a str) -> Self {
        let after_path = name.rsplit_once('/').map_or(name, |(_, last)| last);
        let whole = without_vendor(non_empty(after_path).unwrap_or(name));
        let cut = whole.find([':', '@']).filter(|at| *at > 0);
        let (untagged, tag) = match cut.and_then(|at| whole.split_at_checked(at)) {
            Some((head, tag)) => (without_version(head), tag.get(1..)),
            None => (whole, None),
        };
        let undated = untagged.strip_suffix("-latest").and_then(non_empty);
        let (base, revision) = match undated {
            Some(base) => (base, None),
            None => split_revision(untagged),
        };
        // Where a date stands behind `@`, as one vendor writes it, it is no tag.
        let (revision, tag) = match tag {
            Some(date) if revision.is_none() && is_date(date) => (Some(date), None),
            _ => (revision, tag),
        };
        Self {
            base,
            whole,
            untagged,
            revision,
            tag,
        }
    }

    /// Whether both may be names of one model: of dates and tags each may have none.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let agree = |one: Option<&str>, another: Option<&str>| match (one, another) {
            (Some(one), Some(another)) => one.eq_ignore_ascii_case(another),
            _ => true,
        };
        self.base.eq_ignore_ascii_case(other.base)
            && agree(self.revision, other.revision)
            && agree(self.tag, other.tag)
    }
}

fn non_empty(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

/// `us.anthropic.claude-x` → `claude-x`: words without a digit before a dot. A version has one.
fn without_vendor(name: &str) -> &str {
    let mut rest = name;
    while let Some((word, after)) = rest.split_once('.') {
        let is_word = word
            .bytes()
            .all(|byte| byte.is_ascii_alphabetic() || byte == b'-');
        if word.is_empty() || !is_word || !after.starts_with(|c: char| c.is_ascii_alphabetic()) {
            break;
        }
        rest = after;
    }
    rest
}

/// `claude-x-v1` → `claude-x`, of a name that has a tag behind it: `claude-x-v1:0`.
fn without_version(name: &str) -> &str {
    match name.rsplit_once("-v") {
        Some((head, digits)) if !head.is_empty() && is_number(digits) => head,
        _ => name,
    }
}

/// A name without the date or the number of three digits at its end, and that.
fn split_revision(name: &str) -> (&str, Option<&str>) {
    // The longest first: `-2025-11-13` ends in `-11-13`.
    for length in [11, 9, 8, 7, 6, 5, 4] {
        let Some(at) = name.len().checked_sub(length).filter(|at| *at > 0) else {
            continue;
        };
        if let Some((head, tail)) = name.split_at_checked(at)
            && let Some(revision) = tail.strip_prefix('-')
            && (is_date(revision) || is_serial(revision))
        {
            return (head, Some(revision));
        }
    }
    (name, None)
}

/// `2025-11-13`, `20251113`, `09-2025`, `251113`, `11-13`, `1113`, `2511`: as vendors write dates.
fn is_date(text: &str) -> bool {
    let mut groups = text.split('-');
    let groups = [(); 4].map(|()| groups.next());
    match groups {
        [Some(year), Some(month), Some(day), None] => {
            is_year(year) && is_month(month) && is_day(day)
        }
        [Some(month), Some(other), None, None] => {
            is_month(month) && (is_day(other) || is_year(other))
        }
        [Some(digits), None, None, None] => {
            let parts = |at: usize| digits.split_at_checked(at).unwrap_or_default();
            let month_day = |digits: &str| {
                let (month, day) = digits.split_at_checked(2).unwrap_or_default();
                is_month(month) && is_day(day)
            };
            match digits.len() {
                8 => is_year(parts(4).0) && month_day(parts(4).1),
                6 => is_number(parts(2).0) && month_day(parts(2).1),
                4 => month_day(digits) || (is_number(parts(2).0) && is_month(parts(2).1)),
                _ => false,
            }
        }
        _ => false,
    }
}

/// `001`, as one vendor numbers what it does not date.
fn is_serial(text: &str) -> bool {
    text.len() == 3 && text.starts_with("00") && is_number(text)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_between(text: &str, length: usize, least: u16, most: u16) -> bool {
    let value = text.parse::<u16>().ok();
    text.len() == length
        && is_number(text)
        && value.is_some_and(|value| (least..=most).contains(&value))
}

fn is_year(text: &str) -> bool {
    is_between(text, 4, 2000, 2099)
}

fn is_month(text: &str) -> bool {
    is_between(text, 2, 1, 12)
}

fn is_day(text: &str) -> bool {
    is_between(text, 2, 1, 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_are_taken_apart() {
        #[rustfmt::skip]
        let cases = [
            ("gpt-5.1", ("gpt-5.1", None, None)),
            ("gpt-5.1-2025-11-13", ("gpt-5.1", Some("2025-11-13"), None)),
            ("openai/gpt-5.1-2025-11-13", ("gpt-5.1", Some("2025-11-13"), None)),
            ("gpt-4-0613", ("gpt-4", Some("0613"), None)),
            ("gpt-4-1106-preview", ("gpt-4-1106-preview", None, None)),
            ("qwen3-235b-a22b-2507", ("qwen3-235b-a22b", Some("2507"), None)),
            ("mixtral-8x7b-32768", ("mixtral-8x7b-32768", None, None)),
            ("llama3-70b-8192", ("llama3-70b-8192", None, None)),
            ("claude-opus-4-5", ("claude-opus-4-5", None, None)),
            ("claude-opus-4-5-20251101", ("claude-opus-4-5", Some("20251101"), None)),
            ("claude-opus-4-1@20250805", ("claude-opus-4-1", Some("20250805"), None)),
            ("claude-3-5-haiku-latest", ("claude-3-5-haiku", None, None)),
            ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", ("claude-sonnet-4-5", Some("20250929"), Some("0"))),
            ("gemini-2.5-flash-preview-09-2025", ("gemini-2.5-flash-preview", Some("09-2025"), None)),
            ("gemini-2.5-flash-preview-05-20", ("gemini-2.5-flash-preview", Some("05-20"), None)),
            ("models/gemini-2.0-flash-001", ("gemini-2.0-flash", Some("001"), None)),
            ("publishers/google/models/gemini-x", ("gemini-x", None, None)),
            ("accounts/fireworks/models/kimi-k2p5", ("kimi-k2p5", None, None)),
            ("deepseek/deepseek-r1:free", ("deepseek-r1", None, Some("free"))),
            ("llama3:8b", ("llama3", None, Some("8b"))),
            ("doubao-seed-1-6-250615", ("doubao-seed-1-6", Some("250615"), None)),
            ("minimax.minimax-m2", ("minimax-m2", None, None)),
            ("", ("", None, None)),
            ("/", ("/", None, None)),
            (":x", (":x", None, None)),
            ("-2025-11-13", ("-2025", Some("11-13"), None)),
        ];
        for (name, want) in cases {
            let BareName {
                base,
                revision,
                tag,
                ..
            } = BareName::of(name);
            assert_eq!((base, revision, tag), want, "{name}");
        }
    }

    #[test]
    fn of_dates_and_tags_each_may_have_none() {
        #[rustfmt::skip]
        let cases = [
            ("gpt-5.1", "GPT-5.1-2025-11-13", true),
            ("gpt-5.1-2025-08-07", "gpt-5.1-2025-11-13", false),
            ("llama3:8b", "llama3:70b", false),
            ("llama3:8b", "llama3", true),
            ("x:free", "vendor/x", true),
            ("gpt-5.1", "gpt-5.1-mini", false),
            ("gpt-5.1", "gpt-5", false),
            ("claude-x-4-5", "eu.anthropic.claude-x-4-5-20250929-v1:0", true),
        ];
        for (one, another, want) in cases {
            let both = [BareName::of(one), BareName::of(another)];
            assert_eq!(both[0].is_like(&both[1]), want, "{one}, {another}");
            assert_eq!(both[1].is_like(&both[0]), want, "{another}, {one}");
        }
    }

    proptest! {
        #![proptest_config(crate::seeds_beside_source())]

        #[test]
        fn any_name_is_like_itself(name in "\\PC{0,40}") {
            let bare = BareName::of(&name);
            prop_assert!(bare.is_like(&bare));
            prop_assert!(name.contains(bare.base));
        }

        #[test]
        fn what_is_put_around_a_name_is_taken_away(
            name in "[a-z]{2,8}(-[a-z]{1,5}){0,2}(-[0-9]\\.[0-9])?",
            before in "((openai|accounts/fireworks/models|models|publishers/google/models)/)?",
            after in "(-20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]))?(:(free|nitro|0))?",
        ) {
            let dressed = format!("{before}{name}{after}");
            prop_assert!(BareName::of(&dressed).is_like(&BareName::of(&name)), "{}", dressed);
        }
    }
}
