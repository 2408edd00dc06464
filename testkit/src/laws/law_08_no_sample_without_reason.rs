//! Law 8: no sample without a reason whose evidence is in the log.
//!
//! The fact that a sample names as its reason is there, and nothing has used it up: the turn's
//! input was accepted and nothing was asked since; the last answer is whole, asked for calls, and
//! each has its observation; the last attempt broke off, its next one was granted, and the time
//! for it has come; the provider said that the last answer is not finished. A turn names an
//! input that waits, the oldest one.
//!
//! It kills: a sample for the sake of it, a retry that was not granted or that does not wait.

use std::collections::{BTreeMap, VecDeque};

use windlass_core::{Because, CallId, Fact, InputId, Item, Recorded, Seq, StopReason, Timestamp};

use super::{Held, hold};

/// Checks a log.
///
/// # Errors
/// [`Broken`](super::Broken) with the first sample, or turn, whose reason has no evidence.
pub fn check(log: &[Recorded]) -> Held {
    let mut waiting = VecDeque::new();
    let mut evidence = Evidence::None;
    let mut brought = BTreeMap::<Seq, Vec<CallId>>::new();
    let mut longest_ms = 0;
    for recorded in log {
        match &recorded.fact {
            Fact::InputQueued(_) => waiting.push_back(InputId(recorded.seq.0)),
            Fact::TurnOpened(fact) => {
                let oldest = waiting.front().copied();
                let named = oldest.map(|input| Because::Opened { input });
                hold(8, named == Some(fact.because), || {
                    format!(
                        "turn {} is opened by {:?}, and {oldest:?} waits",
                        recorded.seq, fact.because
                    )
                })?;
                evidence = Evidence::None;
                longest_ms = fact.limits.backoff_max_ms;
            }
            Fact::InputAccepted(fact) => {
                waiting.retain(|input| *input != fact.input);
                evidence = Evidence::Accepted(fact.input);
            }
            Fact::SampleStarted(fact) => {
                hold(8, evidence.bears(&fact.because, recorded.ts), || {
                    format!(
                        "{} asks because of {:?}, and there is {evidence:?}",
                        recorded.seq, fact.because
                    )
                })?;
                evidence = Evidence::None;
            }
            Fact::ItemAdded(fact) => {
                if let Item::Call(_) = &fact.item {
                    let calls = brought.entry(fact.started).or_default();
                    calls.push(CallId(recorded.seq.0));
                }
            }
            Fact::SampleEnded(fact) => {
                let calls = brought.remove(&fact.started).unwrap_or_default();
                evidence = match (calls.is_empty(), &fact.stop) {
                    (false, _) => Evidence::Calls(calls),
                    (true, StopReason::Unfinished) => Evidence::Unfinished,
                    (
                        true,
                        StopReason::Stop
                        | StopReason::Length
                        | StopReason::ContentFilter
                        | StopReason::Other(_),
                    ) => Evidence::None,
                };
            }
            Fact::SampleCut(fact) => {
                evidence = match fact.retry_at {
                    Some(until) => Evidence::Retry { until, longest_ms },
                    None => Evidence::None,
                };
            }
            Fact::CallObserved(fact) => {
                if let Evidence::Calls(open) = &mut evidence {
                    open.retain(|call| *call != fact.call);
                }
            }
            Fact::InterruptRequested(_) | Fact::TurnSettled(_) => evidence = Evidence::None,
            Fact::SessionOpened(_)
            | Fact::SettingsChanged(_)
            | Fact::CallDecided(_)
            | Fact::CallStarted(_) => {}
        }
    }
    Ok(())
}

/// What the log holds that may be a reason.
#[derive(Debug)]
enum Evidence {
    None,
    Accepted(InputId),
    /// The calls of the last answer that have no observation yet.
    Calls(Vec<CallId>),
    /// The next attempt may be made from then on, or under a clock that was set back so far that
    /// more time is left than any backoff gets.
    Retry {
        until: Timestamp,
        longest_ms: u64,
    },
    Unfinished,
}

impl Evidence {
    fn bears(&self, because: &Because, at: Timestamp) -> bool {
        match (self, because) {
            (Self::Accepted(input), Because::Opened { input: named }) => input == named,
            (Self::Calls(open), Because::ToolResults) => open.is_empty(),
            (Self::Retry { until, longest_ms }, Because::Retry) => {
                at >= *until || until.since_ms(at) > *longest_ms
            }
            (Self::Unfinished, Because::Unfinished) => true,
            (
                Self::None
                | Self::Accepted(_)
                | Self::Calls(_)
                | Self::Retry { .. }
                | Self::Unfinished,
                _,
            ) => false,
        }
    }
}
