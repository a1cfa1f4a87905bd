use super::*;

const HEAD: &str = r#""timestamp":"2026-11-21T17:00:00.123Z","http.response.status_code":200"#;

fn parse(members: &str) -> Result<String, Unread> {
    let text = format!("{{{members}}}\n");
    let record = LedgerRecord::parse(text.as_bytes())?;
    let counts = Measure::ALL
        .into_iter()
        .skip(6)
        .take(9)
        .map(|measure| record.amount(measure));
    Ok(format!(
        "{}/{}/{}/{}/{}/{}/{} {:?} {:?} {} {:?}",
        record.key(),
        record.group(),
        record.model(),
        record.source(),
        record.account(),
        record.entry(),
        record.outcome(),
        record.status,
        record.charge.map(|charge| charge.to_string()),
        record.currency(),
        counts.collect::<Vec<_>>()
    ))
}

#[test]
fn records() {
    let cases = [
        (
            "refused before the filter",
            "",
            "////// None None  [0, 0, 0, 0, 0, 0, 0, 0, 0]",
        ),
        (
            "whole",
            r#","trilane.key.id":"k","trilane.group":"g","trilane.model":"m","trilane.source":"s",
            "trilane.account":"u","trilane.entry":"e","trilane.outcome":"finished","trilane.usage.status":"complete",
            "trilane.charge":"0.10","trilane.currency":"USD","gen_ai.usage.input_tokens":1,
            "gen_ai.usage.output_tokens":2,"gen_ai.usage.cache_read.input_tokens":3,
            "gen_ai.usage.cache_creation.input_tokens":9,
            "trilane.usage.cache_creation_5m.input_tokens":4,"trilane.usage.cache_creation_1h.input_tokens":5,
            "gen_ai.usage.reasoning.output_tokens":6,"trilane.usage.tool_use.input_tokens":7,
            "trilane.usage.image.input_tokens":8,"trilane.usage.images":1000000000,
            "trilane.usage.reported":{"input_tokens":77,"trilane.charge":"9"},"what":["comes",{"later":null}]"#,
            "k/g/m/s/u/e/finished Complete Some(\"0.1\") USD [1, 2, 3, 4, 5, 6, 7, 8, 1000000000]",
        ),
        (
            "cache writes without detail are for five minutes",
            r#","gen_ai.usage.cache_creation.input_tokens":9,"trilane.usage.cache_creation_1h.input_tokens":5"#,
            "////// None None  [0, 0, 0, 4, 5, 0, 0, 0, 0]",
        ),
        (
            "nulls, nothings and hyphens",
            r#","trilane.key.id":null,"trilane.group":"-","trilane.model":"","trilane.charge":"-","trilane.usage.status":"-""#,
            "////// None None  [0, 0, 0, 0, 0, 0, 0, 0, 0]",
        ),
        (
            "escapes",
            r#","trilane.\u006bey.id":"a\u00e4\"\n""#,
            "aä\"\n////// None None  [0, 0, 0, 0, 0, 0, 0, 0, 0]",
        ),
    ];
    for (case, members, want) in cases {
        assert_eq!(
            parse(&format!("{HEAD}{members}")),
            Ok(want.to_owned()),
            "{case}"
        );
    }
}

#[test]
fn members_of_later_releases() {
    use Measure::*;
    let members = r#","trilane.usage.status":"estimated","trilane.charge":"0.10",
        "trilane.usage.audio.input_tokens":1,"trilane.usage.audio.output_tokens":2,
        "trilane.usage.image.output_tokens":3,"trilane.usage.calls.web_search":4,
        "trilane.usage.calls.code_execution":5,"trilane.usage.calls.file_search":6,
        "trilane.usage.calls.maps_search":7,"trilane.estimated.input_tokens":8,
        "trilane.estimated.output_tokens":9,"trilane.uncovered":["tier","web_search"],"trilane.usage.calls.to_come":10"#;
    let text = format!("{{{HEAD}{members}}}");
    let record = LedgerRecord::parse(text.as_bytes()).unwrap();
    assert_eq!(record.status, UsageStatus::Estimated);
    assert_eq!(record.status.name(), "estimated");
    let of_record = [
        (Requests, 1),
        (Estimated, 1),
        (Complete, 0),
        (Partial, 0),
        (InputAudio, 1),
        (OutputAudio, 2),
        (OutputImage, 3),
        (WebSearch, 4),
        (CodeExecution, 5),
        (FileSearch, 6),
        (MapsSearch, 7),
        (EstimatedInput, 8),
        (EstimatedOutput, 9),
        (Uncovered, 1),
    ];
    for (measure, want) in of_record {
        assert_eq!(record.amount(measure), want, "{measure:?}");
    }
    for (uncovered, want) in [("[]", 0), ("null", 0), (r#"["image"]"#, 1)] {
        let text = format!(r#"{{{HEAD},"trilane.uncovered":{uncovered}}}"#);
        let record = LedgerRecord::parse(text.as_bytes()).unwrap();
        assert_eq!(record.amount(Uncovered), want, "{uncovered}");
    }
    let text = format!(r#"{{{HEAD},"trilane.uncovered":"tier"}}"#);
    assert!(matches!(
        LedgerRecord::parse(text.as_bytes()),
        Err(Unread::Damaged(_))
    ));
}

#[test]
fn texts_are_borrowed() {
    let text = format!(r#"{{{HEAD},"trilane.key.id":"key"}}"#);
    let record = LedgerRecord::parse(text.as_bytes()).unwrap();
    assert!(matches!(
        record.line.key,
        Some(LineText(Cow::Borrowed("key")))
    ));
}

#[test]
fn lines_that_are_damaged() {
    let cases = [
        (
            "negative tokens",
            r#""gen_ai.usage.input_tokens":-1"#,
            "invalid value",
        ),
        (
            "a fraction of a token",
            r#""gen_ai.usage.input_tokens":1.5"#,
            "invalid type",
        ),
        (
            "an exponent",
            r#""gen_ai.usage.input_tokens":1e3"#,
            "invalid type",
        ),
        (
            "too many tokens",
            r#""gen_ai.usage.input_tokens":18446744073709551616"#,
            "invalid type",
        ),
        (
            "tokens in a string",
            r#""gen_ai.usage.input_tokens":"1""#,
            "invalid type",
        ),
        (
            "a charge that is a number",
            r#""trilane.charge":0.1"#,
            "invalid type",
        ),
        (
            "a negative charge",
            r#""trilane.charge":"-1""#,
            "trilane.charge \"-1\" is no plain",
        ),
        (
            "a charge that no sum holds",
            r#""trilane.charge":"1000000000""#,
            "trilane.charge \"1000000000\" is 10^9 or more",
        ),
        (
            "a charge that is too fine",
            r#""trilane.charge":"0.000000000000000000001""#,
            "trilane.charge \"0.000000000000000000001\" has more than 20",
        ),
        (
            "more tokens than 10^9",
            r#""gen_ai.usage.input_tokens":1000000001"#,
            "the count of input is more than 10^9",
        ),
        (
            "more cache writes than 10^9, of which few are for five minutes",
            r#""gen_ai.usage.cache_creation.input_tokens":18446744073709551615,"trilane.usage.cache_creation_1h.input_tokens":18446744073709551615"#,
            "the count of cache_write_1h is more than 10^9",
        ),
        (
            "a currency of HTML",
            r#""trilane.currency":"<b>""#,
            "trilane.currency is no code",
        ),
        (
            "a currency of small letters",
            r#""trilane.currency":"usd""#,
            "trilane.currency is no code",
        ),
        (
            "an unknown status",
            r#""trilane.usage.status":"done""#,
            "trilane.usage.status \"done\"",
        ),
        (
            "a key twice",
            r#""trilane.charge":"1","trilane.charge":"2""#,
            "duplicate field `trilane.charge`",
        ),
        (
            "another timestamp",
            r#""timestamp":"2026-11-21T18:00:00Z""#,
            "duplicate field `timestamp`",
        ),
    ];
    for (case, members, want) in cases {
        match parse(&format!("{HEAD},{members}")) {
            Err(Unread::Damaged(why)) => assert!(why.starts_with(want), "{case}: {why}"),
            other => panic!("{case}: {other:?}"),
        }
    }
    let long = "\u{20ac}".repeat(90);
    let names = [
        "owner", "team", "group", "source", "account", "entry", "model", "outcome",
    ];
    let member = |name: &str| {
        let prefix = if ["owner", "team"].contains(&name) {
            "trilane.key."
        } else {
            "trilane."
        };
        format!(r#","{prefix}{name}":"{}""#, "x".repeat(256))
    };
    for (case, members, want) in [
        (
            "a long name",
            format!(r#","trilane.model":"{long}""#),
            "an id or name has more than 256 bytes",
        ),
        (
            "many long names",
            names.map(member).concat(),
            "all ids and names have more than 2000 bytes",
        ),
    ] {
        assert_eq!(
            parse(&format!("{HEAD}{members}")),
            Err(Unread::Damaged(want.to_owned())),
            "{case}"
        );
    }
    let bad_time = r#""timestamp":"yesterday","trilane.usage.status":"none""#;
    assert!(matches!(parse(bad_time), Err(Unread::Damaged(_))));
}

#[test]
fn lines_that_are_none() {
    let cases = [
        ("a word", "starting", "not a JSON object"),
        (
            "an array",
            r#"["2026-11-21T17:00:00Z",200]"#,
            "not a JSON object",
        ),
        (
            "a log of something else",
            r#"{"timestamp":"2026-11-21T17:00:00Z","level":"info"}"#,
            "a JSON object, but",
        ),
        (
            "with a timestamp of its own kind",
            r#"{"timestamp":12,"level":"info"}"#,
            "a JSON object, but",
        ),
        ("empty object", "{}", "a JSON object, but"),
        (
            "broken",
            r#"{"a":}"#,
            "not JSON: expected value at column 6",
        ),
        (
            "two lines in one",
            r#"{"a":1}{"a":1}"#,
            "not JSON: trailing characters at column 8",
        ),
    ];
    for (case, text, want) in cases {
        match LedgerRecord::parse(text.as_bytes()) {
            Err(Unread::Foreign(why)) => assert!(why.starts_with(want), "{case}: {why}"),
            other => panic!("{case}: {other:?}"),
        }
    }
}

#[test]
fn every_beginning_of_a_line_is_cut_and_never_a_record() {
    let text = format!(
        r#"{{{HEAD},"trilane.key.id":"kä\u00e4","gen_ai.usage.input_tokens":12,"x":[{{}},true]}}"#
    );
    for end in 1..text.len() {
        let part = &text.as_bytes()[..end];
        assert_eq!(
            LedgerRecord::parse(part).err(),
            Some(Unread::Cut),
            "{}",
            part.escape_ascii()
        );
    }
    assert!(LedgerRecord::parse(text.as_bytes()).is_ok());
}
