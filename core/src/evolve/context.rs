//! Applies injected context.

use alloc::string::String;
use alloc::sync::Arc;

use super::{allowed, invalid_fact, turn_of};
use crate::compaction::ItemFingerprint;
use crate::context;
use crate::error::InvalidFact;
use crate::fact::{ContextFact, ContextInjected, ContextSource};
use crate::history;
use crate::hook_rounds::CombinedVerdict;
use crate::id::Seq;
use crate::program::SampleKind;
use crate::reason::Reason;
use crate::record::RecordedFact;
use crate::session::{Session, Turn};
use crate::stage::{Ready, Stage, Transition, TurnOpening};

/// Most names of lasting context to remember.
const MAX_KNOWN_CONTEXT: usize = 256;

pub(super) fn on_context(
    session: &mut Session,
    recorded: &RecordedFact,
    fact: ContextFact<'_>,
) -> Result<(), InvalidFact> {
    match fact {
        ContextFact::ContextInjected(fact) => on_injected(session, recorded, fact),
    }
}

fn on_injected(
    session: &mut Session,
    recorded: &RecordedFact,
    fact: &ContextInjected,
) -> Result<(), InvalidFact> {
    allowed(session, recorded, Transition::Inject)?;
    let at = recorded.seq;
    let part = match &fact.from {
        ContextSource::Workspace { text } => record_context(session, at, history::WORKSPACE, text),
        ContextSource::Permissions { text } => {
            record_context(session, at, history::PERMISSIONS, text)
        }
        ContextSource::Goal { text } => {
            let part = context::framed(&context::frame(history::GOAL, text));
            let in_force = session.goal.as_ref().map(|goal| goal.set);
            let turn = turn_of(session, recorded)?;
            let Some(TurnOpening::Goal(set)) = turn.opening() else {
                return Err(invalid_fact(recorded, "the turn is not opened for a goal"));
            };
            if in_force != Some(set) {
                return Err(invalid_fact(recorded, "the turn is opened for another goal"));
            }
            turn.stage = Stage::Ready(Ready::for_reason(Reason::Goal { set }));
            part
        }
        ContextSource::LastSample { text } => {
            let turn = allowed(session, recorded, Transition::InjectLast)?;
            if turn.announced_last || turn.next_kind() != SampleKind::MustReturn {
                return Err(invalid_fact(recorded, "the next sample is not the last one for work"));
            }
            turn.announced_last = true;
            context::framed(&context::frame(history::LAST_SAMPLE, text))
        }
        ContextSource::InvalidOutput { started, text } => {
            let part = context::framed(&context::frame(history::INVALID_OUTPUT, text));
            let turn = allowed(session, recorded, Transition::AskAgain(*started))?;
            turn.spent.re_asks = turn.spent.re_asks.saturating_add(1);
            let because = Reason::InvalidOutput { started: *started };
            turn.stage = Stage::Ready(Ready::for_reason(because));
            part
        }
        ContextSource::EmptyAnswer { started, text } => {
            let part = context::framed(&context::frame(history::EMPTY_ANSWER, text));
            let turn = allowed(session, recorded, Transition::AskAfterEmpty(*started))?;
            turn.empty_answers = turn.empty_answers.saturating_add(1);
            let reason = Reason::EmptyAnswer { started: *started };
            turn.stage = Stage::Ready(Ready::for_reason(reason));
            part
        }
        ContextSource::Presenter { input, part } => {
            let queued = session.queue.iter().find(|queued| queued.id == *input);
            let index = usize::try_from(*part).unwrap_or(usize::MAX);
            let part = queued.and_then(|queued| queued.context.get(index));
            let part = part.ok_or_else(|| invalid_fact(recorded, "no such context waits"))?;
            let (name, part) = (history::presenter_name(&part.from), part.text);
            remember(session, at, name, part);
            part
        }
        ContextSource::Hook { decided } => {
            let turn = turn_of(session, recorded)?;
            let pending = turn.pending.pop_front();
            let pending = pending.filter(|pending| pending.decided == *decided);
            let pending =
                pending.ok_or_else(|| invalid_fact(recorded, "it is not the next context"))?;
            continue_turn(turn, *decided);
            pending.text
        }
    };
    session.visible = session.visible.with(part);
    Ok(())
}

/// A denial of the answer, or of the turn's end, makes the model continue.
fn continue_turn(turn: &mut Turn, decided: Seq) {
    let denied = turn.hook_rounds.finished.iter().any(|passed| match &passed.verdict {
        CombinedVerdict::Deny { decided: by, .. } => *by == decided,
        CombinedVerdict::Pass | CombinedVerdict::Allow | CombinedVerdict::Ask => false,
    });
    if turn.stage.rules().concludes() && denied {
        turn.spent.continuations = turn.spent.continuations.saturating_add(1);
        turn.stage = Stage::Ready(Ready::for_reason(Reason::HookContext { decided }));
    }
}

fn record_context(session: &mut Session, at: Seq, name: &str, text: &str) -> ItemFingerprint {
    let part = context::framed(&context::frame(name, text));
    remember(session, at, String::from(name), part);
    part
}

fn remember(session: &mut Session, at: Seq, name: String, part: ItemFingerprint) {
    let told = Arc::make_mut(&mut session.known_context);
    if told.len() >= MAX_KNOWN_CONTEXT
        && !told.contains_key(&name)
        && let Some((evicted, digest)) = told.pop_first()
    {
        Arc::make_mut(&mut session.rewind).note_context(at, &evicted, Some(digest));
    }
    let before = told.insert(name.clone(), part.digest);
    Arc::make_mut(&mut session.rewind).note_context(at, &name, before);
}
