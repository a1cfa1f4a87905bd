//! Forms that were sent.

use core::convert::Infallible;

use axum::RequestExt as _;
use axum::extract::{FromRequest, FromRequestParts, RawForm, Request};
use http::HeaderMap;
use http::header::{HOST, ORIGIN};
use http::request::Parts;

use super::error::PageProblem;
use super::signed_in::SignedIn;
use crate::cases::{ApiProblem, ConsoleState};
use crate::{secret, text};

/// The field with the token of the session's forms.
const CSRF: &str = "csrf";
/// The longest form, in bytes.
const LONGEST: usize = 1 << 20;

/// The fields of a form, in their order. `Debug` prints none: some have secrets.
#[derive(Clone, Default)]
pub struct Fields(Vec<(String, String)>);

impl core::fmt::Debug for Fields {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Fields({})", self.0.len())
    }
}

impl Fields {
    /// Those of a form's body, or of a query.
    pub fn parse(bytes: &[u8]) -> Self {
        let pairs = form_urlencoded::parse(bytes).into_owned();
        Self(pairs.collect())
    }

    /// Those of a form that makes something once, however often it is sent.
    ///
    /// # Errors
    /// There is no randomness.
    pub fn once() -> Result<Self, PageProblem> {
        let once = secret::new_id().map_err(ApiProblem::internal)?;
        Ok(Self::default().with("once", once))
    }

    /// With a value of a field, for a form that is shown for the first time.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.0.push((name.to_owned(), value.into()));
        self
    }

    /// Returns the text of a field, without surrounding blanks; empty if there is no such field.
    pub fn get(&self, name: &str) -> &str {
        self.exact(name).trim()
    }

    /// Whether a field has this value.
    pub fn is(&self, name: &str, value: impl AsRef<str>) -> bool {
        self.get(name) == value.as_ref()
    }

    /// Returns the text of a field, as it was typed.
    pub fn exact(&self, name: &str) -> &str {
        let mut all = self.0.iter();
        all.find(|(of, _)| of == name)
            .map_or("", |(_, value)| value.as_str())
    }

    /// Returns the text of a field, if it is not blank.
    pub fn given(&self, name: &str) -> Option<String> {
        let value = self.get(name);
        (!value.is_empty()).then(|| value.to_owned())
    }

    /// Takes a field out, and returns its text without surrounding blanks if it is not blank.
    pub fn take(&mut self, name: &str) -> Option<String> {
        let value = self.given(name);
        self.0.retain(|(of, _)| of != name);
        value
    }

    /// Whether the form has the field, filled in or not.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(of, _)| of == name)
    }

    /// Whether a box is ticked.
    pub fn is_set(&self, name: &str) -> bool {
        !self.get(name).is_empty()
    }

    /// The path of a page with those of some fields that are filled in, to which more can be added, and whether there are any.
    pub fn filtered<'a>(
        &'a self,
        page: &str,
        names: impl IntoIterator<Item = &'a str>,
    ) -> (String, bool) {
        let given = names.into_iter().map(|name| (name, self.get(name)));
        let given: Vec<_> = given.filter(|(_, value)| !value.is_empty()).collect();
        let end = if given.is_empty() { "" } else { "&" };
        (
            format!("{}{end}", text::path_with(page, &given)),
            !given.is_empty(),
        )
    }

    /// All values of a field that may occur more than once.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0
            .iter()
            .filter(move |(of, _)| of == name)
            .map(|(_, value)| value.as_str())
    }
}

/// Those of the query.
impl<S: Sync> FromRequestParts<S> for Fields {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::parse(
            parts.uri.query().unwrap_or_default().as_bytes(),
        ))
    }
}

/// A form that somebody who is signed in has sent from one of our pages.
#[derive(Debug)]
pub struct SignedForm {
    /// The console.
    pub state: ConsoleState,
    /// The person who is signed in.
    pub signed_in: SignedIn,
    /// The fields of the form.
    pub fields: Fields,
}

impl SignedForm {
    /// The console, the person, and the fields.
    pub fn parts(self) -> (ConsoleState, SignedIn, Fields) {
        (self.state, self.signed_in, self.fields)
    }
}

impl FromRequest<ConsoleState> for SignedForm {
    type Rejection = PageProblem;

    async fn from_request(request: Request, state: &ConsoleState) -> Result<Self, PageProblem> {
        let (mut parts, body) = request.into_parts();
        is_ours(&parts.headers)?;
        let signed_in = SignedIn::from_request_parts(&mut parts, state).await?;
        let fields = OpenForm::read(Request::from_parts(parts, body)).await?;
        if !signed_in.is_csrf(fields.get(CSRF)) {
            return Err(PageProblem::Forged);
        }
        Ok(Self {
            state: state.clone(),
            signed_in,
            fields,
        })
    }
}

/// A form of a page that is open to all, from one of our pages.
#[derive(Debug)]
pub struct OpenForm(pub Fields);

impl OpenForm {
    async fn read(mut request: Request) -> Result<Fields, PageProblem> {
        axum::extract::DefaultBodyLimit::max(LONGEST).apply(&mut request);
        let RawForm(bytes) = request
            .extract()
            .await
            .map_err(|_| PageProblem::Unreadable)?;
        Ok(Fields::parse(&bytes))
    }
}

impl FromRequest<ConsoleState> for OpenForm {
    type Rejection = PageProblem;

    async fn from_request(request: Request, _: &ConsoleState) -> Result<Self, PageProblem> {
        is_ours(request.headers())?;
        Ok(Self(Self::read(request).await?))
    }
}

/// Refuses what a page of another site has sent. Browsers say where a request comes from; what is no browser has no cookies
/// that could be misused.
fn is_ours(headers: &HeaderMap) -> Result<(), PageProblem> {
    let text = |value: Option<&http::HeaderValue>| {
        value.map(|value| value.to_str().unwrap_or_default().to_owned())
    };
    let ours = match text(headers.get("sec-fetch-site")) {
        Some(site) => site == "same-origin" || site == "none",
        None => text(headers.get(ORIGIN)).is_none_or(|origin| {
            let host = text(headers.get(HOST)).unwrap_or_default();
            origin
                .split_once("://")
                .is_some_and(|(_, of)| !host.is_empty() && of == host)
        }),
    };
    if ours {
        Ok(())
    } else {
        Err(PageProblem::Forged)
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn whose_form_it_is() {
        type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], bool);
        let cases: [Case<'_>; 9] = [
            ("no browser", &[], true),
            ("ours", &[("sec-fetch-site", "same-origin")], true),
            ("typed", &[("sec-fetch-site", "none")], true),
            ("another site", &[("sec-fetch-site", "cross-site")], false),
            ("a sister", &[("sec-fetch-site", "same-site")], false),
            (
                "by origin",
                &[("origin", "http://h:1"), ("host", "h:1")],
                true,
            ),
            (
                "another port",
                &[("origin", "http://h:2"), ("host", "h:1")],
                false,
            ),
            ("hidden", &[("origin", "null"), ("host", "h:1")], false),
            (
                "what the browser says goes first",
                &[
                    ("sec-fetch-site", "cross-site"),
                    ("origin", "http://h:1"),
                    ("host", "h:1"),
                ],
                false,
            ),
        ];
        for (case, given, want) in cases {
            let mut headers = HeaderMap::new();
            for (name, value) in given {
                headers.insert(*name, HeaderValue::from_str(value).unwrap());
            }
            assert_eq!(is_ours(&headers).is_ok(), want, "{case}");
        }
    }

    #[test]
    fn fields() {
        let fields = Fields::parse(b"a=+x+&b=&c=1&c=2&d=%D7%A9");
        assert_eq!(fields.get("a"), "x");
        assert_eq!(fields.exact("a"), " x ");
        assert_eq!(fields.given("b"), None);
        assert_eq!(fields.all("c").collect::<Vec<_>>(), ["1", "2"]);
        assert_eq!(fields.get("d"), "ש");
        assert!(!fields.is_set("e") && fields.is_set("c"));
        assert!(!fields.has("e") && fields.has("b"));
    }
}
