//! Limits: every loop, wait and retry of a turn has one.

use serde::{Deserialize, Serialize};

use crate::agent::is_zero;
use crate::failure::Retry;
use crate::session::is_zero as no_re_asks;

/// Limits of a turn. Frozen when the turn opens; times are milliseconds of wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Limits {
    /// Samples per turn; retried attempts of one sample count once.
    pub samples: u32,
    /// Most calls of a sample. Surplus calls do not start, and the turn goes on.
    pub calls_per_sample: u32,
    /// Most calls of a turn.
    pub calls: u32,
    /// Attempts per sample, for all causes of failure together.
    pub attempts: u32,
    /// Most restarts of one sample, or of one repeatable call, after a process died.
    pub restarts: u32,
    /// Most calls that run at the same time.
    pub parallel_calls: u32,
    /// Tokens per turn, input and output together; 0 means no limit.
    pub tokens: u64,
    /// Money per turn, in millionths of the currency of the prices; 0 means no limit.
    pub cost_micros: u64,
    /// Most continuations by hooks after the model ended a turn.
    pub continuations: u32,
    /// Most times in a row that the model is asked again after an answer with neither text nor
    /// calls. With 0, as in older logs, such an answer ends the turn.
    #[serde(default, skip_serializing_if = "no_re_asks")]
    pub empty_answers: u32,
    /// Most compactions of a turn.
    pub compactions: u32,
    /// Bytes of context that hooks may add per turn, and a presenter per input.
    pub context_bytes: u64,
    /// Wall-clock time per turn; 0 means no limit.
    pub turn_ms: u64,
    /// Time for a person to answer a question; then the call is denied. 0 means no limit.
    pub approval_ms: u64,
    /// Time without a fact after which a new process asks an expired question again instead of
    /// denying its call: nobody could answer, or the clock was set forward. 0 means never.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reask_after_ms: u64,
    /// Inputs that may wait in a session.
    pub queue: u32,
    /// Bytes of a session: of the bodies of its facts as JSON, and of the outputs and images that they name. One
    /// that has reached it takes no input and asks for no sample; what runs then is still recorded.
    /// 0 means no limit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub session_bytes: u64,
    /// First backoff between attempts; it doubles with each.
    pub backoff_ms: u64,
    /// Longest backoff of its own.
    pub backoff_max_ms: u64,
    /// Longest wait that a provider may ask for before the next attempt. If it asks for more, there
    /// is none. With 0, as in older logs, the wait is that of `backoff_max_ms` then.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retry_after_ms: u64,
    /// Time-out from sending a request to the response's head.
    pub connect_ms: u64,
    /// Time-out from the response's head to its first event.
    pub first_byte_ms: u64,
    /// Time-out between two events of a stream. Comments and keep-alive messages are no events.
    pub idle_ms: u64,
    /// Time-out of a whole attempt.
    pub sample_ms: u64,
    /// Time-out of a run of a tool without a timeout of its own, and the longest timeout that a
    /// tool may declare. An agent runs for its declared time, or else as long as its turn.
    pub call_ms: u64,
    /// Grace period of a cancelled effect; then it counts as stopped.
    pub grace_ms: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            samples: 200,
            calls_per_sample: 64,
            calls: 2_000,
            attempts: 5,
            restarts: 100,
            parallel_calls: 8,
            tokens: 0,
            cost_micros: 0,
            continuations: 8,
            empty_answers: 1,
            compactions: 64,
            context_bytes: 262_144,
            turn_ms: 0,
            approval_ms: 604_800_000,
            reask_after_ms: 86_400_000,
            queue: 64,
            session_bytes: 1024 * 1024 * 1024,
            backoff_ms: 500,
            backoff_max_ms: 30_000,
            retry_after_ms: 300_000,
            connect_ms: 60_000,
            first_byte_ms: 120_000,
            idle_ms: 120_000,
            sample_ms: 900_000,
            call_ms: 600_000,
            grace_ms: 2_000,
        }
    }
}

impl Limits {
    /// Returns these limits with changes.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Returns the time before the next attempt after a failure, in milliseconds; `None` if a retry
    /// would fail again, or the provider asks for a longer wait than it may.
    ///
    /// The wait doubles with each of the earlier `failures`. `draw` returns a random number up to
    /// its argument, which spreads half of the wait, so that many sessions do not retry at once. A
    /// provider's own delay applies if it is longer.
    pub(crate) fn wait_ms(
        &self,
        failures: u32,
        retry: Retry,
        draw: impl FnOnce(u64) -> u64,
    ) -> Option<u64> {
        let doubled = 1_u64.checked_shl(failures).unwrap_or(u64::MAX);
        let backoff = self.backoff_ms.saturating_mul(doubled).min(self.backoff_max_ms);
        let half = backoff / 2;
        let spread = || half.saturating_add(draw(half));
        match retry {
            Retry::Never => None,
            Retry::Now => Some(0),
            Retry::Soon => Some(spread()),
            Retry::AfterMs(ms) if self.retry_after_ms == 0 => {
                Some(ms.max(spread()).min(self.backoff_max_ms))
            }
            Retry::AfterMs(_) if self.asks_too_long(retry) => None,
            Retry::AfterMs(ms) => Some(ms.max(spread())),
        }
    }

    /// Returns true if the provider asks for a longer wait than it may.
    pub(crate) fn asks_too_long(&self, retry: Retry) -> bool {
        match retry {
            Retry::AfterMs(ms) => self.retry_after_ms > 0 && ms > self.retry_after_ms,
            Retry::Never | Retry::Now | Retry::Soon => false,
        }
    }

    /// Returns the longest wait before an attempt, in milliseconds.
    #[must_use]
    pub fn max_wait_ms(&self) -> u64 {
        self.backoff_max_ms.max(self.retry_after_ms)
    }

    /// Returns the tighter of two sets, limit by limit. Where 0 means no limit, it is the widest.
    #[must_use]
    pub fn within(&self, ceiling: &Self) -> Self {
        let optional = |a: u64, b: u64| match (a, b) {
            (0, b) => b,
            (a, 0) => a,
            (a, b) => a.min(b),
        };
        Self {
            samples: self.samples.min(ceiling.samples),
            calls_per_sample: self.calls_per_sample.min(ceiling.calls_per_sample),
            calls: self.calls.min(ceiling.calls),
            attempts: self.attempts.min(ceiling.attempts),
            restarts: self.restarts.min(ceiling.restarts),
            parallel_calls: self.parallel_calls.min(ceiling.parallel_calls),
            tokens: optional(self.tokens, ceiling.tokens),
            cost_micros: optional(self.cost_micros, ceiling.cost_micros),
            continuations: self.continuations.min(ceiling.continuations),
            empty_answers: self.empty_answers.min(ceiling.empty_answers),
            compactions: self.compactions.min(ceiling.compactions),
            context_bytes: self.context_bytes.min(ceiling.context_bytes),
            turn_ms: optional(self.turn_ms, ceiling.turn_ms),
            approval_ms: optional(self.approval_ms, ceiling.approval_ms),
            reask_after_ms: optional(self.reask_after_ms, ceiling.reask_after_ms),
            queue: self.queue.min(ceiling.queue),
            session_bytes: optional(self.session_bytes, ceiling.session_bytes),
            backoff_ms: self.backoff_ms.min(ceiling.backoff_ms),
            backoff_max_ms: self.backoff_max_ms.min(ceiling.backoff_max_ms),
            retry_after_ms: optional(self.retry_after_ms, ceiling.retry_after_ms),
            connect_ms: self.connect_ms.min(ceiling.connect_ms),
            first_byte_ms: self.first_byte_ms.min(ceiling.first_byte_ms),
            idle_ms: self.idle_ms.min(ceiling.idle_ms),
            sample_ms: self.sample_ms.min(ceiling.sample_ms),
            call_ms: self.call_ms.min(ceiling.call_ms),
            grace_ms: self.grace_ms.min(ceiling.grace_ms),
        }
    }
}
