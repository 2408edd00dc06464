//! Answer reader: sends one request to a provider and reads its answer, each read with a time-out.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::coop::consume_budget;
use tokio::time::{Instant, timeout_at};
use windlass_core::{FailureKind, Limits, RequestRecord, Retry, SampleFailure, StreamEvent};
use windlass_ports::{Provider, ProviderError, SampleRequest, SampleStream, StreamState};

/// Answer to one request while it is read.
pub(super) struct AnswerReader {
    stream: Box<dyn SampleStream>,
    limits: Limits,
    /// Time by which the whole answer must have arrived.
    end: Instant,
    /// Time that is left to wait for the next event. Reads without an event use it up, such as those
    /// of comments that keep the connection alive.
    left: Duration,
    begun: bool,
}

impl AnswerReader {
    /// Sends the request and waits for the head of the response. Records the request in `asked`,
    /// also if it fails.
    pub(super) async fn begin(
        provider: &Arc<dyn Provider>,
        request: SampleRequest,
        asked: &mut Option<Box<RequestRecord>>,
    ) -> Result<Self, SampleFailure> {
        let limits = request.limits;
        let end = after_ms(limits.sample_ms);
        let head = provider.sample(request);
        let stream = timeout_at(after_ms(limits.connect_ms).min(end), head)
            .await
            .map_err(|_| timeout("the provider has not begun to answer", limits.connect_ms))?
            .map_err(|mut error| {
                *asked = error.details.request.take();
                error.into_failure()
            })?;
        let mut stream = stream;
        *asked = stream.request_record().map(Box::new);
        let left = Duration::from_millis(limits.first_byte_ms);
        Ok(Self { stream, limits, end, left, begun: false })
    }

    /// Waits for the next read. Adds its events to `events`, also if it fails. Cancel safe.
    pub(super) async fn next(
        &mut self,
        events: &mut Vec<StreamEvent>,
    ) -> Result<StreamState, SampleFailure> {
        // A stream that is always ready must still be cancellable, and must respect its time-outs.
        consume_budget().await;
        let (start, before) = (Instant::now(), events.len());
        if start >= self.end {
            let what = "the model has answered, without an end,";
            return Err(timeout(what, self.limits.sample_ms));
        }
        if self.left.is_zero() {
            return Err(self.idle());
        }
        let until = start.checked_add(self.left).unwrap_or(self.end).min(self.end);
        let step = timeout_at(until, self.stream.next(events)).await;
        if events.len() > before {
            self.begun = true;
            self.left = Duration::from_millis(self.limits.idle_ms);
        } else {
            self.left = self.left.saturating_sub(start.elapsed());
        }
        step.map_err(|_| self.idle())?.map_err(ProviderError::into_failure)
    }

    /// Returns the failure of a stream without a further event.
    fn idle(&self) -> SampleFailure {
        let (wait_ms, what) = if self.begun {
            (self.limits.idle_ms, "the provider's stream has stood still")
        } else {
            (self.limits.first_byte_ms, "the provider's stream has not begun")
        };
        timeout(what, wait_ms.min(self.limits.sample_ms))
    }
}

/// Returns the failure of an answer that has no end.
pub(super) fn truncated() -> SampleFailure {
    let message = "the provider's stream ended without the end of its answer";
    SampleFailure::new(FailureKind::Truncated, Retry::Soon, message)
}

/// Returns the time after this many milliseconds, or 30 years from now if that overflows.
fn after_ms(ms: u64) -> Instant {
    let now = Instant::now();
    let far = Duration::from_hours(24 * 365 * 30);
    now.checked_add(Duration::from_millis(ms).min(far)).unwrap_or(now)
}

fn timeout(what: &str, ms: u64) -> SampleFailure {
    let message = format!("{what} for {ms} ms");
    SampleFailure::new(FailureKind::Timeout, Retry::Soon, message)
}
