//! Applies injected context.

use alloc::string::String;
use alloc::sync::Arc;

use super::{allowed, misfit, turn_of};
use crate::because::Because;
use crate::compaction::Part;
use crate::context;
use crate::error::Misfit;
use crate::fact::{ContextFact, ContextInjected, ContextSource};
use crate::gate::Word;
use crate::history;
use crate::id::Seq;
use crate::program::SampleKind;
use crate::record::Recorded;
use crate::session::{Session, Turn};
use crate::stage::{Opening, Ready, Stage, Transition};

/// Most names of lasting context that are remembered.
const TOLD: usize = 256;

pub(super) fn on_context(
    session: &mut Session,
    recorded: &Recorded,
    fact: ContextFact<'_>,
) -> Result<(), Misfit> {
    match fact {
        ContextFact::ContextInjected(fact) => on_injected(session, recorded, fact),
    }
}

fn on_injected(
    session: &mut Session,
    recorded: &Recorded,
    fact: &ContextInjected,
) -> Result<(), Misfit> {
    allowed(session, recorded, Transition::Inject)?;
    let part = match &fact.from {
        ContextSource::Workspace { text } => tell(session, history::WORKSPACE, text),
        ContextSource::Posture { text } => tell(session, history::POSTURE, text),
        ContextSource::Goal { text } => {
            let part = context::framed(&context::frame(history::GOAL, text));
            let in_force = session.goal.as_ref().map(|goal| goal.set);
            let turn = turn_of(session, recorded)?;
            let Some(Opening::Goal(set)) = turn.opening() else {
                return Err(misfit(recorded, "the turn is not opened for a goal"));
            };
            if in_force != Some(set) {
                return Err(misfit(recorded, "the turn is opened for another goal"));
            }
            turn.stage = Stage::Ready(Ready::because(Because::Goal { set }));
            part
        }
        ContextSource::LastSample { text } => {
            let turn = allowed(session, recorded, Transition::InjectLast)?;
            if turn.told_last || turn.next_kind() != SampleKind::MustReturn {
                return Err(misfit(
                    recorded,
                    "the next sample is not the last one for work",
                ));
            }
            turn.told_last = true;
            context::framed(&context::frame(history::LAST, text))
        }
        ContextSource::Shape { started, text } => {
            let part = context::framed(&context::frame(history::SHAPE, text));
            let turn = allowed(session, recorded, Transition::AskAgain(*started))?;
            turn.spent.returns = turn.spent.returns.saturating_add(1);
            let because = Because::RetryReturn { started: *started };
            turn.stage = Stage::Ready(Ready::because(because));
            part
        }
        ContextSource::Presenter { input, part } => {
            let queued = session.queue.iter().find(|queued| queued.id == *input);
            let index = usize::try_from(*part).unwrap_or(usize::MAX);
            let part = queued.and_then(|queued| queued.context.get(index));
            let part = part.ok_or_else(|| misfit(recorded, "no such context waits"))?;
            let (name, part) = (history::presenter_name(&part.from), part.part);
            remember(session, name, part);
            part
        }
        ContextSource::Hook { decided } => {
            let turn = turn_of(session, recorded)?;
            let pending = turn.pending.pop_front();
            let pending = pending.filter(|pending| pending.decided == *decided);
            let pending = pending.ok_or_else(|| misfit(recorded, "it is not the next context"))?;
            go_on(turn, *decided);
            pending.part
        }
    };
    session.shown = session.shown.with(part);
    Ok(())
}

/// A hook's answer to the model's answer, or to the end of the turn, has the model go on.
fn go_on(turn: &mut Turn, decided: Seq) {
    let denied = turn.gates.passed.iter().any(|passed| match &passed.word {
        Word::Deny { decided: by, .. } => *by == decided,
        Word::Pass | Word::Allow | Word::Ask => false,
    });
    if turn.stage.rules().concludes() && denied {
        turn.spent.continuations = turn.spent.continuations.saturating_add(1);
        turn.stage = Stage::Ready(Ready::because(Because::HookContext { decided }));
    }
}

fn tell(session: &mut Session, name: &str, text: &str) -> Part {
    let part = context::framed(&context::frame(name, text));
    remember(session, String::from(name), part);
    part
}

fn remember(session: &mut Session, name: String, part: Part) {
    let told = Arc::make_mut(&mut session.told);
    if told.len() >= TOLD && !told.contains_key(&name) {
        told.pop_first();
    }
    told.insert(name, part.digest);
}
