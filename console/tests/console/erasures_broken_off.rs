//! Erasures that are broken off, that two consoles go on with at once, and that lines of the ledger come in the middle of.

use std::time::Duration;

use trilane_console::in_transaction;
use trilane_console::intake::IntakeError;
use trilane_console::ledger::UsageColumn;
use trilane_console::maintenance::{self, Retention};
use trilane_console::store::erasures::{self, Erasure, ErasureStep, Pseudonyms};
use trilane_console::store::people::{self, Person};
use trilane_console::store::usage_hours::{self, UsageQuery};
use trilane_console::store::{Store, StoreError, usage_days};

use crate::database::{TestDatabase, on_both};
use crate::erasures::{ID, line, traces};
use crate::ledger::{expected, position, send, spent, stored};

/// Lines of four keys of the person, in more hours than one transaction moves.
pub fn lines(from: u32, to: u32) -> String {
    (from..to)
        .map(|n| {
            let at = format!("2026-11-{:02}T{:02}:00:00Z", 1 + n / 24 % 28, n % 24);
            line(&at, &format!("k{}", n % 4), "0.0000000123")
        })
        .collect()
}

pub async fn with_person(database: &TestDatabase) -> Store {
    let store = database.open().await;
    let person = Person {
        id: ID.to_owned(),
        name: "Ann Example".to_owned(),
        role: "member".to_owned(),
        disabled: false,
        created_at: 0,
        key_group: None,
    };
    let added: Result<(), StoreError> =
        in_transaction!(store, transaction => people::insert(transaction, &person).await);
    added.unwrap();
    store
}

/// As the API begins one.
pub async fn begin(store: &Store) -> Erasure {
    let begun: Result<Erasure, StoreError> = in_transaction!(store, transaction => {
        erasures::lock(transaction).await?;
        let person = people::find_locked(transaction, ID).await?.unwrap();
        people::remove(transaction, &person).await?;
        erasures::begin(transaction, ID, 0).await
    });
    begun.unwrap()
}

/// Whether the database was too busy, so that the console comes again later.
fn was_busy<T>(done: Result<T, StoreError>) -> bool {
    match done {
        Ok(_) => false,
        Err(StoreError::Conflict) => true,
        Err(error) => panic!("{error}"),
    }
}

/// The erasure as it stands.
async fn found(store: &Store) -> Erasure {
    let mut transaction = store.read().await.unwrap();
    let mut all = erasures::list(&mut transaction, None, 10).await.unwrap();
    transaction.rollback().await;
    assert_eq!(all.len(), 1);
    all.remove(0)
}

/// The requests of owners.
async fn requests_by_owner(store: &Store) -> Vec<(String, u64)> {
    let mut transaction = store.read().await.unwrap();
    let query = UsageQuery {
        by: vec![UsageColumn::Owner],
        limit: 10,
        ..UsageQuery::default()
    };
    let sums = usage_hours::sums(&mut transaction, &query).await.unwrap();
    transaction.rollback().await;
    sums.into_iter()
        .map(|mut sums| (sums.values.remove(0), sums.counts[0]))
        .collect()
}

on_both! {
    /// A console that is killed at any moment: whoever looks next goes on with it, and at every moment the sums are what they were.
    async fn killed_at_any_moment(database: &TestDatabase) {
        let store = with_person(database).await;
        let text = lines(0, 1300);
        send(&store, "e", 0, text.as_bytes()).await.unwrap();
        usage_days::roll_up(&store, time::macros::datetime!(2026-11-20 12:00 UTC)).await.unwrap();
        let want = expected(&[text.as_bytes()]);
        let pseudonym = begin(&store).await.pseudonym;
        store.close().await;
        let (mut broken_off, mut turn) = (0, 0_u64);
        loop {
            turn += 1;
            let store = database.open().await;
            let patience = Duration::from_micros(2000 + turn * 977 % 9000 + turn / 20 * 1000);
            let ended = tokio::time::timeout(patience, erasures::run(&store, &pseudonym)).await.is_ok();
            assert_eq!(stored(&store).await, want, "turn {turn}");
            if ended {
                break;
            }
            broken_off += 1;
            store.close().await;
            if broken_off == 60 {
                // However slow the machine is: what is done at every start comes to the end.
                break;
            }
        }
        assert!(broken_off > 3, "{broken_off}");
        let store = database.open().await;
        maintenance::run(&store, Retention { removals: 30, requests: 30 }).await.unwrap();
        let ended = found(&store).await;
        assert!(ended.person.is_none() && ended.ended_at.is_some(), "{ended:?}");
        assert_eq!(traces(database).await, [].into());
        assert_eq!(stored(&store).await, want);
        assert_eq!(requests_by_owner(&store).await, [(pseudonym, 1300)]);
        assert_eq!(spent(&store, "k0", "2026-11").await, "0.0000039975");
    }
}

on_both! {
    /// After a restart nobody has to ask for it.
    async fn goes_on_after_a_restart(database: &TestDatabase) {
        let store = with_person(database).await;
        let text = lines(0, 1300);
        send(&store, "e", 0, text.as_bytes()).await.unwrap();
        let pseudonym = begin(&store).await.pseudonym;
        while found(&store).await.step != ErasureStep::Lines {
            assert!(erasures::run_some(&store, &pseudonym).await.unwrap());
        }
        store.close().await;
        assert_ne!(traces(database).await, [].into());
        let store = database.open().await;
        maintenance::run(&store, Retention { removals: 30, requests: 30 }).await.unwrap();
        assert_eq!(traces(database).await, [].into());
        assert_eq!(stored(&store).await, expected(&[text.as_bytes()]));
        assert!(!erasures::run_some(&store, &pseudonym).await.unwrap(), "nothing is left to do");
    }
}

on_both! {
    /// Two consoles go on with one erasure at once, while gateways send lines of its owner, and days are rolled up.
    async fn all_at_once(database: &TestDatabase) {
        let store = with_person(database).await;
        let text = lines(0, 2600);
        let (bytes, half) = (text.as_bytes(), lines(0, 1300).len());
        send(&store, "e", 0, &bytes[..half]).await.unwrap();
        let consoles = [store.clone(), database.open().await];
        let sending = {
            let (store, text) = (database.open().await, text.clone());
            tokio::spawn(async move {
                let (bytes, mut at) = (text.as_bytes(), half);
                while at < bytes.len() {
                    let end = (at + 9000).min(bytes.len());
                    match send(&store, "e", at, &bytes[at..end]).await {
                        Err(IntakeError::Store(StoreError::Conflict)) => {}
                        answer => at = position(answer),
                    }
                }
            })
        };
        let pseudonym = begin(&store).await.pseudonym;
        let mut tasks = vec![sending];
        for store in consoles {
            let pseudonym = pseudonym.clone();
            tasks.push(tokio::spawn(async move {
                let now = time::macros::datetime!(2026-11-20 12:00 UTC);
                while was_busy(erasures::run(&store, &pseudonym).await) {}
                while was_busy(usage_days::roll_up(&store, now).await) {}
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
        assert!(found(&store).await.ended_at.is_some());
        assert_eq!(traces(database).await, [].into());
        assert_eq!(stored(&store).await, expected(&[bytes]));
        assert_eq!(requests_by_owner(&store).await, [(pseudonym, 2600)]);
    }
}

on_both! {
    /// Of two consoles at one erasure the second waits, and goes on from where the first has come to.
    async fn one_after_the_other(database: &TestDatabase) {
        let store = with_person(database).await;
        let pseudonym = begin(&store).await.pseudonym;
        assert_eq!(found(&store).await.step, ErasureStep::Keys);
        let mut first = store.begin().await.unwrap();
        // Nothing is there to be erased, so nothing but the erasure itself keeps the second waiting.
        assert!(erasures::go_on(&mut first, &pseudonym, 0).await.unwrap());
        let other = database.open().await;
        let second = tokio::spawn(async move { erasures::run_some(&other, &pseudonym).await });
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert!(!second.is_finished());
        first.commit().await.unwrap();
        assert!(second.await.unwrap().unwrap());
        // Not the step after the one that the second would have seen at first.
        assert_eq!(found(&store).await.step, ErasureStep::Days);
    }
}

/// Lines that are being taken in as an erasure begins are seen by it: it waits until they are there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn begins_after_lines_that_are_being_taken_in() {
    let database = TestDatabase::postgres().await;
    let store = with_person(&database).await;
    let mut transaction = store.begin().await.unwrap();
    assert!(Pseudonyms::read(&mut transaction).await.unwrap().is_empty());
    let begun = tokio::time::timeout(Duration::from_millis(500), begin(&store)).await;
    assert!(begun.is_err(), "{begun:?}");
    transaction.commit().await.unwrap();
    begin(&store).await;
    database.drop().await;
}
