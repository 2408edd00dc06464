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
        Ok(Self { stream, limits, end, begun: false })
    }

    /// Waits for the next read. Adds its events to `events`, also if it fails. Cancel safe.
    pub(super) async fn next(
        &mut self,
        events: &mut Vec<StreamEvent>,
    ) -> Result<StreamState, SampleFailure> {
        if self.begun {
            // A stream that is always ready must still be cancellable, and must respect its
            // time-out.
            consume_budget().await;
            if Instant::now() >= self.end {
                let what = "the model has answered, without an end,";
                return Err(timeout(what, self.limits.sample_ms));
            }
        }
        let (wait_ms, what) = if self.begun {
            (self.limits.idle_ms, "the provider's stream has stood still")
        } else {
            let what = "the provider's stream has not begun";
            (self.limits.first_byte_ms, what)
        };
        let step = timeout_at(after_ms(wait_ms).min(self.end), self.stream.next(events)).await;
        self.begun = true;
        step.map_err(|_| timeout(what, wait_ms.min(self.limits.sample_ms)))?
            .map_err(ProviderError::into_failure)
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
