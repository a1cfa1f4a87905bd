//! The judged request bodies of `tests/fixtures/edge`, whole and cut at any byte.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

#[path = "fuzz/checks.rs"]
mod checks;

use checks::{Form, Verdict, scan};
use std::path::PathBuf;
use trilane::body::BodyError;

/// One line of the manifest.
#[derive(serde::Deserialize)]
struct Case {
    file: String,
    model: Option<String>,
    stream: Option<bool>,
    verdict: String,
    why: String,
}

impl Case {
    fn form(&self) -> Form {
        if self.file.ends_with(".multipart") {
            Form::Multipart
        } else {
            Form::Json
        }
    }

    /// The body; large ones are not worth a file.
    fn body(&self) -> Vec<u8> {
        match self.file.as_str() {
            "model_last_256k.json" => format!(
                r#"{{"messages":[{{"role":"user","content":"{}"}}],"stream":true,"model":"m1"}}"#,
                "x".repeat(256 * 1024)
            )
            .into_bytes(),
            "deep_10000.json" => format!(
                r#"{{"x":{}{},"model":"m1","messages":[{{"role":"user","content":"hi"}}]}}"#,
                "[".repeat(10_000),
                "]".repeat(10_000)
            )
            .into_bytes(),
            "mp_model_last.multipart" => [
                "------B\r\nContent-Disposition: form-data; name=\"prompt\"\r\n\r\np\r\n",
                "------B\r\nContent-Disposition: form-data; name=\"image[]\"; filename=\"a.png\"\r\n",
                "Content-Type: image/png\r\n\r\n",
                &"x".repeat(200_000),
                "\r\n------B\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\ngpt-image-2\r\n",
                "------B--\r\n",
            ]
            .concat()
            .into_bytes(),
            file => std::fs::read(directory().join(file)).expect(file),
        }
    }

    /// Judges a verdict of the scanner by the manifest.
    fn judge(&self, got: &Verdict, how: &str) {
        let context = format!("{} {how}: {got:?}, because {}", self.file, self.why);
        match self.verdict.as_str() {
            "accept" if self.file.starts_with("deep") => {
                assert_eq!(got.result, Err(BodyError::TooDeep), "{context}");
            }
            "accept" => {
                assert_eq!(got.result, Ok(()), "{context}");
                assert_eq!(got.name(), self.model.as_deref(), "{context}");
                assert_eq!(
                    got.stream.unwrap_or(false),
                    self.stream.unwrap_or(false),
                    "{context}"
                );
            }
            // The scanner's part is to find the name; that there is no such model is the catalog's.
            "reject404" => {
                assert_eq!(got.result, Ok(()), "{context}");
                let model = got.model.as_ref().expect(&context);
                if let Some(name) = &self.model {
                    assert_eq!(model.name, *name, "{context}");
                }
                assert_eq!(model.truncated, self.file == "model_long.json", "{context}");
            }
            // Refused here, or for want of a model.
            "reject400" => assert!(got.result.is_err() || got.model.is_none(), "{context}"),
            "either" => {}
            other => panic!("unknown verdict {other}"),
        }
    }
}

fn directory() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "fixtures", "edge"]
        .iter()
        .collect()
}

fn cases() -> Vec<Case> {
    let text = std::fs::read_to_string(directory().join("manifest.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Lists the offsets at which to cut a body in two: all, or all near its ends and now and then between.
fn cuts(len: usize) -> impl Iterator<Item = usize> {
    let near = 400;
    (0..=len).filter(move |cut| {
        len < 6000 || *cut < near || len - *cut < near || cut.is_multiple_of(4999)
    })
}

#[test]
fn every_case_is_judged_right_however_it_is_cut() {
    let cases = cases();
    assert!(cases.len() >= 41, "the corpus is there");
    for case in cases {
        let (form, body) = (case.form(), case.body());
        let whole = scan(form, [body.as_slice()]);
        case.judge(&whole, "whole");
        case.judge(&scan(form, body.chunks(1)), "byte by byte");
        for cut in cuts(body.len()) {
            let (head, tail) = body.split_at(cut);
            let got = scan(form, [head, tail]);
            assert_eq!(got.result, whole.result, "{} cut at {cut}", case.file);
            case.judge(&got, &format!("cut at {cut}"));
        }
    }
}

#[test]
fn every_case_holds_what_any_body_must() {
    for case in cases() {
        let body = case.body();
        match case.form() {
            Form::Json => checks::json(&body),
            Form::Multipart => checks::multipart(&body),
        };
    }
}

#[test]
fn what_real_clients_send_is_accepted() {
    let directory: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests", "fixtures", "requests"]
        .iter()
        .collect();
    let mut bodies = 0;
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let request = std::fs::read(&path).unwrap();
        let head = request.windows(4).position(|four| four == b"\r\n\r\n");
        let body = head.map_or(&[][..], |head| &request[head + 4..]);
        if !body.starts_with(b"{") {
            continue;
        }
        bodies += 1;
        // Not every chunking of each: some are large.
        let verdict = scan(Form::Json, body.chunks(1000));
        let context = path.display();
        assert_eq!(verdict.result, Ok(()), "{context}");
        assert_eq!(verdict, scan(Form::Json, [body]), "{context}");
        assert!(!verdict.told.image_tool, "{context}");
        let path_only =
            |other: &trilane::body::OtherModel| other.role == trilane::body::ModelRole::OfPath;
        assert!(verdict.told.others.iter().all(path_only), "{context}");
    }
    assert!(bodies > 20, "{bodies} bodies");
}

/// The reasons for rejections, of those bodies where a different reason would mean that the rule is not in force.
#[test]
fn refusals_have_the_right_reason() {
    use trilane::body::Field::{Model, Stream};
    let reasons = [
        ("dup_model.json", BodyError::Duplicate(Model)),
        ("dup_model_escaped.json", BodyError::Duplicate(Model)),
        ("dup_model_same.json", BodyError::Duplicate(Model)),
        ("dup_stream.json", BodyError::Duplicate(Stream)),
        ("case_model.json", BodyError::CaseVariant),
        ("case_model_only.json", BodyError::CaseVariant),
        ("model_null.json", BodyError::ModelNotString),
        ("model_num.json", BodyError::ModelNotString),
        ("model_arr.json", BodyError::ModelNotString),
        ("model_obj.json", BodyError::ModelNotString),
        ("model_bool.json", BodyError::ModelNotString),
        ("model_empty.json", BodyError::ModelEmpty),
        ("model_nul.json", BodyError::ModelControlCharacter),
        ("model_crlf.json", BodyError::ModelControlCharacter),
        ("model_lone_surrogate.json", BodyError::ModelSurrogate),
        ("utf16.json", BodyError::ByteOrderMark),
        ("trailing.json", BodyError::TrailingData { at: 58 }),
        ("truncated.json", BodyError::Truncated),
        ("array.json", BodyError::NotAnObject),
        ("empty.json", BodyError::Empty),
        ("bad_utf8.json", BodyError::Utf8 { at: 24 }),
        ("comment.json", BodyError::Syntax { at: 1 }),
        ("single_quotes.json", BodyError::Syntax { at: 1 }),
    ];
    let cases = cases();
    for (file, want) in reasons {
        let case = cases.iter().find(|case| case.file == file).expect(file);
        let got = scan(case.form(), [case.body().as_slice()]);
        assert_eq!(got.result, Err(want), "{file}");
    }
}
