use serde_json::{Value, json};

use super::*;

fn subject(id: &str, total: &str, own: &[(&str, &str)]) -> SpendFeedSubject {
    let own = own.iter();
    SpendFeedSubject {
        kind: "key".to_owned(),
        id: id.to_owned(),
        per_day: None,
        per_month: None,
        spent: vec![SpendFeedAmount {
            period: "2026-11".to_owned(),
            currency: "USD".to_owned(),
            total: total.to_owned(),
            own: own
                .map(|(instance, sum)| ((*instance).to_owned(), (*sum).to_owned()))
                .collect(),
        }],
    }
}

fn page(cursor: &str, more: bool, anew: bool, subjects: Vec<SpendFeedSubject>) -> SpendFeedPage {
    SpendFeedPage {
        cursor: cursor.to_owned(),
        more,
        anew,
        subjects,
    }
}

/// All that a gateway is told from a cursor on, and where it goes on.
fn told(copy: &SpendCopy, instance: &str, cursor: Option<&str>) -> (Vec<String>, String) {
    let mut cursor = cursor.map(str::to_owned);
    let mut all = Vec::new();
    loop {
        let mut query = format!("limit=1&currency=USD&instance={instance}");
        if let Some(cursor) = &cursor {
            query = format!("{query}&cursor={cursor}");
        }
        let page: Value = serde_json::from_slice(&copy.page(&query).unwrap()).unwrap();
        for subject in page["subjects"].as_array().unwrap() {
            let spent = subject["elsewhere"]["2026-11"].as_str().unwrap_or("0");
            let budget = subject["budget"]["per_month"].as_str();
            let budget = budget.map_or(String::new(), |budget| format!("/{budget}"));
            all.push(format!(
                "{}={spent}{budget}",
                subject["id"].as_str().unwrap()
            ));
        }
        let next = page["cursor"].as_str().unwrap().to_owned();
        if page["more"] == false {
            return (all, next);
        }
        cursor = Some(next);
    }
}

#[test]
fn a_gateway_is_told_what_it_does_not_count_itself() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("spend.db");
    let copy = SpendCopy::open(&file).unwrap();
    assert!(copy.page("").is_err(), "nothing has come yet");
    let own = [("i1", "0.25"), ("i2", "1")];
    copy.take(
        &page("c.1", true, true, vec![subject("a", "5.5", &own)]),
        None,
    )
    .unwrap();
    assert!(copy.page("").is_err(), "there is more");
    let mut of_owner = subject("ann", "3000000000", &[]);
    (of_owner.kind, of_owner.per_month) = ("owner".to_owned(), Some("50".to_owned()));
    copy.take(&page("c.2", false, false, vec![of_owner]), None)
        .unwrap();

    // (the process that asks, what it is told)
    for (instance, want) in [
        ("i1", ["a=5.25", "ann=1000000000/50"]),
        ("i2", ["a=4.5", "ann=1000000000/50"]),
        ("i3", ["a=5.5", "ann=1000000000/50"]),
    ] {
        assert_eq!(told(&copy, instance, None).0, want, "{instance}");
    }
    let other = copy.page("currency=EUR&instance=i1").unwrap();
    assert!(!String::from_utf8(other).unwrap().contains("2026-11"));

    // Changes only, also for a copy that was opened again.
    let (_, cursor) = told(&copy, "i1", None);
    assert_eq!(told(&copy, "i1", Some(&cursor)).0, [""; 0]);
    drop(copy);
    let copy = SpendCopy::open(&file).unwrap();
    assert_eq!(copy.cursor().as_deref(), Some("c.2"));
    copy.take(
        &page("c.3", false, false, vec![subject("a", "6", &own)]),
        None,
    )
    .unwrap();
    assert_eq!(told(&copy, "i1", Some(&cursor)).0, ["a=5.75"]);
    for unknown in ["x.1", "", "1"] {
        assert_eq!(
            told(&copy, "i1", Some(unknown)).0.len(),
            2,
            "{unknown}: all of it"
        );
    }
}

#[test]
fn what_a_new_beginning_does_not_name_is_gone() {
    let place = tempfile::tempdir().unwrap();
    let copy = SpendCopy::open(&place.path().join("spend.db")).unwrap();
    let both = vec![subject("a", "1", &[]), subject("b", "2", &[])];
    copy.take(&page("c.1", false, true, both), None).unwrap();
    let (_, cursor) = told(&copy, "i", None);
    copy.take(&page("n.1", true, true, vec![subject("b", "2", &[])]), None)
        .unwrap();
    assert_eq!(
        told(&copy, "i", Some(&cursor)).0,
        ["b=2"],
        "not all was named yet"
    );
    copy.take(
        &page("n.2", false, false, vec![subject("c", "3", &[])]),
        None,
    )
    .unwrap();
    assert_eq!(told(&copy, "i", Some(&cursor)).0, ["b=2", "c=3", "a=0"]);
    // One that was cut short begins anew.
    copy.take(&page("m.1", true, true, Vec::new()), None)
        .unwrap();
    drop(copy);
    let copy = SpendCopy::open(&place.path().join("spend.db")).unwrap();
    assert_eq!(copy.cursor(), None);
    assert_eq!(told(&copy, "i", None).0.len(), 3, "and is served meanwhile");
}

#[test]
fn a_console_without_spend() {
    let place = tempfile::tempdir().unwrap();
    let copy = SpendCopy::open(&place.path().join("spend.db")).unwrap();
    copy.has_none().unwrap();
    assert_eq!(told(&copy, "i", None).0, [""; 0]);
}

#[test]
fn the_ledger_is_told_with_the_totals() {
    let place = tempfile::tempdir().unwrap();
    let (file, ledger) = (
        place.path().join("spend.db"),
        place.path().join("ledger.jsonl"),
    );
    let month = time::OffsetDateTime::now_utc().date().to_string()[..7].to_owned();
    let at = format!("{month}-15T00:00:00Z");
    let line = |key: &str, charge: &str, instance: &str| {
        let line = json!({
            "timestamp": at, "duration_ms": 0, "http.response.status_code": 200, "trilane.usage.status": "complete",
            "trilane.outcome": "finished", "trilane.key.id": key, "trilane.group": "g", "trilane.source": "s",
            "trilane.entry": "e", "trilane.model": "m", "trilane.charge": charge, "trilane.currency": "USD",
            "trilane.instance": instance, "trilane.spent.key.day": charge,
        });
        format!("{line}\n")
    };
    let of = |id: &str, total: &str, own: &[(&str, &str)]| {
        let mut subject = subject(id, total, own);
        subject.spent[0].period.clone_from(&month);
        subject
    };
    let told = |copy: &SpendCopy, instance: &str, cursor: &str| -> (Vec<String>, String) {
        let mut cursor = cursor.to_owned();
        let mut all = Vec::new();
        loop {
            let query = format!("limit=1&currency=USD&instance={instance}&cursor={cursor}");
            let page: Value = serde_json::from_slice(&copy.page(&query).unwrap()).unwrap();
            for subject in page["subjects"].as_array().unwrap() {
                if subject["kind"] == "key" {
                    let spent = subject["elsewhere"][&month].as_str().unwrap_or("0");
                    all.push(format!("{}={spent}", subject["id"].as_str().unwrap()));
                }
            }
            cursor = page["cursor"].as_str().unwrap().to_owned();
            if page["more"] == false {
                return (all, cursor);
            }
        }
    };
    let open = || {
        SpendCopy::open(&file)
            .unwrap()
            .with_ledger(ledger.clone())
            .unwrap()
    };
    let copy = open();
    copy.take(
        &page(
            "c.1",
            false,
            true,
            vec![of("a", "3000", &[("one", "3000")])],
        ),
        None,
    )
    .unwrap();
    // The console is away from here on.
    std::fs::write(
        &ledger,
        [line("a", "9000", "one"), line("new", "5", "one")].concat(),
    )
    .unwrap();
    assert_eq!(
        told(&copy, "one", "").0.first().map(String::as_str),
        Some("a=0"),
        "it counts that itself"
    );
    let (all, cursor) = told(&copy, "two", "");
    assert_eq!(
        all.last().map(String::as_str),
        Some("new=5"),
        "the console never heard of it: {all:?}"
    );
    assert!(all.contains(&"a=12000".to_owned()), "{all:?}");
    assert_eq!(told(&copy, "two", &cursor).0, [""; 0]);
    drop(copy);
    let copy = open();
    assert!(
        told(&copy, "two", "").0.contains(&"a=12000".to_owned()),
        "the agent was killed"
    );
    // It is back, and has taken the lines in.
    let id = super::super::ledger_file::SentFile::open(&ledger, false)
        .unwrap()
        .unwrap()
        .id;
    let positions = FilePositions::from([(id, std::fs::metadata(&ledger).unwrap().len())]);
    let totals = vec![
        of("a", "12000", &[("one", "12000")]),
        of("new", "5", &[("one", "5")]),
    ];
    copy.take(&page("c.2", false, false, totals), Some(&positions))
        .unwrap();
    assert_eq!(told(&copy, "two", "").0, ["a=12000", "new=5"]);
    drop(copy);
    let copy = open();
    assert_eq!(
        told(&copy, "two", "").0,
        ["a=12000", "new=5"],
        "the positions are kept with the totals"
    );
}
