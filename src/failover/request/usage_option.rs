//! The option that makes a stream report its usage, where the gateway has put it into the body: an account that refuses it is
//! asked once more without it.

use super::{AccountPlace, RequestAttempts, WayMark};
use crate::body::UsageEdit;

impl RequestAttempts {
    /// The way to the account at this place.
    pub fn way(&self, place: AccountPlace) -> Option<WayMark> {
        Some(WayMark::of_account(self.marks(place)?))
    }

    /// The change that takes the option out of the body; `None` where the gateway has not put it in, or more of the body is to come.
    pub fn without_usage(&self) -> Option<UsageEdit> {
        self.progress.try_borrow().ok()?.body.without_usage.clone()
    }

    /// The option is not in the body any more.
    pub fn forget_usage(&self) {
        if let Ok(mut progress) = self.progress.try_borrow_mut() {
            progress.body.without_usage = None;
            progress.body.asks_usage = false;
        }
    }

    /// Notes that the account that is asked now is sent the body without the option.
    pub fn note_left_out_usage(&self) {
        if let Ok(mut progress) = self.progress.try_borrow_mut() {
            progress.left_out_usage = true;
            progress.has_changed_body = true;
        }
    }

    /// Whether the last account was sent the body without the option.
    pub fn has_left_out_usage(&self) -> bool {
        self.progress.try_borrow().is_ok_and(|it| it.left_out_usage)
    }

    /// Whether the last account was sent the option, by whomever it was put in.
    pub fn has_asked_usage(&self) -> bool {
        self.progress
            .try_borrow()
            .is_ok_and(|it| it.body.asks_usage && !it.left_out_usage)
    }

    /// Whether the last account was sent an option that the gateway had put in.
    pub fn has_put_in_usage(&self) -> bool {
        self.has_asked_usage() && self.without_usage().is_some()
    }

    /// Asks the last account once more, without the option.
    pub fn ask_again(&self) {
        if let Ok(mut progress) = self.progress.try_borrow_mut() {
            progress.asks_again = true;
        }
    }
}
