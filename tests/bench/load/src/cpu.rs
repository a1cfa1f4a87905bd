//! The processor time of a process, to the nanosecond.

use std::fs;

/// Returns the CPU time of all threads of `pid` until now, in nanoseconds; `self` where it is `None`.
///
/// `schedstat` counts nanoseconds; the `utime` and `stime` of `stat` are rounded to 10 ms. A thread that
/// ended is not counted, but the threads of an Envoy live as long as it does.
///
/// # Errors
/// The process is gone, or the kernel does not tell.
pub fn used(pid: Option<u32>) -> Result<u64, String> {
    let process = pid.map_or_else(|| "self".to_owned(), |pid| pid.to_string());
    let threads = format!("/proc/{process}/task");
    let entries = fs::read_dir(&threads).map_err(|error| format!("{threads}: {error}"))?;
    let mut sum = 0;
    for entry in entries.flatten() {
        let file = entry.path().join("schedstat");
        // A thread may end between the two looks.
        let Ok(text) = fs::read_to_string(&file) else {
            continue;
        };
        let first = text.split_whitespace().next().unwrap_or_default();
        let time: u64 = first
            .parse()
            .map_err(|_| format!("{}: {text:?}", file.display()))?;
        sum += time;
    }
    Ok(sum)
}
