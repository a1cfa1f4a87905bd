//! Budget reservations of requests under way: how many may be beside each other, and the remainder when they are over.

use super::*;
use crate::limits::elsewhere::COMPLETE;
use crate::limits::{FleetSpend, Period, SpentElsewhere, told_name};

/// A request that is expected to cost so much.
fn costs(charge: &str) -> Estimate {
    Estimate {
        charge: amount(charge),
        ..Estimate::default()
    }
}

fn reserved(subject: &Subject, shared: &impl SharedData, now: Now) -> String {
    load(subject, shared, now).counters.reserved().to_string()
}

/// The kinds of subjects, each with a budget of so much a day and nothing spent.
fn subjects(per_day: &str, shared: &FakeSharedData) -> [Subject; 4] {
    shared.set(COMPLETE, &[1], None).unwrap();
    let limits = budget(per_day, "");
    let told = FleetSpend {
        budget: Some(limits.budget),
        elsewhere: SpentElsewhere::default(),
    };
    for scope in [SubjectKind::Owner, SubjectKind::Team] {
        let name = told_name(scope, "same");
        shared.set(&name, &told.encode(), None).unwrap();
    }
    [
        key(limits),
        Subject::of_people(SubjectKind::Owner, "same"),
        Subject::of_people(SubjectKind::Team, "same"),
        group(limits).told(),
    ]
}

#[test]
fn sixty_at_once_spend_a_budget_and_no_more() {
    let shared = FakeSharedData::default();
    for subject in subjects("5", &shared) {
        let scope = subject.scope;
        let subject = [subject];
        let vms = [1, 2, 3].map(Limiter::new);
        let mut spent = Amount::ZERO;
        let mut under_way = Vec::new();
        let (mut passed, mut waited) = (0, 0);
        for request in 0..60 {
            let limiter = &vms[request % vms.len()];
            match limiter.admit(&subject, costs("0.41"), &shared, NOON) {
                Ok(reservation) => under_way.push((request, reservation)),
                Err(error) => {
                    let want = violated(scope, Limit::Reserved(Window::Day), 5 * SECOND);
                    assert_eq!(error, want, "{scope:?}");
                    waited += 1;
                }
            }
        }
        assert_eq!((under_way.len(), waited), (12, 48), "{scope:?}");
        // Those that waited come again as the others end.
        while let Some((request, reservation)) = under_way.pop() {
            let limiter = &vms[request % vms.len()];
            let settled = limiter.settle(reservation, used(0, 0, "0.41"), &shared, NOON);
            spent = settled.spent[0].in_day;
            passed += 1;
            if let Ok(next) = limiter.admit(&subject, costs("0.41"), &shared, NOON) {
                under_way.push((request, next));
            }
        }
        assert_eq!(passed, 13, "{scope:?}");
        assert_eq!(spent, amount("5.33"), "{scope:?}: less than one more");
        let last = vms[0].admit(&subject, costs("0.41"), &shared, NOON);
        let day = Limit::Budget(Window::Day);
        assert_eq!(last.unwrap_err(), violated(scope, day, DAY / 2));
    }
}

#[test]
fn which_requests_fit_beside_others() {
    let both = budget("2", "3");
    // (case, budget, spent before, what is under way, what comes, the budget that has no room for it)
    type Case<'a> = (
        &'a str,
        Limits,
        &'a str,
        &'a [&'a str],
        &'a str,
        Option<Window>,
    );
    let day = Some(Window::Day);
    let cases: [Case<'_>; 14] = [
        ("nothing else", budget("5", ""), "0", &[], "5", None),
        (
            "to the last digit",
            budget("5", ""),
            "0",
            &["2", "1"],
            "2",
            None,
        ),
        (
            "a digit too much",
            budget("5", ""),
            "0",
            &["2", "1"],
            "2.00000000000000000001",
            day,
        ),
        (
            "with what is spent",
            budget("5", ""),
            "2.5",
            &["1"],
            "1.5",
            None,
        ),
        (
            "more than is left",
            budget("5", ""),
            "2.5",
            &["1"],
            "1.6",
            day,
        ),
        (
            "the last cents, alone",
            budget("5", ""),
            "4.99",
            &[],
            "3",
            None,
        ),
        (
            "the last cents, not alone",
            budget("5", ""),
            "4.99",
            &["3"],
            "0.001",
            day,
        ),
        (
            "beside what costs nothing",
            budget("5", ""),
            "4.99",
            &["0"],
            "3",
            None,
        ),
        (
            "what costs nothing",
            budget("5", ""),
            "4.99",
            &["3"],
            "0",
            None,
        ),
        (
            "beside a huge one",
            budget("5", ""),
            "0",
            &["9999"],
            "2.5",
            None,
        ),
        (
            "two huge ones",
            budget("5", ""),
            "0",
            &["9999"],
            "9999",
            None,
        ),
        (
            "three huge ones",
            budget("5", ""),
            "0",
            &["9999", "9999"],
            "0.1",
            day,
        ),
        (
            "the smaller of two bounds",
            both,
            "0",
            &["1", "1"],
            "0.1",
            day,
        ),
        (
            "of both the month",
            both,
            "1.5",
            &["1"],
            "1",
            Some(Window::Month),
        ),
    ];
    for (case, limits, spent, under_way, comes, want) in cases {
        let shared = FakeSharedData::default();
        let limiter = Limiter::new(1);
        let subject = [key(limits)];
        let admit = |charge| limiter.admit(&subject, costs(charge), &shared, NOON);
        let _ = limiter.settle(admit("0").unwrap(), used(0, 0, spent), &shared, NOON);
        let held: Vec<_> = under_way
            .iter()
            .map(|charge| admit(charge).unwrap())
            .collect();
        let before = shared.values.borrow().clone();
        let got = admit(comes).map(|reservation| held.into_iter().chain([reservation]));
        let want =
            want.map(|window| violated(SubjectKind::Key, Limit::Reserved(window), 5 * SECOND));
        assert_eq!(got.as_ref().err(), want.as_ref(), "{case}");
        if let Ok(all) = got {
            for reservation in all {
                let _ = limiter.settle(reservation, used(0, 0, ""), &shared, NOON);
            }
            assert_eq!(reserved(&subject[0], &shared, NOON), "0", "{case}");
            assert_eq!(limiter.held(&subject[0]), Held::NOTHING, "{case}");
        } else {
            assert_eq!(
                *shared.values.borrow(),
                before,
                "{case}: nothing is reserved"
            );
        }
    }
}

#[test]
fn what_is_spent_elsewhere_leaves_less_room() {
    let shared = FakeSharedData::default();
    let [subject, ..] = subjects("5", &shared);
    let subject = [subject.told()];
    let told = FleetSpend {
        budget: None,
        elsewhere: SpentElsewhere(vec![(Period::parse("2026-11-22").unwrap(), amount("4"))]),
    };
    let name = told_name(SubjectKind::Key, "same");
    shared.set(&name, &told.encode(), None).unwrap();
    let limiter = Limiter::new(1);
    let admit = |charge| limiter.admit(&subject, costs(charge), &shared, NOON);
    let _first = admit("0.5").unwrap();
    let rejected = admit("0.6").unwrap_err();
    let want = violated(SubjectKind::Key, Limit::Reserved(Window::Day), 5 * SECOND);
    assert_eq!(rejected, want);
    assert!(admit("0.5").is_ok());
}

#[test]
fn who_is_rejected_by_one_subject_reserves_of_none() {
    let subjects = [key(budget("5", "")), group(budget("6", ""))];
    let shared = FakeSharedData::default();
    let limiter = Limiter::new(1);
    let admit =
        |subjects: &[Subject], charge| limiter.admit(subjects, costs(charge), &shared, NOON);
    let _of_others = [
        admit(&subjects[1..], "3").unwrap(),
        admit(&subjects[1..], "2").unwrap(),
    ];
    let rejected = admit(&subjects, "1.5").unwrap_err();
    let want = violated(SubjectKind::Group, Limit::Reserved(Window::Day), 5 * SECOND);
    assert_eq!(rejected, want);
    assert_eq!(reserved(&subjects[0], &shared, NOON), "0");
    let both = admit(&subjects, "1").unwrap();
    assert_eq!(reserved(&subjects[0], &shared, NOON), "1");
    assert_eq!(reserved(&subjects[1], &shared, NOON), "6");
    let _ = limiter.settle(both, used(0, 0, "0.2"), &shared, NOON);
    assert_eq!(reserved(&subjects[0], &shared, NOON), "0");
    assert_eq!(reserved(&subjects[1], &shared, NOON), "5");
}

#[test]
fn a_dead_vm_holds_no_money_for_longer_than_a_lease() {
    let subject = [key(budget("5", ""))];
    let shared = FakeSharedData::default();
    let (dies, lives) = (Limiter::new(1), Limiter::new(2));
    let admit = |limiter: &Limiter, now| limiter.admit(&subject, costs("2"), &shared, now);
    let lost = admit(&dies, NOON).unwrap();
    let kept = admit(&lives, NOON).unwrap();
    let mut now = NOON;
    while now + RENEWAL_MS * 1000 < NOON + LEASE_MS * 1000 {
        now += RENEWAL_MS * 1000;
        lives.renew(&shared, now);
        assert!(admit(&lives, now).is_err(), "{now:?}: both are under way");
    }
    let over = NOON + LEASE_MS * 1000;
    assert!(admit(&lives, over - 1000).is_err());
    assert_eq!(reserved(&subject[0], &shared, over), "2", "of the living");
    let next = admit(&lives, over).unwrap();
    // It was not dead after all, only late: what it has spent counts, and it holds nothing more.
    let settled = dies.settle(lost, used(0, 0, "1.5"), &shared, over);
    assert_eq!(settled.spent[0].in_day, amount("1.5"));
    assert_eq!(reserved(&subject[0], &shared, over), "4");
    for reservation in [kept, next] {
        let _ = lives.settle(reservation, used(0, 0, "1"), &shared, over);
    }
    assert_eq!(reserved(&subject[0], &shared, over), "0");
    for limiter in [&dies, &lives] {
        limiter.renew(&shared, over);
        assert_eq!(
            reserved(&subject[0], &shared, over),
            "0",
            "nothing is renewed"
        );
    }
}

#[test]
fn a_budget_that_comes_or_goes_meanwhile() {
    let (with, without) = ([key(budget("5", ""))], [key(limits(9, 0, 0, 0))]);
    let shared = FakeSharedData::default();
    let limiter = Limiter::new(1);
    let admit = |subject: &[Subject]| limiter.admit(subject, costs("2"), &shared, NOON);
    let (early, late) = (admit(&without).unwrap(), admit(&with).unwrap());
    let _ = limiter.settle(early, used(0, 0, "1"), &shared, NOON);
    assert_eq!(reserved(&with[0], &shared, NOON), "2", "of the other");
    let _ = limiter.settle(late, used(0, 0, "1"), &shared, NOON);
    assert_eq!(reserved(&with[0], &shared, NOON), "0");
    assert_eq!(limiter.held(&with[0]), Held::NOTHING);
}

#[test]
fn what_is_known_later_is_reserved_later() {
    let subjects = [key(budget("6", "")), group(budget("8", ""))];
    let shared = FakeSharedData::default();
    let (one, other) = (Limiter::new(1), Limiter::new(2));
    let reserved = || subjects.each_ref().map(|it| reserved(it, &shared, NOON));
    let mut first = one.admit(&subjects, costs("1"), &shared, NOON).unwrap();
    assert_eq!(one.extend(&mut first, amount("0.5"), &shared, NOON), Ok(()));
    assert_eq!(reserved(), ["1", "1"], "less is no reason to change it");
    assert_eq!(
        one.extend(&mut first, amount("9999"), &shared, NOON),
        Ok(())
    );
    assert_eq!(reserved(), ["3", "4"], "half of each");
    let mut second = other.admit(&subjects, costs("1"), &shared, NOON).unwrap();
    let of_group = other
        .admit(&subjects[1..], costs("2"), &shared, NOON)
        .unwrap();
    let rejected = other.extend(&mut second, amount("3"), &shared, NOON);
    let want = violated(SubjectKind::Group, Limit::Reserved(Window::Day), 5 * SECOND);
    assert_eq!(rejected, Err(want), "the key has room, the group has not");
    assert_eq!(reserved(), ["6", "7"]);
    let _ = other.settle(second, used(0, 0, ""), &shared, NOON);
    assert_eq!(reserved(), ["3", "6"], "all that it held is given back");
    let _ = one.settle(first, used(0, 0, "6"), &shared, NOON);
    // Alone, or spent.
    let mut third = other
        .admit(&subjects[1..], costs("0"), &shared, NOON)
        .unwrap();
    assert_eq!(other.extend(&mut third, amount("0"), &shared, NOON), Ok(()));
    let _ = other.settle(of_group, used(0, 0, ""), &shared, NOON);
    assert_eq!(other.extend(&mut third, amount("4"), &shared, NOON), Ok(()));
    let mut fourth = one
        .admit(&subjects[1..], costs("0"), &shared, NOON)
        .unwrap();
    let _ = other.settle(third, used(0, 0, "2"), &shared, NOON);
    let rejected = one.extend(&mut fourth, amount("1"), &shared, NOON);
    let spent = violated(SubjectKind::Group, Limit::Budget(Window::Day), DAY / 2);
    assert_eq!(rejected, Err(spent));
    let _ = one.settle(fourth, used(0, 0, ""), &shared, NOON);
    assert_eq!(reserved(), ["0", "0"]);
}
