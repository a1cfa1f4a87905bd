use super::*;

fn key(text: &str) -> PresentedCredential {
    PresentedCredential::Key(ApiKey(text.as_bytes().to_vec()))
}

/// (case, form, headers, query, what it presents)
type Case<'a> = (
    &'a str,
    CredentialForm,
    &'a [(&'a str, &'a str)],
    &'a str,
    PresentedCredential,
);

#[test]
fn what_counts_as_a_credential() {
    use PresentedCredential::{Absent, Malformed};
    let long = "k".repeat(257);
    let longest = "k".repeat(256);
    let cases: &[Case<'_>] = &[
        (
            "bearer",
            CredentialForm::Bearer,
            &[("authorization", "Bearer k1")],
            "",
            key("k1"),
        ),
        (
            "scheme in any case",
            CredentialForm::Bearer,
            &[("authorization", "bEARER k1")],
            "",
            key("k1"),
        ),
        (
            "more spaces",
            CredentialForm::Bearer,
            &[("authorization", "Bearer   k1 ")],
            "",
            key("k1"),
        ),
        (
            "no scheme",
            CredentialForm::Bearer,
            &[("authorization", "k1")],
            "",
            Malformed,
        ),
        (
            "another scheme",
            CredentialForm::Bearer,
            &[("authorization", "Basic azE6")],
            "",
            Malformed,
        ),
        (
            "no key",
            CredentialForm::Bearer,
            &[("authorization", "Bearer ")],
            "",
            Malformed,
        ),
        (
            "no space",
            CredentialForm::Bearer,
            &[("authorization", "Bearerk1")],
            "",
            Malformed,
        ),
        (
            "two words",
            CredentialForm::Bearer,
            &[("authorization", "Bearer k1 k2")],
            "",
            Malformed,
        ),
        (
            "joined by Envoy",
            CredentialForm::Bearer,
            &[("authorization", "Bearer k1,Bearer k1")],
            "",
            Malformed,
        ),
        (
            "repeated",
            CredentialForm::Bearer,
            &[
                ("authorization", "Bearer k1"),
                ("authorization", "Bearer k1"),
            ],
            "",
            Malformed,
        ),
        (
            "another header",
            CredentialForm::Bearer,
            &[("x-api-key", "k1")],
            "",
            Absent,
        ),
        (
            "x-api-key",
            CredentialForm::XApiKey,
            &[("x-api-key", "k1")],
            "",
            key("k1"),
        ),
        (
            "empty",
            CredentialForm::XApiKey,
            &[("x-api-key", "")],
            "",
            Malformed,
        ),
        (
            "inner comma",
            CredentialForm::XApiKey,
            &[("x-api-key", "k1,k2")],
            "",
            Malformed,
        ),
        (
            "too long",
            CredentialForm::XApiKey,
            &[("x-api-key", &long)],
            "",
            Malformed,
        ),
        (
            "longest",
            CredentialForm::XApiKey,
            &[("x-api-key", &longest)],
            "",
            key(&longest),
        ),
        (
            "not ASCII",
            CredentialForm::XApiKey,
            &[("x-api-key", "kß")],
            "",
            Malformed,
        ),
        (
            "repeated x-api-key",
            CredentialForm::XApiKey,
            &[("x-api-key", "k1"), ("x-api-key", "k1")],
            "",
            Malformed,
        ),
        (
            "neutral name",
            CredentialForm::VcApiKey,
            &[("x-vc-api-key", "k1")],
            "",
            key("k1"),
        ),
        (
            "vendor's name",
            CredentialForm::VcApiKey,
            &[("x-goog-api-key", "k1")],
            "",
            key("k1"),
        ),
        (
            "both names, one key",
            CredentialForm::VcApiKey,
            &[("x-goog-api-key", "k1"), ("x-vc-api-key", "k1")],
            "",
            key("k1"),
        ),
        (
            "both names, two keys",
            CredentialForm::VcApiKey,
            &[("x-goog-api-key", "k1"), ("x-vc-api-key", "k2")],
            "",
            Malformed,
        ),
        (
            "both names, one empty",
            CredentialForm::VcApiKey,
            &[("x-goog-api-key", ""), ("x-vc-api-key", "k2")],
            "",
            Malformed,
        ),
        (
            "query",
            CredentialForm::Query,
            &[],
            "?alt=sse&key=k1",
            key("k1"),
        ),
        (
            "query twice, two keys",
            CredentialForm::Query,
            &[],
            "?key=k1&key=k2",
            Malformed,
        ),
        (
            "query, empty",
            CredentialForm::Query,
            &[],
            "?key=",
            Malformed,
        ),
        ("no query", CredentialForm::Query, &[], "", Absent),
    ];
    for (case, form, headers, query, want) in cases {
        let head = Head::new(
            headers
                .iter()
                .map(|(n, v)| ((*n).to_owned(), v.as_bytes().to_vec()))
                .collect(),
        );
        let target = format!("/p{query}");
        let got = form.read(&head, &RequestTarget::parse(target.as_bytes()));
        assert!(got == *want, "{case}: {got:?}");
    }
}

#[test]
fn header_bytes_that_are_no_text() {
    let head = Head::new(vec![("x-api-key".to_owned(), b"\xff\xfe".to_vec())]);
    let got = CredentialForm::XApiKey.read(&head, &RequestTarget::parse(b"/"));
    assert_eq!(got, PresentedCredential::Malformed);
}

#[test]
fn debug_shows_no_key() {
    assert_eq!(format!("{:?}", key("sk-secret")), "Key(ApiKey(..))");
}
