//! The loops that make the load, and what they count.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::{JoinSet, spawn_local};

use crate::cli::LoadPlan;
use crate::client::Client;
use crate::clock::{self, PreciseTimer};
use crate::cpu;
use crate::latency::Times;
use crate::report::LoadReport;
use crate::request::Request;
use crate::sse::SseReader;
use crate::timeline::Timeline;

/// Makes the load that the plan describes.
///
/// # Errors
/// The system or the plan does not allow it. What the gateway does wrong is in the report.
pub async fn run(plan: LoadPlan) -> Result<LoadReport, String> {
    let begun = clock::now();
    let from = begun + clock::nanos(plan.warmup);
    let until = from + clock::nanos(plan.time);
    let counted = LoadCounts {
        timeline: plan.step.map(|step| Timeline::new(from, step)),
        ..LoadCounts::default()
    };
    let shared = Rc::new(LoadRun {
        plan,
        from,
        until,
        counted: RefCell::new(counted),
        due: RefCell::default(),
        in_flight: Cell::new(0),
        all_due: Cell::new(false),
        more: Notify::new(),
    });
    let mut workers = JoinSet::new();
    for number in 0..shared.plan.connections {
        let request = Request::new(&shared.plan, number as u64 + 1)?;
        let shared = Rc::clone(&shared);
        workers.spawn_local(async move { work(&shared, request).await });
    }
    if shared.plan.rate.is_some() {
        let shared = Rc::clone(&shared);
        spawn_local(async move { schedule(&shared, begun).await });
    }
    let timer = PreciseTimer::new().map_err(|error| format!("no timer: {error}"))?;
    timer.until(from).await.map_err(|error| error.to_string())?;
    let (cpu_from, before) = (clock::now(), shared.cpu()?);
    let rest = Duration::from_nanos(until.saturating_sub(clock::now())) + shared.plan.patience;
    let all = async { while workers.join_next().await.is_some() {} };
    let in_time = tokio::time::timeout(rest, all).await.is_ok();
    let (cpu_until, after) = (clock::now(), shared.cpu()?);
    let cpu_us = after
        .into_iter()
        .map(|(name, time)| {
            let used = time.saturating_sub(before.get(&name).copied().unwrap_or(time));
            (name, used as f64 / 1000.0)
        })
        .collect();
    Ok(shared.report(in_time, cpu_us, cpu_until - cpu_from))
}

/// The state that all connections share.
struct LoadRun {
    plan: LoadPlan,
    /// The end of the warm-up, by the clock. Exchanges that end before it are warm-up.
    from: u64,
    /// Nothing begins later.
    until: u64,
    counted: RefCell<LoadCounts>,
    /// Open loop: when the requests that nobody has taken yet were due.
    due: RefCell<VecDeque<u64>>,
    in_flight: Cell<u64>,
    /// Open loop: no more will fall due.
    all_due: Cell<bool>,
    more: Notify,
}

#[derive(Default)]
struct LoadCounts {
    requests: u64,
    /// Those that ended before the time was over.
    in_time: u64,
    statuses: BTreeMap<u16, u64>,
    failures: BTreeMap<String, u64>,
    latency: Times,
    events: u64,
    delays: Times,
    connects: u64,
    stale: u64,
    timeline: Option<Timeline>,
}

/// One connection: exchange after exchange.
async fn work(shared: &LoadRun, mut request: Request) {
    let mut client = Client::new(shared.plan.to.clone(), shared.plan.slow);
    let mut first = true;
    while let Some(due) = shared.next(first).await {
        first = false;
        shared.in_flight.set(shared.in_flight.get() + 1);
        let mut reader = SseReader::default();
        let is_stream = shared.plan.events.is_some();
        let answer = client
            .exchange(request.next(), |bytes, now| {
                if is_stream {
                    reader.feed(bytes, now, |delay| {
                        if due >= shared.from {
                            shared.counted.borrow_mut().delays.add(delay);
                        }
                    });
                }
            })
            .await;
        let now = clock::now();
        shared.in_flight.set(shared.in_flight.get() - 1);
        let failed = answer.is_err();
        shared.count(answer, due, now, &reader);
        if failed {
            // A gateway that is down must not be hammered.
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    let counted = &mut *shared.counted.borrow_mut();
    counted.connects += client.connects;
    counted.stale += client.stale;
}

/// Lets requests fall due, by the clock and by nothing else.
async fn schedule(shared: &LoadRun, begun: u64) {
    let rate = shared.plan.rate.unwrap_or(1.0);
    let mut failed = None;
    match PreciseTimer::new() {
        Err(error) => failed = Some(error),
        Ok(timer) => {
            for number in 0_u32.. {
                let due = begun + (f64::from(number) * 1e9 / rate) as u64;
                if due >= shared.until {
                    break;
                }
                if due > clock::now()
                    && let Err(error) = timer.until(due).await
                {
                    failed = Some(error);
                    break;
                }
                shared.due.borrow_mut().push_back(due);
                shared.more.notify_one();
                if number % 64 == 63 {
                    // Should it ever be late, the answers must be read all the same.
                    tokio::task::yield_now().await;
                }
            }
        }
    }
    if let Some(error) = failed {
        shared.counted.borrow_mut().fail(format!("timer: {error}"));
    }
    shared.all_due.set(true);
    shared.more.notify_waiters();
}

impl LoadRun {
    /// Returns the time at which the next request was due, now in a closed loop; `None` when there is no other. A `first` one there
    /// always is in a closed loop: on a machine so busy that the time is over before it begins, something is counted.
    async fn next(&self, first: bool) -> Option<u64> {
        if self.plan.rate.is_none() {
            let now = clock::now();
            return (first || now < self.until).then_some(now);
        }
        loop {
            if let Some(due) = self.due.borrow_mut().pop_front() {
                return Some(due);
            }
            if self.all_due.get() {
                return None;
            }
            self.more.notified().await;
        }
    }

    fn count(&self, answer: Result<u16, String>, due: u64, now: u64, reader: &SseReader) {
        let counted = &mut *self.counted.borrow_mut();
        if let Ok(status) = &answer {
            *counted.statuses.entry(*status).or_default() += 1;
        }
        let wrong = match answer {
            Err(error) => Some(error),
            Ok(status) if self.plan.also.contains(&status) => None,
            Ok(status) if status != self.plan.expect => Some(format!("status {status}")),
            Ok(_) => self.plan.events.and_then(|events| {
                (!reader.is_whole(events)).then(|| "a stream that is not whole".to_owned())
            }),
        };
        if let Some(timeline) = &mut counted.timeline {
            timeline.add(now, now - due, wrong.is_some());
        }
        if let Some(wrong) = wrong {
            counted.fail(wrong);
            return;
        }
        // An open loop counts what fell due in its time, a closed one what ended in it.
        let counts = if self.plan.rate.is_some() { due } else { now } >= self.from;
        if counts {
            counted.requests += 1;
            counted.in_time += u64::from(now < self.until);
            counted.latency.add(now - due);
            counted.events += reader.events;
        }
    }

    /// The processor time of everybody until now.
    fn cpu(&self) -> Result<BTreeMap<String, u64>, String> {
        let mut all = BTreeMap::new();
        all.insert("load".to_owned(), cpu::used(None)?);
        for (name, pid) in &self.plan.cpu {
            all.insert(name.clone(), cpu::used(Some(*pid))?);
        }
        Ok(all)
    }

    fn report(&self, in_time: bool, cpu_us: BTreeMap<String, f64>, cpu_nanos: u64) -> LoadReport {
        let counted = &mut *self.counted.borrow_mut();
        let left = self.due.borrow().len() as u64 + self.in_flight.get();
        if !in_time && self.plan.rate.is_none() {
            counted.fail("no answer in time".to_owned());
        }
        let seconds = self.plan.time.as_secs_f64();
        let cpu_seconds = cpu_nanos as f64 / 1e9;
        let per_second = match self.plan.rate {
            Some(_) => counted.in_time as f64 / seconds,
            None => counted.requests as f64 / cpu_seconds,
        };
        LoadReport {
            mode: if self.plan.rate.is_some() {
                "open"
            } else {
                "closed"
            },
            seconds,
            requests: counted.requests,
            per_second,
            rate: self.plan.rate,
            statuses: counted.statuses.clone(),
            failed: counted.failures.values().sum(),
            failures: counted.failures.clone(),
            unfinished: if in_time { 0 } else { left },
            connects: counted.connects,
            stale: counted.stale,
            timeline: counted.timeline.take().map(Timeline::steps),
            latency_us: counted.latency.summary(),
            events: self.plan.events.map(|_| counted.events),
            event_delay_us: counted.delays.summary(),
            cpu_us,
            cpu_seconds,
        }
    }
}

impl LoadCounts {
    fn fail(&mut self, wrong: String) {
        *self.failures.entry(wrong).or_default() += 1;
    }
}
