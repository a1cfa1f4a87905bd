//! Parts of the pure core by themselves, natively, as rates: bytes, events or operations by the second.
//!
//! `cargo bench --package trilane-micro -- NAME` runs those whose names contain it. What an exchange
//! costs as a whole, `make instructions` counts and `tests/bench/gateway` measures.

mod answers;
mod bodies;
mod churn;
mod key_store;
mod operations;

use std::time::Duration;

use criterion::Criterion;

fn main() {
    let mut criterion = Criterion::default()
        .without_plots()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .sample_size(30)
        .nresamples(10_000)
        .configure_from_args();
    bodies::benchmarks(&mut criterion);
    answers::benchmarks(&mut criterion);
    operations::benchmarks(&mut criterion);
    key_store::benchmarks(&mut criterion);
    criterion.final_summary();
}
