use std::cell::Cell;

use serde_json::json;

use super::super::active_keys::KeyMark;
use super::super::fixtures::{
    UNTIL_US, at, request, request_in_sequence, source_named, source_of, whole_body,
};
use super::super::request::WholeBody;
use super::*;
use crate::host::fake::{FakeHost, FakeProcess};
use crate::host::{StatId, StatKind};
use crate::shared_data::Conflict;

/// The host of one attempt.
struct FakeAttempt {
    host: FakeHost,
    id: &'static [u8],
    status: Cell<u16>,
    judged: Cell<Option<AttemptFailure>>,
    report: Cell<Option<&'static str>>,
    answer: Cell<&'static str>,
}

impl AttemptHost for FakeAttempt {
    fn request_id(&self) -> Option<Vec<u8>> {
        Some(self.id.to_vec())
    }

    fn status(&self) -> u16 {
        self.status.get()
    }

    fn judged(&self) -> Option<ToldFailure> {
        self.judged.get().map(ToldFailure::from)
    }

    fn told_wait(&self) -> Option<u64> {
        None
    }

    fn take_hop_report(&self) -> String {
        self.report.take().expect("taken once").to_owned()
    }

    fn response_body(&self, most: usize) -> Vec<u8> {
        let answer = self.answer.get().as_bytes();
        answer.iter().copied().take(most).collect()
    }
}

impl Clocks for FakeAttempt {
    fn wall_us(&self) -> u64 {
        self.host.wall_us()
    }

    fn steady_us(&self) -> u64 {
        self.host.steady_us()
    }
}

impl SharedData for FakeAttempt {
    fn get(&self, name: &str) -> (Option<Vec<u8>>, Option<u32>) {
        SharedData::get(&self.host, name)
    }

    fn set(&self, name: &str, value: &[u8], version: Option<u32>) -> Result<(), Conflict> {
        self.host.set(name, value, version)
    }
}

impl Stats for FakeAttempt {
    fn define(&self, kind: StatKind, name: &str) -> StatId {
        self.host.define(kind, name)
    }

    fn add(&self, id: StatId, count: u64) {
        self.host.add(id, count);
    }

    fn record(&self, id: StatId, value: u64) {
        self.host.record(id, value);
    }
}

/// The reaction of an attempt's account.
#[derive(Debug, Clone, Copy)]
enum AccountBehavior {
    /// It responds with this status, or what stands in its place does: the hop's report says which.
    Responds(u16, &'static str),
    /// It responds with this status, and that is judged to be this failure.
    Fails(u16, AttemptFailure),
    /// It never responds.
    Nothing,
}

/// The account that an attempt goes to, empty for none, and whether its response is a final error.
type AttemptEnd = (&'static str, Option<bool>);

#[test]
fn attempts_of_a_request() {
    use AccountBehavior::{Fails, Nothing, Responds};
    const OK: AccountBehavior = Responds(200, "via_upstream;-;");
    const OVERLOADED: AccountBehavior = Responds(503, "via_upstream;-;");
    const WRONG: AccountBehavior = Responds(400, "via_upstream;-;");
    const ELSEWHERE: AccountBehavior = Responds(307, "via_upstream;-;");
    const RESET: AccountBehavior = Responds(503, "upstream_reset_before_response_started{x};UF;");
    type Case = (
        &'static str,
        usize,
        &'static [(bool, AccountBehavior, AttemptEnd)],
        &'static [(&'static str, AttemptFailure)],
    );
    // (case, how many accounts may be asked, of each attempt: whether there is time, what its account does, how it ends;
    // what is recorded). The accounts are x, y and z, in this order.
    let cases: &[Case] = &[
        ("good", 3, &[(true, OK, ("x", Some(false)))], &[]),
        (
            "an error of the request",
            3,
            &[(true, WRONG, ("x", Some(true)))],
            &[("x", AttemptFailure::Request)],
        ),
        (
            "another account, for one that sends elsewhere",
            3,
            &[
                (true, ELSEWHERE, ("x", Some(false))),
                (true, OK, ("y", Some(false))),
            ],
            &[("x", AttemptFailure::Redirected)],
        ),
        (
            "another account",
            3,
            &[
                (true, OVERLOADED, ("x", Some(false))),
                (true, OK, ("y", Some(false))),
            ],
            &[("x", AttemptFailure::Overloaded)],
        ),
        (
            "an error whose words tell a fault of the account",
            3,
            &[
                (
                    true,
                    Fails(400, AttemptFailure::Unauthorized),
                    ("x", Some(false)),
                ),
                (
                    true,
                    Fails(404, AttemptFailure::NoModel),
                    ("y", Some(false)),
                ),
                (true, Fails(404, AttemptFailure::NoModel), ("z", Some(true))),
            ],
            &[
                ("x", AttemptFailure::Unauthorized),
                ("y", AttemptFailure::NoModel),
                ("z", AttemptFailure::NoModel),
            ],
        ),
        (
            "a 200 that is none",
            2,
            &[
                (
                    true,
                    Fails(200, AttemptFailure::Overloaded),
                    ("x", Some(false)),
                ),
                (true, OK, ("y", Some(false))),
            ],
            &[("x", AttemptFailure::Overloaded)],
        ),
        (
            "a broken connection",
            3,
            &[
                (true, RESET, ("x", Some(false))),
                (true, OK, ("y", Some(false))),
            ],
            &[("x", AttemptFailure::Connection)],
        ),
        (
            "as many as there may be",
            2,
            &[
                (true, OVERLOADED, ("x", Some(false))),
                (true, OVERLOADED, ("y", Some(true))),
            ],
            &[
                ("x", AttemptFailure::Overloaded),
                ("y", AttemptFailure::Overloaded),
            ],
        ),
        (
            "all of them",
            9,
            &[
                (true, OVERLOADED, ("x", Some(false))),
                (true, OVERLOADED, ("y", Some(false))),
                (true, OVERLOADED, ("z", Some(true))),
                (true, OK, ("", None)),
            ],
            &[
                ("x", AttemptFailure::Overloaded),
                ("y", AttemptFailure::Overloaded),
                ("z", AttemptFailure::Overloaded),
            ],
        ),
        (
            "one more than there may be, after no response",
            1,
            &[(true, Nothing, ("x", None)), (true, OK, ("", None))],
            &[("x", AttemptFailure::NoAnswer)],
        ),
        (
            "no response, another account",
            2,
            &[(true, Nothing, ("x", None)), (true, OK, ("y", Some(false)))],
            &[("x", AttemptFailure::NoAnswer)],
        ),
        (
            "no response, no time left",
            2,
            &[(true, Nothing, ("x", None)), (false, OK, ("", None))],
            &[
                ("x", AttemptFailure::NoAnswer),
                ("y", AttemptFailure::NoTime),
            ],
        ),
        (
            "an error, no time left",
            3,
            &[(false, OVERLOADED, ("x", Some(true)))],
            &[("x", AttemptFailure::Overloaded)],
        ),
    ];
    let given = ["x", "y", "z"].iter().enumerate();
    let given: Vec<_> = given
        .map(|(priority, id)| json!({"id": id, "priority": priority}))
        .collect();
    // The order stays, since nobody is ejected.
    let source = source_of(&given, json!({"failures": 100}));
    for (case, tries, ends, want) in cases {
        let process = FakeProcess::start();
        let registry = Registry::default();
        let attempts = Rc::new(request(&source, 1, *tries));
        registry.begin(&"id".into(), &attempts);
        attempts.end_body(WholeBody::default(), 0);
        for (place, (in_time, does, (account, is_final))) in ends.iter().enumerate() {
            let host = FakeAttempt {
                host: FakeHost::of(&process),
                id: b"id",
                status: Cell::new(408),
                judged: Cell::default(),
                report: Cell::default(),
                answer: Cell::default(),
            };
            process
                .steady_us
                .set(if *in_time { UNTIL_US } else { UNTIL_US + 1 });
            let mut attempt = Attempt::default();
            let course = attempt.on_request(&registry, &host);
            let went = match &course {
                AttemptDecision::To {
                    cluster,
                    path: None,
                    model: None,
                    without_usage: None,
                    is_held: false,
                } => cluster.strip_prefix("account/s/").unwrap(),
                AttemptDecision::To { .. } | AttemptDecision::Wait => panic!("{case}: {course:?}"),
                AttemptDecision::Refused => "",
            };
            assert_eq!(went, *account, "{case}: {place}");
            // Envoy's filters see a local reply like any response.
            let got = match (course, does) {
                (AttemptDecision::Refused, _) => {
                    assert!(
                        attempt.on_response(false, &registry, &host) == ResponseDecision::Final,
                        "{case}: {place}: it is final"
                    );
                    None
                }
                (_, Responds(status, report)) => {
                    host.status.set(*status);
                    host.report.set(Some(report));
                    Some(attempt.on_response(false, &registry, &host) == ResponseDecision::Final)
                }
                (_, Fails(status, kind)) => {
                    host.status.set(*status);
                    host.judged.set(Some(*kind));
                    host.report.set(Some("via_upstream;-;"));
                    Some(attempt.on_response(false, &registry, &host) == ResponseDecision::Final)
                }
                (_, Nothing) => None,
            };
            assert_eq!(got, *is_final, "{case}: {place}");
            let recorded = attempts.failed();
            attempt.on_done();
            assert!(
                got.is_none() || attempts.failed() == recorded,
                "{case}: recorded once"
            );
        }
        let failed = attempts.failed();
        let recorded: Vec<_> = failed
            .iter()
            .map(|it| (it.account.as_str(), it.kind))
            .collect();
        assert_eq!(recorded, *want, "{case}");
    }
}

#[test]
fn a_request_that_nobody_knows_goes_nowhere() {
    let host = FakeAttempt {
        host: FakeHost::of(&FakeProcess::start()),
        id: b"other",
        status: Cell::default(),
        judged: Cell::default(),
        report: Cell::default(),
        answer: Cell::default(),
    };
    let course = Attempt::default().on_request(&Registry::default(), &host);
    assert_eq!(course, AttemptDecision::Refused);
}

fn host_of(process: &Rc<FakeProcess>) -> FakeAttempt {
    FakeAttempt {
        host: FakeHost::of(process),
        id: b"id",
        status: Cell::new(503),
        judged: Cell::default(),
        report: Cell::default(),
        answer: Cell::default(),
    }
}

/// The first attempt gets the body as it comes, those after it only the whole.
#[test]
fn an_attempt_after_a_failed_one_waits_for_the_body() {
    let source = source_of(
        &[json!({"id": "x"}), json!({"id": "y", "priority": 1})],
        json!({}),
    );
    // (case, what comes of the body while it waits, with its size and whether it is the end, when in microseconds; what becomes of it)
    type Part = (usize, bool, u64);
    let goes = || AttemptDecision::To {
        cluster: "account/s/y".into(),
        path: None,
        model: None,
        without_usage: None,
        is_held: false,
    };
    let cases: &[(&str, &[Part], AttemptDecision)] = &[
        (
            "not the end",
            &[(100, false, 0), (MOST_AWAITED, false, 0)],
            AttemptDecision::Wait,
        ),
        ("the end", &[(100, false, 0), (200, true, 0)], goes()),
        ("the end, without a byte", &[(0, true, 0)], goes()),
        ("more than is held", &[(MOST_AWAITED + 1, false, 0)], goes()),
        (
            "the end, too late",
            &[(200, true, UNTIL_US + 1)],
            AttemptDecision::Refused,
        ),
    ];
    for (case, parts, want) in cases {
        let process = FakeProcess::start();
        let (registry, host) = (Registry::default(), host_of(&process));
        let attempts = Rc::new(request(&source, 1, 2));
        registry.begin(&"id".into(), &attempts);
        let mut first = Attempt::default();
        assert!(
            matches!(
                first.on_request(&registry, &host),
                AttemptDecision::To { .. }
            ),
            "{case}: the first"
        );
        assert_eq!(
            first.on_request_body(100, false, &registry, &host),
            None,
            "{case}: it goes on"
        );
        host.report.set(Some("via_upstream;-;"));
        let decision = first.on_response(false, &registry, &host);
        assert_eq!(decision, ResponseDecision::Passes, "{case}");
        let mut second = Attempt::default();
        let mut course = Some(second.on_request(&registry, &host));
        for (held, end, at_us) in *parts {
            assert_eq!(course, Some(AttemptDecision::Wait), "{case}");
            if *end {
                attempts.end_body(WholeBody::default(), host.steady_us());
            }
            process.steady_us.set((*at_us).max(host.steady_us()));
            course = second.on_request_body(*held, *end, &registry, &host);
        }
        assert_eq!(course.as_ref(), Some(want), "{case}");
        if *want == AttemptDecision::Wait {
            second.on_done();
            assert_eq!(attempts.failed().len(), 1, "{case}: it never was");
        } else {
            assert_eq!(
                second.on_request_body(999, false, &registry, &host),
                None,
                "{case}: once"
            );
        }
    }
}

/// A failure that a client can bring about counts against the first account once it comes from two keys.
#[test]
fn silence_before_the_body_ends() {
    let connection = "upstream_reset_before_response_started";
    // (case, what the hop reports, whether the body has ended, whether the account is ejected)
    let cases = [
        (
            "a reset, no end yet",
            format!("{connection}{{connection_termination}};UC;"),
            false,
            false,
        ),
        (
            "a reset by the other side, no end yet",
            format!("{connection}{{remote_reset}};UR;"),
            false,
            false,
        ),
        (
            "no connection, no end yet",
            format!("{connection}{{remote_connection_failure}};UF;"),
            false,
            true,
        ),
        (
            "no connection, twice, no end yet",
            format!("{connection}{{remote_connection_failure}};UF,URX;"),
            false,
            true,
        ),
        (
            "a reset",
            format!("{connection}{{connection_termination}};UC;"),
            true,
            true,
        ),
        (
            "an error, no end yet",
            "via_upstream;-;".to_owned(),
            false,
            true,
        ),
    ];
    for (case, report, whole, ejected) in cases {
        let process = FakeProcess::start();
        let (registry, host) = (Registry::default(), host_of(&process));
        let source = source_of(
            &[json!({"id": "x"}), json!({"id": "y", "priority": 1})],
            json!({}),
        );
        registry.note_use("s", KeyMark::of("another"), &host);
        let attempts = Rc::new(request(&source, 1, 2));
        registry.begin(&"id".into(), &attempts);
        if whole {
            attempts.end_body(WholeBody::default(), host.steady_us());
        }
        let mut attempt = Attempt::default();
        attempt.on_request(&registry, &host);
        host.report.set(Some(report.leak()));
        attempt.on_response(false, &registry, &host);
        let marks = &attempts.accounts(at(0)).unwrap().marks[0];
        let states = states::read("s", &host);
        assert_eq!(
            states.is_ejected(marks, host.steady_us()),
            ejected,
            "{case}"
        );
    }
}

/// All attempts share the head: where one had another name of the model, each after it says how long its own body is.
#[test]
fn the_length_is_that_of_the_own_body() {
    use super::super::request::LaterTerms;
    let later = AccountPlace {
        source: 1,
        account: 0,
    };
    // (case, the name at the other source, the source that is asked first, whether the attempt at the first source waits for the
    // body and says how long that is)
    for (case, model, earlier, want) in [
        (
            "the other source has its name",
            Some("other"),
            Some(later),
            true,
        ),
        ("it has the same name", None, Some(later), false),
        ("none was asked before", Some("other"), None, false),
    ] {
        let [one, other] = ["s", "t"].map(|id| source_named(id, &[json!({"id": "x"})], json!({})));
        let process = FakeProcess::start();
        let (registry, host) = (Registry::default(), host_of(&process));
        let attempts = Rc::new(request_in_sequence(&[one, other], 4));
        registry.begin(&"id".into(), &attempts);
        let terms = LaterTerms {
            model: model.map(Into::into),
        };
        attempts.end_body(whole_body(vec![Some(terms)]), host.steady_us());
        if let Some(place) = earlier {
            attempts.begin(place, true, &|_| Rc::default(), host.steady_us());
            let id = attempts.account(place).unwrap().id.clone();
            attempts.record(place, FailedAttempt::answered(id, 503, ""));
        }
        let mut attempt = Attempt::default();
        let mut decision = attempt.on_request(&registry, &host);
        assert_eq!(decision == AttemptDecision::Wait, want, "{case}: waits");
        if want {
            decision = attempt
                .on_request_body(100, true, &registry, &host)
                .unwrap();
        }
        let goes = AttemptDecision::To {
            cluster: "source/s".into(),
            path: None,
            model: None,
            without_usage: None,
            is_held: want,
        };
        assert_eq!(decision, goes, "{case}");
    }
}

/// An account that refuses the option is asked again without it, and nothing is held against it.
#[test]
fn an_option_that_an_account_refuses() {
    const REFUSAL: &str = r#"{"error":{"code":"unknown_parameter","param":"stream_options"}}"#;
    const OTHER: &str = r#"{"error":{"code":"unknown_parameter","param":"seed"}}"#;
    let without = || UsageEdit {
        span: 9..50,
        bytes: b"",
    };
    // (case, whether the body asks for the usage, whether the gateway has put that in, the answer's status and words; whether it is
    // held, the decision, what is known then)
    type Case = (
        &'static str,
        bool,
        bool,
        u16,
        &'static str,
        bool,
        ResponseDecision,
        Option<bool>,
    );
    use ResponseDecision::{AskedAgain, Final, Passes};
    let cases: [Case; 7] = [
        (
            "refused",
            true,
            true,
            400,
            REFUSAL,
            true,
            AskedAgain,
            Some(false),
        ),
        (
            "refused by 422",
            true,
            true,
            422,
            REFUSAL,
            true,
            AskedAgain,
            Some(false),
        ),
        ("another fault", true, true, 400, OTHER, true, Final, None),
        (
            "the client's own option",
            true,
            false,
            400,
            REFUSAL,
            false,
            Final,
            None,
        ),
        ("taken", true, true, 200, "", false, Passes, Some(true)),
        (
            "the client's own, taken",
            true,
            false,
            200,
            "",
            false,
            Passes,
            Some(true),
        ),
        ("not there", false, false, 200, "", false, Passes, None),
    ];
    for (case, asks, is_put_in, status, words, is_held, want, known) in cases {
        let process = FakeProcess::start();
        let source = source_of(&[json!({"id": "x"})], json!({}));
        let registry = Registry::default();
        let attempts = Rc::new(request(&source, 1, 1));
        registry.begin(&"id".into(), &attempts);
        attempts.end_body(
            WholeBody {
                asks_usage: asks,
                without_usage: is_put_in.then(without),
                ..WholeBody::default()
            },
            0,
        );
        let host = host_of(&process);
        host.status.set(status);
        host.report.set(Some("via_upstream;-;"));
        host.answer.set(words);
        let mut attempt = Attempt::default();
        let goes = attempt.on_request(&registry, &host);
        let is_whole = matches!(
            &goes,
            AttemptDecision::To {
                without_usage: None,
                is_held: false,
                ..
            }
        );
        assert!(is_whole, "{case}: {goes:?}");
        let mut decision = attempt.on_response(false, &registry, &host);
        assert_eq!(decision == ResponseDecision::Held, is_held, "{case}");
        if is_held {
            let more = attempt.on_response_body(words.len() - 1, false, &registry, &host);
            assert_eq!(more, ResponseDecision::Held, "{case}");
            decision = attempt.on_response_body(words.len(), true, &registry, &host);
        }
        assert_eq!(decision, want, "{case}");
        let place = AccountPlace {
            source: 0,
            account: 0,
        };
        let way = attempts.way(place).unwrap();
        let takes = registry.takes_usage_option(way, process.steady_us.get(), &host);
        assert_eq!(takes, known, "{case}");
        if want != AskedAgain {
            continue;
        }
        assert!(attempts.failed().is_empty(), "{case}");
        let mut again = Attempt::default();
        let course = again.on_request(&registry, &host);
        assert_eq!(course, AttemptDecision::Wait, "{case}");
        let course = again.on_request_body(100, true, &registry, &host);
        let goes = AttemptDecision::To {
            cluster: "source/s".into(),
            path: None,
            model: None,
            without_usage: Some(without()),
            is_held: true,
        };
        assert_eq!(course, Some(goes), "{case}");
        assert!(attempts.has_left_out_usage(), "{case}");
        // The same words again are the vendor's last.
        host.report.set(Some("via_upstream;-;"));
        assert_eq!(again.on_response(false, &registry, &host), Final, "{case}");
    }
}
