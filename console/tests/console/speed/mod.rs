//! The console's capacity, measured: `make bench`, or
//! `cargo test --release --package trilane-console --test console speed -- --ignored --nocapture --test-threads 1`.
//!
//! `TRILANE_BENCH_SHORT=1` has a fiftieth of the rows, to see that all of it runs. Times are also told as CPU time of this process
//! and of PostgreSQL's, which a busy machine changes less.

mod intake;
mod lists;
mod today;
mod usage;

use std::fmt;
use std::fs;
use std::time::{Duration, Instant};

use crate::database::TestDatabase;

/// The number of something: all of them, or a fiftieth.
pub fn rows(all: u64) -> u64 {
    let short = std::env::var_os("TRILANE_BENCH_SHORT").is_some();
    if short { all / 50 } else { all }
}

/// The measured cost of a step.
#[derive(Debug)]
pub struct Cost {
    wall: Duration,
    here: Duration,
    postgres: Duration,
}

/// Measures until it is told to stop.
#[derive(Debug)]
pub struct SpeedMeter {
    since: Instant,
    here: Duration,
    postgres: Duration,
    is_postgres: bool,
}

impl SpeedMeter {
    pub fn start(database: &TestDatabase) -> Self {
        let is_postgres = database.is_postgres();
        Self {
            since: Instant::now(),
            here: cpu("self"),
            postgres: if is_postgres {
                postgres_cpu()
            } else {
                Duration::ZERO
            },
            is_postgres,
        }
    }

    pub fn stop(self) -> Cost {
        let postgres = if self.is_postgres {
            postgres_cpu()
        } else {
            Duration::ZERO
        };
        Cost {
            wall: self.since.elapsed(),
            here: cpu("self") - self.here,
            postgres: postgres.saturating_sub(self.postgres),
        }
    }
}

impl Cost {
    /// Returns the number a second of one core that does nothing else.
    pub fn a_second(&self, count: u64) -> u128 {
        u128::from(count) * 1_000_000 / (self.here + self.postgres).as_micros().max(1)
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (wall, here, postgres) = (self.wall, self.here, self.postgres);
        write!(
            f,
            "{wall:.2?} (CPU: {here:.2?} here, {postgres:.2?} PostgreSQL)"
        )
    }
}

/// The CPU time that a process has had.
fn cpu(process: &str) -> Duration {
    let Ok(stat) = fs::read_to_string(format!("/proc/{process}/stat")) else {
        return Duration::ZERO;
    };
    let (_, fields) = stat.rsplit_once(") ").unwrap();
    let ticks = |place: usize| {
        fields
            .split(' ')
            .nth(place)
            .unwrap()
            .parse::<u64>()
            .unwrap()
    };
    // Hundredths of a second, whatever the kernel counts in.
    Duration::from_millis(10 * (ticks(11) + ticks(12)))
}

/// The CPU time of all of PostgreSQL's processes that live.
fn postgres_cpu() -> Duration {
    let processes = fs::read_dir("/proc").unwrap();
    let names = processes.filter_map(|entry| entry.unwrap().file_name().into_string().ok());
    let is_postgres = |name: &String| {
        let command = fs::read_to_string(format!("/proc/{name}/comm"));
        command.is_ok_and(|command| command.trim() == "postgres")
    };
    names.filter(is_postgres).map(|name| cpu(&name)).sum()
}

/// The most memory that this process has had at once, in MiB.
pub fn most_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap();
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib / 1024
}

/// Does something again and again, and tells how long the slowest of a hundred take, and the CPU time of one, here and in PostgreSQL.
pub async fn tell<F: Future<Output = ()>>(
    what: &str,
    times: usize,
    mut ask: impl FnMut(usize) -> F,
) {
    ask(0).await;
    let mut took = Vec::new();
    let before = (cpu("self"), postgres_cpu());
    for time in 1..=times {
        let since = Instant::now();
        ask(time).await;
        took.push(since.elapsed());
    }
    let each = |cost: Duration| cost / u32::try_from(times).unwrap();
    let here = each(cpu("self") - before.0);
    let postgres = each(postgres_cpu().saturating_sub(before.1));
    took.sort_unstable();
    let (half, most) = (took[took.len() / 2], took[took.len() * 99 / 100]);
    println!(
        "  {what}: median {half:.1?}, p99 {most:.1?} (CPU: {here:.1?} here, {postgres:.1?} PostgreSQL)"
    );
}

/// The same on both engines.
macro_rules! measured {
    ($measure:ident) => {
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        #[ignore = "it measures, and is no test"]
        async fn sqlite() {
            println!("SQLite:");
            $measure(&TestDatabase::sqlite()).await;
        }

        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        #[ignore = "it measures, and is no test"]
        async fn postgres() {
            println!("PostgreSQL:");
            let database = TestDatabase::postgres().await;
            $measure(&database).await;
            database.drop().await;
        }
    };
}
use measured;
