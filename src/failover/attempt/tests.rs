use std::cell::Cell;

use serde_json::json;

use super::super::fixtures::{UNTIL_US, request, source_of};
use super::*;
use crate::host::fake::{FakeHost, FakeProcess};
use crate::host::{StatId, StatKind};
use crate::shared_data::Conflict;

/// The host of one attempt.
struct FakeAttempt {
    host: FakeHost,
    id: &'static [u8],
    status: Cell<u16>,
    report: Cell<Option<&'static str>>,
}

impl AttemptHost for FakeAttempt {
    fn request_id(&self) -> Option<Vec<u8>> {
        Some(self.id.to_vec())
    }

    fn status(&self) -> u16 {
        self.status.get()
    }

    fn take_hop_report(&self) -> String {
        self.report.take().expect("taken once").to_owned()
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

/// What an attempt's account does.
#[derive(Debug, Clone, Copy)]
enum AccountBehavior {
    /// It responds with this status, or what stands in its place does: the hop's report says which.
    Responds(u16, &'static str),
    /// It never responds.
    Nothing,
}

/// The account that an attempt goes to, empty for none, and whether its response is a final error.
type AttemptEnd = (&'static str, Option<bool>);

#[test]
fn attempts_of_a_request() {
    use AccountBehavior::{Nothing, Responds};
    const OK: AccountBehavior = Responds(200, "via_upstream;-;");
    const OVERLOADED: AccountBehavior = Responds(503, "via_upstream;-;");
    const WRONG: AccountBehavior = Responds(400, "via_upstream;-;");
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
            "another account",
            3,
            &[
                (true, OVERLOADED, ("x", Some(false))),
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
        for (place, (in_time, does, (account, is_final))) in ends.iter().enumerate() {
            let host = FakeAttempt {
                host: FakeHost::of(&process),
                id: b"id",
                status: Cell::new(408),
                report: Cell::default(),
            };
            process
                .steady_us
                .set(if *in_time { UNTIL_US } else { UNTIL_US + 1 });
            let mut attempt = Attempt::default();
            let course = attempt.on_request(&registry, &host);
            let went = match &course {
                Course::To {
                    cluster,
                    path: None,
                } => cluster.strip_prefix("account/s/").unwrap(),
                Course::To { .. } => panic!("{case}: a path"),
                Course::Refused => "",
            };
            assert_eq!(went, *account, "{case}: {place}");
            // Envoy's filters see a local reply like any response.
            let got = match (course, does) {
                (Course::Refused, _) => {
                    assert!(
                        attempt.on_response(&registry, &host),
                        "{case}: {place}: it is final"
                    );
                    None
                }
                (_, Responds(status, report)) => {
                    host.status.set(*status);
                    host.report.set(Some(report));
                    Some(attempt.on_response(&registry, &host))
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
        report: Cell::default(),
    };
    let course = Attempt::default().on_request(&Registry::default(), &host);
    assert_eq!(course, Course::Refused);
}
