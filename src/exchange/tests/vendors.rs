//! Reports of vendors, each case by a page: the numbers and the charge of its record.

use super::records::{ExchangeEvent, play_in};
use super::*;
use crate::usage::{Call, Kind};

/// Cases and prices, which the end-to-end tests send through an Envoy.
const TABLE: &str = include_str!("../../../tests/fixtures/vendors/cases.json");

/// The least number of cases of each item of "What an answer reports".
const CASES: [(u64, usize); 6] = [(1, 13), (2, 50), (3, 14), (4, 10), (5, 6), (6, 10)];

fn table() -> Value {
    serde_json::from_str(TABLE).unwrap()
}

fn text<'a>(case: &'a Value, member: &str) -> &'a str {
    case[member].as_str().unwrap_or_default()
}

/// The document that has the table's models, a group for each protocol.
fn priced(table: &Value) -> Value {
    let group = |protocol: &str| {
        let models = &table["models"][protocol];
        let mut group = json!({
            "id": protocol, "protocol": protocol, "multiplier": "1", "cluster": "c", "models": models,
        });
        if protocol == "A" {
            group["image_generation"] = true.into();
        }
        group
    };
    let groups: Vec<Value> = ["A", "B", "C"].map(group).into();
    let key =
        |protocol: &str| json!({"id": protocol, "sha256": sha256(protocol), "group": protocol});
    let keys: Vec<Value> = ["A", "B", "C"].map(key).into();
    json!({"groups": groups, "keys": keys})
}

/// The response as it comes, in one piece and in pieces of a few bytes.
fn ways(body: &str) -> [Vec<&str>; 2] {
    let mut pieces = Vec::new();
    let mut rest = body;
    while let Some((at, _)) = rest.char_indices().nth(7) {
        let (piece, more) = rest.split_at(at);
        pieces.push(piece);
        rest = more;
    }
    pieces.push(rest);
    [vec![body], pieces]
}

#[test]
fn the_charge_of_each_case() {
    let table = table();
    let document = priced(&table);
    let mut wrong = Vec::new();
    for case in table["cases"].as_array().unwrap() {
        let (name, protocol) = (text(case, "name"), text(case, "protocol"));
        let header = match protocol {
            "A" => format!("authorization: Bearer {protocol}"),
            "B" => format!("x-api-key: {protocol}"),
            _ => format!("x-goog-api-key: {protocol}"),
        };
        let request = format!("POST {}", text(case, "path"));
        let headers = [
            header.as_str(),
            "content-type: application/json",
            "anthropic-version: 2023-06-01",
        ];
        for pieces in ways(text(case, "body")) {
            let mut events = vec![
                ExchangeEvent::Body(text(case, "request").as_bytes(), true),
                ExchangeEvent::Answer(200, UPSTREAM),
            ];
            events.extend(pieces.into_iter().map(ExchangeEvent::Chunk));
            events.push(ExchangeEvent::End);
            let record = play_in(&document, &request, &headers, &events, "");
            let usage = record.reading.usage.unwrap_or_default();
            let mut counts = serde_json::Map::new();
            let tokens = Kind::ALL.map(|kind| (kind.name(), usage.tokens(kind)));
            let calls = Call::ALL.map(|call| (call.name(), usage.calls(call)));
            let all = tokens.into_iter().chain(calls);
            for (kind, count) in all.chain([("images", usage.images)]) {
                if count > 0 {
                    counts.insert(kind.to_owned(), count.into());
                }
            }
            let uncovered: Vec<&str> = record.uncovered.names().collect();
            let mut got = json!({
                "status": record.status.name(),
                "usage": counts,
                "charge": record.charge.map(|charge| charge.to_string()),
                "doubt": record.reading.doubt,
                "reported_cost": record.reading.reported_cost,
                "uncovered": uncovered,
            });
            got.as_object_mut().unwrap().retain(|_, value| {
                !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty())
            });
            if got != case["expect"] {
                wrong.push(format!("{name}\n  got  {got}\n  want {}", case["expect"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_case_has_a_page_and_there_are_enough() {
    let table = table();
    let cases = table["cases"].as_array().unwrap();
    let mut names: Vec<&str> = cases.iter().map(|case| text(case, "name")).collect();
    names.sort_unstable();
    assert!(names.is_sorted_by(|one, other| one < other), "{names:?}");
    for case in cases {
        let page = text(case, "page");
        assert!(page.contains('.') && page.contains('/'), "{case}");
        // A page that could not be read has no day.
        let read = text(case, "read");
        assert!(read.is_empty() || read.starts_with("202"), "{case}");
    }
    for (item, least) in CASES {
        let of_item = cases.iter().filter(|case| case["item"] == item).count();
        assert!(of_item >= least, "item {item}: {of_item} cases");
    }
    assert!(cases.len() >= 60, "{} cases", cases.len());
}
