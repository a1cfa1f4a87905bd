use std::cell::{Cell, RefCell};

use super::*;

/// The attempts of one request, one after the other, as Envoy makes them.
struct FakeRequest {
    bounds: Option<Bounds>,
    failed: RefCell<Vec<u8>>,
    account: Cell<&'static str>,
    status: Cell<u16>,
    report: Cell<Option<&'static str>>,
    now_us: Cell<u64>,
}

impl FakeRequest {
    fn new(bounds: Option<Bounds>) -> Self {
        Self {
            bounds,
            failed: RefCell::default(),
            account: Cell::default(),
            status: Cell::default(),
            report: Cell::default(),
            now_us: Cell::default(),
        }
    }

    /// What was recorded: account and kind of each.
    fn recorded(&self) -> Vec<(String, AttemptFailure)> {
        let failed = FailedAttempt::parse_list(&self.failed.borrow());
        let pairs = failed.into_iter().map(|one| (one.account, one.kind));
        pairs.collect()
    }
}

impl Clocks for FakeRequest {
    fn wall_us(&self) -> u64 {
        panic!("durations are measured by the steady clock")
    }

    fn steady_us(&self) -> u64 {
        self.now_us.get()
    }
}

impl AttemptHost for FakeRequest {
    fn bounds(&self) -> Option<Vec<u8>> {
        self.bounds.map(|bounds| bounds.write().into_bytes())
    }

    fn failed_attempts(&self) -> Vec<u8> {
        self.failed.borrow().clone()
    }

    fn set_failed_attempts(&self, failed: &[u8]) {
        *self.failed.borrow_mut() = failed.to_vec();
    }

    fn account(&self) -> Option<String> {
        Some(self.account.get().to_owned())
    }

    fn status(&self) -> u16 {
        self.status.get()
    }

    fn take_hop_report(&self) -> String {
        self.report.take().expect("taken once").to_owned()
    }
}

/// What an attempt's account does.
#[derive(Debug, Clone, Copy)]
enum Does {
    /// It responds with this status, or what stands in its place does: the hop's report says which.
    Responds(u16, &'static str),
    /// It never responds.
    Nothing,
}

/// How an attempt is dispatched, and whether another is asked for after a response.
type Course = (Dispatch, Option<bool>);

/// One attempt at this account.
fn attempt(request: &FakeRequest, account: &'static str, does: Does) -> Course {
    request.account.set(account);
    let mut attempt = Attempt::default();
    let dispatch = attempt.on_request(request);
    let again = match (dispatch, does) {
        // Envoy's filters see a local reply like any response.
        (Dispatch::Refused, _) => {
            request.status.set(408);
            Some(attempt.on_response(request))
        }
        (Dispatch::TurnedBack, _) => {
            request.status.set(503);
            request.report.set(Some(""));
            Some(attempt.on_response(request))
        }
        (_, Does::Responds(status, report)) => {
            request.status.set(status);
            request.report.set(Some(report));
            Some(attempt.on_response(request))
        }
        (_, Does::Nothing) => None,
    };
    let recorded = request.recorded();
    attempt.on_done(request);
    if again.is_some() {
        assert_eq!(request.recorded(), recorded, "recorded once");
    }
    (dispatch, again)
}

#[test]
fn attempts_of_a_request() {
    use Dispatch::{Again, First, Refused, TurnedBack};
    use Does::{Nothing, Responds};
    const OK: Does = Responds(200, "via_upstream;-;");
    const OVERLOADED: Does = Responds(503, "via_upstream;-;");
    const WRONG: Does = Responds(400, "via_upstream;-;");
    const RESET: Does = Responds(503, "upstream_reset_before_response_started{x};UF;");
    type Case = (
        &'static str,
        usize,
        &'static [(&'static str, u64, Does, Course)],
        &'static [(&'static str, AttemptFailure)],
    );
    // (case, how many attempts, of each: account, when, what it does, its course; what is recorded). The time ends at 100.
    let cases: &[Case] = &[
        ("good", 3, &[("x", 0, OK, (First, Some(false)))], &[]),
        (
            "an error of the request",
            3,
            &[("x", 0, WRONG, (First, Some(false)))],
            &[("x", AttemptFailure::Request)],
        ),
        (
            "another account",
            3,
            &[
                ("x", 0, OVERLOADED, (First, Some(true))),
                ("y", 1, OK, (Again, Some(false))),
            ],
            &[("x", AttemptFailure::Overloaded)],
        ),
        (
            "a broken connection",
            3,
            &[
                ("x", 0, RESET, (First, Some(true))),
                ("y", 1, OK, (Again, Some(false))),
            ],
            &[("x", AttemptFailure::Connection)],
        ),
        (
            "the same account again",
            3,
            &[
                ("x", 0, OVERLOADED, (First, Some(true))),
                ("x", 1, OK, (TurnedBack, Some(true))),
                ("y", 2, OK, (Again, Some(false))),
            ],
            &[("x", AttemptFailure::Overloaded)],
        ),
        (
            "as many as there may be",
            2,
            &[
                ("x", 0, OVERLOADED, (First, Some(true))),
                ("y", 1, OVERLOADED, (Again, Some(false))),
            ],
            &[
                ("x", AttemptFailure::Overloaded),
                ("y", AttemptFailure::Overloaded),
            ],
        ),
        (
            "one more than there may be, after no response",
            1,
            &[
                ("x", 0, Nothing, (First, None)),
                ("y", 1, OK, (Refused, Some(false))),
            ],
            &[("x", AttemptFailure::NoAnswer)],
        ),
        (
            "no response, another account",
            2,
            &[
                ("x", 0, Nothing, (First, None)),
                ("y", 100, OK, (Again, Some(false))),
            ],
            &[("x", AttemptFailure::NoAnswer)],
        ),
        (
            "no response, no time left",
            2,
            &[
                ("x", 0, Nothing, (First, None)),
                ("y", 101, OK, (Refused, Some(false))),
            ],
            &[
                ("x", AttemptFailure::NoAnswer),
                ("y", AttemptFailure::NoTime),
            ],
        ),
        (
            "an error, no time left",
            3,
            &[("x", 101, OVERLOADED, (First, Some(false)))],
            &[("x", AttemptFailure::Overloaded)],
        ),
    ];
    for (case, tries, attempts, want) in cases {
        let request = FakeRequest::new(Some(Bounds {
            attempts: *tries,
            until_us: 100,
        }));
        for (place, (account, now_us, does, course)) in attempts.iter().enumerate() {
            request.now_us.set(*now_us);
            assert_eq!(
                attempt(&request, account, *does),
                *course,
                "{case}: {place}"
            );
        }
        let recorded = request.recorded();
        let recorded: Vec<_> = recorded
            .iter()
            .map(|(a, kind)| (a.as_str(), *kind))
            .collect();
        assert_eq!(recorded, *want, "{case}");
    }
}

#[test]
fn without_bounds_every_failure_is_retried() {
    let request = FakeRequest::new(None);
    request.now_us.set(u64::MAX);
    for (place, account) in ["a", "b", "c", "d", "e", "f"].into_iter().enumerate() {
        let dispatch = if place == 0 {
            Dispatch::First
        } else {
            Dispatch::Again
        };
        let course = attempt(&request, account, Does::Responds(503, ""));
        assert_eq!(course, (dispatch, Some(true)), "{account}");
    }
}
