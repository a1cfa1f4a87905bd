//! A part of a page as server-sent events: the part itself, again whenever it is another one.
//!
//! It ends with the session, and looking at a page keeps no session alive. Without the script nothing asks for it.

use core::convert::Infallible;
use core::future::Future;
use std::time::Duration;

use axum::response::IntoResponse as _;
use axum::response::sse::{Event, Sse};
use futures_util::stream;
use http::{HeaderName, HeaderValue, StatusCode};

use super::{PageProblem, PageResult, SignedIn, currency};
use crate::cases::{ApiProblem, ConsoleState};
use crate::language::Language;
use crate::live::LivePlace;

/// After how long a browser that has lost the connection comes again.
const RETRY: Duration = Duration::from_secs(5);
/// The header that tells a proxy not to buffer the response.
const UNBUFFERED: (HeaderName, HeaderValue) = (
    HeaderName::from_static("x-accel-buffering"),
    HeaderValue::from_static("no"),
);

/// The state of a stream between two events.
struct LivePart<M> {
    place: LivePlace,
    state: ConsoleState,
    signed_in: SignedIn,
    /// The language of the page.
    language: Language,
    /// Its currency.
    currency: String,
    make: M,
    /// The text that was sent last.
    sent: Option<String>,
}

impl<M> LivePart<M> {
    /// The next event; `None` once the session or the console has ended, or the part can no longer be made.
    async fn next<F>(mut self) -> Option<(Result<Event, Infallible>, Self)>
    where
        M: Fn() -> F,
        F: Future<Output = Result<String, PageProblem>>,
    {
        if self.sent.is_some() {
            let goes_on = self.place.wait().await;
            if !goes_on || !self.signed_in.is_still(&self.state).await {
                return None;
            }
        }
        let making = currency::scope(self.currency.clone(), (self.make)());
        let making = self.language.scope(String::new(), making);
        let part = making.await.ok()?;
        let event = if self.sent.as_ref() == Some(&part) {
            // It shows whether anybody is there.
            Event::default().comment("")
        } else {
            let event = Event::default().retry(RETRY).data(part.replace('\r', " "));
            self.sent = Some(part);
            event
        };
        Some((Ok(event), self))
    }
}

/// Sends what `make` makes, now and whenever it is another one.
///
/// # Errors
/// Too many parts are looked at already.
pub fn events<F>(
    state: &ConsoleState,
    signed_in: SignedIn,
    make: impl Fn() -> F + Send + 'static,
) -> PageResult
where
    F: Future<Output = Result<String, PageProblem>> + Send + 'static,
{
    let too_many = || {
        let detail = t!("too many pages are open: this one shows what it has");
        ApiProblem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "/problems/too-many-pages",
            detail,
        )
    };
    let part = LivePart {
        place: state.live.enter().ok_or_else(too_many)?,
        state: state.clone(),
        signed_in,
        language: Language::current(),
        currency: currency::current(),
        make,
        sent: None,
    };
    let events = stream::unfold(part, LivePart::next);
    Ok(([UNBUFFERED], Sse::new(events)).into_response())
}
