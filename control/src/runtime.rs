//! Runs commands that wait for many things at once.

use tokio::runtime::Builder;

use crate::failure::Failure;

/// Runs a command on this thread, beside so many others. What is left of it then is not waited for.
///
/// # Errors
/// As the command gives them, or the threads cannot be started.
pub fn run(
    threads: usize,
    command: impl Future<Output = Result<(), Failure>>,
) -> Result<(), Failure> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .build()
        .map_err(|error| Failure::Data(format!("cannot begin: {error}")))?;
    let ended = runtime.block_on(command);
    runtime.shutdown_background();
    ended
}
