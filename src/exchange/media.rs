//! The form of a request body: which scanner reads it, and which content-type the upstream gets.
//!
//! Servers believe the content-type. A body that was read as JSON here and says that it is a form, or JSON in another
//! charset, would be read as another request there. So what goes on is what the body was judged as: `application/json`,
//! or a form with the boundary that its parts were found by.

use super::outcome::HeaderEdit;
use crate::body::{BodyError, BodyScanner, form_content_type};
use crate::head::{Head, Occurrence};
use crate::protocol::{Endpoint, ModelPlace};
use crate::reply::Rejection;

const CONTENT_TYPE: &str = "content-type";
const JSON: &[u8] = b"application/json";
const FORM: &[u8] = b"multipart/form-data";

/// The scanner of a body, and the change to its content-type upstream.
#[derive(Debug)]
pub(super) struct Media {
    pub(super) scanner: BodyScanner,
    /// The change to the content-type, where the client's says something else.
    pub(super) edit: Option<HeaderEdit>,
}

impl Media {
    /// Of a request without a body.
    pub(super) fn none() -> Self {
        Self {
            scanner: BodyScanner::json(),
            edit: None,
        }
    }
}

/// Rejects a body by its head alone: too long, still encoded, missing, or of a form that the endpoint does not take.
/// Gives its length, where the head tells it, and how it is read.
pub(super) fn judge(
    head: &Head,
    end: bool,
    endpoint: &Endpoint,
    max_body: u64,
) -> Result<(Option<u64>, Media), Rejection> {
    let encoded = head
        .values("content-encoding")
        .any(|value| !value.trim_ascii().eq_ignore_ascii_case(b"identity"));
    if encoded {
        return Err(Rejection::EncodingNotSupported);
    }
    let spec = endpoint.spec();
    let is_optional = spec.model == ModelPlace::Optional;
    if end && !is_optional {
        return Err(Rejection::Body(BodyError::Empty));
    }
    let length = head
        .get("content-length")
        .and_then(|value| core::str::from_utf8(value).ok())
        .and_then(|text| text.parse::<u64>().ok());
    if length.is_some_and(|length| length > max_body) {
        return Err(Rejection::TooLarge { limit: max_body });
    }
    let media = if end {
        Media::none()
    } else {
        of_content_type(head, spec.takes_forms)?
    };
    Ok((length, media))
}

/// Judges the content-type of a body; `takes_forms` where the endpoint takes forms beside JSON.
///
/// # Errors
/// 415 for a multipart body where none is taken, 400 for a form whose boundary cannot be relied on.
fn of_content_type(head: &Head, takes_forms: bool) -> Result<Media, Rejection> {
    let sent = head.single(CONTENT_TYPE);
    if sent == Occurrence::Once(JSON) {
        return Ok(Media::none());
    }
    if let Occurrence::Once(value) = sent
        && takes_forms
        && starts_with(value, FORM)
    {
        let scanner = BodyScanner::multipart(value).map_err(Rejection::Body)?;
        let plain = form_content_type(value).map_err(Rejection::Body)?;
        let edit = (plain != value).then_some(HeaderEdit::Set(CONTENT_TYPE, plain));
        return Ok(Media { scanner, edit });
    }
    if head
        .values(CONTENT_TYPE)
        .any(|v| starts_with(v, b"multipart/"))
    {
        return Err(Rejection::FormNotSupported);
    }
    Ok(Media {
        scanner: BodyScanner::json(),
        edit: Some(HeaderEdit::Set(CONTENT_TYPE, JSON.to_vec())),
    })
}

/// Whether a value begins like this, in any case.
fn starts_with(value: &[u8], prefix: &[u8]) -> bool {
    let start = value.trim_ascii_start().get(..prefix.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Judges a content-type: gives the value that goes on, or the status.
    fn judged(values: &[&str], takes_forms: bool) -> Result<String, u16> {
        let pairs = values
            .iter()
            .map(|value| (CONTENT_TYPE.to_owned(), value.as_bytes().to_vec()));
        let media =
            of_content_type(&Head::new(pairs.collect()), takes_forms).map_err(|r| r.status())?;
        let form = matches!(media.scanner, BodyScanner::Multipart(_));
        let goes_on = match media.edit {
            Some(HeaderEdit::Set(CONTENT_TYPE, value)) => String::from_utf8(value).unwrap(),
            Some(other) => panic!("{other:?}"),
            None => format!("= {}", values[0]),
        };
        assert_eq!(form, goes_on.contains("multipart"), "{values:?}");
        Ok(goes_on)
    }

    #[test]
    fn content_types() {
        let json = Ok("application/json");
        // (what came, what goes on from a JSON endpoint, what from one that takes forms)
        type MediaCase<'a> = (&'a [&'a str], Result<&'a str, u16>, Result<&'a str, u16>);
        let cases: &[MediaCase<'_>] = &[
            (
                &["application/json"],
                Ok("= application/json"),
                Ok("= application/json"),
            ),
            (&[], json, json),
            (&[""], json, json),
            (&["application/json; charset=utf-8"], json, json),
            (&["application/json; charset=utf-7"], json, json),
            (&["Application/JSON"], json, json),
            (&["application/json "], json, json),
            (&["application/x-www-form-urlencoded"], json, json),
            (&["text/plain"], json, json),
            (&["text/plain;multipart/form-data"], json, json),
            (&["application/xml"], json, json),
            (
                &["application/json,application/x-www-form-urlencoded"],
                json,
                json,
            ),
            (&["application/json", "application/json"], json, json),
            (&["application/json", "text/plain"], json, json),
            (&["multipart/form-data"], Err(415), Err(400)),
            (&["multipart/mixed; boundary=x"], Err(415), Err(415)),
            (&["Multipart/Related; boundary=x"], Err(415), Err(415)),
            (&[" multipart/x"], Err(415), Err(415)),
            (
                &["application/json", "multipart/form-data; boundary=x"],
                Err(415),
                Err(415),
            ),
            (
                &[
                    "multipart/form-data; boundary=x",
                    "multipart/form-data; boundary=x",
                ],
                Err(415),
                Err(415),
            ),
            (
                &["multipart/form-data; boundary=x, application/json"],
                Err(415),
                Err(400),
            ),
            (
                &["multipart/form-data; boundary=x"],
                Err(415),
                Ok("= multipart/form-data; boundary=x"),
            ),
            (
                &["multipart/form-data; boundary=----WebKitFormBoundaryX1"],
                Err(415),
                Ok("= multipart/form-data; boundary=----WebKitFormBoundaryX1"),
            ),
            (
                &["Multipart/Form-Data;charset=utf-16;BOUNDARY=\"x\""],
                Err(415),
                Ok("multipart/form-data; boundary=x"),
            ),
            (
                &["multipart/form-data; x=\"\u{e9}\"; boundary=\"a b\""],
                Err(415),
                Ok("multipart/form-data; boundary=\"a b\""),
            ),
            (
                &["multipart/form-data; boundary=\"a b\""],
                Err(415),
                Ok("= multipart/form-data; boundary=\"a b\""),
            ),
        ];
        for (values, json, form) in cases {
            let text = |want: &Result<&str, u16>| want.map(str::to_owned);
            assert_eq!(judged(values, false), text(json), "JSON: {values:?}");
            assert_eq!(judged(values, true), text(form), "form: {values:?}");
        }
    }
}
