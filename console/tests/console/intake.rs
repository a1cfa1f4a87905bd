//! The ledger is taken in exactly once.

use time::Duration;
use trilane_console::in_transaction;
use trilane_console::intake::{IntakeError, LedgerBatch, TakenBatch, take};
use trilane_console::store::keys::{self, StoredKey};
use trilane_console::store::requests::RequestQuery;
use trilane_console::store::{StoreError, ledger_files, lines_aside, requests, spend, usage_days};

use crate::database::on_both;
use crate::ledger::{NOW, expected, line, position, send, spent, stored};

fn some_lines() -> String {
    let at = |minute: u32| format!("2026-11-24T11:{minute:02}:00Z");
    (0..20)
        .map(|n| line(&at(n), &format!("k{}", n % 3), "m", "0.01"))
        .collect()
}

on_both! {
    /// A batch that comes twice changes nothing, one that begins elsewhere is refused with the position.
    async fn once(database: &TestDatabase) {
        let store = database.open().await;
        let text = some_lines();
        let bytes = text.as_bytes();
        let half = text[..text.len() / 2].rfind('\n').unwrap() + 1;

        let first = send(&store, "e", 0, &bytes[..half]).await.unwrap();
        assert_eq!(first.position, i64::try_from(half).unwrap());
        let again = send(&store, "e", 0, &bytes[..half]).await.unwrap();
        assert_eq!(again, TakenBatch { position: first.position, lines: 0, aside: 0 });
        for (case, from, part) in [
            ("a gap", half + 1, &bytes[half + 1..]),
            ("an overlap", half - 1, &bytes[half - 1..]),
            ("all", 0, bytes),
            ("nothing, elsewhere", 3, &bytes[..0]),
        ] {
            let refused = send(&store, "e", from, part).await;
            assert!(
                matches!(refused, Err(IntakeError::Elsewhere { position }) if position == first.position),
                "{case}: {refused:?}"
            );
        }
        assert_eq!(stored(&store).await, expected(&[&bytes[..half]]));
        send(&store, "e", half, &bytes[half..]).await.unwrap();
        assert_eq!(stored(&store).await, expected(&[bytes]));
        // The same bytes of another Envoy are other requests.
        send(&store, "other", 0, bytes).await.unwrap();
        assert_eq!(stored(&store).await, expected(&[bytes, bytes]));
    }
}

on_both! {
    async fn a_restart_knows_where_it_was(database: &TestDatabase) {
        let text = some_lines();
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            let store = database.open().await;
            let end = (at + 700).min(bytes.len());
            at = position(send(&store, "e", at, &bytes[at..end]).await);
            // A console that has no idea begins at 0, and is told.
            assert_eq!(position(send(&store, "e", 0, &bytes[..0]).await), at);
            store.close().await;
        }
        assert_eq!(stored(&database.open().await).await, expected(&[bytes]));
    }
}

on_both! {
    async fn what_cannot_be_read_is_kept_aside(database: &TestDatabase) {
        let store = database.open().await;
        let bytes = format!("[info] hello\n{}{{\"timestamp\":\"x\u{0}\",\"http.response.status_code\":200}}\n{{\"cut", some_lines());
        let batch = LedgerBatch::new("e", "file", 0, bytes.as_bytes(), true).unwrap();
        let taken = take(&store, &batch, NOW).await.unwrap();
        assert_eq!((taken.lines, taken.aside), (20, 3));
        let mut transaction = store.read().await.unwrap();
        let aside = lines_aside::list(&mut transaction, "e", "file", -1, 10).await.unwrap();
        let shown: Vec<_> = aside.iter().map(|line| (line.reason.as_str(), line.line.as_str())).collect();
        assert_eq!(shown[0], ("foreign", "[info] hello"));
        assert_eq!(shown[1].1, "{\"timestamp\":\"x\u{fffd}\",\"http.response.status_code\":200}");
        assert_eq!(shown[2], ("cut", "{\"cut"));
        let file = ledger_files::find(&mut transaction, "e", "file").await.unwrap().unwrap();
        assert_eq!((file.lines, file.aside), (20, 3));
        assert_eq!(usize::try_from(file.position).unwrap(), bytes.len());
    }
}

on_both! {
    /// Requests that ended yesterday and last month are spent there, whenever their lines come.
    async fn lines_that_come_late(database: &TestDatabase) {
        let store = database.open().await;
        let lines = [
            line("2026-11-24T11:00:00Z", "k", "m", "1"),
            line("2026-11-23T11:00:00Z", "k", "m", "20"),
            line("2026-10-31T23:59:58Z", "k", "m", "300"),
            // It ends in the next month.
            line("2026-10-31T23:59:59Z", "k", "m", "4000"),
        ];
        let bytes = lines.concat();
        send(&store, "e", 0, bytes.as_bytes()).await.unwrap();
        for (period, want) in [
            ("2026-11-24", "1"),
            ("2026-11-23", "20"),
            ("2026-11-01", "4000"),
            ("2026-10-31", "300"),
            ("2026-11", "4021"),
            ("2026-10", "300"),
        ] {
            assert_eq!(spent(&store, "k", period).await, want, "{period}");
        }
        assert_eq!(stored(&store).await, expected(&[bytes.as_bytes()]));
        let mut transaction = store.read().await.unwrap();
        let used = spend::last_use(&mut transaction, "k").await.unwrap();
        assert_eq!(used, Some(1_795_518_000_000_000));
    }
}

on_both! {
    /// Two consoles take lines of the same keys at once, and now and then the same batch.
    async fn two_consoles_at_once(database: &TestDatabase) {
        let consoles = [database.open().await, database.open().await];
        let text = some_lines();
        let mut tasks = Vec::new();
        for envoy in 0..4 {
            for store in &consoles {
                let (store, text) = (store.clone(), text.clone());
                tasks.push(tokio::spawn(async move {
                    let (envoy, bytes, mut at) = (format!("e{envoy}"), text.as_bytes(), 0);
                    while at < bytes.len() {
                        let end = (at + 800).min(bytes.len());
                        at = position(send(&store, &envoy, at, &bytes[at..end]).await);
                    }
                }));
            }
        }
        for task in tasks {
            task.await.unwrap();
        }
        let bytes = text.as_bytes();
        assert_eq!(stored(&consoles[0]).await, expected(&[bytes; 4]));
        // 7 lines of k0, of 4 Envoys.
        assert_eq!(spent(&consoles[1], "k0", "2026-11-24").await, "0.28");
    }
}

on_both! {
    /// A key that is removed while its lines are under way: they count all the same.
    async fn a_key_that_is_gone(database: &TestDatabase) {
        let store = database.open().await;
        let key = StoredKey { sha256: "a".repeat(64), id: "k0".to_owned(), group_id: "g".to_owned(), ..StoredKey::default() };
        in_transaction!(store, transaction => keys::insert(transaction, &key).await).unwrap();
        let text = some_lines();
        let bytes = text.as_bytes();
        let half = text[..text.len() / 2].rfind('\n').unwrap() + 1;
        send(&store, "e", 0, &bytes[..half]).await.unwrap();
        in_transaction!(store, transaction => {
            let key = keys::find_locked(transaction, "k0").await?.unwrap();
            keys::remove(transaction, &key).await
        }).unwrap();
        send(&store, "e", half, &bytes[half..]).await.unwrap();
        assert_eq!(stored(&store).await, expected(&[bytes]));
    }
}

on_both! {
    /// Consoles whose clocks are minutes apart, about midnight, agree on all that is counted.
    async fn clocks_apart(database: &TestDatabase) {
        let consoles = [database.open().await, database.open().await];
        let midnight = NOW.replace_time(time::Time::MIDNIGHT);
        let text = some_lines();
        let bytes = text.as_bytes();
        let mut at = 0;
        for turn in 0.. {
            let (store, minutes) = (&consoles[turn % 2], [-7, 5][turn % 2]);
            let end = (at + 900).min(bytes.len());
            let batch = LedgerBatch::new("e", "file", u64::try_from(at).unwrap(), &bytes[at..end], false).unwrap();
            at = position(take(store, &batch, midnight + Duration::minutes(minutes)).await);
            if at == bytes.len() {
                break;
            }
        }
        assert_eq!(stored(&consoles[0]).await, expected(&[bytes]));
        let mut transaction = consoles[1].read().await.unwrap();
        let lines = requests::recent(&mut transaction, &RequestQuery { limit: 100, ..RequestQuery::default() }).await.unwrap().lines;
        assert_eq!(lines.len(), 20);
    }
}

on_both! {
    /// The console's clock is set by weeks, and every batch comes again: it changes nothing, whatever day it is.
    async fn a_clock_that_is_set(database: &TestDatabase) {
        let store = database.open().await;
        let text = some_lines();
        let bytes = text.as_bytes();
        let mut at = 0;
        for turn in 0_usize.. {
            let days = [0, 40, -40, 1][turn % 4];
            let end = (at + 900).min(bytes.len());
            let batch = LedgerBatch::new("e", "file", u64::try_from(at).unwrap(), &bytes[at..end], false).unwrap();
            let next = position(take(&store, &batch, NOW + Duration::days(days)).await);
            for days in [0, 1, -41] {
                let whole = LedgerBatch::new("e", "file", u64::try_from(at).unwrap(), &bytes[at..next], false).unwrap();
                let again = take(&store, &whole, NOW + Duration::days(days)).await;
                assert_eq!(position(again), next, "{days} days later");
            }
            at = next;
            if at == bytes.len() {
                break;
            }
        }
        assert_eq!(stored(&store).await, expected(&[bytes]));
        let mut transaction = store.read().await.unwrap();
        let lines = requests::recent(&mut transaction, &RequestQuery { limit: 100, ..RequestQuery::default() }).await.unwrap().lines;
        assert_eq!(lines.len(), 20);
    }
}

on_both! {
    /// Lines go after some days; sums stay.
    async fn lines_are_forgotten(database: &TestDatabase) {
        let store = database.open().await;
        let text = some_lines();
        let third = text.lines().take(5).map(|line| line.len() + 1).sum::<usize>();
        let mut at = 0;
        for day in 0..4 {
            let part = &text.as_bytes()[at..(at + third + 10).min(text.len())];
            let batch = LedgerBatch::new("e", "file", u64::try_from(at).unwrap(), part, false).unwrap();
            at = position(take(&store, &batch, NOW + Duration::days(day)).await);
        }
        assert_eq!(at, text.len());
        requests::forget(&store, (NOW + Duration::days(2)).date()).await.unwrap();
        let mut transaction = store.read().await.unwrap();
        let lines = requests::recent(&mut transaction, &RequestQuery { limit: 100, ..RequestQuery::default() }).await.unwrap().lines;
        assert_eq!(lines.len(), 10);
        assert_eq!(stored(&store).await, expected(&[text.as_bytes()]));
    }
}

on_both! {
    /// A sum has more digits than any of its charges, and loses none.
    async fn a_sum_of_many_digits(database: &TestDatabase) {
        let store = database.open().await;
        let great: String = (0..9).map(|_| line("2026-11-24T11:00:00Z", "k", "m", "999999999.99999999999999999999")).collect();
        send(&store, "e", 0, great.as_bytes()).await.unwrap();
        send(&store, "other", 0, great.as_bytes()).await.unwrap();
        assert_eq!(stored(&store).await, expected(&[great.repeat(2).as_bytes()]));
        assert_eq!(spent(&store, "k", "2026-11").await, "17999999999.99999999999999999982");
        usage_days::roll_up(&store, NOW + Duration::days(1)).await.unwrap();
        assert_eq!(stored(&store).await, expected(&[great.repeat(2).as_bytes()]));
    }
}

on_both! {
    /// A change that is dropped, or fails, has no effect, and is done again where it lost.
    async fn a_change_is_whole_or_not_at_all(database: &TestDatabase) {
        let store = database.open().await;
        let key = StoredKey { sha256: "a".repeat(64), id: "k0".to_owned(), group_id: "g".to_owned(), ..StoredKey::default() };
        let failed: Result<(), StoreError> = in_transaction!(store, transaction => {
                keys::insert(transaction, &key).await?;
                Err(StoreError::Value("no".to_owned()))
            });
        assert!(failed.is_err());
        let tries = std::cell::Cell::new(0);
        let done: Result<(), StoreError> = in_transaction!(store, transaction => {
                keys::insert(transaction, &key).await?;
                tries.set(tries.get() + 1);
                if tries.get() < 3 { Err(StoreError::Conflict) } else { Ok(()) }
            });
        done.unwrap();
        let mut transaction = store.read().await.unwrap();
        assert_eq!(keys::find(&mut transaction, "k0").await.unwrap(), Some(key));
    }
}
