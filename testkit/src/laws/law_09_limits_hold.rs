//! Law 9: limits hold, and a turn that a limit ended did reach it.
//!
//! Samples and calls per turn, calls per sample, attempts and restarts per sample and per call,
//! calls at the same time, tokens, wall clock, the longest backoff, the longest run of a tool,
//! the inputs that wait, and the limits of the process above those of the session. After a stop
//! nothing is begun.
//!
//! It kills: a decision that counts one too far, or that does not look at a limit at all.

use std::collections::BTreeMap;

use windlass_core::{
    CallId, Concurrency, Fact, FailureKind, Item, LimitKind, Limits, Outcome, Recorded, Seq,
    Timestamp,
};

use super::reading;
use super::{Held, hold};

/// Checks a log. `ceiling` is what the processes that wrote it allowed at most.
///
/// # Errors
/// [`Broken`](super::Broken) with the first fact that goes over a limit.
pub fn check(log: &[Recorded], ceiling: &Limits) -> Held {
    let mut queue = 0_u32;
    let mut settings = Seq::ZERO.next();
    let mut turn: Option<Tally> = None;
    for recorded in log {
        match &recorded.fact {
            Fact::SettingsChanged(_) => settings = recorded.seq,
            Fact::InputQueued(_) => {
                let waits = queue > 0 || turn.is_some();
                queue += 1;
                let limits = reading::settings(log, settings).map(|found| found.limits);
                let limit = limits.map_or(0, |limits| limits.queue.min(ceiling.queue));
                let waiting = if waits { u64::from(queue) } else { 0 };
                over(recorded, "waiting inputs", waiting, u64::from(limit))?;
            }
            Fact::InputAccepted(_) => queue = queue.saturating_sub(1),
            Fact::TurnOpened(fact) => {
                let frozen = reading::settings(log, fact.settings).map(|found| found.limits);
                let within = frozen.map(|limits| limits.within(ceiling));
                hold(9, within == Some(fact.limits), || {
                    format!("turn {} does not keep within {within:?}", recorded.seq)
                })?;
                turn = Some(Tally::new(fact.limits, recorded.ts));
            }
            Fact::TurnSettled(fact) => {
                if let Some(turn) = turn.take() {
                    turn.settled(recorded, &fact.outcome)?;
                }
            }
            Fact::SessionOpened(_)
            | Fact::SampleStarted(_)
            | Fact::ItemAdded(_)
            | Fact::SampleEnded(_)
            | Fact::SampleCut(_)
            | Fact::CallDecided(_)
            | Fact::CallStarted(_)
            | Fact::CallObserved(_)
            | Fact::InterruptRequested(_) => {
                if let Some(turn) = &mut turn {
                    turn.count(log, recorded)?;
                }
            }
        }
    }
    Ok(())
}

/// What a turn has taken, counted from its facts alone.
struct Tally {
    limits: Limits,
    opened_at: Timestamp,
    samples: u32,
    tokens: u64,
    /// Of the sample that is out or was last.
    failures: u32,
    restarts: u32,
    /// Whether the next start is a further attempt at the same sample.
    again: bool,
    /// Calls of the sample that is out or was last.
    brought: u32,
    calls: u32,
    runs: BTreeMap<CallId, u32>,
    running: BTreeMap<CallId, Concurrency>,
    stopped: bool,
    length: bool,
}

impl Tally {
    fn new(limits: Limits, opened_at: Timestamp) -> Self {
        Self {
            limits,
            opened_at,
            samples: 0,
            tokens: 0,
            failures: 0,
            restarts: 0,
            again: false,
            brought: 0,
            calls: 0,
            runs: BTreeMap::new(),
            running: BTreeMap::new(),
            stopped: false,
            length: false,
        }
    }

    fn count(&mut self, log: &[Recorded], recorded: &Recorded) -> Held {
        match &recorded.fact {
            Fact::SampleStarted(_) => self.sample(recorded)?,
            Fact::ItemAdded(fact) => {
                if let Item::Call(_) = &fact.item {
                    self.brought += 1;
                }
            }
            Fact::SampleEnded(fact) => {
                self.calls += self.brought;
                self.tokens += fact.usage.map_or(0, |usage| usage.tokens());
                self.length = fact.stop == windlass_core::StopReason::Length;
                self.again = false;
            }
            Fact::SampleCut(fact) => {
                self.again = fact.retry_at.is_some();
                if fact.failure.kind == FailureKind::Restart {
                    self.restarts += 1;
                } else {
                    self.failures += 1;
                }
                let wait = fact.retry_at.map_or(0, |at| at.since_ms(recorded.ts));
                over(recorded, "ms of backoff", wait, self.limits.backoff_max_ms)?;
            }
            Fact::CallStarted(fact) => self.call(log, recorded, fact.call, fact.timeout_ms)?,
            Fact::CallObserved(fact) => {
                self.running.remove(&fact.call);
            }
            Fact::InterruptRequested(_) => self.stopped = true,
            Fact::SessionOpened(_)
            | Fact::SettingsChanged(_)
            | Fact::InputQueued(_)
            | Fact::TurnOpened(_)
            | Fact::InputAccepted(_)
            | Fact::CallDecided(_)
            | Fact::TurnSettled(_) => {}
        }
        Ok(())
    }

    fn sample(&mut self, recorded: &Recorded) -> Held {
        self.begins(recorded)?;
        self.brought = 0;
        if self.again {
            let attempt = u64::from(self.failures) + 1;
            over(
                recorded,
                "attempts",
                attempt,
                u64::from(self.limits.attempts.max(1)),
            )?;
            let restarts = u64::from(self.restarts);
            return over(
                recorded,
                "restarts",
                restarts,
                u64::from(self.limits.restarts),
            );
        }
        (self.failures, self.restarts) = (0, 0);
        self.samples += 1;
        over(
            recorded,
            "samples",
            u64::from(self.samples),
            u64::from(self.limits.samples),
        )?;
        let spent = self.limits.tokens > 0 && self.tokens >= self.limits.tokens;
        hold(9, !spent, || {
            format!(
                "{} asks though {} tokens are used",
                recorded.seq, self.tokens
            )
        })
    }

    fn call(&mut self, log: &[Recorded], recorded: &Recorded, id: CallId, timeout: u64) -> Held {
        self.begins(recorded)?;
        over(
            recorded,
            "calls per sample",
            u64::from(self.brought),
            u64::from(self.limits.calls_per_sample),
        )?;
        over(
            recorded,
            "calls",
            u64::from(self.calls),
            u64::from(self.limits.calls),
        )?;
        over(recorded, "ms for a call", timeout, self.limits.call_ms)?;
        let runs = self.runs.entry(id).or_default();
        *runs += 1;
        over(
            recorded,
            "runs of a call",
            u64::from(*runs),
            u64::from(self.limits.restarts) + 1,
        )?;
        let tool = reading::tool(log, id).map(|(_, _, tool)| tool.concurrency);
        self.running
            .insert(id, tool.unwrap_or(Concurrency::Exclusive));
        let running = self.running.len() as u64;
        over(
            recorded,
            "calls at the same time",
            running,
            u64::from(self.limits.parallel_calls.max(1)),
        )?;
        let alone = self
            .running
            .values()
            .any(|class| *class == Concurrency::Exclusive);
        hold(9, !alone || running == 1, || {
            format!("{} does not leave an exclusive call alone", recorded.seq)
        })
    }

    /// Checks that something may begin: the turn was not asked to stop, and its time is not over.
    fn begins(&self, recorded: &Recorded) -> Held {
        hold(9, !self.stopped, || {
            format!(
                "{} {} after the turn was asked to stop",
                recorded.seq,
                recorded.fact.kind()
            )
        })?;
        let late = self.late(recorded.ts);
        hold(9, !late, || {
            format!(
                "{} {} after the turn's time is over",
                recorded.seq,
                recorded.fact.kind()
            )
        })
    }

    fn late(&self, at: Timestamp) -> bool {
        self.limits.turn_ms > 0 && at >= self.opened_at.plus_ms(self.limits.turn_ms)
    }

    fn settled(&self, recorded: &Recorded, outcome: &Outcome) -> Held {
        let Outcome::Exhausted { limit } = outcome else {
            return Ok(());
        };
        let reached = match limit {
            LimitKind::Samples => self.samples >= self.limits.samples,
            LimitKind::CallsPerSample => self.brought > self.limits.calls_per_sample,
            LimitKind::Calls => self.calls > self.limits.calls,
            LimitKind::Tokens => self.limits.tokens > 0 && self.tokens >= self.limits.tokens,
            LimitKind::OutputTokens => self.length,
            LimitKind::WallClock => self.limits.turn_ms > 0 && self.stopped,
        };
        hold(9, reached, || {
            format!(
                "{} says that {limit:?} is exhausted, and it is not",
                recorded.seq
            )
        })
    }
}

fn over(recorded: &Recorded, what: &str, count: u64, limit: u64) -> Held {
    hold(9, count <= limit, || {
        format!(
            "{} {}: {count} {what}, and the limit is {limit}",
            recorded.seq,
            recorded.fact.kind()
        )
    })
}
