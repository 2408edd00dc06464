//! Sampling: the model has been asked, and its answer streams.
//!
//! A call is decided and run once it is complete, while the rest of the answer streams. If hooks
//! must see the answer first, it waits for them. A steering input that its hooks let in makes the
//! sample yield as long as it has no call. Of a truncated answer the part up to the last started call is retained.

mod facts;

pub(crate) use facts::on_sample;

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::transition::{OTHER_RUN, about_steer};
use super::{
    AfterCompacting, EffectReport, NextFact, Stage, StageRules, Transition, TransitionResult,
};
use crate::budget;
use crate::budget::answer::{estimate_cut, estimate_ended};
use crate::call::{answer, programs, steps};
use crate::compaction::{ItemFingerprint, VisiblePart};
use crate::decide::admit::{block_input, is_let_in};
use crate::decide::{Plan, output_schema};
use crate::effect::{Demand, DesiredEffect, EffectKey};
use crate::error::Reject;
use crate::fact::{Fact, ItemAdded, Reservation, Retained, SampleCut, SampleEnded};
use crate::failure::{FailureKind, Retry, SampleFailure};
use crate::hook::HookOccurrence;
use crate::hook_rounds::hooks::{self, HookStep};
use crate::hook_rounds::{CombinedVerdict, subject_name};
use crate::id::Seq;
use crate::input::SampleEvent;
use crate::item::{Item, StopReason};
use crate::outcome::InterruptSource;
use crate::program::SampleKind;
use crate::reason::Reason;
use crate::session::{CallState, QueuedInput, Session, Turn};
use crate::time::Timestamp;

/// The model has been asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sampling {
    /// Position of the run's start.
    pub started: Seq,
    /// Previous run of a sample, in any turn; [`Seq::ZERO`] for the first.
    pub previous: Seq,
    /// Failures of this sample before this attempt.
    pub failures: u32,
    /// Restarts of this sample before this attempt.
    pub restarts: u32,
    /// Size and digest of the conversation in the request.
    pub request: VisiblePart,
    /// Reservation for it.
    pub reserved: Reservation,
    /// Most tokens of the answer, if the budget bounds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_bound: Option<u64>,
    /// Purpose of the sample.
    #[serde(default, skip_serializing_if = "SampleKind::is_normal")]
    pub kind: SampleKind,
    /// Its calls so far.
    pub calls: Vec<CallState>,
    /// Its items so far: positions, fingerprints, and kinds.
    pub items: Vec<(Seq, ItemFingerprint, AnswerKind)>,
    /// Deferred tools that its own calls have found: the request did not offer them.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub found: BTreeSet<String>,
}

/// Kind of an answer: the strongest kind of its items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerKind {
    /// No item yet.
    Nothing,
    /// A refusal of the model.
    Refusal,
    /// Text for the user.
    Text,
}

impl StageRules for Sampling {
    fn allows(&self, session: &Session, _: &Turn, transition: Transition<'_>) -> TransitionResult {
        let so = match transition {
            Transition::Sample(started) if started == self.started => true,
            Transition::Sample(_) => return Err(OTHER_RUN),
            Transition::Block(input) => session.is_steer(input),
            Transition::AskHooks(at) => about_steer(session, at),
            Transition::Accept(_)
            | Transition::Inject
            | Transition::InjectLast
            | Transition::AskAgain(_)
            | Transition::AskAfterEmpty(_)
            | Transition::EndCompaction(_)
            | Transition::Settle(_) => false,
        };
        transition.only_if(so)
    }

    fn on_report(
        &self,
        plan: &Plan,
        turn: &Turn,
        key: EffectKey,
        report: EffectReport,
    ) -> Result<Vec<Fact>, Reject> {
        let EffectKey::Sample { .. } = key else {
            return answer::on_call_report(plan, turn, key, report);
        };
        let fact = match report {
            EffectReport::SampleEvent(news) => self.on_event(plan, turn, news),
            EffectReport::NeverStarted => {
                let message = "the turn was asked to stop before the model was asked";
                let failure = SampleFailure::new(FailureKind::Cancelled, Retry::Never, message);
                // Nothing was sent, so nothing is billed.
                let estimate = Some(Reservation::default());
                Fact::SampleCut(SampleCut { estimate, ..self.failed(turn, failure, None) })
            }
            EffectReport::ProcessEnded => self.on_lost(plan, turn),
            EffectReport::CallEnded(_)
            | EffectReport::AgentEnded(..)
            | EffectReport::AgentDetached(_)
            | EffectReport::CallReconciled(_)
            | EffectReport::ProgramEvent(_)
            | EffectReport::CompactionEnded(_) => return Err(Reject::Stale(key)),
        };
        Ok(alloc::vec![fact])
    }

    /// A steering input is put to its hooks first. Hooks on the answer precede its calls.
    fn next(&self, plan: &Plan, turn: &Turn) -> NextFact {
        let answered = HookOccurrence::AfterAnswer { started: self.started };
        let calls = || match hooks::at_turn(turn, answered, "") {
            HookStep::Add(_) | HookStep::Wait if turn.stop.is_none() => NextFact::Wait,
            HookStep::Add(_) | HookStep::Wait | HookStep::Finished(_) => {
                NextFact::from(steps::next(plan, turn, &CombinedVerdict::Pass))
            }
        };
        self.screen_steer(plan, turn).or(calls).or(|| self.abandon(plan, turn))
    }

    fn desired_effect(&self, session: &Session, turn: &Turn) -> Option<DesiredEffect> {
        Some(DesiredEffect {
            key: EffectKey::Sample { started: self.started },
            demand: demand(session, turn, self),
            requires_durable: self.previous,
        })
    }

    fn deadline(&self) -> Option<Timestamp> {
        None
    }

    fn calls(&self) -> &[CallState] {
        &self.calls
    }

    fn calls_mut(&mut self) -> &mut [CallState] {
        &mut self.calls
    }

    fn counted(&self) -> Option<u32> {
        Some(0)
    }

    fn answer(&self) -> Option<Seq> {
        Some(self.started)
    }

    fn winds_down(&self) -> bool {
        true
    }
}

/// Returns the demand on the sample. While it has no call, it yields to a steering input that its
/// hooks let in.
fn demand(session: &Session, turn: &Turn, sampling: &Sampling) -> Demand {
    let steer = sampling.awaited_steer(session, turn);
    match &turn.stop {
        Some(_) => Demand::Cancel,
        None if steer.is_some_and(|steer| is_let_in(turn, steer)) => Demand::Yield,
        None => Demand::Run,
    }
}

impl Sampling {
    /// Returns the kind of the answer so far.
    #[must_use]
    pub fn answer_kind(&self) -> AnswerKind {
        let said = self.items.iter().map(|(_, _, said)| *said);
        said.max().unwrap_or(AnswerKind::Nothing)
    }

    /// Returns true if the answer, with this stop reason, could be the turn's last one: it has a
    /// text and no calls, and the model ended it by itself.
    pub(crate) fn answers(&self, stop: &StopReason) -> bool {
        let whole = match stop {
            StopReason::Stop | StopReason::Other(_) => true,
            StopReason::Length | StopReason::ContentFilter | StopReason::Unfinished => false,
        };
        whole && self.calls.is_empty() && self.answer_kind() == AnswerKind::Text
    }

    /// Returns the steering input that the answer may yield to: it has no call yet, the model may be
    /// asked again, and a user steers.
    fn awaited_steer<'a>(&self, session: &'a Session, turn: &Turn) -> Option<&'a QueuedInput> {
        let more = turn.samples() < turn.limits.samples && !turn.work_is_used_up();
        let more = more && turn.pause.is_none();
        session.user_steer().filter(|_| more && turn.stop.is_none() && self.calls.is_empty())
    }

    /// Asks the hooks on a steering input while the answer streams, so that one that they block cuts
    /// nothing off.
    fn screen_steer(&self, plan: &Plan, turn: &Turn) -> NextFact {
        let awaited = self.awaited_steer(&plan.session, turn);
        let Some(steer) =
            awaited.filter(|_| budget::exhausted_limit(&plan.session, turn).is_none())
        else {
            return NextFact::Pass;
        };
        let at = HookOccurrence::PromptSubmitted { input: steer.id };
        match hooks::at_turn(turn, at, subject_name(at)) {
            HookStep::Add(fact) => NextFact::Fact(fact),
            HookStep::Wait | HookStep::Finished(_) => NextFact::from(block_input(turn, steer)),
        }
    }

    fn on_event(&self, plan: &Plan, turn: &Turn, news: SampleEvent) -> Fact {
        let started = self.started;
        match news {
            SampleEvent::Item(item) => {
                let surplus = matches!(item, Item::Call(_)) && turn.answer_has_most_calls();
                Fact::ItemAdded(ItemAdded { started, item, surplus })
            }
            SampleEvent::Ended { stop, usage, response_id, request: asked, fault } => {
                Fact::SampleEnded(SampleEnded {
                    started,
                    estimate: estimate_ended(&plan.session, turn, self, usage.as_ref()),
                    fault: output_schema::counted_fault(turn, self, &stop, fault)
                        .or_else(|| programs::unusable(turn, self.kind, &self.calls)),
                    stop,
                    usage,
                    response_id,
                    request: asked,
                })
            }
            SampleEvent::Failed { failure, partial, usage, asked } => {
                let (stands, stopped_by) = self.retained(turn, &failure, &partial);
                self.cut(
                    plan,
                    turn,
                    SampleCut {
                        started,
                        retry_at: self.retry_at(plan, turn, &failure, stands),
                        failure,
                        partial,
                        retained: stands,
                        stopped_by,
                        usage,
                        estimate: None,
                        request: asked,
                    },
                )
            }
        }
    }

    /// Restarts a sample whose process ended, within the limit.
    fn on_lost(&self, plan: &Plan, turn: &Turn) -> Fact {
        let again = turn.stop.is_none() && self.restarts < turn.limits.restarts;
        let message = if again {
            "the process ended while the model answered; the model is asked again"
        } else {
            "the process ended while the model answered"
        };
        let failure = SampleFailure::new(FailureKind::Restart, Retry::Soon, message);
        self.cut(plan, turn, self.failed(turn, failure, again.then_some(plan.at)))
    }

    /// Abandons a sample that was cancelled and has not answered within its grace period.
    fn abandon(&self, plan: &Plan, turn: &Turn) -> NextFact {
        match &turn.stop {
            Some(stop) if plan.at >= stop.at.plus_ms(turn.limits.grace_ms) => {
                let message = "the model's stream did not stop within its grace and was abandoned";
                let failure = SampleFailure::new(FailureKind::Cancelled, Retry::Never, message);
                NextFact::Fact(self.cut(plan, turn, self.failed(turn, failure, None)))
            }
            Some(_) | None => NextFact::Pass,
        }
    }

    /// Cuts the sample, with the estimate of what its provider may bill.
    fn cut(&self, plan: &Plan, turn: &Turn, cut: SampleCut) -> Fact {
        let estimate = estimate_cut(&plan.session, turn, self, &cut);
        Fact::SampleCut(SampleCut { estimate, ..cut })
    }

    /// Returns the cut of a sample that did not report its own end.
    fn failed(
        &self,
        turn: &Turn,
        failure: SampleFailure,
        retry_at: Option<Timestamp>,
    ) -> SampleCut {
        let partial = String::new();
        let (retained, stopped_by) = self.retained(turn, &failure, &partial);
        SampleCut {
            started: self.started,
            retained,
            stopped_by,
            failure,
            partial,
            usage: None,
            estimate: None,
            retry_at,
            request: None,
        }
    }

    /// Returns the retained part of a truncated answer, and the interrupt that truncated its text.
    /// The part reaches to the last started call. Of an answer that yielded to the user all text is
    /// retained, and so is the text that an interrupt finds behind the last started call.
    fn retained(
        &self,
        turn: &Turn,
        failure: &SampleFailure,
        partial: &str,
    ) -> (Retained, Option<InterruptSource>) {
        let last = self.calls.iter().rfind(|call| call.has_started());
        let last = last.map(|call| Seq(call.id.0));
        let mut texts = self.items.iter().filter(|(_, _, kind)| *kind > AnswerKind::Nothing);
        let said = !partial.trim().is_empty() || texts.any(|(seq, _, _)| Some(*seq) > last);
        let stopped_by = turn.stopped_by().filter(|_| said);
        let yielded =
            failure.kind == FailureKind::Steered && self.calls.is_empty() && turn.stop.is_none();
        let retained = match last {
            Some(item) => Retained::Through { item },
            None if stopped_by.is_some() || yielded => Retained::Text,
            None => Retained::Nothing,
        };
        (retained, stopped_by)
    }

    /// Returns the time of the next attempt, if the failure and the budget allow one.
    ///
    /// If an adapter reports a restart, it counts against the limit of restarts, so it cannot repeat
    /// for ever.
    fn retry_at(
        &self,
        plan: &Plan,
        turn: &Turn,
        failure: &SampleFailure,
        stands: Retained,
    ) -> Option<Timestamp> {
        let spent = if failure.kind == FailureKind::Restart {
            self.restarts >= turn.limits.restarts
        } else {
            self.failures.saturating_add(1) >= turn.limits.attempts
        };
        match stands {
            Retained::Text => return turn.stop.is_none().then_some(plan.at),
            Retained::Nothing if turn.overflows(failure) => return None,
            Retained::Nothing | Retained::Through { .. } => {}
        }
        if turn.stop.is_some() || spent {
            return None;
        }
        let wait = turn.limits.wait_ms(self.failures, failure.retry, |most| plan.draw(most))?;
        Some(plan.at.plus_ms(wait))
    }
}

impl Stage {
    /// Returns true if an answer yields, or has yielded, to the first steering input.
    pub(crate) fn yields(&self, session: &Session, turn: &Turn) -> bool {
        match self {
            Self::Sampling(sampling) => demand(session, turn, sampling) == Demand::Yield,
            Self::Ready(ready) => ready.reason == Reason::Retry,
            Self::Compacting(compacting) => compacting.after == AfterCompacting::Ask(Reason::Retry),
            Self::Opening(_)
            | Self::Backoff(_)
            | Self::Executing(_)
            | Self::Concluding(_)
            | Self::Ending(_) => false,
        }
    }

    /// Returns the streaming sample.
    #[must_use]
    pub fn sampling(&self) -> Option<&Sampling> {
        if let Self::Sampling(sampling) = self { Some(sampling) } else { None }
    }
}
