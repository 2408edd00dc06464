//! Turns: the state of an open turn, and its usage.

use alloc::collections::VecDeque;
use alloc::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::agent::BudgetUsage;
use crate::call::{CallProgress, CallState, CallValidity};
use crate::compaction::{CompactionRequest, ItemFingerprint};
use crate::fact::{ContextLifetime, Reservation};
use crate::failure::{FailureKind, SampleFailure};
use crate::hook::CompactionTrigger;
use crate::hook_rounds::HookRounds;
use crate::id::{InputId, Seq, TurnId};
use crate::limits::Limits;
use crate::outcome::{InterruptSource, LimitKind, TurnOutcome};
use crate::program::ProgramEffects;
use crate::scope::Scope;
use crate::settings::Settings;
use crate::stage::{Stage, TurnOpening};
use crate::time::Timestamp;
use crate::usage::Usage;

/// State of an open turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    /// Id of the turn.
    pub id: TurnId,
    /// Position of the `GoalSet` of its goal, if it was opened for one.
    pub goal: Option<Seq>,
    /// Scope that it acts for.
    pub scope: Arc<Scope>,
    /// Settings of the turn, frozen.
    pub settings: Arc<Settings>,
    /// Limits of the turn, frozen.
    pub limits: Limits,
    /// True if effectful tools are only planned.
    pub dry_run: bool,
    /// Time at which it opened.
    pub opened_at: Timestamp,
    /// Usage so far.
    pub spent: TurnUsage,
    /// Request to stop at once, if there is one.
    pub stop: Option<StopRequest>,
    /// Request to stop before the next sample, if there is one.
    pub pause: Option<StopRequest>,
    /// Hooks that are asked about the turn as a whole.
    pub hook_rounds: HookRounds,
    /// Context to inject before the next sample, in order.
    pub pending: VecDeque<PendingContext>,
    /// Bytes of the instructions and the tools.
    pub base_bytes: u64,
    /// Bytes of context from hooks in this turn.
    pub context_bytes: u64,
    /// Request of the user that it was opened for, if it only compacts the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction: Option<CompactionRequest>,
    /// True if it only runs a user's command.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub command: bool,
    /// Compaction whose hooks must still run.
    pub compacted: Option<(Seq, CompactionTrigger)>,
    /// Number of runs of the current or interrupted compaction.
    pub compacting: u32,
    /// True if the model was notified that the next sample is the last one for work.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub announced_last: bool,
    /// Number of re-asks for invalid return values.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub re_asks: u32,
    /// Number of empty answers in a row after which the model was asked again.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub empty_answers: u32,
    /// Effects of its failed programs, and of the one that runs.
    #[serde(default, skip_serializing_if = "ProgramEffects::is_empty")]
    pub program_effects: ProgramEffects,
    /// Latest position at which the rules changed during the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules_changed: Option<Seq>,
    /// Current stage of the turn.
    pub stage: Stage,
}

impl Turn {
    /// Returns the limit on calls that the answer exceeds, if it does. None of its calls starts
    /// then.
    #[must_use]
    pub fn exceeded_call_limit(&self) -> Option<LimitKind> {
        let counted = self.stage.rules().counted()?;
        let count = self.calls_of_answer();
        let before = self.spent.calls.saturating_sub(counted);
        if count > self.limits.calls_per_sample {
            return Some(LimitKind::CallsPerSample);
        }
        (before.saturating_add(count) > self.limits.calls).then_some(LimitKind::Calls)
    }

    /// Returns the number of the answer's own calls, without surplus ones.
    fn calls_of_answer(&self) -> u32 {
        let own = |call: &&CallState| call.parent.is_none() && call.counts();
        u32::try_from(self.calls().iter().filter(own).count()).unwrap_or(u32::MAX)
    }

    /// Returns true if the answer has as many calls as the limit allows: further ones are surplus.
    pub(crate) fn answer_has_most_calls(&self) -> bool {
        self.calls_of_answer() >= self.limits.calls_per_sample
    }

    /// Returns true if the turn asks the model: it neither only compacts nor only runs a command.
    pub(crate) fn asks_model(&self) -> bool {
        self.compaction.is_none() && !self.command
    }

    /// Returns the subject of the turn, until it is admitted.
    #[must_use]
    pub fn opening(&self) -> Option<TurnOpening> {
        self.stage.rules().opening()
    }

    /// Returns true if the turn was opened for this input, which is not admitted yet.
    #[must_use]
    pub fn is_opened_by(&self, input: InputId) -> bool {
        self.opening() == Some(TurnOpening::Input(input))
    }

    /// Returns the pending calls, including those of a streaming answer.
    #[must_use]
    pub fn calls(&self) -> &[CallState] {
        self.stage.rules().calls()
    }

    /// Returns the pending calls, mutably.
    pub(crate) fn calls_mut(&mut self) -> &mut [CallState] {
        self.stage.rules_mut().calls_mut()
    }

    /// Returns true if its latest sample has settled: the answer is complete, each of its calls has
    /// its observation, the hooks on them have replied, and nothing follows but the next sample or
    /// the turn's end.
    #[must_use]
    pub fn is_sample_settled(&self) -> bool {
        let rests = self.stage.rules().rests(self);
        let goes_on = self.stop.is_none() && self.pause.is_none();
        let heard = self.hook_rounds.open.is_none() && self.pending.is_empty();
        rests && self.spent.samples > 0 && goes_on && heard
    }

    /// Returns true if the call was not compared with the rules as they are: the answer that
    /// requested it, or the run of the program that made it, began before they changed.
    pub(crate) fn is_older_than_rules(&self, call: &CallState) -> bool {
        let program = call.parent.and_then(|id| self.calls().iter().find(|call| call.id == id));
        let began = match program.map(|program| &program.progress) {
            // A program that a new process runs again makes further calls, which are compared.
            Some(CallProgress::Running { started, .. }) if call.id.0 > started.0 => Some(*started),
            Some(_) | None => self.stage.rules().answer(),
        };
        let matched = began.max(call.matched);
        matches!(call.validity, CallValidity::Valid { .. }) && matched < self.rules_changed
    }

    /// Returns true if a person or a shutdown has asked the turn to stop, now or after its step.
    pub(crate) fn is_interrupted(&self) -> bool {
        let stop = self.stop.as_ref().map(|stop| &stop.outcome);
        self.pause.is_some() || matches!(stop, Some(TurnOutcome::Interrupted { .. }))
    }

    /// Returns the source of the interrupt that stops the turn at once, if one does.
    #[must_use]
    pub fn stopped_by(&self) -> Option<InterruptSource> {
        self.stop.as_ref()?.outcome.interrupted_by()
    }

    /// Adds the usage of an answer.
    pub(crate) fn spend(&mut self, usage: &Usage) {
        self.spent.usage.add(usage);
        let cost = self.settings.price.map_or(0, |price| price.of(usage));
        self.spent.cost_micros = self.spent.cost_micros.saturating_add(cost);
    }

    /// Adds the reservation of an answer whose usage is unknown.
    pub(crate) fn spend_reserved(&mut self, reserved: &Reservation) {
        self.spent = self.spent.plus_reserved(reserved);
    }

    /// Returns the usage of a turn that ends here. If this cancels a summary, its usage is unknown
    /// and its reservation counts.
    pub(crate) fn spent_at_last(&self) -> TurnUsage {
        match self.stage.compacting() {
            Some(compacting) => self.spent.plus_reserved(&compacting.reserved),
            None => self.spent,
        }
    }

    /// Returns the samples that count against the limit, including those of agents.
    #[must_use]
    pub fn samples(&self) -> u32 {
        self.spent.with_agents().samples
    }

    /// Returns the tokens that count against the limit, including those of agents.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.spent.with_agents().tokens
    }

    /// Returns the money that counts against the limit, including that of agents.
    #[must_use]
    pub fn cost_micros(&self) -> u64 {
        self.spent.with_agents().cost_micros
    }

    /// Counts the calls of an answer.
    pub(crate) fn count(&mut self, calls: &[CallState]) {
        let count = calls.iter().filter(|call| call.counts()).count();
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        self.spent.calls = self.spent.calls.saturating_add(count);
    }

    /// Returns the most re-asks for an answer that cannot be used.
    #[must_use]
    pub fn max_re_asks(&self) -> u32 {
        self.settings.max_re_asks(&self.limits)
    }

    /// Returns true if the model may be asked again after an empty answer.
    pub(crate) fn may_ask_after_empty(&self) -> bool {
        self.empty_answers < self.limits.empty_answers
    }

    /// Returns true if the conversation is compacted after this failure: the provider rejected it
    /// as too large, the turn is not to stop, and compactions are left.
    pub(crate) fn overflows(&self, failure: &SampleFailure) -> bool {
        failure.kind == FailureKind::ContextOverflow
            && self.stop.is_none()
            && self.spent.compactions < self.limits.compactions
    }
}

/// Context that awaits injection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PendingContext {
    /// Position of the `HookDecided` that added it.
    pub decided: Seq,
    /// Fingerprint of its framed text.
    pub text: ItemFingerprint,
    /// Lifetime of the context.
    pub lifetime: ContextLifetime,
}

/// Usage of a turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnUsage {
    /// Samples; retried attempts of one sample count once.
    pub samples: u32,
    /// Number of attempts at samples.
    pub attempts: u32,
    /// Calls requested by the model, except surplus ones of an answer.
    pub calls: u32,
    /// Tokens, as far as the provider reported them.
    pub usage: Usage,
    /// Estimated tokens of requests that may be billed and whose usage no provider reported: of
    /// answers that ended without it, of attempts that broke off, and of summaries.
    #[serde(default)]
    pub estimated_tokens: u64,
    /// Money, in millionths of the currency of the prices.
    #[serde(default)]
    pub cost_micros: u64,
    /// Number of continuations by hooks so far.
    #[serde(default)]
    pub continuations: u32,
    /// Number of compactions.
    #[serde(default)]
    pub compactions: u32,
    /// Number of re-asks for invalid outputs.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub re_asks: u32,
    /// Usage of the agents that its calls ran, including nested ones.
    #[serde(default, skip_serializing_if = "BudgetUsage::is_zero")]
    pub agents: BudgetUsage,
}

impl TurnUsage {
    /// Returns the usage of the turn with all agents below it.
    #[must_use]
    pub fn with_agents(&self) -> BudgetUsage {
        let reported = self.usage.tokens();
        let own = BudgetUsage {
            samples: self.samples,
            tokens: reported.saturating_add(self.estimated_tokens),
            cost_micros: self.cost_micros,
        };
        own.plus(self.agents)
    }

    /// Adds a reservation whose real usage is unknown.
    fn plus_reserved(mut self, reserved: &Reservation) -> Self {
        self.estimated_tokens = self.estimated_tokens.saturating_add(reserved.tokens);
        self.cost_micros = self.cost_micros.saturating_add(reserved.cost_micros);
        self
    }
}

/// A request to stop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StopRequest {
    /// Outcome with which the turn is to end.
    pub outcome: TurnOutcome,
    /// Time of the request.
    pub at: Timestamp,
    /// Position of the fact of the request.
    pub seq: Seq,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
pub(crate) fn is_zero(count: &u32) -> bool {
    *count == 0
}
