//! The message about a finished action, shown on the next page. That page's address has its name, so it can only say what stands here.

use axum::response::{IntoResponse as _, Redirect, Response};

/// A finished action, which the next page reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// A change was saved.
    Saved,
    /// Something was removed.
    Removed,
    /// A document was published.
    Published,
    /// A password was set.
    PasswordSet,
    /// A key was disabled.
    KeyDisabled,
    /// A key was enabled.
    KeyEnabled,
    /// A key was removed.
    KeyRemoved,
    /// A link that signs somebody in was revoked.
    LinkRevoked,
    /// The data of a person is being erased.
    DataErased,
    /// A person was disabled.
    PersonDisabled,
    /// A person was enabled.
    PersonEnabled,
    /// Old values of a key were ended.
    OldValueEnded,
    /// Many keys were changed.
    KeysChanged,
    /// A test message arrived.
    TestArrived,
    /// A test message did not arrive.
    TestFailed,
    /// A client was let in.
    ClientApproved,
    /// A client was refused.
    ClientDenied,
    /// A client was signed out.
    ClientSignedOut,
    /// A draft was begun for a change.
    DraftBegun,
    /// A change goes into one's own draft.
    DraftUsed,
}

const ALL: [Notice; 20] = [
    Notice::Saved,
    Notice::Removed,
    Notice::Published,
    Notice::PasswordSet,
    Notice::KeyDisabled,
    Notice::KeyEnabled,
    Notice::KeyRemoved,
    Notice::LinkRevoked,
    Notice::DataErased,
    Notice::PersonDisabled,
    Notice::PersonEnabled,
    Notice::OldValueEnded,
    Notice::KeysChanged,
    Notice::TestArrived,
    Notice::TestFailed,
    Notice::ClientApproved,
    Notice::ClientDenied,
    Notice::ClientSignedOut,
    Notice::DraftBegun,
    Notice::DraftUsed,
];

impl Notice {
    const fn name(self) -> &'static str {
        match self {
            Self::Saved => "saved",
            Self::Removed => "removed",
            Self::Published => "published",
            Self::PasswordSet => "password-set",
            Self::KeyDisabled => "key-disabled",
            Self::KeyEnabled => "key-enabled",
            Self::KeyRemoved => "key-removed",
            Self::LinkRevoked => "link-revoked",
            Self::DataErased => "data-erased",
            Self::PersonDisabled => "person-disabled",
            Self::PersonEnabled => "person-enabled",
            Self::OldValueEnded => "old-value-ended",
            Self::KeysChanged => "keys-changed",
            Self::TestArrived => "test-arrived",
            Self::TestFailed => "test-failed",
            Self::ClientApproved => "client-approved",
            Self::ClientDenied => "client-denied",
            Self::ClientSignedOut => "client-signed-out",
            Self::DraftBegun => "draft-begun",
            Self::DraftUsed => "draft-used",
        }
    }

    const fn text(self) -> &'static str {
        match self {
            Self::Saved => text!("Saved."),
            Self::Removed => text!("Removed."),
            Self::Published => text!("Published: every gateway takes it within seconds."),
            Self::KeyDisabled => text!("The key is disabled: gateways refuse it within a second."),
            Self::KeyEnabled => text!("The key is enabled: gateways take it within a second."),
            Self::DataErased => {
                text!("The person and their keys are gone. The id is being erased everywhere else.")
            }
            Self::PersonDisabled => {
                text!(
                    "The person is disabled: signed out everywhere, tokens and links ended. Gateways refuse their keys within a second."
                )
            }
            Self::PersonEnabled => {
                text!(
                    "The person is enabled, and the keys that were disabled with them. Sessions, links, tokens and signed-in clients do not come back."
                )
            }
            Self::OldValueEnded => {
                text!("The old value is ended: gateways refuse it within a second.")
            }
            Self::KeysChanged => text!("The keys are changed: gateways know it within a second."),
            Self::TestArrived => text!("The test notice was delivered."),
            Self::TestFailed => text!("The test notice was not delivered: its line says why."),
            Self::ClientApproved => text!("The client is let in: go on in your terminal."),
            Self::ClientDenied => text!("The client is refused."),
            Self::ClientSignedOut => {
                text!("The client is signed out: gateways refuse its key within a second.")
            }
            Self::DraftBegun => {
                text!("A draft was begun for you. Nothing is in force until you publish it.")
            }
            Self::DraftUsed => {
                text!("This goes into your open draft. Nothing is in force until you publish it.")
            }
            Self::LinkRevoked => text!("The link is revoked: it signs nobody in."),
            Self::KeyRemoved => text!("The key is removed. Its usage and spend stay."),
            Self::PasswordSet => text!("Your password is set. Your other sessions have ended."),
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
