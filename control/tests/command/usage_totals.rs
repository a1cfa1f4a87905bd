//! `trilane usage`: what is added up and how it is shown.

use serde_json::json;

use crate::support::{call, line, small, usage};

/// Few columns, and what should not go unseen.
#[test]
fn table() {
    let ran = usage([""; 0], small().as_bytes());
    let want = "\
key    group  model  requests  partial  failed  input  output  currency  charge
-----  -----  -----  --------  -------  ------  -----  ------  --------  ------
-      -      -             1       0        0      0       0  USD        0.000
k1     g1     m1            3       1*       0     35       3  USD        0.125
k2     g1     m2            2       0        1     30       3  USD        1.000
-----  -----  -----  --------  -------  ------  -----  ------  --------  ------
TOTAL                       6       1*       1     65       6  USD        1.125
";
    assert_eq!(ran.out, want);
    let plain = line(
        "2026-11-20T23:59:59Z",
        &call("k1", "g1", "m1", 10, 1, "0.1 USD"),
    );
    let ran = usage(["--by", "key"], plain.as_bytes());
    let want = "\
key    requests  input  output  currency  charge
-----  --------  -----  ------  --------  ------
k1            1     10       1  USD          0.1
-----  --------  -----  ------  --------  ------
TOTAL         1     10       1  USD          0.1
";
    assert_eq!((ran.out.as_str(), ran.code), (want, 0));
    let ran = usage(["--by", "key"], later().as_bytes());
    let head = ran.out.lines().next().unwrap();
    let head: Vec<&str> = head.split_whitespace().collect();
    let want = [
        "key",
        "requests",
        "estimated",
        "input",
        "output",
        "uncovered",
        "currency",
        "charge",
    ];
    assert_eq!(head, want);
}

#[test]
fn columns_that_are_asked_for() {
    let two = [
        line(
            "2026-11-20T23:59:59Z",
            &call("k1", "g1", "m1", 10, 1, "0.1 USD"),
        ),
        line(
            "2026-11-20T23:59:59Z",
            &call("k1", "g1", "m1", 10, 1, "2 EUR"),
        ),
    ]
    .concat();
    // (case, arguments, ledger, the header)
    let cases: [(&str, &[&str], &str, &str); 6] = [
        (
            "in the order asked for",
            &["--columns", "charge,reasoning,requests"],
            &small(),
            "key charge reasoning requests",
        ),
        (
            "also what has nothing",
            &["--columns", "web_search"],
            &small(),
            "key web_search",
        ),
        (
            "charges of two currencies",
            &["--columns", "requests,charge"],
            &two,
            "key requests currency charge",
        ),
        (
            "grouped by currency",
            &["--columns", "currency,charge", "--by", "currency"],
            &two,
            "currency charge",
        ),
        ("all", &["--columns", "all"], &small(), WIDE),
        ("--wide", &["--wide"], &small(), WIDE),
    ];
    for (case, args, ledger, want) in cases {
        let by = ["--by", "key"]
            .into_iter()
            .filter(|_| !args.contains(&"--by"));
        let ran = usage(by.chain(args.iter().copied()), ledger.as_bytes());
        let head = ran.out.lines().next().unwrap();
        let head: Vec<&str> = head.split_whitespace().collect();
        assert_eq!(head.join(" "), want, "{case}: {}", ran.err);
    }
    let wrong: [(&str, &[&str]); 6] = [
        ("no column", &["--columns", "requets"]),
        ("twice", &["--columns", "input,input"]),
        ("all and more", &["--columns", "all,input"]),
        ("CSV", &["--columns", "input", "--format", "csv"]),
        ("JSON", &["--wide", "--format", "json"]),
        ("both", &["--wide", "--columns", "input"]),
    ];
    for (case, args) in wrong {
        assert_eq!(usage(args, small().as_bytes()).code, 2, "{case}");
    }
}

/// Every column but those that are rare.
const WIDE: &str = "key requests complete partial none failed input output cache_read cache_write_5m cache_write_1h \
     reasoning tool_use input_image images currency charge";

/// Nothing must not be taken for the answer; what was found is printed all the same.
#[test]
fn what_matches_nothing_is_told() {
    let many: String = (0..9)
        .map(|n| {
            line(
                "2026-11-20T23:59:59Z",
                &call(&format!("k{n}"), "g1", "m1", 1, 1, "1 USD"),
            )
        })
        .collect();
    let nobody = line("2026-11-20T23:59:59Z", r#""trilane.usage.status":"none""#);
    // (case, arguments, ledger, exit code, what is told)
    let cases: [(&str, &[&str], &str, i32, &str); 11] = [
        ("a key", &["--key", "k1"], &small(), 0, ""),
        (
            "no such key",
            &["--key", "k3"],
            &small(),
            1,
            "error: --key k3: no request has it; there are k1, k2\n",
        ),
        (
            "one of two",
            &["--key", "k2", "--key", "k3"],
            &small(),
            1,
            "error: --key k3: no request has it; there are k1, k2\n",
        ),
        (
            "many keys",
            &["--key", "k"],
            &many,
            1,
            "error: --key k: no request has it; there are k0, k1, k2, k3, k4, …\n",
        ),
        (
            "no keys",
            &["--key", "k"],
            &nobody,
            1,
            "error: --key k: no request has it; none has any key\n",
        ),
        (
            "no such group",
            &["--group", "g"],
            &small(),
            1,
            "error: --group g: no request has it; there are g1\n",
        ),
        (
            "no such model",
            &["--model", "m"],
            &small(),
            1,
            "error: --model m: no request has it; there are m1, m2\n",
        ),
        ("none", &["--model", "-"], &small(), 0, ""),
        (
            "no none",
            &["--model", "-"],
            &many,
            1,
            "error: --model -: no request has it; there are m1\n",
        ),
        (
            "another time",
            &["--key", "k2", "--since", "2026-11-22"],
            &small(),
            1,
            "error: --key k2: there are requests with it, but none that the other options leave\n",
        ),
        (
            "JSON",
            &["--key", "k3", "--format", "json"],
            &small(),
            1,
            "error: --key k3: no request has it; there are k1, k2\n",
        ),
    ];
    for (case, args, ledger, code, told) in cases {
        let ran = usage(args, ledger.as_bytes());
        assert_eq!(ran.code, code, "{case}: {}", ran.err);
        let errors: String = ran
            .err
            .split_inclusive('\n')
            .filter(|line| line.starts_with("error"))
            .collect();
        assert_eq!(errors, told, "{case}");
        assert!(
            ran.out.contains("total") || ran.out.contains("TOTAL"),
            "{case}: {}",
            ran.out
        );
    }
}

#[test]
fn wide_table() {
    let ran = usage(["--wide"], small().as_bytes());
    let want = "\
key    group  model  requests  complete  partial  none  failed  input  output  cache_read  cache_write_5m  cache_write_1h  reasoning  tool_use  input_image  images  currency  charge
-----  -----  -----  --------  --------  -------  ----  ------  -----  ------  ----------  --------------  --------------  ---------  --------  -----------  ------  --------  ------
-      -      -             1         0       0      1       0      0       0           0               0               0          0         0            0       0  USD        0.000
k1     g1     m1            3         2       1*     0       0     35       3           0               0               0          0         0            0       0  USD        0.125
k2     g1     m2            2         1       0      0       1     30       3           0               0               0          0         0            0       0  USD        1.000
-----  -----  -----  --------  --------  -------  ----  ------  -----  ------  ----------  --------------  --------------  ---------  --------  -----------  ------  --------  ------
TOTAL                       6         3       1*     1       1     65       6           0               0               0          0         0            0       0  USD        1.125
";
    assert_eq!(ran.out, want);
    assert_eq!(
        ran.err,
        "note: partial requests: 1 of 6 (*). More may have been used than is known, so the totals that include them are lower bounds\n"
    );
    assert_eq!(ran.code, 0);
}

#[test]
fn csv() {
    let mut ledger = small();
    ledger += &line(
        "2026-11-21T00:00:00Z",
        &call("k,\\\"1\\\"", "g1", "m1", 1, 1, "1 USD"),
    );
    let ran = usage(["--format", "csv", "--by", "key,day"], ledger.as_bytes());
    let want = [
        "key,day,requests,complete,estimated,partial,none,failed,input,output,cache_read,cache_write_5m,cache_write_1h,reasoning,tool_use,input_image,images,\
         input_audio,output_audio,output_image,web_search,code_execution,file_search,maps_search,estimated_input,estimated_output,uncovered,\
         reported_cost,currency,estimated_charge,charge,costed_charge,cost,margin",
        ",2026-11-22,1,0,0,0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,USD,0,0,0,0,0",
        "\"k,\"\"1\"\"\",2026-11-21,1,1,0,0,0,0,1,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,USD,0,1,0,0,0",
        "k1,2026-11-20,1,1,0,0,0,0,10,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,USD,0,0.1,0,0,0",
        "k1,2026-11-21,2,1,0,1,0,0,25,2,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,USD,0,0.025,0,0,0",
        "k2,2026-11-20,1,1,0,0,0,0,30,3,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,USD,0,1,0,0,0",
        "k2,2026-11-21,1,0,0,0,0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,USD,0,0,0,0,0",
        "TOTAL,,7,4,0,1,1,1,66,7,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,USD,0,2.125,0,0,0",
        "",
    ];
    assert_eq!(ran.out, want.join("\r\n"));
}

#[test]
fn json() {
    let ran = usage(
        ["--format", "json", "--by", "status", "--round", "1"],
        small().as_bytes(),
    );
    let row = |status: &str, counts: [u64; 7], charge: &str| {
        let [requests, complete, partial, none, failed, input, output] = counts;
        let mut row = json!({"status": status, "requests": requests, "complete": complete, "partial": partial, "none": none,
            "failed": failed, "input": input, "output": output, "cache_read": 0, "cache_write_5m": 0,
            "cache_write_1h": 0, "reasoning": 0, "tool_use": 0, "input_image": 0, "images": 0,
            "currency": "USD", "charge": charge, "estimated_charge": "0",
            "costed_charge": "0", "cost": "0", "margin": "0", "estimated": 0, "reported_cost": "0"});
        for rare in RARE {
            row[rare] = json!(0);
        }
        row
    };
    let mut total = row("", [6, 3, 1, 1, 1, 65, 6], "1.125");
    total.as_object_mut().unwrap().remove("status");
    total["charges"] = json!({"USD": "1.125"});
    for none in ["estimated_charges", "costed_charges", "costs", "margins"] {
        total[none] = json!({"USD": "0"});
    }
    let want = json!({
        "by": ["status"],
        "rows": [
            row("complete", [3, 3, 0, 0, 0, 60, 6], "1.125"),
            row("failed", [1, 0, 0, 0, 1, 0, 0], "0"),
            row("none", [1, 0, 0, 1, 0, 0, 0], "0"),
            row("partial", [1, 0, 1, 0, 0, 5, 0], "0"),
        ],
        "total": total, "lines": 6, "skipped": 0, "damaged": 0, "torn": 0, "left_out": 0,
    });
    assert_eq!(ran.json(), want);
}

/// The columns that a table shows only where they have values, beside `estimated`.
const RARE: [&str; 10] = [
    "input_audio",
    "output_audio",
    "output_image",
    "web_search",
    "code_execution",
    "file_search",
    "maps_search",
    "estimated_input",
    "estimated_output",
    "uncovered",
];

/// Requests of which something is estimated, priced by the call, or not covered, beside one that is as they were before.
fn later() -> String {
    let at = "2026-11-21T00:00:00Z";
    let estimated = call("k1", "g1", "m1", 20, 2, "0.3 EUR").replace("complete", "estimated");
    [
        line(at, &call("k1", "g1", "m1", 10, 1, "0.1 EUR")),
        line(
            at,
            &format!(r#"{estimated},"trilane.estimated.input_tokens":20,"trilane.estimated.output_tokens":1"#),
        ),
        line(
            at,
            &format!(
                r#"{},"trilane.usage.calls.web_search":2,"trilane.uncovered":["web_search"]"#,
                call("k2", "g1", "m1", 1, 1, "0.05 EUR")
            ),
        ),
        line(at, &call("k2", "g1", "m1", 1, 1, "")),
    ]
    .concat()
}

#[test]
fn costs_by_the_vendors_word() {
    let told = |cost: &str, currency: &str| {
        let call = call("k1", "g1", "m1", 1, 1, &format!("1 {currency}"));
        let cost = format!(r#"{call},"trilane.usage.reported_cost":{cost}"#);
        line("2026-11-21T00:00:00Z", &cost)
    };
    // Not the last two, which are none that can be: these requests are counted all the same.
    let costs = [
        (r#""0.1""#, "USD"),
        (r#""0.000000000025""#, "EUR"),
        (r#""-1""#, "USD"),
        (r#""1000000000""#, "USD"),
    ];
    let lines: Vec<String> = costs.iter().map(|(cost, of)| told(cost, of)).collect();
    let ledger = lines.concat();
    let wide = usage(["--wide"], ledger.as_bytes()).out;
    assert!(
        wide.lines().next().unwrap().contains("reported_cost"),
        "{wide}"
    );
    let none = usage(["--wide"], small().as_bytes()).out;
    assert!(!none.contains("reported_cost"), "{none}");
    let out = usage(["--format", "csv"], ledger.as_bytes()).out;
    let head = out.lines().next().unwrap();
    let place = head.split(',').position(|name| name == "reported_cost");
    let of = |row: &str| row.split(',').nth(place.unwrap()).unwrap().to_owned();
    let costs: Vec<String> = out.lines().skip(1).map(of).collect();
    assert!(costs.contains(&"0.1".to_owned()), "{out}");
    assert!(costs.contains(&"0.000000000025".to_owned()), "{out}");
    let json = usage(["--format", "json"], ledger.as_bytes()).json();
    assert_eq!(json["total"]["reported_cost"], "0.100000000025");
    assert_eq!(json["total"]["requests"], 4);
}

#[test]
fn costs_by_the_factors_of_accounts() {
    let at = "2026-11-21T00:00:00Z";
    let costing = |key: &str, charge: &str, cost: &str| {
        let call = call(key, "g1", "m1", 1, 1, charge);
        line(
            at,
            &format!(r#"{call},"trilane.cost_factor":"0.5000","trilane.cost":{cost}"#),
        )
    };
    let ledger = [
        costing("k1", "1 USD", r#""0.4""#),
        costing("k1", "0.5 USD", r#""0.70000000000000000001""#),
        // What is no cost leaves the charge as it is, and without a margin.
        costing("k1", "8 USD", r#""-1""#),
        costing("k1", "8 USD", r#""1000000000""#),
        line(at, &call("k1", "g1", "m1", 1, 1, "16 USD")),
        costing("k2", "0.001 USD", r#""0.005""#),
    ]
    .concat();
    let ran = usage(["--by", "key", "--round", "2"], ledger.as_bytes());
    let want = "\
key    requests  input  output  currency  charge  cost  margin
-----  --------  -----  ------  --------  ------  ----  ------
k1            5      5       5  USD        33.50  1.10    0.40
k2            1      1       1  USD         0.00  0.01    0.00
-----  --------  -----  ------  --------  ------  ----  ------
TOTAL         6      6       6  USD        33.50  1.11    0.40
";
    assert_eq!(ran.out, want);
    let json = usage(["--format", "json", "--by", "key"], ledger.as_bytes()).json();
    let row = &json["rows"][0];
    let got = ["charge", "costed_charge", "cost", "margin"].map(|name| &row[name]);
    assert_eq!(
        json!(got),
        json!([
            "33.5",
            "1.5",
            "1.10000000000000000001",
            "0.39999999999999999999"
        ])
    );
    assert_eq!(json["rows"][1]["margin"], "-0.004");
    assert_eq!(
        json["total"]["costs"],
        json!({"USD": "1.10500000000000000001"})
    );
    let out = usage(["--format", "csv", "--by", "key"], ledger.as_bytes()).out;
    let ends: Vec<_> = out
        .lines()
        .map(|line| line.rsplit(',').next().unwrap())
        .collect();
    let want = [
        "margin",
        "0.39999999999999999999",
        "-0.004",
        "0.39599999999999999999",
    ];
    assert_eq!(ends, want);
    let none = usage(["--wide"], small().as_bytes()).out;
    assert!(!none.contains("cost"), "{none}");
    // Of two currencies no sum.
    let other = costing("k1", "7 EUR", r#""1""#);
    let json = usage(["--format", "json"], (ledger + &other).as_bytes()).json();
    assert_eq!(json["total"]["margin"], json!(null));
    assert_eq!(json["total"]["margins"]["EUR"], "6");
}

#[test]
fn what_is_estimated_and_what_no_price_covers() {
    let ran = usage(["--wide", "--by", "key"], later().as_bytes());
    let want = "\
key    requests  complete  estimated  partial  none  failed  input  output  cache_read  cache_write_5m  cache_write_1h  reasoning  tool_use  input_image  images  web_search  estimated_input  estimated_output  uncovered  currency  estimated_charge  charge
-----  --------  --------  ---------  -------  ----  ------  -----  ------  ----------  --------------  --------------  ---------  --------  -----------  ------  ----------  ---------------  ----------------  ---------  --------  ----------------  ------
k1            2         1          1        0     0       0     30       3           0               0               0          0         0            0       0           0               20                 1          0  EUR                   0.30    0.40
k2            2         2          0        0     0       0      2       2           0               0               0          0         0            0       0           2                0                 0          1  EUR                   0.00    0.05
-----  --------  --------  ---------  -------  ----  ------  -----  ------  ----------  --------------  --------------  ---------  --------  -----------  ------  ----------  ---------------  ----------------  ---------  --------  ----------------  ------
TOTAL         4         3          1        0     0       0     32       5           0               0               0          0         0            0       0           2               20                 1          1  EUR                   0.30    0.45
";
    assert_eq!(ran.out, want);
    assert_eq!(
        ran.err,
        "note: estimated requests: 1 of 4. Their answers did not tell all that was used; what is estimated is in the totals, \
         and its charges also in estimated_charge\n\
         note: requests that used what no price covers: 1 (trilane.uncovered in their lines says what). Their charges may be \
         less than what they cost, or more\n\
         note: complete requests without a charge: 1 (their models have no prices)\n"
    );
    assert_eq!(ran.code, 0);
    let by_status = ["--by", "status", "--format", "csv"];
    let out = usage(by_status, later().as_bytes()).out;
    let ends: Vec<_> = out
        .lines()
        .skip(1)
        .map(|line| line.rsplitn(7, ',').collect::<Vec<_>>()[3..6].join(" "))
        .collect();
    assert_eq!(ends, ["0.15 0 EUR", "0.3 0.3 EUR", "0.45 0.3 EUR"]);
    let by_currency = usage(["--wide", "--by", "currency"], later().as_bytes()).out;
    let last = by_currency.lines().last().unwrap();
    assert!(last.ends_with("             0.30    0.45"), "{last}");
    let json = usage(["--format", "json", "--by", "key"], later().as_bytes()).json();
    let total = &json["total"];
    let got = [
        "charge",
        "estimated_charge",
        "estimated",
        "web_search",
        "uncovered",
    ]
    .map(|field| &total[field]);
    assert_eq!(json!(got), json!(["0.45", "0.3", 1, 2, 1]));
    assert_eq!(total["estimated_charges"], json!({"EUR": "0.3"}));
    assert_eq!(json["rows"][0]["estimated_charge"], "0.3");
    // Of two currencies no sum, estimated or not.
    let other = line(
        "2026-11-21T00:00:00Z",
        &call("k1", "g1", "m1", 1, 1, "7 USD"),
    );
    let json = usage(["--format", "json"], (later() + &other).as_bytes()).json();
    assert_eq!(json["total"]["estimated_charge"], json!(null));
    let got = &json["total"]["estimated_charges"];
    assert_eq!((&got["EUR"], &got["USD"]), (&json!("0.3"), &json!("0")));
}

#[test]
fn what_is_estimated_counts_as_spent() {
    let json = usage(["--spent"], later().as_bytes()).json();
    assert_eq!(json["keys"]["k1"]["in_day"], "0.4");
    assert_eq!(json["groups"]["g1"]["in_month"], "0.45");
}

#[test]
fn columns_to_group_by() {
    let cases = [
        ("month", "2026-11 6"),
        (
            "hour",
            "2026-11-20T23 2, 2026-11-21T00 1, 2026-11-21T12 2, 2026-11-22T12 1",
        ),
        ("day", "2026-11-20 2, 2026-11-21 3, 2026-11-22 1"),
        (
            "outcome",
            " 1, client_abort 1, finished 3, upstream_failed 1",
        ),
        ("source", " 3, a-official 3"),
        ("account", " 2, first 3, last 1"),
        ("entry", " 3, responses 3"),
        ("currency", " 3, USD 3"),
    ];
    for (by, want) in cases {
        let json = usage(["--format", "json", "--by", by], small().as_bytes()).json();
        let rows = json["rows"].as_array().unwrap();
        let got: Vec<_> = rows
            .iter()
            .map(|row| format!("{} {}", row[by].as_str().unwrap(), row["requests"]))
            .collect();
        assert_eq!(got.join(", "), want, "{by}");
    }
}

/// Columns that requests say of themselves, each beside any other.
#[test]
fn clients_sessions_and_labels() {
    let said = [
        (
            ",\"trilane.client\":\"c/1.2\",\"trilane.session\":\"s1\",\"trilane.labels\":{\"project\":\"p\",\"task\":\"t\"}",
            "0.1",
        ),
        (
            ",\"trilane.client\":\"c/1.2\",\"trilane.labels\":{\"project\":\"p\"}",
            "0.2",
        ),
        (",\"trilane.client\":\"d\"", "0.4"),
        ("", "0.8"),
    ];
    let lines = said.map(|(members, charge)| {
        let call = call("k1", "g1", "m1", 10, 1, &format!("{charge} USD"));
        line("2026-11-20T23:59:59Z", &(call + members))
    });
    let args = ["--by", "label:project,client,model,label:task,session"];
    let ran = usage(args, lines.concat().as_bytes());
    let want = "\
label:project  client  model  label:task  session  requests  input  output  currency  charge
-------------  ------  -----  ----------  -------  --------  -----  ------  --------  ------
-              -       m1     -           -               1     10       1  USD          0.8
-              d       m1     -           -               1     10       1  USD          0.4
p              c/1.2   m1     -           -               1     10       1  USD          0.2
p              c/1.2   m1     t           s1              1     10       1  USD          0.1
-------------  ------  -----  ----------  -------  --------  -----  ------  --------  ------
TOTAL                                                     4     40       4  USD          1.5
";
    assert_eq!((ran.out.as_str(), ran.code), (want, 0));
    let json = usage(
        ["--by", "label:project", "--format", "json"],
        lines.concat().as_bytes(),
    )
    .json();
    assert_eq!(json["by"], json!(["label:project"]));
    assert_eq!(json["rows"][1]["label:project"], json!("p"));
}

#[test]
fn what_is_asked_for() {
    let cases: [(&str, &[&str], u64); 13] = [
        ("all", &[], 6),
        ("since is included", &["--since", "2026-11-21T00:00:00Z"], 4),
        ("since a day", &["--since", "2026-11-21"], 4),
        ("until is not", &["--until", "2026-11-21"], 2),
        (
            "a day",
            &["--since", "2026-11-21", "--until", "2026-11-22"],
            3,
        ),
        (
            "to the millisecond",
            &[
                "--since",
                "2026-11-20T23:59:59.999Z",
                "--until",
                "2026-11-21",
            ],
            1,
        ),
        (
            "another offset",
            &["--until", "2026-11-21T00:30:00.001+01:00"],
            1,
        ),
        ("key", &["--key", "k1"], 3),
        ("keys", &["--key", "k1", "--key", "k2"], 5),
        ("no key", &["--key", "-"], 1),
        ("group", &["--group", "g1"], 5),
        ("model and key", &["--model", "m2", "--key", "k2"], 2),
        ("another key's model", &["--model", "m2", "--key", "k1"], 0),
    ];
    for (case, args, want) in cases {
        let args = ["--format", "json"].iter().chain(args);
        let json = usage(args, small().as_bytes()).json();
        assert_eq!(json["total"]["requests"], want, "{case}");
        assert_eq!(json["left_out"], 6 - want, "{case}");
    }
}

#[test]
fn currencies() {
    let ledger = [
        line(
            "2026-11-21T00:00:00Z",
            &call("k", "g", "m", 1, 1, "0.1 USD"),
        ),
        line(
            "2026-11-21T00:00:00Z",
            &call("k", "g", "m", 1, 1, "0.2 EUR"),
        ),
        line(
            "2026-11-21T00:00:00Z",
            &call("k", "g", "m", 1, 1, "0.3 USD"),
        ),
        line("2026-11-21T00:00:00Z", ""),
    ]
    .concat();
    let charges = |args: &[&str]| {
        let ran = usage(args, ledger.as_bytes());
        let cells = |line: &str| {
            line.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let lines = ran
            .out
            .lines()
            .skip(1)
            .filter(|line| !line.starts_with("---"));
        lines
            .map(cells)
            .map(|cells| {
                [cells.first(), cells.get(cells.len() - 2), cells.last()]
                    .map(|cell| cell.unwrap().clone())
                    .join(" ")
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(
        charges(&["--by", "key"]),
        [
            "- - 0.0",
            "k EUR 0.2",
            "k USD 0.4",
            "TOTAL - 0.0",
            "TOTAL EUR 0.2",
            "TOTAL USD 0.4"
        ]
    );
    let out = usage(["--by", "currency", "--format", "csv"], ledger.as_bytes()).out;
    let ends: Vec<_> = out
        .lines()
        .skip(1)
        .map(|line| {
            let cells: Vec<_> = line.split(',').collect();
            format!("{} {}", cells[0], cells[cells.len() - 4])
        })
        .collect();
    assert_eq!(
        ends,
        [
            " 0",
            "EUR 0.2",
            "USD 0.4",
            "TOTAL - 0",
            "TOTAL EUR 0.2",
            "TOTAL USD 0.4"
        ]
    );

    let total = &usage(["--format", "json"], ledger.as_bytes()).json()["total"];
    assert_eq!(total["charge"], json!(null));
    assert_eq!(total["charges"], json!({"EUR": "0.2", "USD": "0.4"}));
    assert_eq!(total["requests"], 4);
}

#[test]
fn rounding_is_for_the_eye_and_at_the_end() {
    let charges = ["0.005", "0.005", "0.0149"];
    let lines = |key: &str| {
        charges
            .map(|charge| {
                line(
                    "2026-11-21T00:00:00Z",
                    &call(key, "g", "m", 1, 1, &format!("{charge} USD")),
                )
            })
            .concat()
    };
    let ledger = lines("a") + &lines("b");
    let shown = |args: &[&str]| {
        let out = usage(["--by", "key"].iter().chain(args), ledger.as_bytes()).out;
        let charge = |line: &str| match line.rsplit(',').nth(3) {
            Some(of_csv) => of_csv.to_owned(),
            None => line.rsplit(' ').next().unwrap().to_owned(),
        };
        out.lines()
            .filter(|line| !line.contains("charge") && !line.contains("--"))
            .map(charge)
            .collect::<Vec<_>>()
    };
    // Each rounded by itself before it is added would be 0.01 + 0.01 + 0.01.
    assert_eq!(shown(&["--round", "2"]), ["0.02", "0.02", "0.05"]);
    assert_eq!(
        shown(&["--round", "2", "--format", "csv"]),
        ["0.02", "0.02", "0.05"]
    );
    assert_eq!(shown(&["--round", "0"]), ["0", "0", "0"]);
    assert_eq!(
        shown(&["--round", "6"]),
        ["0.024900", "0.024900", "0.049800"]
    );
    assert_eq!(shown(&[]), ["0.0249", "0.0249", "0.0498"]);
    let json = usage(["--format", "json", "--round", "2"], ledger.as_bytes()).json();
    assert_eq!(json["total"]["charge"], "0.0498", "JSON is exact");
}

#[test]
fn absurd_numbers_are_told_and_missing_from_the_totals() {
    let charged = |charge: &str| call("b", "g", "m", 1, 1, charge);
    for (fault, row) in [
        (
            "trilane.charge \"0.0000000000000000000000000001\" has more than 20 fractional digits",
            charged("0.0000000000000000000000000001 USD"),
        ),
        (
            "trilane.charge \"1000000000\" is 10^9 or more",
            charged("1000000000 USD"),
        ),
        (
            "the count of input is more than 10^9",
            call("b", "g", "m", u64::MAX, 1, ""),
        ),
    ] {
        let ledger = [
            line("2026-11-21T00:00:00Z", &call("a", "g", "m", 1, 1, "8 USD")),
            line("2026-11-21T00:00:00Z", &row),
        ]
        .concat();
        let ran = usage(["--by", "key", "--format", "json"], ledger.as_bytes());
        let total = &ran.json()["total"];
        assert_eq!(
            (ran.code, &total["charge"], &total["requests"]),
            (1, &"8".into(), &1.into()),
            "{fault}"
        );
        assert!(
            ran.err.starts_with(&format!(
                "note: 1 line of a request cannot be right and is MISSING from the totals (first: standard input:2: {fault})"
            )),
            "{fault}: {}",
            ran.err
        );
    }
}

#[test]
fn complete_requests_without_prices_are_told_of() {
    let free = line("2026-11-21T00:00:00Z", &call("a", "g", "m", 1, 1, ""));
    let paid = line("2026-11-21T00:00:00Z", &call("a", "g", "m", 1, 1, "1 USD"));
    assert_eq!(usage([""; 0], free.as_bytes()).err, "");
    let ran = usage([""; 0], (free + &paid).as_bytes());
    assert_eq!(
        ran.err,
        "note: complete requests without a charge: 1 (their models have no prices)\n"
    );
}

#[test]
fn nothing_steers_the_terminal() {
    let ledger = line("2026-11-21T00:00:00Z", r#""trilane.key.id":"\u001b[31m""#);
    let ran = usage(
        [""; 0],
        (ledger + "{\"timestamp\":\"\\u001b[1m\",\"trilane.usage.status\":\"none\"}\n").as_bytes(),
    );
    assert!(
        !ran.out.contains('\x1b') && !ran.err.contains('\x1b'),
        "{ran:?}"
    );
}

#[test]
fn by_team() {
    let of = |team: &str, charge: &str| {
        let call = call("k1", "g1", "m1", 10, 1, charge);
        line("2026-11-20T00:00:00Z", &format!("{call}{team}"))
    };
    let ledger = [
        of(",\"trilane.key.team\":\"east\"", "1 USD"),
        of(",\"trilane.key.team\":\"east\"", "2 USD"),
        of("", "4 USD"),
    ];
    let ran = usage(
        ["--format", "json", "--by", "team"],
        ledger.concat().as_bytes(),
    );
    let sums = ran.json();
    let rows = sums["rows"].as_array().unwrap().iter();
    let rows: Vec<_> = rows.map(|row| (&row["team"], &row["charge"])).collect();
    let (none, east) = (json!(""), json!("east"));
    assert_eq!(rows, [(&none, &json!("4")), (&east, &json!("3"))]);
}

#[test]
fn by_owner() {
    let of = |owner: &str, charge: &str| {
        let call = call("k1", "g1", "m1", 10, 1, charge);
        line("2026-11-20T00:00:00Z", &format!("{call}{owner}"))
    };
    let ledger = [
        of(",\"trilane.key.owner\":\"Zo\\u00eb, sales\"", "1 USD"),
        of(",\"trilane.key.owner\":\"Zoë, sales\"", "2 USD"),
        of("", "4 USD"),
    ];
    let ran = usage(
        ["--format", "json", "--by", "owner"],
        ledger.concat().as_bytes(),
    );
    let sums = ran.json();
    let rows = sums["rows"].as_array().unwrap().iter();
    let rows: Vec<_> = rows.map(|row| (&row["owner"], &row["charge"])).collect();
    let (nobody, zoe) = (json!(""), json!("Zoë, sales"));
    assert_eq!(rows, [(&nobody, &json!("4")), (&zoe, &json!("3"))]);
}
