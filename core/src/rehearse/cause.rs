//! Cause: the inputs that a fact may come from, the likeliest first.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::own::is_own;
use crate::call::{Observation, ObservationStatus, Verdict};
use crate::effect::EffectKey;
use crate::fact::{
    ApprovalAnswered, CallObserved, CompactionFact, Fact, FactGroup, GoalFact, HookDecided,
    HookFact, InputFact, InterruptRequested, PermissionFact, ProgramFact, ProgramRun, RunFact,
    SampleCut, SampleFact, SessionFact, TurnFact,
};
use crate::hook::{HookAt, HookReply};
use crate::id::{CallId, Seq};
use crate::input::{Answer, Compaction, Input, ProgramNews, SampleNews, Widening};
use crate::outcome::Interrupter;
use crate::record::Recorded;
use crate::session::{Progress, Session};

/// Default reason of a hook that gave none, where its reason answers the model.
const NO_REASON: &str = "This is not enough; go on.";

/// The inputs that may have led to this fact, in this state.
///
/// Whatever follows by itself may also come from a tick, or from a new process.
pub(super) fn causes(session: &Session, fact: &Fact, facts: &[Recorded]) -> Vec<Input> {
    let mut causes = said(session, fact, facts);
    if is_own(fact) {
        // No effect says this; that it never began may be what the engine speaks of.
        causes.retain(|input| {
            matches!(
                input,
                Input::NeverBegan { .. }
                    | Input::Reconciled {
                        observation: None,
                        ..
                    }
            )
        });
    }
    causes.push(Input::Tick);
    causes.push(Input::Recovered);
    if let Fact::TurnOpened(fact) = fact {
        causes.push(under(fact.key.as_ref(), Input::Continue));
    }
    causes
}

/// The input, said under the key that its fact has of an [`Input::Keyed`].
fn under(key: Option<&String>, input: Input) -> Input {
    match key {
        Some(key) => Input::Keyed {
            key: key.clone(),
            input: Box::new(input),
        },
        None => input,
    }
}

/// Returns the inputs that may have led to this fact.
fn said(session: &Session, fact: &Fact, facts: &[Recorded]) -> Vec<Input> {
    match fact.group() {
        FactGroup::Session(fact) => configured(fact),
        FactGroup::Goal(fact) => set(fact),
        FactGroup::Input(InputFact::InputQueued(fact)) => alloc::vec![under(
            fact.keyed.as_ref(),
            Input::Send {
                scope: (*fact.scope).clone(),
                text: String::from(&*fact.text),
                delivery: fact.delivery,
                context: fact.context.clone(),
                images: fact.images.clone(),
                key: fact.key.clone(),
                dry_run: fact.dry_run,
            }
        )],
        FactGroup::Turn(TurnFact::InterruptRequested(fact)) => interrupted(fact),
        FactGroup::Hook(HookFact::HooksAsked(fact)) if fact.at == HookAt::SessionEnd => {
            alloc::vec![Input::Close]
        }
        FactGroup::Hook(HookFact::HookDecided(fact)) => hooked(fact),
        FactGroup::Permission(PermissionFact::ApprovalAnswered(fact)) => answered(session, fact),
        FactGroup::Run(RunFact::CallObserved(fact)) => observed(session, fact),
        FactGroup::Compaction(fact) => compacted(fact),
        FactGroup::Sample(fact) => asked(fact),
        FactGroup::Program(ProgramFact::ProgramCalled(fact)) => {
            called(session, fact.program, facts)
        }
        FactGroup::Program(ProgramFact::ProgramRun(fact)) => ran(session, fact, facts),
        FactGroup::Hook(HookFact::HooksAsked(_))
        | FactGroup::Input(InputFact::InputAccepted(_) | InputFact::InputBlocked(_))
        | FactGroup::Turn(TurnFact::TurnOpened(_) | TurnFact::TurnSettled(_))
        | FactGroup::Permission(
            PermissionFact::CallDecided(_) | PermissionFact::ApprovalAsked(_),
        )
        | FactGroup::Run(RunFact::CallStarted(_))
        | FactGroup::Recovery(_)
        | FactGroup::Context(_) => Vec::new(),
    }
}

fn configured(fact: SessionFact<'_>) -> Vec<Input> {
    match fact {
        SessionFact::SettingsChanged(fact) => alloc::vec![under(
            fact.key.as_ref(),
            Input::Configure {
                scope: (*fact.by).clone(),
                settings: (*fact.settings).clone(),
                widening: Widening::Meant,
            }
        )],
        SessionFact::SessionOpened(_) => Vec::new(),
    }
}

fn set(fact: GoalFact<'_>) -> Vec<Input> {
    let GoalFact::GoalSet(fact) = fact else {
        return Vec::new();
    };
    let set = Input::SetGoal {
        scope: (*fact.by).clone(),
        goal: fact.goal.as_deref().cloned(),
    };
    alloc::vec![under(fact.key.as_ref(), set)]
}

fn interrupted(fact: &InterruptRequested) -> Vec<Input> {
    if fact.by == Interrupter::Deadline {
        return Vec::new();
    }
    alloc::vec![under(
        fact.key.as_ref(),
        Input::Interrupt {
            by: fact.by,
            scope: (*fact.scope).clone(),
            reason: fact.reason.clone(),
            when: fact.when,
            turn: None,
        }
    )]
}

fn compacted(fact: CompactionFact<'_>) -> Vec<Input> {
    let (started, compaction) = match fact {
        CompactionFact::CompactionStarted(_) => return Vec::new(),
        CompactionFact::Compacted(fact) => {
            let compaction = Compaction {
                cut: fact.cut.clone(),
                shown: fact.shown,
                usage: fact.usage,
                fallback: fact.fallback.clone(),
            };
            (fact.started, Ok(compaction))
        }
        CompactionFact::CompactionFailed(fact) => (fact.started, Err(fact.reason.clone())),
    };
    let key = EffectKey::Compact { started };
    alloc::vec![Input::Compacted { key, compaction }]
}

fn asked(fact: SampleFact<'_>) -> Vec<Input> {
    match fact {
        SampleFact::SampleStarted(_) => Vec::new(),
        SampleFact::ItemAdded(fact) => sampled(fact.started, SampleNews::Item(fact.item.clone())),
        SampleFact::SampleEnded(fact) => {
            let news = SampleNews::Ended {
                stop: fact.stop.clone(),
                usage: fact.usage,
                response_id: fact.response_id.clone(),
                asked: fact.asked.clone(),
                fault: fact.fault.clone(),
            };
            sampled(fact.started, news)
        }
        SampleFact::SampleCut(fact) => cut(fact),
    }
}

/// Returns the events that may have cut a sample, or its failure to start.
fn cut(fact: &SampleCut) -> Vec<Input> {
    let key = EffectKey::Sample {
        started: fact.started,
    };
    let news = SampleNews::Failed {
        failure: fact.failure.clone(),
        partial: fact.partial.clone(),
        usage: fact.usage,
        asked: fact.asked.clone(),
    };
    alloc::vec![Input::Sampled { key, news }, Input::NeverBegan { key }]
}

fn sampled(started: Seq, news: SampleNews) -> Vec<Input> {
    let key = EffectKey::Sample { started };
    alloc::vec![Input::Sampled { key, news }]
}

/// Returns the replies that a hook may have given. If its reason answers the model, the context
/// starts with it.
fn hooked(fact: &HookDecided) -> Vec<Input> {
    let reason = match fact.reason.trim() {
        "" => NO_REASON,
        reason => reason,
    };
    let mut contexts = alloc::vec![fact.context.clone()];
    if let Some(context) = &fact.context
        && let Some(rest) = context.strip_prefix(reason)
    {
        match rest.strip_prefix('\n') {
            Some(rest) => contexts.insert(0, Some(Arc::from(rest))),
            None => contexts.insert(0, None),
        }
    }
    let reply = |context| Input::Hooked {
        key: EffectKey::Hook {
            hook: fact.hook,
            asked: fact.asked,
        },
        reply: HookReply {
            verdict: fact.verdict,
            reason: fact.reason.clone(),
            edit: fact.edit.clone(),
            context,
        },
    };
    contexts.into_iter().map(reply).collect()
}

/// Somebody answered, or the approver that was asked did.
fn answered(session: &Session, fact: &ApprovalAnswered) -> Vec<Input> {
    let answer = match fact.verdict {
        Verdict::Allow => Answer::Allow {
            edit: fact.edit.clone(),
        },
        Verdict::Deny | Verdict::Ask => Answer::Deny {
            reason: fact.reason.clone(),
        },
    };
    let mut causes = alloc::vec![under(
        fact.key.as_ref(),
        Input::Answer {
            call: fact.call,
            scope: (*fact.by).clone(),
            arguments: fact.arguments,
            answer: answer.clone(),
        }
    )];
    if let Some(Progress::Asking {
        question: Some(question),
    }) = progress(session, fact.call)
    {
        causes.push(Input::Asked {
            key: EffectKey::Approval {
                call: fact.call,
                asked: question.asked,
            },
            scope: (*fact.by).clone(),
            answer,
        });
    }
    causes
}

/// A run of the call ended, or a question of what became of it did, or neither ever began.
fn observed(session: &Session, fact: &CallObserved) -> Vec<Input> {
    let (call, observation) = (fact.call, &fact.observation);
    match progress(session, call) {
        Some(Progress::Running { started, .. }) => {
            let key = EffectKey::Call {
                call,
                started: *started,
            };
            let observation = (**observation).clone();
            let returned = fact.took.map(|took| Input::Returned {
                key,
                observation: observation.clone(),
                took,
            });
            let mut causes = alloc::vec![Input::Ran { key, observation }];
            causes.extend(returned);
            causes.push(Input::NeverBegan { key });
            causes
        }
        Some(Progress::Reconciling { started, .. }) => {
            let key = EffectKey::Reconcile {
                call,
                started: *started,
            };
            let observation = Some((**observation).clone());
            alloc::vec![
                Input::Reconciled { key, observation },
                Input::Reconciled {
                    key,
                    observation: None
                },
                Input::NeverBegan { key }
            ]
        }
        Some(
            Progress::Proposed
            | Progress::Asking { .. }
            | Progress::Allowed
            | Progress::Denied { .. }
            | Progress::Done { .. },
        )
        | None => Vec::new(),
    }
}

/// A program made these calls at once: as many as follow one another.
fn called(session: &Session, program: CallId, facts: &[Recorded]) -> Vec<Input> {
    let calls = facts.iter().map_while(|recorded| {
        let Fact::ProgramCalled(fact) = &recorded.fact else {
            return None;
        };
        (fact.program == program).then(|| (*fact.item).clone())
    });
    programmed(session, program, ProgramNews::Calls(calls.collect()))
}

/// A program ended; what the model is told of it comes next.
fn ran(session: &Session, fact: &ProgramRun, facts: &[Recorded]) -> Vec<Input> {
    let observation = match facts.get(1).map(|next| &next.fact) {
        Some(Fact::CallObserved(next)) if next.call == fact.program => (*next.observation).clone(),
        _ => Observation::new(ObservationStatus::Done, ""),
    };
    let news = ProgramNews::Ended {
        outcome: Box::new((*fact.outcome).clone()),
        fault: fact.fault.clone(),
        observation,
    };
    programmed(session, fact.program, news)
}

fn programmed(session: &Session, call: CallId, news: ProgramNews) -> Vec<Input> {
    let Some(Progress::Running { started, .. }) = progress(session, call) else {
        return Vec::new();
    };
    let key = EffectKey::Call {
        call,
        started: *started,
    };
    alloc::vec![Input::Programmed { key, news }]
}

fn progress(session: &Session, id: CallId) -> Option<&Progress> {
    let mut calls = session.turn()?.calls().iter();
    calls.find(|call| call.id == id).map(|call| &call.progress)
}
