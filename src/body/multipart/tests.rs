use super::*;

const TYPE: &[u8] = b"multipart/form-data; boundary=B";

fn scan(chunks: &[&[u8]]) -> (Result<(), BodyError>, MultipartScanner) {
    let mut scanner = MultipartScanner::new(TYPE).unwrap();
    let fed = chunks.iter().try_for_each(|chunk| scanner.feed(chunk));
    let end = scanner.finish();
    assert!(fed.is_ok() || fed == end, "an error is final");
    (end, scanner)
}

/// The verdict on a body, which must not depend on how it is cut.
fn verdict(body: &[u8]) -> Result<(Option<FoundModel>, Option<bool>), BodyError> {
    let (end, scanner) = scan(&[body]);
    for cut in 0..=body.len() {
        let (head, tail) = body.split_at(cut);
        let (other, cut_scanner) = scan(&[head, tail]);
        assert_eq!(end, other, "{:?} cut at {cut}", body.escape_ascii());
        if end.is_ok() {
            assert_eq!(scanner.model, cut_scanner.model, "cut at {cut}");
            assert_eq!(scanner.stream, cut_scanner.stream, "cut at {cut}");
        }
    }
    end.map(|()| (scanner.model, scanner.stream))
}

fn name_of(body: &[u8]) -> Result<Option<String>, BodyError> {
    verdict(body).map(|(model, _)| model.map(|model| model.name))
}

/// A form of parts, each written as its headers and its value.
fn form(parts: &[(&str, &str)]) -> Vec<u8> {
    let mut body = String::new();
    for (headers, value) in parts {
        body += &format!("--B\r\n{headers}\r\n\r\n{value}\r\n");
    }
    (body + "--B--\r\n").into_bytes()
}

const FILE: &str =
    "Content-Disposition: form-data; name=\"image\"; filename=\"a.png\"\r\nContent-Type: image/png";
const MODEL: &str = "Content-Disposition: form-data; name=\"model\"";
const STREAM: &str = "Content-Disposition: form-data; name=\"stream\"";

#[test]
fn values_that_look_like_boundaries() {
    let cases = [
        "PNG",
        "",
        "\r\n",
        "\r",
        "\n",
        "\r\n-",
        "\r\n--",
        "\r\n--b",
        "\r\n--C",
        "--B",
        "-",
        "--",
        "x--B--",
        "\r\n\r\n",
        "\r\r\n\n",
        "\r\n-\r\n--\r\n-",
        "\r\n \r\n --B",
        "--A\r\n--A--",
        "\n--\r--",
        "\u{fc}\u{20ac}\0",
    ];
    for value in cases {
        let body = form(&[(FILE, value), (MODEL, "m1"), (FILE, value)]);
        // What begins with the delimiter is a part without a value to some parsers.
        let want = if value == "--B" {
            Err(BodyError::Boundary)
        } else {
            Ok(Some("m1".to_owned()))
        };
        assert_eq!(name_of(&body), want, "{value:?}");
    }
}

#[test]
fn accepts() {
    #[rustfmt::skip]
    let cases: &[(&str, Vec<u8>, Option<&str>)] = &[
        ("no part", b"--B--\r\n".to_vec(), None),
        ("no line end behind", b"--B--".to_vec(), None),
        ("whitespace behind", b"--B--\r\n \t\r\n".to_vec(), None),
        ("line ends before", b"\r\n\r\n--B--".to_vec(), None),
        ("model", form(&[(MODEL, "gpt-image-2")]), Some("gpt-image-2")),
        ("no trimming", form(&[(MODEL, " m1 ")]), Some(" m1 ")),
        ("dashes in front", form(&[(MODEL, "--x")]), Some("--x")),
        ("a dash", form(&[(MODEL, "-")]), Some("-")),
        ("UTF-8", form(&[(MODEL, "\u{e9}\u{1f600}")]), Some("\u{e9}\u{1f600}")),
        ("token", form(&[("Content-Disposition: form-data; name=model", "m1")]), Some("m1")),
        ("capitals", form(&[("CONTENT-DISPOSITION:FORM-DATA;NAME=\"model\"", "m1")]), Some("m1")),
        ("spaces", form(&[("content-disposition:  form-data ;  name=\"model\" ;", "m1")]), Some("m1")),
        ("type", form(&[("Content-Type: text/plain\r\nContent-Disposition: form-data; name=\"model\"\r\nContent-Transfer-Encoding: 8BIT", "m1")]), Some("m1")),
        ("decoy in a file name", form(&[("Content-Disposition: form-data; name=\"image\"; filename=\"name=\"model\"\"", "x")]), None),
        ("decoy in a quoted file name", form(&[("Content-Disposition: form-data; name=\"image\"; filename=\"a\\\"b\"", "x")]), None),
        ("file name first", form(&[("Content-Disposition: form-data; filename=\"a b\"; name=\"image\"", "x")]), None),
        ("other names", form(&[("Content-Disposition: form-data; name=\"models\"", "x"), ("Content-Disposition: form-data; name=\"\"", "x"), ("Content-Disposition: form-data; name=\"image[]\"", "x")]), None),
        ("encoded file", form(&[("Content-Disposition: form-data; name=\"image\"\r\nContent-Transfer-Encoding: base64", "x")]), None),
    ];
    for (name, body, want) in cases {
        assert_eq!(name_of(body), Ok(want.map(str::to_owned)), "{name}");
    }
}

#[test]
fn refuses() {
    let named = |rest: &str| form(&[(&format!("Content-Disposition: form-data{rest}"), "m1")]);
    let file = BodyError::FieldIsFile(Field::Model);
    #[rustfmt::skip]
    let cases: &[(&str, Vec<u8>, BodyError)] = &[
        ("nothing", vec![], BodyError::Empty),
        ("line ends only", b"\r\n".to_vec(), BodyError::Empty),
        ("preamble", b"hi\r\n--B--".to_vec(), BodyError::Boundary),
        ("line feed before", b"\n--B--".to_vec(), BodyError::Boundary),
        ("other boundary", b"--C--".to_vec(), BodyError::Boundary),
        ("longer boundary", b"--BB\r\n".to_vec(), BodyError::Boundary),
        ("padded boundary", b"--B \r\n".to_vec(), BodyError::Boundary),
        ("line feed after the boundary", b"--B\n".to_vec(), BodyError::Boundary),
        ("one dash", b"--B-\r\n".to_vec(), BodyError::Boundary),
        ("boundary after a line feed", form(&[(FILE, "x\n--B\r\n")]), BodyError::Boundary),
        ("boundary after a carriage return", form(&[(FILE, "x\r--B\r\n")]), BodyError::Boundary),
        ("boundary after both, turned round", form(&[(FILE, "x\n\r--B\r\n")]), BodyError::Boundary),
        ("longer boundary in a value", form(&[(FILE, "x\r\n--Bx\r\n")]), BodyError::Boundary),
        ("no value", format!("--B\r\n{MODEL}\r\n\r\n--B--").into_bytes(), BodyError::Boundary),
        ("epilogue", b"--B--\r\nx".to_vec(), BodyError::TrailingData { at: 7 }),
        ("another form", b"--B--\r\n--B--".to_vec(), BodyError::TrailingData { at: 7 }),
        ("boundary among the headers", form(&[(&format!("{MODEL}\r\n--B: x"), "m1")]), BodyError::Boundary),
        ("no headers", b"--B\r\n\r\nx\r\n--B--".to_vec(), BodyError::PartHeaders),
        ("no disposition", form(&[("Content-Type: text/plain", "x")]), BodyError::PartHeaders),
        ("two dispositions", form(&[(&format!("{MODEL}\r\n{MODEL}"), "x")]), BodyError::PartHeaders),
        ("attachment", form(&[("Content-Disposition: attachment; name=\"model\"", "x")]), BodyError::PartHeaders),
        ("no colon", form(&[(&format!("{MODEL}\r\nX"), "x")]), BodyError::PartHeaders),
        ("space before the colon", form(&[("Content-Disposition : form-data; name=\"model\"", "x")]), BodyError::PartHeaders),
        ("folded", form(&[("Content-Disposition: form-data;\r\n name=\"model\"", "x")]), BodyError::PartHeaders),
        ("line feed", form(&[("X: y\nContent-Disposition: form-data; name=\"model\"", "x")]), BodyError::PartHeaders),
        ("carriage return", form(&[("X: y\rContent-Disposition: form-data; name=\"model\"", "x")]), BodyError::PartHeaders),
        ("NUL", form(&[("Content-Disposition: form-data; name=\"model\0\"", "x")]), BodyError::PartHeaders),
        ("no name", named(""), BodyError::PartHeaders),
        ("file name only", named("; filename=\"a\""), BodyError::PartHeaders),
        ("extended name", named("; name*=utf-8''model"), BodyError::PartHeaders),
        ("both names", named("; name=\"a\"; name*=utf-8''model"), BodyError::PartHeaders),
        ("continued name", named("; name*0=mo; name*1=del"), BodyError::PartHeaders),
        ("two names", named("; name=\"a\"; name=\"model\""), BodyError::PartHeaders),
        ("escaped quote in the name", named("; name=\"a\\\"; name=\\\"model\""), BodyError::PartHeaders),
        ("backslash in the name", named("; name=\"mo\\del\""), BodyError::PartHeaders),
        ("escaped quote in a file name", named("; name=\"a\"; filename=\"\\\"; name=\"model\""), BodyError::PartHeaders),
        ("quotes in a file name before", named("; filename=\"a\"b\"; name=\"model\""), BodyError::PartHeaders),
        ("backslash in a file name before", named("; filename=\"a\\\"; name=\"model\""), BodyError::PartHeaders),
        ("text behind the name", named("; name=\"a\"model"), BodyError::PartHeaders),
        ("space before the value", named("; name= \"model\""), BodyError::PartHeaders),
        ("open quote", named("; name=\"model"), BodyError::PartHeaders),
        ("no semicolon", named(" name=\"model\""), BodyError::PartHeaders),
        ("file", named("; name=\"model\"; filename=\"a\""), file),
        ("file, name behind", named("; filename=\"a\"; name=\"model\""), file),
        ("file, extended", named("; name=\"model\"; filename*=utf-8''a"), file),
        ("stream as a file", named("; name=\"stream\"; filename=\"a\""), BodyError::FieldIsFile(Field::Stream)),
        ("base64", form(&[(&format!("{MODEL}\r\nContent-Transfer-Encoding: base64"), "bTE=")]), BodyError::PartHeaders),
        ("quoted-printable", form(&[(&format!("Content-Transfer-Encoding: quoted-printable\r\n{MODEL}"), "m1")]), BodyError::PartHeaders),
        ("variant", named("; name=\"Model\""), BodyError::CaseVariant),
        ("variant of stream", named("; name=\"\u{17f}tream\""), BodyError::CaseVariant),
        ("array", named("; name=\"model[]\""), BodyError::CaseVariant),
        ("space", named("; name=\" model\""), BodyError::CaseVariant),
        ("twice", form(&[(MODEL, "a"), (FILE, "x"), (MODEL, "a")]), BodyError::Duplicate(Field::Model)),
        ("stream twice", form(&[(STREAM, "false"), (STREAM, "true")]), BodyError::Duplicate(Field::Stream)),
        ("empty", form(&[(MODEL, "")]), BodyError::ModelEmpty),
        ("line end in the name", form(&[(MODEL, "m1\r\n")]), BodyError::ModelControlCharacter),
        ("line end before the name", form(&[(MODEL, "\r\nm1")]), BodyError::ModelControlCharacter),
        ("line feed in the name", form(&[(MODEL, "m\n1")]), BodyError::ModelControlCharacter),
        ("carriage return in the name", form(&[(MODEL, "m1\r")]), BodyError::ModelControlCharacter),
        ("dashes after a line end", form(&[(MODEL, "m1\r\n--x")]), BodyError::ModelControlCharacter),
        ("NUL in the name", form(&[(MODEL, "m\0")]), BodyError::ModelControlCharacter),
        ("open", b"--B".to_vec(), BodyError::Truncated),
        ("open headers", format!("--B\r\n{MODEL}\r\n").into_bytes(), BodyError::Truncated),
        ("open value", format!("--B\r\n{MODEL}\r\n\r\nm1").into_bytes(), BodyError::Truncated),
        ("not closed", format!("--B\r\n{MODEL}\r\n\r\nm1\r\n--B\r\n").into_bytes(), BodyError::Truncated),
        ("half closed", format!("--B\r\n{MODEL}\r\n\r\nm1\r\n--B-").into_bytes(), BodyError::Truncated),
    ];
    for (name, body, want) in cases {
        assert_eq!(name_of(body), Err(*want), "{name}");
    }
}

#[test]
fn bad_utf8_in_the_name() {
    let start = form(&[(MODEL, "")]).len() as u64 - "\r\n--B--\r\n".len() as u64;
    for (value, bad) in [
        (b"m\xFF".as_slice(), 1),
        (b"\xC0\x80", 0),
        (b"\xE2\x82x", 2),
        (b"\xE2\x82", 2),
        (b"\xE2\x82\x01\xFF", 2),
    ] {
        let body = [
            b"--B\r\n",
            MODEL.as_bytes(),
            b"\r\n\r\n",
            value,
            b"\r\n--B--\r\n",
        ]
        .concat();
        let want = BodyError::Utf8 { at: start + bad };
        assert_eq!(name_of(&body), Err(want), "{value:x?}");
    }
}

#[test]
fn the_span_is_the_value() {
    for value in ["m1", "-m1", "--", " \u{e9} "] {
        let body = form(&[(FILE, "x\r\ny"), (MODEL, value), (STREAM, "true")]);
        let model = verdict(&body).unwrap().0.unwrap();
        let span = model.span.start as usize..model.span.end as usize;
        assert_eq!(&body[span], value.as_bytes(), "{value}");
    }
}

#[test]
fn a_long_name_is_reported_before_it_ends() {
    let mut scanner = MultipartScanner::new(TYPE).unwrap();
    scanner
        .feed(format!("--B\r\n{MODEL}\r\n\r\n").as_bytes())
        .unwrap();
    for _ in 0..128 {
        assert_eq!(scanner.model(), None);
        assert!(scanner.inside_model().is_some());
        scanner.feed("\u{e9}".as_bytes()).unwrap();
    }
    scanner.feed(b"m").unwrap();
    assert!(scanner.inside_model().is_none(), "not held any longer");
    let found = scanner.model().unwrap();
    assert_eq!((found.name.len(), found.truncated), (256, true));
    scanner.feed(b"\r\n--B--").unwrap();
    assert_eq!(scanner.finish(), Ok(()));
}

#[test]
fn inside_model_until_its_boundary_is_read() {
    let body = form(&[(FILE, "x"), (MODEL, "m1"), (FILE, "x")]);
    let place = |text: &[u8]| {
        body.windows(text.len())
            .position(|part| part == text)
            .unwrap()
    };
    let start = place(b"\r\n\r\nm1\r\n") + 4;
    let mut scanner = MultipartScanner::new(TYPE).unwrap();
    for (index, byte) in body.iter().enumerate() {
        scanner.feed(&[*byte]).unwrap();
        // Delimiter and all: `m1`, CRLF, `--`.
        let inside = (start - 1..start + 6).contains(&index);
        assert_eq!(
            scanner.inside_model().is_some(),
            inside,
            "after byte {index}"
        );
        assert_eq!(
            scanner.model().is_some(),
            index >= start + 6,
            "after byte {index}"
        );
    }
}

#[test]
fn stream_is_true_or_false() {
    let wrong = Err(BodyError::WrongType(Field::Stream));
    for (value, want) in [
        ("true", Ok((None, Some(true)))),
        ("false", Ok((None, Some(false)))),
        ("", wrong.clone()),
        ("1", wrong.clone()),
        ("tru", wrong.clone()),
        ("truetrue", wrong.clone()),
        ("true ", wrong.clone()),
        ("True", wrong.clone()),
        ("null", wrong.clone()),
        ("t\r\nrue", wrong.clone()),
        ("true\r\n", wrong.clone()),
        ("-true", wrong),
    ] {
        let body = form(&[(STREAM, value)]);
        assert_eq!(verdict(&body), want, "{value:?}");
    }
    assert_eq!(verdict(&form(&[(FILE, "true")])), Ok((None, None)));
}

#[test]
fn n_is_a_plain_integer() {
    const N: &str = "Content-Disposition: form-data; name=\"n\"";
    let wrong = Err(BodyError::WrongType(Field::N));
    let long = "9".repeat(32);
    for (value, want) in [
        ("1", Ok(Some(1))),
        ("0", Ok(Some(0))),
        ("10", Ok(Some(10))),
        ("99999999999999999999", Ok(Some(u64::MAX))),
        (&long, wrong),
        ("", wrong),
        ("01", wrong),
        ("1.0", wrong),
        ("1e1", wrong),
        ("-1", wrong),
        ("+1", wrong),
        (" 1", wrong),
        ("1\r\n", wrong),
        ("\u{661}", wrong),
    ] {
        let body = form(&[(N, value)]);
        for cut in 0..=body.len() {
            let (head, tail) = body.split_at(cut);
            let (end, scanner) = scan(&[head, tail]);
            let got = end.map(|()| scanner.candidates());
            assert_eq!(got, want, "{value:?} cut at {cut}");
        }
    }
    let twice = form(&[(N, "1"), (N, "1")]);
    assert_eq!(scan(&[&twice]).0, Err(BodyError::Duplicate(Field::N)));
}

#[test]
fn the_model_of_svg_is_not_supported() {
    for (name, want) in [
        ("svg", BodyError::NotSupported(Field::Svg)),
        ("svg[model]", BodyError::CaseVariant),
        ("SVG[model]", BodyError::CaseVariant),
    ] {
        let header = format!("Content-Disposition: form-data; name=\"{name}\"");
        let body = form(&[(MODEL, "m1"), (&header, "m2")]);
        assert_eq!(scan(&[&body]).0, Err(want), "{name}");
    }
}

#[test]
fn parts_that_choose_elsewhere() {
    let file = "; filename=\"a.json\"";
    let cases = [
        ("provider", "", Some("provider")),
        ("Provider", "", Some("provider")),
        ("provider[order][]", "", Some("provider")),
        (" provider", "", Some("provider")),
        ("extraBody", "", Some("extra_body")),
        ("pr%6fvider", "", Some("provider")),
        ("pr&#111;vider", "", Some("provider")),
        ("extra_body", file, Some("extra_body")),
        // Forms have many spellings of a list.
        ("models", "", Some("models")),
        ("models[]", "", Some("models")),
        ("fallbacks[0][model]", "", Some("fallbacks")),
        ("prompt", "", None),
        ("image[]", file, None),
        ("my_provider", "", None),
    ];
    for (name, more, want) in cases {
        let header = format!("Content-Disposition: form-data; name=\"{name}\"{more}");
        let body = form(&[(MODEL, "m1"), (&header, "x"), (STREAM, "true")]);
        for cut in 0..=body.len() {
            let (head, tail) = body.split_at(cut);
            let (end, scanner) = scan(&[head, tail]);
            assert_eq!(end, Ok(()), "{name}");
            let got = scanner.steering().first_outside(SteeringSet::default());
            assert_eq!(got.map(|member| member.name), want, "{name}, cut at {cut}");
        }
    }
}

#[test]
fn each_file_is_an_image_and_no_text() {
    let body = form(&[
        (MODEL, "m1"),
        (FILE, "\r\n--\r\n123456789\r"),
        (STREAM, "true"),
        (FILE, ""),
    ]);
    let bytes = "\r\n--\r\n123456789\r".len();
    let want = InputSize {
        text_bytes: (body.len() - bytes) as u64,
        images: 2,
        ..InputSize::default()
    };
    for cut in 0..=body.len() {
        let (head, tail) = body.split_at(cut);
        let (end, scanner) = scan(&[head, tail]);
        assert_eq!((end, scanner.input_size()), (Ok(()), want), "cut at {cut}");
    }
}

#[test]
fn part_headers_are_bounded() {
    let fit = MAX_PART_HEADERS - MODEL.len() - "\r\nX: \r\n\r\n".len();
    let body = |len: usize| {
        form(&[
            (&format!("{MODEL}\r\nX: {}", "x".repeat(len)), "m1"),
            (FILE, ""),
        ])
    };
    assert_eq!(scan(&[&body(fit)]).0, Ok(()));
    assert_eq!(
        scan(&[&body(fit + 1)]).0,
        Err(BodyError::PartHeadersTooLong)
    );
    let many = form(&[(&format!("{}{MODEL}", "X:\r\n".repeat(3000)), "m1")]);
    assert_eq!(scan(&[&many]).0, Err(BodyError::PartHeadersTooLong));
    let endless = ["--B\r\nX: ".to_owned(), "x".repeat(10_000)].concat();
    assert_eq!(
        scan(&[endless.as_bytes()]).0,
        Err(BodyError::PartHeadersTooLong)
    );
}
