use super::*;
use crate::shared_data::fake::FakeSharedData;

const TICK: u64 = 500;
const LASTS: u64 = 2000;

fn root(role: Role, configuration: &str, holder: u64, shared: &FakeSharedData) -> Claimant {
    Claimant::enter(role, configuration.as_bytes(), holder, LASTS, shared)
}

fn filter(configuration: &str, holder: u64, shared: &FakeSharedData) -> Claimant {
    root(Role::Fallback, configuration, holder, shared)
}

/// After how many ticks a root loads that is alone from now on, if it ever does.
fn ticks_until_taken(root: &mut Claimant, now: &mut u64, shared: &FakeSharedData) -> Option<u64> {
    (1..100).find(|_| {
        *now += TICK;
        root.claim(*now, shared) == Claim::Taken
    })
}

#[test]
fn one_of_several_peers_loads() {
    let shared = FakeSharedData::default();
    let mut peers = [1, 2, 3].map(|holder| filter("x", holder, &shared));
    for tick in 0..50 {
        let claims = peers
            .each_mut()
            .map(|peer| peer.claim(tick * TICK, &shared));
        let first = if tick == 0 {
            Claim::Taken
        } else {
            Claim::Renewed
        };
        assert_eq!(claims, [first, Claim::Denied, Claim::Denied], "tick {tick}");
    }
}

#[test]
fn two_that_find_it_free_at_the_same_moment() {
    struct Late<'a>(&'a FakeSharedData);
    impl SharedData for Late<'_> {
        fn get(&self, name: &str) -> (Option<Vec<u8>>, Option<u32>) {
            let found = self.0.get(name);
            if name == LOADER {
                // The other one is faster.
                let mut other = filter("x", 2, self.0);
                assert_eq!(other.claim(0, self.0), Claim::Taken);
            }
            found
        }
        fn set(
            &self,
            name: &str,
            value: &[u8],
            version: Option<u32>,
        ) -> Result<(), crate::shared_data::Conflict> {
            self.0.set(name, value, version)
        }
    }
    let shared = FakeSharedData::default();
    let mut one = filter("x", 1, &shared);
    assert_eq!(one.claim(0, &Late(&shared)), Claim::Denied);
}

#[test]
fn a_peer_takes_over_when_the_loader_is_gone() {
    let shared = FakeSharedData::default();
    let [mut gone, mut peer] = [1, 2].map(|holder| filter("x", holder, &shared));
    let mut now = 0;
    for _ in 0..10 {
        gone.claim(now, &shared);
        assert_eq!(peer.claim(now, &shared), Claim::Denied);
        now += TICK;
    }
    let ticks = ticks_until_taken(&mut peer, &mut now, &shared);
    assert_eq!(ticks, Some(LASTS / TICK));
    assert_eq!(gone.claim(now, &shared), Claim::Denied, "it was not gone");
}

/// A replaced root lives as long as its streams do, and goes on ticking.
#[test]
fn a_root_that_was_replaced_stands_back() {
    for (case, old_first) in [("it ticks first", true), ("it ticks second", false)] {
        let shared = FakeSharedData::default();
        let mut old = filter("x", 1, &shared);
        assert_eq!(old.claim(0, &shared), Claim::Taken, "{case}");
        let mut new = filter("y", 2, &shared);
        for tick in 1..200 {
            let now = tick * TICK;
            let mut claims = [Claim::Denied; 2];
            let order = if old_first { [0, 1] } else { [1, 0] };
            for who in order {
                let root = if who == 0 { &mut old } else { &mut new };
                claims[who] = root.claim(now, &shared);
            }
            let want = match (tick, old_first) {
                // Until the new one has had a tick.
                (1, true) => [Claim::Renewed, Claim::Taken],
                (1, false) => [Claim::Denied, Claim::Taken],
                _ => [Claim::Denied, Claim::Renewed],
            };
            assert_eq!(claims, want, "{case}, tick {tick}");
        }
    }
}

#[test]
fn one_that_comes_again_is_newer() {
    let shared = FakeSharedData::default();
    let mut first = filter("x", 1, &shared);
    let mut second = filter("y", 2, &shared);
    assert_eq!(second.claim(0, &shared), Claim::Taken);
    assert_eq!(first.claim(0, &shared), Claim::Denied);
    let mut again = filter("x", 3, &shared);
    assert_eq!(again.claim(TICK, &shared), Claim::Taken);
    assert_eq!(second.claim(TICK, &shared), Claim::Denied);
    // Envoy may keep a root, and then tells it nothing.
    drop(again);
    let mut now = TICK;
    let ticks = ticks_until_taken(&mut first, &mut now, &shared);
    assert!(
        ticks.is_some_and(|ticks| ticks <= LASTS / TICK + 1),
        "a peer: {ticks:?}"
    );
    assert_eq!(second.claim(now, &shared), Claim::Denied);
}

/// Envoy configures a root once more in a VM that it throws away.
#[test]
fn a_configuration_that_is_refused_takes_nothing() {
    let shared = FakeSharedData::default();
    let mut root = filter("x", 1, &shared);
    assert_eq!(root.claim(0, &shared), Claim::Taken);
    drop(filter("refused", 2, &shared));
    for tick in 1..50 {
        assert_eq!(
            root.claim(tick * TICK, &shared),
            Claim::Renewed,
            "tick {tick}"
        );
    }
    let mut newer = filter("y", 3, &shared);
    assert_eq!(newer.claim(50 * TICK, &shared), Claim::Taken);
}

#[test]
fn a_singleton_comes_first() {
    let shared = FakeSharedData::default();
    let mut before = filter("x", 1, &shared);
    assert_eq!(before.claim(0, &shared), Claim::Taken);
    let canary = root(Role::Singleton, "s", 2, &shared);
    drop(canary);
    let mut singleton = root(Role::Singleton, "s", 3, &shared);
    let mut after = filter("y", 4, &shared);
    assert_eq!(singleton.claim(TICK, &shared), Claim::Taken);
    for tick in 2..50 {
        let now = tick * TICK;
        assert_eq!(after.claim(now, &shared), Claim::Denied, "tick {tick}");
        assert_eq!(before.claim(now, &shared), Claim::Denied, "tick {tick}");
        assert_eq!(singleton.claim(now, &shared), Claim::Renewed, "tick {tick}");
    }
    // A trap ends it for good; the filters go on without.
    drop(singleton);
    let mut now = 50 * TICK;
    assert!(ticks_until_taken(&mut after, &mut now, &shared).is_some());
    assert_eq!(before.claim(now, &shared), Claim::Denied);
}

/// The newer configuration is gone, such as one whose listener was taken away again.
#[test]
fn an_older_root_loads_again_when_the_newer_one_is_gone() {
    let shared = FakeSharedData::default();
    let mut old = filter("x", 1, &shared);
    let mut new = filter("y", 2, &shared);
    assert_eq!(new.claim(0, &shared), Claim::Taken);
    assert_eq!(old.claim(0, &shared), Claim::Denied);
    drop(new);
    let mut now = 0;
    let ticks = ticks_until_taken(&mut old, &mut now, &shared).unwrap();
    assert_eq!(ticks, 3 * LASTS / TICK, "three times as long as a peer");
    let mut newest = filter("z", 3, &shared);
    assert_eq!(newest.claim(now, &shared), Claim::Taken);
}

/// Where the loader of the newer configuration is gone, one of its peers is there before the older root.
#[test]
fn a_peer_is_there_before_an_older_root() {
    let shared = FakeSharedData::default();
    let mut old = filter("x", 1, &shared);
    let [mut gone, mut peer] = [2, 3].map(|holder| filter("y", holder, &shared));
    assert_eq!(gone.claim(0, &shared), Claim::Taken);
    drop(gone);
    // The older one looks ten times as often.
    let mut taken = false;
    for step in 1..1000 {
        let now = step * TICK / 10;
        assert_eq!(old.claim(now, &shared), Claim::Denied, "step {step}");
        if step % 10 == 0 {
            taken |= peer.claim(now, &shared) == Claim::Taken;
        }
    }
    assert!(taken);
}

/// While the process stood still nobody could tick: that says nothing of who lives.
#[test]
fn a_pause_of_the_process_frees_nothing() {
    let shared = FakeSharedData::default();
    let mut old = filter("x", 1, &shared);
    let [mut loads, mut peer] = [2, 3].map(|holder| filter("y", holder, &shared));
    let mut now = 0;
    assert_eq!(loads.claim(now, &shared), Claim::Taken);
    for round in 0..50 {
        // Whoever ticks first after it.
        assert_eq!(old.claim(now, &shared), Claim::Denied, "round {round}");
        assert_eq!(peer.claim(now, &shared), Claim::Denied, "round {round}");
        assert_eq!(loads.claim(now, &shared), Claim::Renewed, "round {round}");
        now += 3_600_000;
    }
}

/// No word of a loader holds for longer than three of the longest ticks, whatever it says.
#[test]
fn no_word_holds_for_ever() {
    let words = [
        ("one that says so", {
            let mut eternal = filter("x", 1, &FakeSharedData::default());
            eternal.lasts_ms = u64::MAX;
            eternal.word(1)
        }),
        ("one that cannot be read", vec![9; 20]),
    ];
    for (case, word) in words {
        let shared = FakeSharedData::default();
        shared.set(LOADER, &word, None).unwrap();
        let mut root = filter("x", 2, &shared);
        let mut now = 0;
        let mut ticks = 0;
        while root.claim(now, &shared) != Claim::Taken {
            now += TICK;
            ticks += 1;
            assert!(ticks * TICK < 4 * LONGEST_MS, "{case}");
        }
    }
}

#[test]
fn earlier_releases_are_held_off() {
    let shared = FakeSharedData::default();
    let root = filter("x", 7, &shared);
    root.hold_off_earlier(1_800_000_000_000, &shared);
    let value = shared.get(EARLIER_LEASE).0.unwrap();
    let want = [
        7_u64.to_le_bytes(),
        (1_800_000_000_000 + LASTS).to_le_bytes(),
    ]
    .concat();
    assert_eq!(value, want, "their form: who, and until when");
}
