//! `trilane usage` on ten million lines: all counted, in bounded memory. Takes a minute; run it with
//! `cargo test --release -p trilane-control --test command usage_stream -- --ignored --nocapture`.

use std::io::{BufWriter, Write as _};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::support::{call, line};

const LINES: u64 = 10_000_000;

#[cfg(target_os = "linux")]
#[test]
#[ignore = "takes a minute"]
fn ten_million_lines() {
    // 1000 groups, charges of a dozen digits.
    let batch: String = (0..1000)
        .map(|n| {
            let charge = format!("0.{:012} USD", 123_456_789 + n);
            let members = call(
                &format!("key_{n:03}"),
                "a-official",
                &format!("gpt-{}", n % 7),
                1000 + n,
                n,
                &charge,
            );
            line(&format!("2026-11-21T17:00:{:02}.{n:03}Z", n % 60), &members)
        })
        .collect();
    let began = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_trilane"))
        .args(["usage", "--format", "json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = BufWriter::with_capacity(1 << 20, child.stdin.take().unwrap());
    for _ in 0..LINES / 1000 {
        stdin.write_all(batch.as_bytes()).unwrap();
    }
    stdin.flush().unwrap();
    // All but what stands in the pipe is read by now.
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let time = began.elapsed();
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    println!(
        "{LINES} lines, {} MB in {time:.1?}: {:.0} lines/s, peak {peak} kB",
        batch.len() as u64 * (LINES / 1000) / 1_000_000,
        LINES as f64 / time.as_secs_f64(),
    );
    let total = &json["total"];
    assert_eq!(json["rows"].as_array().unwrap().len(), 1000);
    assert_eq!(total["requests"], LINES);
    assert_eq!(total["input"], LINES * 1000 + LINES / 1000 * 499_500);
    assert_eq!(total["output"], LINES / 1000 * 499_500);
    // 10^4 times the sum of 1000 × 123456789 + 499500, in units of 10^-12.
    assert_eq!(total["charge"], "1234.572885");
    assert!(peak < 16 * 1024, "{peak} kB");
}
