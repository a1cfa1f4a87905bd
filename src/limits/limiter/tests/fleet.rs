//! Budgets of a fleet: what each Envoy counts itself, and what a spend feed tells it of the rest.

use proptest::prelude::*;

use super::*;
use crate::limits::elsewhere::{COMPLETE, INSTANCE};
use crate::limits::{FleetSpend, Period, SpentElsewhere, told_name};

const ENVOYS: usize = 3;
const TODAY: &str = "2026-11-22";

/// A subject whose spend is reported, and the budget that a feed gives it.
type SpendReport = (SubjectKind, &'static str, Option<Amount>);

/// The ledger line of a request that is over.
struct ChargeLine {
    instance: Option<String>,
    charge: u64,
}

/// One Envoy: its process, and the lines that nobody has taken in yet.
struct FleetEnvoy {
    shared: FakeSharedData,
    limiter: Limiter,
    lines: Vec<ChargeLine>,
    under_way: Vec<(Reservation, u64)>,
}

impl FleetEnvoy {
    fn start(instance: &str) -> Self {
        let shared = FakeSharedData::default();
        shared.set(INSTANCE, instance.as_bytes(), None).unwrap();
        Self {
            shared,
            limiter: Limiter::new(1),
            lines: Vec::new(),
            under_way: Vec::new(),
        }
    }

    fn end(&mut self, place: usize) {
        let (reservation, charge) = self.under_way.remove(place);
        let used = used(0, 0, &charge.to_string());
        let settled = self.limiter.settle(reservation, used, &self.shared, NOON);
        self.lines.push(ChargeLine {
            instance: settled.instance.map(|instance| instance.to_string()),
            charge,
        });
    }

    /// Returns the fleet's spend in the view of this Envoy.
    fn sees(&self, subject: &Subject) -> Option<Amount> {
        let subject = core::slice::from_ref(subject);
        let figures = self
            .limiter
            .figures_of_each(subject, &self.shared, NOON)
            .ok()?;
        let balance = figures.first()?.figures.budget(Window::Day)?;
        Some(balance.budget.less(balance.remaining))
    }
}

/// The console: the total, and what of it each process of each Envoy has in its counters.
#[derive(Default)]
struct SpendTotals {
    total: u64,
    shares: Vec<(usize, String, u64)>,
}

impl SpendTotals {
    fn take(&mut self, envoy: usize, line: ChargeLine) {
        self.total += line.charge;
        if let Some(instance) = line.instance {
            self.shares.push((envoy, instance, line.charge));
        }
    }

    /// Gives a process of an Envoy the spend that it has not counted itself.
    fn tell(&self, envoy: usize, to: &FleetEnvoy, told: SpendReport) {
        let (scope, id, budget) = told;
        let instance = to.shared.get(INSTANCE).0.unwrap();
        let own = self.shares.iter();
        let own = own.filter(|(of, by, _)| *of == envoy && by.as_bytes() == instance);
        let elsewhere = self.total - own.map(|(_, _, charge)| charge).sum::<u64>();
        let today = Period::parse(TODAY).unwrap();
        let record = FleetSpend {
            budget: budget.map(|per_day| crate::limits::budget::Budget {
                per_day: Some(per_day),
                ..Default::default()
            }),
            elsewhere: SpentElsewhere(vec![(today, amount(&elsewhere.to_string()))]),
        };
        let name = told_name(scope, id);
        to.shared.set(&name, &record.encode(), None).unwrap();
        to.shared.set(COMPLETE, &[1], None).unwrap();
    }
}

#[derive(Debug, Clone)]
enum FleetEvent {
    Begins(usize, u64),
    Ends(usize, usize),
    /// The console takes in this many lines of an Envoy.
    Arrives(usize, usize),
    Told(usize),
    /// The requests of this Envoy are broken off: they cost nothing, and nobody knows of them.
    Restarts(usize),
}

fn happens() -> impl Strategy<Value = FleetEvent> {
    let envoy = || 0..ENVOYS;
    prop_oneof![
        5 => (envoy(), 1..9_u64).prop_map(|(envoy, charge)| FleetEvent::Begins(envoy, charge)),
        5 => (envoy(), 0..4_usize).prop_map(|(envoy, place)| FleetEvent::Ends(envoy, place)),
        3 => (envoy(), 1..4_usize).prop_map(|(envoy, lines)| FleetEvent::Arrives(envoy, lines)),
        3 => envoy().prop_map(FleetEvent::Told),
        1 => envoy().prop_map(FleetEvent::Restarts),
    ]
}

/// Each kind of subject: how a request has it, and what a feed says of its budget.
fn subjects(per_day: &str) -> [(Subject, SpendReport); 4] {
    let limits = budget(per_day, "");
    let given = Some(amount(per_day));
    let people = |scope| Subject::of_people(scope, "same");
    [
        (key(limits).told(), (SubjectKind::Key, "same", None)),
        (
            people(SubjectKind::Owner),
            (SubjectKind::Owner, "same", given),
        ),
        (
            people(SubjectKind::Team),
            (SubjectKind::Team, "same", given),
        ),
        (group(limits).told(), (SubjectKind::Group, "same", None)),
    ]
}

proptest! {
    #![proptest_config(crate::seeds_beside_source())]

    /// Over its budget a fleet spends what was under way, and what nobody had been told of; nothing is ever forgotten.
    #[test]
    fn a_budget_lasts(history in proptest::collection::vec(happens(), 0..120), which in 0..4_usize) {
        let (subject, told) = subjects("20").into_iter().nth(which).unwrap();
        let mut console = SpendTotals::default();
        let mut instances = 0;
        let mut start = || {
            instances += 1;
            FleetEnvoy::start(&format!("{instances:016x}"))
        };
        let mut envoys: Vec<FleetEnvoy> = (0..ENVOYS).map(|_| start()).collect();
        let mut truth = 0;
        for happens in history {
            match happens {
                FleetEvent::Begins(at, charge) => {
                    let envoy = &mut envoys[at];
                    let seen = envoy.sees(&subject);
                    let admitted = envoy.limiter.admit(core::slice::from_ref(&subject), tokens(0, 0), &envoy.shared, NOON);
                    match (admitted, seen) {
                        (Ok(reservation), Some(seen)) => {
                            prop_assert!(seen < amount("20"));
                            envoy.under_way.push((reservation, charge));
                        }
                        (Err(AdmitError::Violation(violation)), Some(seen)) => {
                            prop_assert!(seen >= amount("20"));
                            prop_assert_eq!((violation.scope, violation.limit), (subject.scope, Limit::Budget(Window::Day)));
                        }
                        (Err(AdmitError::SpendUnknown), None) => {}
                        (other, seen) => prop_assert!(false, "{other:?}, {seen:?}"),
                    }
                }
                FleetEvent::Ends(at, place) => {
                    let envoy = &mut envoys[at];
                    if place < envoy.under_way.len() {
                        truth += envoy.under_way[place].1;
                        envoy.end(place);
                    }
                }
                FleetEvent::Arrives(at, lines) => {
                    let lines = lines.min(envoys[at].lines.len());
                    for line in envoys[at].lines.drain(..lines) {
                        console.take(at, line);
                    }
                }
                FleetEvent::Told(at) => console.tell(at, &envoys[at], told),
                FleetEvent::Restarts(at) => {
                    let lines = core::mem::take(&mut envoys[at].lines);
                    envoys[at] = start();
                    envoys[at].lines = lines;
                }
            }
            // Nobody is ever refused for what was not spent.
            for envoy in &envoys {
                if let Some(seen) = envoy.sees(&subject) {
                    prop_assert!(seen <= amount(&truth.to_string()).min(amount("20")));
                }
            }
        }
        // When all is told, every Envoy knows the truth, to the last digit.
        for (at, envoy) in envoys.iter_mut().enumerate() {
            for line in envoy.lines.drain(..) {
                console.take(at, line);
            }
        }
        for (at, envoy) in envoys.iter().enumerate() {
            console.tell(at, envoy, told);
            prop_assert_eq!(envoy.sees(&subject), Some(amount(&truth.to_string()).min(amount("20"))), "{}", at);
        }
    }
}

#[test]
fn nothing_is_counted_before_the_feed_has_told_everything() {
    for (subject, told) in subjects("1") {
        let envoy = FleetEnvoy::start("0a");
        let admit = |subject: &Subject| {
            envoy.limiter.admit(
                core::slice::from_ref(subject),
                tokens(0, 0),
                &envoy.shared,
                NOON,
            )
        };
        let scope = subject.scope;
        assert_eq!(
            admit(&subject).err(),
            Some(AdmitError::SpendUnknown),
            "{scope:?}"
        );
        assert_eq!(
            envoy
                .limiter
                .figures(core::slice::from_ref(&subject), &envoy.shared, NOON),
            Figures {
                at_us: NOON.wall_us,
                ..Figures::default()
            },
            "{scope:?}"
        );
        envoy.shared.set(COMPLETE, &[1], None).unwrap();
        assert!(admit(&subject).is_ok(), "{scope:?}: nothing is spent");
        let spent = SpendTotals {
            total: 1,
            ..SpendTotals::default()
        };
        spent.tell(0, &envoy, told);
        let wait = DAY / 2;
        let want = violated(scope, Limit::Budget(Window::Day), wait);
        assert_eq!(admit(&subject).err(), Some(want), "{scope:?}");
        // A record that nobody can read is no leave.
        envoy
            .shared
            .set(&told_name(told.0, told.1), &[7], None)
            .unwrap();
        assert_eq!(
            admit(&subject).err(),
            Some(AdmitError::SpendUnknown),
            "{scope:?}"
        );
    }
}

#[test]
fn what_has_no_budget_costs_nothing_but_a_look() {
    let envoy = FleetEnvoy::start("0a");
    envoy.shared.set(COMPLETE, &[1], None).unwrap();
    let owner = Subject::of_people(SubjectKind::Owner, "ann");
    let reservation = envoy.limiter.admit(
        core::slice::from_ref(&owner),
        tokens(1, 1),
        &envoy.shared,
        NOON,
    );
    let settled = envoy
        .limiter
        .settle(reservation.unwrap(), used(1, 1, "1"), &envoy.shared, NOON);
    assert_eq!(settled, Settlement::default());
    assert_eq!(
        envoy.shared.written.borrow().len(),
        2,
        "no counter is written"
    );

    // With one, what has no prices is not forwarded.
    SpendTotals::default().tell(0, &envoy, (SubjectKind::Owner, "ann", Some(amount("5"))));
    let admit = |unpriced| {
        let subject = Subject::of_people(SubjectKind::Owner, "ann");
        let estimate = Estimate {
            unpriced,
            ..tokens(0, 0)
        };
        envoy
            .limiter
            .admit(&[subject], estimate, &envoy.shared, NOON)
    };
    let unpriced = AdmitError::Unpriced(SubjectKind::Owner);
    assert_eq!(admit(true).err(), Some(unpriced));
    let settled = envoy
        .limiter
        .settle(admit(false).unwrap(), used(0, 0, "2"), &envoy.shared, NOON);
    let spent = BudgetSpent {
        scope: SubjectKind::Owner,
        in_day: amount("2"),
        in_month: amount("2"),
    };
    assert_eq!(settled.spent, [spent]);
    assert_eq!(settled.instance.as_deref(), Some("0a"));
}

#[test]
fn a_feed_is_believed_and_not_what_the_document_says() {
    let envoy = FleetEnvoy::start("0a");
    envoy.shared.set(COMPLETE, &[1], None).unwrap();
    let mut limits = budget("10", "");
    limits.budget.spent = Some(crate::limits::budget::SpentBy {
        at: NOON.seconds(),
        in_day: amount("9"),
        in_month: amount("9"),
    });
    assert_eq!(
        envoy.sees(&key(limits)),
        Some(amount("9")),
        "without a feed"
    );
    let subject = key(limits).told();
    assert_eq!(envoy.sees(&subject), Some(Amount::ZERO));
}
