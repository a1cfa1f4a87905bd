//! Several VMs at once, in every order that a property finds, and in threads.

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use proptest::prelude::*;

use super::*;

const VMS: usize = 3;
const REQUESTS: u32 = 12;
const TOKENS: u32 = 1_000;
const SLOTS: u32 = 4;

/// The subjects that a request counts for: the key, the group, or both.
const WHO: [&[usize]; 3] = [&[0], &[1], &[0, 1]];

/// An action of a VM.
#[derive(Debug, Clone, Copy)]
enum VmAction {
    /// It admits a request: for the key, the group or both, with an estimate.
    Admit(u8, u64),
    /// It settles one of its requests: with these tokens or unknown ones, and a charge.
    Settle(usize, Option<u64>, u64),
    /// It renews its leases.
    Renew,
}

fn act() -> impl Strategy<Value = (usize, VmAction)> {
    let act = prop_oneof![
        4 => (0u8..3, 0u64..400).prop_map(|(who, tokens)| VmAction::Admit(who, tokens)),
        3 => (any::<usize>(), proptest::option::of(0u64..500), any::<u64>())
            .prop_map(|(which, tokens, charge)| VmAction::Settle(which, tokens, charge)),
        1 => Just(VmAction::Renew),
    ];
    (0..VMS, act)
}

/// The counts of one subject, if all that happened had happened one after the other.
#[derive(Debug, Default, Clone)]
struct SerialCounts {
    requests: u64,
    tokens: u64,
    slots: u64,
    spent: u128,
    reserved: u128,
}

/// Returns the expected cost of a request with so many tokens, in units of 10^-20: at most 0.4.
fn expected(tokens: u64) -> u128 {
    u128::from(tokens) * 10_u128.pow(17)
}

/// The budget, in the same units: 1.
const BUDGET: u128 = 10_u128.pow(20);

impl SerialCounts {
    /// Whether a budget has room for what is expected to cost so much.
    fn affords(&self, charge: u128) -> bool {
        let is_spent = self.spent >= BUDGET;
        let fits = self.spent + self.reserved + charge <= BUDGET;
        !is_spent && (fits || self.reserved == 0 || charge == 0)
    }
}

/// A request under way.
#[derive(Debug)]
struct UnderWay {
    reservation: Reservation,
    subjects: Vec<usize>,
    reserved: u64,
}

/// A VM: its limiter, what is under way in it, and whether it is in the middle of something.
struct RacingVm {
    limiter: Limiter,
    under_way: RefCell<Vec<UnderWay>>,
    busy: Cell<bool>,
}

/// Several VMs with one shared data. What stands in `between` happens, one at a time, before a change
/// is written: it may be for the same record, which then is not written.
struct RacingVms {
    data: FakeSharedData,
    subjects: [Subject; 2],
    vms: Vec<RacingVm>,
    between: RefCell<VecDeque<(usize, Option<VmAction>)>>,
    counted: RefCell<[SerialCounts; 2]>,
    /// All that was ever counted, the newest last.
    moments: RefCell<Vec<[SerialCounts; 2]>>,
    /// The number of changes that lost to a conflict.
    conflicts: Cell<u32>,
    /// The number of requests being settled.
    settling: Cell<u32>,
}

impl SharedData for RacingVms {
    fn get(&self, name: &str) -> (Option<Vec<u8>>, Option<u32>) {
        self.data.get(name)
    }

    fn set(&self, name: &str, value: &[u8], version: Option<u32>) -> Result<(), Conflict> {
        let next = self.between.borrow_mut().pop_front();
        if let Some((vm, Some(act))) = next {
            self.act(vm, act);
        }
        let done = self.data.set(name, value, version);
        self.conflicts
            .set(self.conflicts.get() + u32::from(done.is_err()));
        // At no moment has more come in than may.
        for subject in &self.subjects {
            assert!(slots(subject, &self.data, NOON) <= u64::from(SLOTS));
        }
        done
    }
}

impl RacingVms {
    fn new() -> Self {
        let mut limits = limits(REQUESTS, TOKENS, 0, SLOTS);
        limits.budget.per_day = Some(amount("1"));
        let vm = |holder| RacingVm {
            limiter: Limiter::new(holder),
            under_way: RefCell::default(),
            busy: Cell::default(),
        };
        Self {
            data: FakeSharedData::default(),
            subjects: [key(limits), group(limits)],
            vms: (1..=VMS as u64).map(vm).collect(),
            between: RefCell::default(),
            counted: RefCell::default(),
            moments: RefCell::new(vec![Default::default()]),
            conflicts: Cell::default(),
            settling: Cell::default(),
        }
    }

    /// Lets a VM do something, unless it is in the middle of something: it has one thread. Tells
    /// whether a request was refused.
    fn act(&self, vm: usize, act: VmAction) -> Option<AdmitError> {
        let vm = &self.vms[vm];
        if vm.busy.replace(true) {
            return None;
        }
        let refused = match act {
            VmAction::Admit(who, tokens) => self.admit(vm, WHO[usize::from(who)], tokens),
            VmAction::Settle(which, tokens, charge) => {
                self.settle(vm, which, tokens, charge);
                None
            }
            VmAction::Renew => {
                vm.limiter.renew(self, NOON);
                None
            }
        };
        vm.busy.set(false);
        refused
    }

    fn admit(&self, vm: &RacingVm, subjects: &[usize], reserved: u64) -> Option<AdmitError> {
        let of: Vec<Subject> = subjects.iter().map(|i| self.subjects[*i].clone()).collect();
        let charge = Amount::from_bytes(expected(reserved).to_le_bytes());
        let estimate = Estimate {
            charge,
            ..tokens(reserved, 0)
        };
        let began = self.moments.borrow().len() - 1;
        let admitted = vm.limiter.admit(&of, estimate, self, NOON);
        let reservation = match admitted {
            Ok(reservation) => reservation,
            Err(refused) => return Some(refused),
        };
        for i in subjects {
            let counted = &mut self.counted.borrow_mut()[*i];
            counted.requests += 1;
            counted.tokens += reserved;
            counted.slots += 1;
            // One that is being settled has given back what it held of some subjects, and is not counted yet. One that was
            // settled since may have cost more than it held.
            let settling = self.settling.get() > 0;
            let afforded = self.moments.borrow()[began..]
                .iter()
                .any(|moment| moment[*i].affords(expected(reserved)));
            assert!(settling || afforded, "more than may be spent");
            counted.reserved += expected(reserved);
            assert!(counted.requests <= u64::from(REQUESTS), "too many");
        }
        self.note();
        vm.under_way.borrow_mut().push(UnderWay {
            reservation,
            subjects: subjects.to_vec(),
            reserved,
        });
        None
    }

    fn settle(&self, vm: &RacingVm, which: usize, tokens: Option<u64>, charge: u64) {
        let over = {
            let mut under_way = vm.under_way.borrow_mut();
            if under_way.is_empty() {
                return;
            }
            let which = which % under_way.len();
            under_way.swap_remove(which)
        };
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&charge.to_le_bytes());
        let used = Consumption {
            input: tokens.map_or(Count::AtLeast(0), Count::Exactly),
            output: Count::AtLeast(0),
            charge: Some(Amount::from_bytes(bytes)),
        };
        self.settling.set(self.settling.get() + 1);
        let settled = vm.limiter.settle(over.reservation, used, self, NOON);
        self.settling.set(self.settling.get() - 1);
        assert!(!settled.lost);
        for i in over.subjects {
            let counted = &mut self.counted.borrow_mut()[i];
            counted.tokens = counted.tokens - over.reserved + tokens.unwrap_or(over.reserved);
            counted.slots -= 1;
            counted.reserved -= expected(over.reserved);
            counted.spent += u128::from(charge);
        }
        self.note();
    }

    /// Remembers what is counted now.
    fn note(&self) {
        let counted = self.counted.borrow().clone();
        self.moments.borrow_mut().push(counted);
    }

    /// Whether a request of these subjects would be let in, if nobody else did anything.
    fn fits(&self, subjects: &[usize], tokens: u64) -> bool {
        subjects.iter().all(|i| {
            let counted = &self.counted.borrow()[*i];
            counted.requests < u64::from(REQUESTS)
                && counted.tokens + tokens <= u64::from(TOKENS)
                && counted.slots < u64::from(SLOTS)
                && counted.affords(expected(tokens))
        })
    }

    /// Compares what is counted with what has happened.
    fn check(&self) {
        for (subject, counted) in self.subjects.iter().zip(&*self.counted.borrow()) {
            let counters = load(subject, &self.data, NOON);
            let want = [
                Some(u64::from(REQUESTS) - counted.requests),
                Some(u64::from(TOKENS).saturating_sub(counted.tokens)),
                None,
            ];
            assert_eq!(left(core::slice::from_ref(subject), &self.data, NOON), want);
            assert_eq!(slots(subject, &self.data, NOON), counted.slots);
            let reserved = counters.counters.reserved().to_bytes();
            assert_eq!(u128::from_le_bytes(reserved), counted.reserved, "reserved");
            let spent = counters.counters.spending().of(Window::Day).to_bytes();
            assert_eq!(
                u128::from_le_bytes(spent),
                counted.spent,
                "to the last digit"
            );
        }
    }
}

proptest! {
    #![proptest_config(crate::seeds_beside_source())]

    /// Several VMs, any of which may get in between another's reading and writing: what is counted is
    /// what has happened, once each, and no more was let in than may.
    #[test]
    fn several_vms_count_as_one(
        steps in proptest::collection::vec(
            (act(), proptest::collection::vec((0..VMS, proptest::option::of(act())), 0..4)),
            1..60,
        ),
    ) {
        let host = RacingVms::new();
        for ((vm, act), between) in steps {
            let alone = between.is_empty();
            let between = between.into_iter().map(|(vm, act)| (vm, act.map(|(_, act)| act)));
            *host.between.borrow_mut() = between.collect();
            let fits = match act {
                VmAction::Admit(who, tokens) => {
                    host.fits(WHO[usize::from(who)], tokens)
                }
                _ => true,
            };
            let refused = host.act(vm, act);
            if alone {
                prop_assert_eq!(refused.is_none(), fits, "{:?}: {:?}", act, refused);
            }
            prop_assert!(refused != Some(AdmitError::Conflict));
            host.between.borrow_mut().clear();
            host.check();
        }
        for vm in &host.vms {
            while !vm.under_way.borrow().is_empty() {
                host.settle(vm, 0, Some(7), 3);
            }
        }
        host.check();
        for subject in &host.subjects {
            prop_assert_eq!(slots(subject, &host.data, NOON), 0, "all slots are free");
            let counters = load(subject, &host.data, NOON).counters;
            prop_assert_eq!(counters.reserved(), Amount::ZERO, "nothing is reserved");
            for vm in &host.vms {
                prop_assert_eq!(vm.limiter.held(subject), Held::NOTHING);
            }
        }
    }

    /// The promise of a rate, where each VM reads the clock before it is overtaken: in every interval
    /// no more than a limit and what drains in the interval.
    #[test]
    fn no_interval_sees_more_than_it_may_whoever_reads_the_clock(
        limit in 1_000_000u32..100_000_000,
        steps in proptest::collection::vec((0usize..2, 0u64..40, 1u64..30, any::<bool>()), 50..300),
    ) {
        let subject = [key(limits(0, limit, 0, 0))];
        let ticking = Ticking::default();
        let vms = [Limiter::new(1), Limiter::new(2)];
        // All of the limit at once, so that from here on only what drains is let in.
        let _ = vms[0].admit(&subject, tokens(limit.into(), 0), &ticking.data, NOON).unwrap();
        let mut admitted: Vec<(Now, Now, u64)> = Vec::new();
        for (vm, pause, cost, overtaken) in steps {
            ticking.advance(pause);
            let read = ticking.now();
            let mut admit = |limiter: &Limiter, read: Now| {
                let reservation = limiter.admit(&subject, tokens(cost, 0), &ticking.data, read);
                if reservation.is_ok() {
                    admitted.push((read, ticking.now(), cost));
                }
            };
            if overtaken {
                ticking.advance(20);
                admit(&vms[1 - vm], ticking.now());
                ticking.advance(5);
            }
            admit(&vms[vm], read);
        }
        let unit = 60_000_000_u128;
        let mut sum = 0;
        for (_, at, cost) in &admitted {
            sum += u128::from(*cost);
            prop_assert!(sum * unit <= u128::from(at.steady_us - NOON.steady_us) * u128::from(limit), "{:?}", at);
        }
    }
}

/// Shared data, and a clock that all see.
#[derive(Default)]
struct Ticking {
    data: FakeSharedData,
    elapsed: Cell<u64>,
}

impl Ticking {
    fn advance(&self, us: u64) {
        self.elapsed.set(self.elapsed.get() + us);
    }

    fn now(&self) -> Now {
        NOON + self.elapsed.get()
    }
}

/// Shared data as threads see them, as Envoy's workers do.
#[derive(Default)]
struct Threaded(Mutex<HashMap<String, (Vec<u8>, u32)>>);

impl SharedData for Threaded {
    fn get(&self, name: &str) -> (Option<Vec<u8>>, Option<u32>) {
        let values = self.0.lock().unwrap();
        values.get(name).map_or((None, None), |(value, version)| {
            (Some(value.clone()), Some(*version))
        })
    }

    fn set(&self, name: &str, value: &[u8], version: Option<u32>) -> Result<(), Conflict> {
        let mut values = self.0.lock().unwrap();
        let current = values.get(name).map(|(_, version)| *version);
        if version.is_some() && current.is_some() && version != current {
            return Err(Conflict);
        }
        let next = current.unwrap_or(0) + 1;
        values.insert(name.to_owned(), (value.to_vec(), next));
        Ok(())
    }
}

const THREADS: u64 = 8;

/// Runs `body` in each of several threads, with a limiter of its own.
fn in_threads(body: impl Fn(&Limiter, u64) + Sync) {
    let start = std::sync::Barrier::new(usize::try_from(THREADS).unwrap());
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (body, start) = (&body, &start);
            scope.spawn(move || {
                let limiter = Limiter::new(thread + 1);
                start.wait();
                body(&limiter, thread);
            });
        }
    });
}

/// Admits; in a debug build with more threads than cores one may be overtaken a hundred times.
fn admit(
    limiter: &Limiter,
    subjects: &[Subject],
    shared: &Threaded,
) -> Result<Reservation, AdmitError> {
    loop {
        match limiter.admit(subjects, tokens(3, 0), shared, NOON) {
            Err(AdmitError::Conflict) => std::thread::yield_now(),
            other => return other,
        }
    }
}

#[test]
fn threads_admit_exactly_what_may_pass() {
    const MAY: u32 = 5_000;
    let shared = Threaded::default();
    let of_key = limits(MAY, 0, 0, 0);
    let of_group = limits(0, 1_000_000, 0, 0);
    let admitted = AtomicU32::new(0);
    in_threads(|limiter, _| {
        let subjects = [key(of_key), group(of_group)];
        for _ in 0..1_500 {
            if admit(limiter, &subjects, &shared).is_ok() {
                admitted.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    assert_eq!(admitted.into_inner(), MAY);
    let group = [group(of_group)];
    let want = 1_000_000 - 3 * u64::from(MAY);
    assert_eq!(
        left(&group, &shared, NOON),
        [None, Some(want), None],
        "nothing for the refused"
    );
}

#[test]
fn threads_share_slots_and_spend_to_the_last_digit() {
    const MAY: u32 = 3;
    let shared = Threaded::default();
    let mut limits = limits(0, 1_000_000_000, 0, MAY);
    limits.budget.per_month = Some(amount("1000000000"));
    let (under_way, most) = (AtomicU32::new(0), AtomicU32::new(0));
    let settled = AtomicU32::new(0);
    in_threads(|limiter, thread| {
        let subjects = [key(limits), group(limits)];
        let mut done = 0;
        while done < 500 {
            let Ok(reservation) = admit(limiter, &subjects, &shared) else {
                std::thread::yield_now();
                continue;
            };
            let now = under_way.fetch_add(1, Ordering::SeqCst) + 1;
            most.fetch_max(now, Ordering::SeqCst);
            if done % 50 == 0 {
                limiter.renew(&shared, NOON);
            }
            let charge = format!("0.{:020}", thread * 1_000 + done);
            under_way.fetch_sub(1, Ordering::SeqCst);
            let result = limiter.settle(reservation, used(10, 0, &charge), &shared, NOON);
            settled.fetch_add(u32::from(!result.lost), Ordering::Relaxed);
            done += 1;
        }
    });
    assert!(most.into_inner() <= MAY);
    assert_eq!(u64::from(settled.into_inner()), THREADS * 500);
    let sum: u64 = (0..THREADS)
        .map(|thread| thread * 1_000 * 500 + 499 * 500 / 2)
        .sum();
    for subject in [key(limits), group(limits)] {
        assert_eq!(slots(&subject, &shared, NOON), 0, "{:?}", subject.scope);
        let spent = load(&subject, &shared, NOON)
            .counters
            .spending()
            .of(Window::Month);
        assert_eq!(
            spent.to_string(),
            amount(&format!("0.{sum:020}")).to_string()
        );
        let input = left(&[subject], &shared, NOON)[1];
        assert_eq!(input, Some(1_000_000_000 - 10 * THREADS * 500));
    }
}
