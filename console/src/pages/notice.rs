//! What was just done, told on the next page. The address of that page has its name, so it can only say what stands here.

use axum::response::{IntoResponse as _, Redirect, Response};

/// What was just done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// A change was saved.
    Saved,
    /// Something was removed.
    Removed,
    /// A password was set.
    PasswordSet,
}

const ALL: [Notice; 3] = [Notice::Saved, Notice::Removed, Notice::PasswordSet];

impl Notice {
    const fn name(self) -> &'static str {
        match self {
            Self::Saved => "saved",
            Self::Removed => "removed",
            Self::PasswordSet => "password-set",
        }
    }

    const fn text(self) -> &'static str {
        match self {
            Self::Saved => "Saved.",
            Self::Removed => "Removed.",
            Self::PasswordSet => "Your password is set. Your other sessions have ended.",
        }
    }
}

/// The text of a notice, if it is one.
pub fn text(name: &str) -> Option<&'static str> {
    let notice = ALL.into_iter().find(|notice| notice.name() == name);
    notice.map(Notice::text)
}

/// Sends the browser to a page of ours that tells what was done.
pub fn done(path: &str, notice: Notice) -> Response {
    let sign = if path.contains('?') { '&' } else { '?' };
    Redirect::to(&format!("{path}{sign}notice={}", notice.name())).into_response()
}
