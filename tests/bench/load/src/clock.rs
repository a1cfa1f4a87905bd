//! The system's monotonic clock, which all processes share, and timers of its resolution.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};
use tokio::io::unix::AsyncFd;

const SECOND: u64 = 1_000_000_000;

/// Nanoseconds of the monotonic clock.
pub fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * SECOND + time.tv_nsec as u64
}

/// A time in nanoseconds.
pub fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX / 4)
}

/// A timer. Tokio's own rounds up to whole milliseconds, many times what is to be measured here.
#[derive(Debug)]
pub struct PreciseTimer(AsyncFd<OwnedFd>);

impl PreciseTimer {
    /// Makes one.
    ///
    /// # Errors
    /// The error that the system reports.
    pub fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        #[allow(
            deprecated,
            reason = "its replacement is an unsafe function, for types whose descriptor may change; an OwnedFd's does not"
        )]
        AsyncFd::new(timer).map(Self)
    }

    /// Waits until the clock shows `at` nanoseconds.
    ///
    /// # Errors
    /// The error that the system reports.
    pub async fn until(&self, at: u64) -> io::Result<()> {
        let at = at.max(1); // 0 would switch the timer off
        let setting = Itimerspec {
            it_interval: Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            },
            it_value: Timespec {
                tv_sec: (at / SECOND) as i64,
                tv_nsec: (at % SECOND) as _,
            },
        };
        timerfd_settime(self.0.get_ref(), TimerfdTimerFlags::ABSTIME, &setting)?;
        loop {
            let mut ready = self.0.readable().await?;
            let mut count = [0_u8; 8];
            match rustix::io::read(self.0.get_ref(), &mut count) {
                Ok(_) => return Ok(()),
                Err(rustix::io::Errno::AGAIN) => ready.clear_ready(),
                Err(error) => return Err(error.into()),
            }
        }
    }
}
