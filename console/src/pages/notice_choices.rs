//! The form of a person's e-mail address and the notices that are mailed there.

use super::FieldProblems;
use super::form::Fields;
use crate::cases::notice_choices::{NoticeChoicesBody, NoticeChoicesView};

/// The boxes of the form, in their order.
pub const BOXES: [(&str, &str); 3] = [
    (
        "budgets",
        text!("Budgets at 80 % and 100 %: personal ones, those of keys, and of managed teams"),
    ),
    (
        "expiring",
        text!("Keys that expire in a week, and in a day"),
    ),
    ("unused", text!("Keys that nobody has used for 60 days")),
];

/// The form.
pub struct NoticeChoicesForm {
    /// The path that it is sent to.
    pub action: String,
    /// The values.
    pub fields: Fields,
    /// The faults of what was sent.
    pub problems: FieldProblems,
    /// Whether the console has a mail server.
    pub has_mail_server: bool,
}

impl NoticeChoicesForm {
    /// The form with what is stored, or with what was sent and is not good.
    pub fn new(
        action: String,
        stored: &NoticeChoicesView,
        sent: Option<(Fields, FieldProblems)>,
    ) -> Self {
        let yes = |is_on: bool| if is_on { "yes" } else { "" };
        let (fields, problems) = sent.unwrap_or_else(|| {
            let fields = Fields::default()
                .with("email", stored.email.clone().unwrap_or_default())
                .with("budgets", yes(stored.budgets))
                .with("expiring", yes(stored.expiring))
                .with("unused", yes(stored.unused))
                .with("language", stored.language.as_str());
            (fields, FieldProblems::default())
        });
        Self {
            action,
            fields,
            problems,
            has_mail_server: stored.has_mail_server,
        }
    }
}

/// Reads what was sent.
pub fn changes(fields: &Fields) -> NoticeChoicesBody {
    NoticeChoicesBody {
        email: Some(fields.given("email")),
        budgets: Some(fields.is_set("budgets")),
        expiring: Some(fields.is_set("expiring")),
        unused: Some(fields.is_set("unused")),
        language: fields.given("language"),
    }
}
