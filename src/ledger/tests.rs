use std::rc::Rc;

use serde_json::{Value, json};

use super::*;
use crate::limits::{BudgetSpent, Limit, Rate, Settlement, SubjectKind, Window};
use crate::money::{Amount, Charge, Gap, Multiplier, Price, Prices, Uncovered};
use crate::protocol::{Entry, Protocol};
use crate::usage::{Call, Estimated, Kind, Reading, Usage};

pub(super) fn record() -> Record {
    Record {
        method: "POST".into(),
        path: "/v1/\"odd\u{7f}\u{2028}".into(),
        endpoint: Some("messages".into()),
        operation: Some("chat"),
        protocol: Some(Protocol::B),
        key: Some("key_1".into()),
        key_found_in: None,
        owner: Some("Müller \"& Co\"".into()),
        team: Some("research".into()),
        counts_as: Some("key_00".into()),
        labels: None,
        group: Some("mixed".into()),
        route: Some(RouteTaken {
            source: "b".into(),
            entry: Entry::VbMessages,
            cluster: "cb".into(),
            multiplier: Multiplier::parse("2").unwrap(),
        }),
        requested_model: Some("claude-z-2-\n".into()),
        model: Some("claude-z-2".into()),
        upstream_model: Some("claude-z-2-20260101".into()),
        stream: true,
        ending: Ending::Finished,
        status: UsageStatus::Complete,
        error: None,
        upstream_request_id: Some("up-1".to_owned()),
        upstream_error: None,
        replaced_status: None,
        upstream_failure: None,
        attempts: None,
        reading: Reading::default(),
        limit: None,
        settled: Settlement::default(),
        counted: None,
        estimated: Estimated::default(),
        charge: None,
        cost: None,
        uncovered: Uncovered::default(),
        currency: Some(Rc::from("USD")),
        request_bytes: 10,
        response_bytes: 20,
        first_byte_us: Some(3),
        streaming_us: None,
    }
}

/// The line as Envoy would write it.
fn line(record: &Record) -> Value {
    let members = record.to_members();
    assert!(!members.contains(&b'\n'), "one line");
    let text = [br#"{"status":200"#, members.as_slice(), b"}"].concat();
    serde_json::from_slice(&text).unwrap()
}

#[test]
fn a_record_becomes_members_of_one_line() {
    let mut record = record();
    let mut usage = Usage::default();
    usage.set(Kind::Input, 210);
    usage.set(Kind::CacheRead, 1024);
    usage.set(Kind::CacheWrite5m, 200);
    usage.set(Kind::CacheWrite1h, 100);
    usage.set(Kind::Output, 24);
    usage.set(Kind::Reasoning, 32);
    record.reading = Reading {
        usage: Some(usage),
        reported: vec![("input_tokens", 210)],
        finish_reason: Some("end_turn".into()),
        ..Reading::default()
    };
    let mut prices = Prices::default();
    prices.set_tokens(Kind::Input, Price::parse("5").unwrap());
    record.charge = Charge::of(&usage, &prices);
    let want = json!({
        "status": 200,
        "http.request.method": "POST",
        "url.path": "/v1/\"odd\u{7f}\u{2028}",
        "trilane.outcome": "finished",
        "trilane.usage.status": "complete",
        "trilane.endpoint": "messages",
        "trilane.protocol": "B",
        "trilane.key.id": "key_1",
        "trilane.key.owner": "Müller \"& Co\"",
        "trilane.key.team": "research",
        "trilane.key.counts_as": "key_00",
        "trilane.group": "mixed",
        "trilane.source": "b",
        "trilane.entry": "vb_messages",
        "trilane.cluster": "cb",
        "trilane.multiplier": "2.0000",
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "claude-z-2-\n",
        "trilane.model": "claude-z-2",
        "trilane.upstream_model": "claude-z-2-20260101",
        "trilane.stream": true,
        "gen_ai.response.finish_reasons": ["end_turn"],
        "trilane.upstream_request_id": "up-1",
        "gen_ai.usage.input_tokens": 1534,
        "gen_ai.usage.output_tokens": 56,
        "gen_ai.usage.cache_read.input_tokens": 1024,
        "gen_ai.usage.cache_creation.input_tokens": 300,
        "trilane.usage.cache_creation_5m.input_tokens": 200,
        "trilane.usage.cache_creation_1h.input_tokens": 100,
        "gen_ai.usage.reasoning.output_tokens": 32,
        "trilane.usage.reported": {"input_tokens": 210},
        "trilane.charge": "0.00767",
        "trilane.currency": "USD",
        "http.request.body.size": 10,
        "http.response.body.size": 20,
        "trilane.time_to_first_byte_us": 3,
    });
    assert_eq!(line(&record), want);
}

#[test]
fn what_the_limits_said() {
    let spent = |scope, in_day: &str, in_month: &str| BudgetSpent {
        scope,
        in_day: Amount::parse(in_day).unwrap(),
        in_month: Amount::parse(in_month).unwrap(),
    };
    let both = vec![
        spent(SubjectKind::Key, "0.5", "12"),
        spent(SubjectKind::Group, "0", "99.00000000000000000001"),
    ];
    let day = "trilane.spent.key.day";
    let month = "trilane.spent.key.month";
    let group_day = "trilane.spent.group.day";
    let group_month = "trilane.spent.group.month";
    let limited = |scope, limit| (Some((scope, limit)), Vec::new());
    // (limit and what is spent, members)
    let cases = [
        ((None, Vec::new()), json!({})),
        (
            limited(SubjectKind::Key, Limit::Rate(Rate::Requests)),
            json!({"trilane.limit": "requests", "trilane.limit.scope": "key"}),
        ),
        (
            limited(SubjectKind::Group, Limit::Rate(Rate::InputTokens)),
            json!({"trilane.limit": "input_tokens", "trilane.limit.scope": "group"}),
        ),
        (
            limited(SubjectKind::Group, Limit::Rate(Rate::OutputTokens)),
            json!({"trilane.limit": "output_tokens", "trilane.limit.scope": "group"}),
        ),
        (
            limited(SubjectKind::Key, Limit::Concurrency),
            json!({"trilane.limit": "concurrent_requests", "trilane.limit.scope": "key"}),
        ),
        (
            limited(SubjectKind::Key, Limit::Budget(Window::Day)),
            json!({"trilane.limit": "budget_per_day", "trilane.limit.scope": "key"}),
        ),
        (
            limited(SubjectKind::Group, Limit::Budget(Window::Month)),
            json!({"trilane.limit": "budget_per_month", "trilane.limit.scope": "group"}),
        ),
        ((None, both[..1].to_vec()), json!({day: "0.5", month: "12"})),
        (
            (None, both),
            json!({day: "0.5", month: "12", group_day: "0", group_month: "99.00000000000000000001"}),
        ),
    ];
    let without = line(&record());
    for ((limit, spent), want) in cases {
        let settled = Settlement {
            spent,
            ..Settlement::default()
        };
        let mut with = line(&Record {
            limit,
            settled,
            ..record()
        });
        let members = with.as_object_mut().unwrap();
        for (name, value) in want.as_object().unwrap() {
            assert_eq!(members.remove(name).as_ref(), Some(value), "{name}");
        }
        assert_eq!(with, without, "{want}: nothing else");
    }
}

#[test]
fn budgets_that_a_feed_knows_of_name_the_process() {
    let spent =
        [SubjectKind::Member, SubjectKind::Owner, SubjectKind::Team].map(|scope| BudgetSpent {
            scope,
            in_day: Amount::parse("0.5").unwrap(),
            in_month: Amount::parse("12").unwrap(),
        });
    let line = line(&Record {
        settled: Settlement {
            spent: spent.to_vec(),
            instance: Some("0a".into()),
            ..Settlement::default()
        },
        ..record()
    });
    for (name, want) in [
        ("trilane.spent.member.day", "0.5"),
        ("trilane.spent.member.month", "12"),
        ("trilane.spent.owner.day", "0.5"),
        ("trilane.spent.owner.month", "12"),
        ("trilane.spent.team.day", "0.5"),
        ("trilane.spent.team.month", "12"),
        ("trilane.instance", "0a"),
    ] {
        assert_eq!(line[name], want, "{name}");
    }
}

#[test]
fn what_a_request_says_of_itself() {
    let labels = RequestLabels {
        client: Some("claude-cli/2.1".into()),
        session: None,
        labels: vec![
            ("project".into(), "a \"b\"".into()),
            ("env".into(), "x".into()),
        ],
    };
    let line = line(&Record {
        labels: Some(Box::new(labels)),
        ..record()
    });
    assert_eq!(line["trilane.client"], "claude-cli/2.1");
    assert_eq!(
        line["trilane.labels"],
        json!({"project": "a \"b\"", "env": "x"})
    );
    assert!(line.get("trilane.session").is_none());
}

#[test]
fn what_is_unknown_is_left_out() {
    let line = line(&Record {
        endpoint: None,
        operation: None,
        protocol: None,
        key: None,
        owner: None,
        team: None,
        counts_as: None,
        group: None,
        route: None,
        requested_model: None,
        model: None,
        upstream_model: None,
        upstream_request_id: None,
        first_byte_us: None,
        ..record()
    });
    let names: Vec<&str> = line
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let want = [
        "http.request.body.size",
        "http.request.method",
        "status",
        "trilane.outcome",
        "trilane.usage.status",
        "url.path",
    ];
    assert_eq!(names, want);
}

#[test]
fn details_of_streams_that_did_not_end_by_themselves() {
    let cases = [
        ("downstream_remote_disconnect", Ending::ClientAbort),
        ("downstream_local_disconnect(x)", Ending::ClientAbort),
        ("http2.remote_reset", Ending::ClientAbort),
        ("http1.codec_error", Ending::ClientAbort),
        ("stream_idle_timeout", Ending::Timeout),
        ("upstream_response_timeout", Ending::Timeout),
        ("upstream_per_try_idle_timeout", Ending::Timeout),
        ("upstream_max_stream_duration_reached", Ending::Timeout),
        (
            "upstream_reset_after_response_started{connection_termination}",
            Ending::UpstreamReset,
        ),
        ("", Ending::UpstreamReset),
    ];
    for (details, want) in cases {
        assert_eq!(Ending::from_details(details.as_bytes()), want, "{details}");
    }
}

#[test]
fn what_is_there_only_now_and_then() {
    let mut record = record();
    let mut usage = Usage::default();
    for (kind, tokens) in [
        (Kind::InputAudio, 3),
        (Kind::OutputAudio, 4),
        (Kind::OutputImage, 5),
    ] {
        usage.set(kind, tokens);
    }
    for (call, calls) in (1..).zip(Call::ALL).map(|(calls, call)| (call, calls)) {
        usage.set_calls(call, calls);
    }
    record.reading.usage = Some(usage);
    record.status = UsageStatus::Estimated;
    record.reading.speed = Some("fast".into());
    record.reading.doubt = Some("total_tokens is more than its parts".to_owned());
    record.reading.reported_cost = Some("0.0123".to_owned());
    record.charge = Some(Charge::default());
    record.cost = Some(AccountCost {
        factor: Multiplier::parse("0.85").unwrap(),
        amount: Charge::of_call(Price::parse("0.012300").unwrap())
            .times(Multiplier::ONE)
            .unwrap(),
    });
    record.uncovered.insert(Gap::Tier);
    record.uncovered.insert(Gap::Image);
    record.estimated = Estimated {
        input: 7,
        output: 8,
        images: 9,
    };
    let line = line(&record);
    for (name, want) in [
        ("trilane.usage.audio.input_tokens", 3),
        ("trilane.usage.audio.output_tokens", 4),
        ("trilane.usage.image.output_tokens", 5),
        ("trilane.usage.calls.web_search", 1),
        ("trilane.usage.calls.code_execution", 2),
        ("trilane.usage.calls.file_search", 3),
        ("trilane.usage.calls.maps_search", 4),
        ("trilane.estimated.input_tokens", 7),
        ("trilane.estimated.output_tokens", 8),
        ("trilane.estimated.images", 9),
    ] {
        assert_eq!(line[name], want, "{name}");
    }
    assert_eq!(line["trilane.usage.status"], "estimated");
    assert_eq!(line["trilane.speed"], "fast");
    assert_eq!(
        line["trilane.usage.doubt"],
        "total_tokens is more than its parts"
    );
    assert_eq!(line["trilane.usage.reported_cost"], "0.0123");
    assert_eq!(line["trilane.cost_factor"], "0.8500");
    assert_eq!(line["trilane.cost"], "0.0123");
    assert_eq!(line["trilane.uncovered"], json!(["tier", "image"]));
}

#[test]
fn ids_that_upstreams_chose_are_cut() {
    let cases = [
        ("short", "x".repeat(256), 256),
        ("long", "x".repeat(257), 256),
        ("long, in wide characters", "🤖".repeat(8000), 256),
    ];
    for (case, id, want) in cases {
        let mut record = record();
        record.upstream_request_id = Some(id.clone());
        let line = line(&record);
        let written = line["trilane.upstream_request_id"].as_str().unwrap();
        assert_eq!(written.chars().count(), want, "{case}");
        assert!(id.starts_with(written), "{case}");
    }
}
