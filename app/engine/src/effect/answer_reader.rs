//! Reading: one request to a provider and the reads of its answer, each within its time.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::coop::consume_budget;
use tokio::time::{Instant, timeout_at};
use windlass_core::{FailureKind, Limits, RequestRecord, Retry, SampleFailure, StreamEvent};
use windlass_ports::{Provider, ProviderError, SampleRequest, SampleStream, StreamState};

/// The answer to one request as it is read.
pub(super) struct AnswerReader {
    stream: Box<dyn SampleStream>,
    limits: Limits,
    /// When the whole answer must be there.
    end: Instant,
    begun: bool,
}

impl AnswerReader {
    /// Sends the request and waits for the head of the response. How it went out is in `asked`,
    /// also where it failed.
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
        Ok(Self {
            stream,
            limits,
            end,
            begun: false,
        })
    }

    /// Waits for the next read. What it brings is in `events`, also when it fails. Safe to drop
    /// while it waits.
    pub(super) async fn next(
        &mut self,
        events: &mut Vec<StreamEvent>,
    ) -> Result<StreamState, SampleFailure> {
        if self.begun {
            // A stream that always has something ready must still be stopped, and still ends.
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

/// An answer is whole only with its end.
pub(super) fn truncated() -> SampleFailure {
    let message = "the provider's stream ended without the end of its answer";
    SampleFailure::new(FailureKind::Truncated, Retry::Soon, message)
}

/// The moment so many milliseconds from now; without one that can be told, in 30 years.
fn after_ms(ms: u64) -> Instant {
    let now = Instant::now();
    let far = Duration::from_hours(24 * 365 * 30);
    now.checked_add(Duration::from_millis(ms).min(far))
        .unwrap_or(now)
}

fn timeout(what: &str, ms: u64) -> SampleFailure {
    let message = format!("{what} for {ms} ms");
    SampleFailure::new(FailureKind::Timeout, Retry::Soon, message)
}
