//! Law 7: nothing the user said and was acknowledged is lost, and a turn never completes over
//! waiting input.
//!
//! Each input that was queued is accepted once, or blocked once by a hook that says so, or it still
//! waits in the state that the log folds to. A turn that settles lists exactly the inputs that
//! wait; one that the model has completed leaves none behind that was meant for it.
//!
//! It kills: a queue that a stop or a restart empties, an input that is let in twice, a turn that
//! does not look at its queue before it completes.

use std::collections::BTreeMap;

use windlass_core::{
    Delivery, Fact, HookAt, HookVerdict, InputBlocked, InputId, Outcome, Recorded, Session,
    TurnSettled,
};

use super::{Held, hold, reading};

/// Checks a log, and the state that it folds to.
///
/// # Errors
/// [`Broken`](super::Broken) with the first input that is lost, or heard twice.
pub fn check(log: &[Recorded], session: &Session) -> Held {
    let mut waiting = BTreeMap::<InputId, Delivery>::new();
    for recorded in log {
        let heard = match &recorded.fact {
            Fact::InputQueued(fact) => {
                waiting.insert(InputId(recorded.seq.0), fact.delivery);
                continue;
            }
            Fact::InputAccepted(fact) => fact.input,
            Fact::InputBlocked(fact) => {
                blocked(log, recorded, fact)?;
                fact.input
            }
            Fact::TurnSettled(fact) => {
                settled(recorded, fact, &waiting)?;
                continue;
            }
            Fact::SessionOpened(_)
            | Fact::SessionResumed(_)
            | Fact::ProgramCalled(_)
            | Fact::ProgramRun(_)
            | Fact::SettingsChanged(_)
            | Fact::GoalSet(_)
            | Fact::GoalEnded(_)
            | Fact::TurnOpened(_)
            | Fact::HooksAsked(_)
            | Fact::HookDecided(_)
            | Fact::ContextInjected(_)
            | Fact::CompactionStarted(_)
            | Fact::Compacted(_)
            | Fact::CompactionFailed(_)
            | Fact::SampleStarted(_)
            | Fact::ItemAdded(_)
            | Fact::SampleEnded(_)
            | Fact::SampleCut(_)
            | Fact::CallDecided(_)
            | Fact::ApprovalAsked(_)
            | Fact::ApprovalAnswered(_)
            | Fact::CallStarted(_)
            | Fact::ReconcileStarted(_)
            | Fact::CallObserved(_)
            | Fact::InterruptRequested(_) => continue,
        };
        hold(7, waiting.remove(&heard).is_some(), || {
            format!(
                "{} speaks of input {heard}, which does not wait",
                recorded.seq
            )
        })?;
    }
    let queue: Vec<InputId> = session.queue.iter().map(|queued| queued.id).collect();
    hold(7, queue.iter().eq(waiting.keys()), || {
        format!("by the log {waiting:?} wait, and the session holds {queue:?}")
    })
}

/// An input is blocked by a hook: one that was asked about it or about the beginning of the turn, or
/// one that ended the turn before it was let in.
fn blocked(log: &[Recorded], at: &Recorded, fact: &InputBlocked) -> Held {
    let settings = at.turn.and_then(|turn| reading::frozen(log, turn));
    let asked = |place: HookAt| match place {
        HookAt::PromptSubmitted { input } => input == fact.input,
        HookAt::SessionStart { .. } | HookAt::SubTurnStart => true,
        HookAt::SessionEnd
        | HookAt::BeforeSample { .. }
        | HookAt::AfterAnswer { .. }
        | HookAt::BeforeTool { .. }
        | HookAt::AfterTool { .. }
        | HookAt::PermissionRequest { .. }
        | HookAt::BeforeCompaction { .. }
        | HookAt::AfterCompaction { .. }
        | HookAt::Stop { .. }
        | HookAt::SubTurnStop { .. }
        | HookAt::Interrupt => false,
    };
    let denies = |recorded: &Recorded| {
        let Fact::HookDecided(decided) = &recorded.fact else {
            return false;
        };
        let verdict = settings.map(|settings| reading::counts_as(settings, decided));
        recorded.turn == at.turn
            && match verdict {
                Some(HookVerdict::Halt | HookVerdict::Overrun) => true,
                Some(HookVerdict::Deny) => reading::place(log, decided).is_some_and(asked),
                Some(
                    HookVerdict::Pass | HookVerdict::Allow | HookVerdict::Ask | HookVerdict::Failed,
                )
                | None => false,
            }
    };
    let mut before = log.iter().take_while(|recorded| recorded.seq < at.seq);
    hold(7, before.any(denies), || {
        format!(
            "{} blocks input {}, and no hook says so",
            at.seq, fact.input
        )
    })
}

fn settled(recorded: &Recorded, fact: &TurnSettled, waiting: &BTreeMap<InputId, Delivery>) -> Held {
    hold(7, fact.waiting.iter().eq(waiting.keys()), || {
        format!(
            "{} says that {:?} wait, and {waiting:?} do",
            recorded.seq, fact.waiting
        )
    })?;
    let completes = match fact.outcome {
        Outcome::Completed | Outcome::NoAnswer | Outcome::Refused => true,
        Outcome::Misshapen { .. }
        | Outcome::Interrupted { .. }
        | Outcome::Blocked { .. }
        | Outcome::Exhausted { .. }
        | Outcome::Failed { .. } => false,
    };
    let meant = waiting
        .values()
        .any(|delivery| *delivery == Delivery::Steer);
    hold(7, !(completes && meant), || {
        format!("{} completes over {waiting:?}", recorded.seq)
    })
}
