//! Input: rebuilds the input of a decision from its cause and its facts.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::call::{Observation, ObservationStatus, Verdict};
use crate::cause::InputKind;
use crate::effect::EffectKey;
use crate::fact::{
    ApprovalAnswered, CallObserved, CallResumed, CallSuspended, CompactionFact, Fact, FactGroup,
    GoalFact, HookDecided, HookFact, InputFact, InputQueued, PermissionFact, ProgramFact,
    ProgramRun, RunFact, SampleCut, SampleFact, SessionFact, TurnFact,
};
use crate::hook::HookReply;
use crate::id::{CallId, Seq};
use crate::input::{ApprovalAnswer, CompactionResult, Input, ProgramEvent, SampleEvent, Widening};
use crate::record::RecordedFact;
use crate::session::{CallProgress, Session};

/// Default reason of a hook that gave none, where its reason answers the model.
const NO_REASON: &str = "This is not enough; go on.";

/// Returns the inputs of this kind that the facts may come from. There is one, except for a hook's
/// reply: its context may or may not have started with its reason.
///
/// An input that is no fact itself only lets time pass: whatever follows, a tick leads to as well.
pub(super) fn inputs(session: &Session, kind: InputKind, facts: &[RecordedFact]) -> Vec<Input> {
    match kind {
        InputKind::Close => return alloc::vec![Input::Close],
        InputKind::Recover => return alloc::vec![Input::Recover],
        InputKind::Tick => return alloc::vec![Input::Tick],
        InputKind::Configure
        | InputKind::Narrow
        | InputKind::SetGoal
        | InputKind::Compact
        | InputKind::Send
        | InputKind::RunCommand
        | InputKind::ChildEnded
        | InputKind::EditInput
        | InputKind::MoveInput
        | InputKind::WithdrawInput
        | InputKind::Rename
        | InputKind::Rewind
        | InputKind::FilesRestored
        | InputKind::Continue
        | InputKind::Interrupt
        | InputKind::Answer
        | InputKind::SubmitResult
        | InputKind::SampleEvent
        | InputKind::CallEnded
        | InputKind::CallSuspended
        | InputKind::AgentEnded
        | InputKind::AgentDetached
        | InputKind::ProgramEvent
        | InputKind::HookReplied
        | InputKind::ApproverAnswered
        | InputKind::CallReconciled
        | InputKind::CallUnreconciled
        | InputKind::CompactionEnded
        | InputKind::NeverStarted => {}
    }
    let mut inputs =
        facts.first().map(|first| written(session, &first.fact, facts)).unwrap_or_default();
    inputs.retain(|input| InputKind::of(input) == kind);
    if inputs.is_empty() {
        inputs.push(Input::Tick);
    }
    inputs
}

/// Returns the inputs that this fact, the first of its decision, may have been written for.
fn written(session: &Session, fact: &Fact, facts: &[RecordedFact]) -> Vec<Input> {
    let command = match fact.group() {
        FactGroup::Hook(HookFact::HookDecided(fact)) => return hook_replied(fact),
        FactGroup::Permission(PermissionFact::ApprovalAnswered(fact)) => {
            return answered(session, fact);
        }
        FactGroup::Run(RunFact::CallObserved(fact)) => return observed(session, fact),
        FactGroup::Run(RunFact::CallSuspended(fact)) => {
            return suspended(session, fact).into_iter().collect();
        }
        FactGroup::Run(RunFact::CallResumed(fact)) => (fact.key.as_ref(), resumed(fact)),
        FactGroup::Compaction(CompactionFact::CompactionRequested(fact)) => (
            fact.key.as_ref(),
            Input::Compact {
                scope: (*fact.by).clone(),
                focus: fact.focus.as_deref().map(String::from),
            },
        ),
        FactGroup::Compaction(fact) => return compaction_ended(fact).into_iter().collect(),
        FactGroup::Sample(fact) => return sample_event(fact),
        FactGroup::Program(fact) => {
            return program_event(session, fact, facts).into_iter().collect();
        }
        FactGroup::Session(SessionFact::SettingsChanged(fact)) => (
            fact.key.as_ref(),
            Input::Configure {
                scope: (*fact.by).clone(),
                settings: (*fact.settings).clone(),
                widening: Widening::Allowed,
            },
        ),
        FactGroup::Session(SessionFact::PermissionsNarrowed(fact)) => {
            return alloc::vec![Input::Narrow { to: fact.clone() }];
        }
        FactGroup::Session(SessionFact::SessionRenamed(fact)) => (
            fact.key.as_ref(),
            Input::Rename {
                scope: (*fact.by).clone(),
                title: fact.title.as_deref().map(String::from),
            },
        ),
        FactGroup::Session(SessionFact::SessionRewound(fact)) => {
            (fact.key.as_ref(), Input::Rewind { scope: (*fact.by).clone(), to: fact.to })
        }
        FactGroup::Session(SessionFact::FilesRestored(fact)) => (
            fact.key.as_ref(),
            Input::FilesRestored {
                scope: (*fact.by).clone(),
                of: fact.of,
                paths: fact.paths.clone(),
                more: fact.more,
            },
        ),
        FactGroup::Goal(GoalFact::GoalSet(fact)) => (
            fact.key.as_ref(),
            Input::SetGoal { scope: (*fact.by).clone(), goal: fact.goal.as_deref().cloned() },
        ),
        FactGroup::Input(InputFact::InputQueued(InputQueued {
            result_of: Some(call),
            scope,
            text,
            command_key,
            ..
        })) => (
            command_key.as_ref(),
            Input::ChildEnded {
                scope: (**scope).clone(),
                call: *call,
                text: String::from(&**text),
            },
        ),
        FactGroup::Input(InputFact::InputQueued(fact)) if fact.command.is_some() => (
            fact.command_key.as_ref(),
            Input::RunCommand {
                scope: (*fact.scope).clone(),
                text: String::from(&*fact.text),
                call: fact.command.clone(),
            },
        ),
        FactGroup::Input(InputFact::InputQueued(fact)) => (
            fact.command_key.as_ref(),
            Input::Send {
                scope: (*fact.scope).clone(),
                text: String::from(&*fact.text),
                delivery: fact.delivery,
                context: fact.context.clone(),
                images: fact.images.clone(),
                key: fact.key.clone(),
                dry_run: fact.dry_run,
                turn: None,
            },
        ),
        FactGroup::Input(InputFact::InputEdited(fact)) => (
            fact.key.as_ref(),
            Input::EditInput {
                scope: (*fact.by).clone(),
                input: fact.input,
                text: String::from(&*fact.text),
            },
        ),
        FactGroup::Input(InputFact::InputMoved(fact)) => (
            fact.key.as_ref(),
            Input::MoveInput { scope: (*fact.by).clone(), input: fact.input, before: fact.before },
        ),
        FactGroup::Input(InputFact::InputWithdrawn(fact)) => (
            fact.key.as_ref(),
            Input::WithdrawInput { scope: (*fact.by).clone(), input: fact.input },
        ),
        FactGroup::Turn(TurnFact::TurnOpened(fact)) => (fact.key.as_ref(), Input::Continue),
        FactGroup::Turn(TurnFact::InterruptRequested(fact)) => (
            fact.key.as_ref(),
            Input::Interrupt {
                by: fact.by,
                scope: (*fact.scope).clone(),
                reason: fact.reason.clone(),
                when: fact.when,
                turn: None,
            },
        ),
        FactGroup::Session(SessionFact::SessionOpened(_))
        | FactGroup::Goal(GoalFact::GoalEnded(_))
        | FactGroup::Input(InputFact::InputAccepted(_) | InputFact::InputBlocked(_))
        | FactGroup::Turn(TurnFact::TurnSettled(_))
        | FactGroup::Hook(HookFact::HooksAsked(_))
        | FactGroup::Permission(
            PermissionFact::CallDecided(_) | PermissionFact::ApprovalAsked(_),
        )
        | FactGroup::Run(RunFact::CallStarted(_))
        | FactGroup::Recovery(_)
        | FactGroup::Context(_) => return Vec::new(),
    };
    let (key, input) = command;
    alloc::vec![keyed(key, input)]
}

/// Returns the command under the key that its fact carries.
fn keyed(key: Option<&String>, input: Input) -> Input {
    match key {
        Some(key) => Input::Keyed { key: key.clone(), input: Box::new(input) },
        None => input,
    }
}

fn compaction_ended(fact: CompactionFact<'_>) -> Option<Input> {
    let (started, compaction) = match fact {
        CompactionFact::CompactionRequested(_) | CompactionFact::CompactionStarted(_) => {
            return None;
        }
        CompactionFact::Compacted(fact) => {
            let compaction = CompactionResult {
                cut: fact.cut.clone(),
                visible: fact.visible,
                usage: fact.usage,
                unmeasured: fact.unmeasured,
                fallback: fact.fallback.clone(),
            };
            (fact.started, Ok(compaction))
        }
        CompactionFact::CompactionFailed(fact) => (fact.started, Err(fact.reason.clone())),
    };
    let key = EffectKey::Compact { started };
    Some(Input::CompactionEnded { key, compaction })
}

fn sample_event(fact: SampleFact<'_>) -> Vec<Input> {
    match fact {
        SampleFact::SampleStarted(_) => Vec::new(),
        SampleFact::ItemAdded(fact) => {
            alloc::vec![sampled(fact.started, SampleEvent::Item(fact.item.clone()))]
        }
        SampleFact::SampleEnded(fact) => {
            let event = SampleEvent::Ended {
                stop: fact.stop.clone(),
                usage: fact.usage,
                response_id: fact.response_id.clone(),
                request: fact.request.clone(),
                fault: fact.fault.clone(),
            };
            alloc::vec![sampled(fact.started, event)]
        }
        SampleFact::SampleCut(fact) => sample_cut(fact),
    }
}

/// The sample failed, or never started.
fn sample_cut(fact: &SampleCut) -> Vec<Input> {
    let key = EffectKey::Sample { started: fact.started };
    let event = SampleEvent::Failed {
        failure: fact.failure.clone(),
        partial: fact.partial.clone(),
        usage: fact.usage,
        asked: fact.request.clone(),
    };
    alloc::vec![Input::SampleEvent { key, event }, Input::NeverStarted { key }]
}

fn sampled(started: Seq, news: SampleEvent) -> Input {
    let key = EffectKey::Sample { started };
    Input::SampleEvent { key, event: news }
}

/// If the hook's reason answers the model, the recorded context starts with it.
fn hook_replied(fact: &HookDecided) -> Vec<Input> {
    let reason = match fact.reason.trim() {
        "" => NO_REASON,
        reason => reason,
    };
    let mut contexts = alloc::vec![fact.context.clone()];
    if let Some(context) = &fact.context
        && let Some(rest) = context.strip_prefix(reason)
    {
        contexts.push(rest.strip_prefix('\n').map(Arc::from));
    }
    let reply = |context| Input::HookReplied {
        key: EffectKey::Hook { hook: fact.hook, asked: fact.asked },
        reply: HookReply {
            verdict: fact.verdict,
            reason: fact.reason.clone(),
            edit: fact.edit.clone(),
            context,
        },
    };
    contexts.into_iter().map(reply).collect()
}

/// A user answered, or the approver did.
fn answered(session: &Session, fact: &ApprovalAnswered) -> Vec<Input> {
    let answer = match (fact.verdict, &fact.grant) {
        (Verdict::Allow, None) => ApprovalAnswer::Allow { edit: fact.edit.clone() },
        (Verdict::Allow, Some(grant)) => ApprovalAnswer::Granted { grant: grant.clone() },
        (Verdict::Deny | Verdict::Ask, _) => ApprovalAnswer::Deny { reason: fact.reason.clone() },
    };
    let by_user = Input::Answer {
        call: fact.call,
        scope: (*fact.by).clone(),
        arguments: fact.arguments,
        answer: answer.clone(),
    };
    let mut inputs = alloc::vec![keyed(fact.key.as_ref(), by_user)];
    if let Some(CallProgress::AwaitingApproval { question: Some(question) }) =
        progress(session, fact.call)
    {
        inputs.push(Input::ApproverAnswered {
            key: EffectKey::Approval { call: fact.call, asked: question.asked },
            scope: (*fact.by).clone(),
            answer,
        });
    }
    inputs
}

/// A client returned the result, or a run of the call ended, or its reconciliation did, or neither
/// started.
fn observed(session: &Session, fact: &CallObserved) -> Vec<Input> {
    let call = fact.call;
    if let Some(by) = &fact.by {
        let observation = (*fact.observation).clone();
        let input = Input::SubmitResult { call, scope: (**by).clone(), observation };
        return alloc::vec![keyed(fact.key.as_ref(), input)];
    }
    let key = match progress(session, call) {
        Some(CallProgress::Running { started, .. }) => EffectKey::Call { call, started: *started },
        Some(CallProgress::Reconciling { started, .. }) => {
            EffectKey::Reconcile { call, started: *started }
        }
        Some(
            CallProgress::Proposed
            | CallProgress::AwaitingApproval { .. }
            | CallProgress::Allowed
            | CallProgress::AwaitingResult { .. }
            | CallProgress::Denied { .. }
            | CallProgress::Done { .. },
        )
        | None => return Vec::new(),
    };
    let observation = (*fact.observation).clone();
    let usage = fact.usage.unwrap_or_default();
    let all = [
        Input::CallEnded { key, observation: observation.clone() },
        Input::AgentEnded { key, observation: observation.clone(), usage },
        Input::AgentDetached { key, observation: observation.clone() },
        Input::CallReconciled { key, observation: Some(observation) },
        Input::CallReconciled { key, observation: None },
        Input::NeverStarted { key },
    ];
    Vec::from(all)
}

/// A run ended without a result.
fn suspended(session: &Session, fact: &CallSuspended) -> Option<Input> {
    let Some(CallProgress::Running { started, .. }) = progress(session, fact.call) else {
        return None;
    };
    let key = EffectKey::Call { call: fact.call, started: *started };
    Some(Input::CallSuspended { key, suspension: (*fact.suspension).clone() })
}

/// A person answered a suspended call.
fn resumed(fact: &CallResumed) -> Input {
    let status = match fact.answer.declined {
        true => ObservationStatus::Failed,
        false => ObservationStatus::Done,
    };
    let observation = Observation::new(status, fact.answer.text.clone());
    Input::SubmitResult { call: fact.call, scope: (*fact.by).clone(), observation }
}

/// A program made these calls at once, or ended; the report for the model follows its end.
fn program_event(
    session: &Session,
    fact: ProgramFact<'_>,
    facts: &[RecordedFact],
) -> Option<Input> {
    let (program, news) = match fact {
        ProgramFact::ProgramCalled(fact) => {
            let calls = facts.iter().map_while(|recorded| {
                let Fact::ProgramCalled(next) = &recorded.fact else {
                    return None;
                };
                (next.program == fact.program).then(|| (*next.item).clone())
            });
            (fact.program, ProgramEvent::Calls(calls.collect()))
        }
        ProgramFact::ProgramRun(fact) => (fact.program, ended(fact, facts)),
    };
    let Some(CallProgress::Running { started, .. }) = progress(session, program) else {
        return None;
    };
    let key = EffectKey::Call { call: program, started: *started };
    Some(Input::ProgramEvent { key, event: news })
}

fn ended(fact: &ProgramRun, facts: &[RecordedFact]) -> ProgramEvent {
    let observation = match facts.get(1).map(|next| &next.fact) {
        Some(Fact::CallObserved(next)) if next.call == fact.program => (*next.observation).clone(),
        _ => Observation::new(ObservationStatus::Done, ""),
    };
    ProgramEvent::Ended {
        outcome: Box::new((*fact.outcome).clone()),
        fault: fact.fault.clone(),
        observation,
    }
}

fn progress(session: &Session, id: CallId) -> Option<&CallProgress> {
    let mut calls = session.turn()?.calls().iter();
    calls.find(|call| call.id == id).map(|call| &call.progress)
}
