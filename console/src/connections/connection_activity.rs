//! Timeouts of connections, and which one is closed when there are too many.

use core::pin::Pin;
use core::task::{Context, Poll};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The timeouts of a connection that does nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionTimeouts {
    /// For the head of a request, from its first byte on, and for the first one of a new connection.
    pub head: Duration,
    /// Between requests.
    pub idle: Duration,
    /// For a request and its response.
    pub answer: Duration,
    /// Whether that begins anew with every byte of either.
    pub renewed: bool,
}

/// The time that every response gets, however many connections wait.
const ANSWER_AT_LEAST: Duration = Duration::from_secs(5);

/// The number of connections without a request that stay while idle ones can be closed.
const NEW: usize = 32;

/// The event that a connection waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConnectionPhase {
    /// The head of a request: the connection is new, or the head has begun.
    Head,
    /// The rest of a request, whose head is there.
    Body,
    /// The next request.
    Idle,
    /// The peer, to read a response.
    Answer,
}

/// The event that a connection waits for, and since when.
#[derive(Debug, Clone)]
pub struct ConnectionActivity(Arc<Mutex<ActivityState>>);

#[derive(Debug, Clone, Copy)]
struct ActivityState {
    phase: ConnectionPhase,
    since: Instant,
    /// The time at which bytes were last received or sent.
    moved: Instant,
}

/// A response is being sent while this is held.
#[derive(Debug)]
pub struct ResponseGuard(ConnectionActivity);

impl ConnectionActivity {
    /// A new connection.
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(ActivityState {
            phase: ConnectionPhase::Head,
            since: Instant::now(),
            moved: Instant::now(),
        })))
    }

    /// A request's head was received, and all of it, or a body is still to come.
    pub fn answering(&self, is_whole: bool) -> ResponseGuard {
        self.beat(if is_whole {
            ConnectionPhase::Answer
        } else {
            ConnectionPhase::Body
        });
        ResponseGuard(self.clone())
    }

    /// All of a request was received, or nobody wants the rest.
    pub fn is_whole(&self) {
        if self.now().phase == ConnectionPhase::Body {
            self.beat(ConnectionPhase::Answer);
        }
    }

    /// Bytes were received. They do not extend the timeout of a head that has begun.
    fn received(&self) {
        match self.now().phase {
            ConnectionPhase::Idle => self.beat(ConnectionPhase::Head),
            _ => self.moved(),
        }
    }

    /// Bytes came or went.
    fn moved(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).moved = Instant::now();
    }

    fn beat(&self, phase: ConnectionPhase) {
        let since = Instant::now();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = ActivityState {
            phase,
            since,
            moved: since,
        };
    }

    fn now(&self) -> ActivityState {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it has timed out.
    pub fn is_over(&self, timeouts: ConnectionTimeouts, now: Instant) -> bool {
        let beat = self.now();
        let (since, timeout) = match beat.phase {
            ConnectionPhase::Head => (beat.since, timeouts.head),
            ConnectionPhase::Idle => (beat.since, timeouts.idle),
            _ if timeouts.renewed => (beat.moved, timeouts.answer),
            _ => (beat.since, timeouts.answer),
        };
        now.saturating_duration_since(since) > timeout
    }
}

/// The connection to close when all places are taken; `None` if none can be spared.
///
/// The oldest without a whole request goes first, except the youngest [`NEW`], which may be about to send one; then the longest
/// idle; then the longest response.
pub fn to_spare<'a, K: Copy>(
    all: impl Iterator<Item = (K, &'a ConnectionActivity)>,
    now: Instant,
) -> Option<K> {
    let (mut heads, mut idle, mut answers) = (Vec::new(), Vec::new(), Vec::new());
    for (key, activity) in all {
        let beat = activity.now();
        match beat.phase {
            ConnectionPhase::Head | ConnectionPhase::Body => heads.push((beat.since, key)),
            ConnectionPhase::Idle => idle.push((beat.since, key)),
            ConnectionPhase::Answer => answers.push((beat.since, key)),
        }
    }
    answers.retain(|(since, _)| now.saturating_duration_since(*since) >= ANSWER_AT_LEAST);
    if heads.len() <= NEW {
        heads.clear();
    }
    let oldest = |list: Vec<(Instant, K)>| list.into_iter().min_by_key(|(since, _)| *since);
    let found = oldest(heads)
        .or_else(|| oldest(idle))
        .or_else(|| oldest(answers));
    found.map(|(_, key)| key)
}

impl Drop for ResponseGuard {
    fn drop(&mut self) {
        self.0.beat(ConnectionPhase::Idle);
    }
}

/// A stream that notes received bytes.
#[derive(Debug)]
pub struct ActivityStream<S> {
    stream: S,
    activity: ConnectionActivity,
}

impl<S> ActivityStream<S> {
    /// Notes bytes received on `stream`.
    pub fn new(stream: S, activity: ConnectionActivity) -> Self {
        Self { stream, activity }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ActivityStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.activity.received();
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ActivityStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        if matches!(written, Poll::Ready(Ok(count)) if count > 0) {
            self.activity.moved();
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        if matches!(written, Poll::Ready(Ok(count)) if count > 0) {
            self.activity.moved();
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: Duration = Duration::from_secs(5);
    const IDLE: Duration = Duration::from_secs(90);
    const ANSWER: Duration = Duration::from_secs(30);
    const TIMEOUTS: ConnectionTimeouts = ConnectionTimeouts {
        head: HEAD,
        idle: IDLE,
        answer: ANSWER,
        renewed: false,
    };

    /// Connections in each state, by what has happened to them.
    fn connections() -> [(
        &'static str,
        ConnectionActivity,
        Option<ResponseGuard>,
        Duration,
    ); 5] {
        let new = ConnectionActivity::new();
        let answering = ConnectionActivity::new();
        let on_its_way = answering.answering(true);
        let answered = ConnectionActivity::new();
        drop(answered.answering(true));
        let next = ConnectionActivity::new();
        drop(next.answering(true));
        next.received();
        let ahead = ConnectionActivity::new();
        let still = ahead.answering(true);
        ahead.received();
        [
            ("new", new, None, HEAD),
            (
                "an answer is on its way",
                answering,
                Some(on_its_way),
                ANSWER,
            ),
            ("answered", answered, None, IDLE),
            ("the next head has begun", next, None, HEAD),
            (
                "more while an answer is on its way",
                ahead,
                Some(still),
                ANSWER,
            ),
        ]
    }

    #[test]
    fn for_how_long_it_may_be_still() {
        let second = Duration::from_secs(1);
        for (case, activity, _answering, patience) in &connections() {
            let over = |after| activity.is_over(TIMEOUTS, Instant::now() + after);
            assert!(!over(*patience - second), "{case}");
            assert!(over(*patience + second), "{case}");
        }
    }

    #[test]
    fn more_bytes_of_a_head_win_it_no_time() {
        let activity = ConnectionActivity::new();
        let since = activity.now().since;
        std::thread::sleep(Duration::from_millis(2));
        activity.received();
        assert_eq!(activity.now().since, since);
    }

    #[test]
    fn more_bytes_of_a_response_win_it_time_where_that_is_meant() {
        let activity = ConnectionActivity::new();
        let _answering = activity.answering(true);
        let begun = activity.now().since;
        std::thread::sleep(Duration::from_millis(20));
        activity.moved();
        let later = begun + ANSWER + Duration::from_millis(10);
        let renewed = ConnectionTimeouts {
            renewed: true,
            ..TIMEOUTS
        };
        assert!(activity.is_over(TIMEOUTS, later));
        assert!(!activity.is_over(renewed, later));
        assert!(activity.is_over(renewed, later + ANSWER));
        assert_eq!(activity.now().since, begun, "it is as old as before");
    }

    #[test]
    fn a_body_that_does_not_come_makes_room_as_a_head_does() {
        let now = Instant::now() + Duration::from_secs(1);
        let bodies: Vec<ConnectionActivity> =
            (0..=NEW).map(|_| ConnectionActivity::new()).collect();
        let guards: Vec<ResponseGuard> = bodies
            .iter()
            .map(|activity| activity.answering(false))
            .collect();
        assert_eq!(to_spare(bodies.iter().enumerate(), now), Some(0));
        bodies[0].is_whole();
        assert_eq!(
            to_spare(bodies.iter().enumerate(), now),
            None,
            "it is answered"
        );
        drop(guards);
        bodies[0].is_whole();
        assert_eq!(bodies[0].now().phase, ConnectionPhase::Idle);
    }

    #[test]
    fn which_one_makes_room() {
        let now = Instant::now() + Duration::from_secs(1);
        let later = now + ANSWER_AT_LEAST;
        let idle = || {
            let activity = ConnectionActivity::new();
            drop(activity.answering(true));
            activity
        };
        let answering = || {
            let activity = ConnectionActivity::new();
            std::mem::forget(activity.answering(true));
            activity
        };
        let heads = |count| {
            (0..count)
                .map(|_| ConnectionActivity::new())
                .collect::<Vec<_>>()
        };
        let with = |mut all: Vec<ConnectionActivity>, more: Vec<ConnectionActivity>| {
            all.extend(more);
            all
        };
        // The connections in the order in which they came, when it is, and which one goes.
        let cases = [
            ("none", vec![], now, None),
            ("few new ones", heads(NEW), later, None),
            ("many new ones", heads(NEW + 1), now, Some(0)),
            (
                "an idle one",
                with(heads(NEW), vec![idle()]),
                now,
                Some(NEW),
            ),
            (
                "an idle one, and many new",
                with(vec![idle()], heads(NEW + 1)),
                now,
                Some(1),
            ),
            (
                "answers that begin",
                vec![answering(), answering()],
                now,
                None,
            ),
            (
                "answers that last",
                vec![answering(), answering()],
                later,
                Some(0),
            ),
            (
                "an idle one, and answers that last",
                vec![answering(), idle()],
                later,
                Some(1),
            ),
            (
                "new ones, and answers that last",
                with(heads(2), vec![answering()]),
                later,
                Some(2),
            ),
        ];
        for (case, all, now, want) in cases {
            assert_eq!(to_spare(all.iter().enumerate(), now), want, "{case}");
        }
    }
}
