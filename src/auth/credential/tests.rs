use super::*;

fn key(text: &str) -> Presented {
    Presented::Key(ApiKey(text.as_bytes().to_vec()))
}

/// (case, form, headers, query, what it presents)
type Case<'a> = (&'a str, Form, &'a [(&'a str, &'a str)], &'a str, Presented);

#[test]
fn what_counts_as_a_credential() {
    use Presented::{Absent, Malformed};
    let long = "k".repeat(257);
    let longest = "k".repeat(256);
    let cases: &[Case<'_>] = &[
        (
            "bearer",
            Form::Bearer,
            &[("authorization", "Bearer k1")],
            "",
            key("k1"),
        ),
        (
            "scheme in any case",
            Form::Bearer,
            &[("authorization", "bEARER k1")],
            "",
            key("k1"),
        ),
        (
            "more spaces",
            Form::Bearer,
            &[("authorization", "Bearer   k1 ")],
            "",
            key("k1"),
        ),
        (
            "no scheme",
            Form::Bearer,
            &[("authorization", "k1")],
            "",
            Malformed,
        ),
        (
            "another scheme",
            Form::Bearer,
            &[("authorization", "Basic azE6")],
            "",
            Malformed,
        ),
        (
            "no key",
            Form::Bearer,
            &[("authorization", "Bearer ")],
            "",
            Malformed,
        ),
        (
            "no space",
            Form::Bearer,
            &[("authorization", "Bearerk1")],
            "",
            Malformed,
        ),
        (
            "two words",
            Form::Bearer,
            &[("authorization", "Bearer k1 k2")],
            "",
            Malformed,
        ),
        (
            "joined by Envoy",
            Form::Bearer,
            &[("authorization", "Bearer k1,Bearer k1")],
            "",
            Malformed,
        ),
        (
            "repeated",
            Form::Bearer,
            &[
                ("authorization", "Bearer k1"),
                ("authorization", "Bearer k1"),
            ],
            "",
            Malformed,
        ),
        (
            "another header",
            Form::Bearer,
            &[("x-api-key", "k1")],
            "",
            Absent,
        ),
        (
            "x-api-key",
            Form::XApiKey,
            &[("x-api-key", "k1")],
            "",
            key("k1"),
        ),
        ("empty", Form::XApiKey, &[("x-api-key", "")], "", Malformed),
        (
            "inner comma",
            Form::XApiKey,
            &[("x-api-key", "k1,k2")],
            "",
            Malformed,
        ),
        (
            "too long",
            Form::XApiKey,
            &[("x-api-key", &long)],
            "",
            Malformed,
        ),
        (
            "longest",
            Form::XApiKey,
            &[("x-api-key", &longest)],
            "",
            key(&longest),
        ),
        (
            "not ASCII",
            Form::XApiKey,
            &[("x-api-key", "kß")],
            "",
            Malformed,
        ),
        (
            "repeated x-api-key",
            Form::XApiKey,
            &[("x-api-key", "k1"), ("x-api-key", "k1")],
            "",
            Malformed,
        ),
        (
            "neutral name",
            Form::VcApiKey,
            &[("x-vc-api-key", "k1")],
            "",
            key("k1"),
        ),
        (
            "vendor's name",
            Form::VcApiKey,
            &[("x-goog-api-key", "k1")],
            "",
            key("k1"),
        ),
        (
            "both names, one key",
            Form::VcApiKey,
            &[("x-goog-api-key", "k1"), ("x-vc-api-key", "k1")],
            "",
            key("k1"),
        ),
        (
            "both names, two keys",
            Form::VcApiKey,
            &[("x-goog-api-key", "k1"), ("x-vc-api-key", "k2")],
            "",
            Malformed,
        ),
        (
            "both names, one empty",
            Form::VcApiKey,
            &[("x-goog-api-key", ""), ("x-vc-api-key", "k2")],
            "",
            Malformed,
        ),
        ("query", Form::Query, &[], "?alt=sse&key=k1", key("k1")),
        (
            "query twice, two keys",
            Form::Query,
            &[],
            "?key=k1&key=k2",
            Malformed,
        ),
        ("query, empty", Form::Query, &[], "?key=", Malformed),
        ("no query", Form::Query, &[], "", Absent),
    ];
    for (case, form, headers, query, want) in cases {
        let head = Head::new(
            headers
                .iter()
                .map(|(n, v)| ((*n).to_owned(), v.as_bytes().to_vec()))
                .collect(),
        );
        let target = format!("/p{query}");
        let got = form.read(&head, &Target::parse(target.as_bytes()));
        assert!(got == *want, "{case}: {got:?}");
    }
}

#[test]
fn header_bytes_that_are_no_text() {
    let head = Head::new(vec![("x-api-key".to_owned(), b"\xff\xfe".to_vec())]);
    let got = Form::XApiKey.read(&head, &Target::parse(b"/"));
    assert_eq!(got, Presented::Malformed);
}

#[test]
fn debug_shows_no_key() {
    assert_eq!(format!("{:?}", key("sk-secret")), "Key(ApiKey(..))");
}
