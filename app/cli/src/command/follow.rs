//! Following: sends an input, or finds an unfinished turn, and follows the turn to its end.

use std::sync::Arc;

use windlass_engine::core::{ContextPart, Goal, Phase, Seq, Session, Settings, TurnId, View};
use windlass_engine::{AwaitedTurn, Event, NewInput, SessionHandle, TurnReport};

use super::turn::{TurnRequest, TurnTask};
use crate::exit::{ExitKind, Failure};
use crate::person::PersonAnswers;
use crate::present::Presenter;
use crate::signals::Signals;
use crate::watch::TurnWatch;
use crate::wiring;

/// Open session with the task to perform in it.
pub(super) struct TurnFollower<'a> {
    pub(super) task: &'a TurnTask<'a>,
    pub(super) session: &'a SessionHandle,
    /// Settings of turns that open from now on.
    pub(super) settings: &'a Settings,
    /// The session as loaded from its log, if it existed.
    pub(super) recorded: Option<&'a Session>,
    /// True if the last turn leaves the conversation before the prompt is sent.
    pub(super) rewinds: bool,
    /// Context for the model beside a prompt.
    pub(super) context: Vec<ContextPart>,
    pub(super) images: Vec<Vec<u8>>,
    /// Answers to the model's questions.
    pub(super) person: PersonAnswers,
}

impl TurnFollower<'_> {
    /// Sends the prompt, or finds the unfinished turn, and follows it.
    pub(super) async fn run(
        self,
        prompt: Option<String>,
        signals: &mut Signals,
        present: &mut dyn Presenter,
    ) -> Result<ExitKind, Failure> {
        let session = self.session;
        if self.recorded.is_some() {
            let widening = wiring::widening(&self.task.settings);
            session.configure(self.settings.clone(), super::me(), widening).await?;
        }
        // A goal applies as long as the session has it.
        let had = self.recorded.is_some_and(|session| session.goal.is_some());
        let goal = self.goal().await? || (had && !self.task.input.no_goal);
        if let TurnRequest::Compaction(focus) = &self.task.request {
            let events = session.subscribe(None);
            let request = session.compact(focus.clone(), super::me()).await?;
            let turn = session.follow(events, AwaitedTurn::Compaction(request));
            let person = self.person;
            return TurnWatch { session, turn, signals, goal, person }.run(present).await;
        }
        let turn = match prompt {
            Some(text) => {
                let before = self.recorded.and_then(|session| session.position_before_turns(1));
                if let Some(to) = before.filter(|_| self.rewinds) {
                    session.rewind(to, super::me()).await?;
                }
                // Subscribed before sending, so that no delta is missed.
                let from = match self.recorded {
                    Some(_) => None,
                    None => Some(Seq::ZERO),
                };
                let events = session.subscribe(from);
                let input = NewInput::new(super::me(), text).with(|it| {
                    it.context = self.context;
                    it.images = self.images;
                    it.dry_run = self.task.dry_run;
                });
                let input = session.send(input);
                session.follow(events, input.await?)
            }
            None => match unfinished(session).await? {
                Some(turn) => {
                    let before = Seq(turn.0.saturating_sub(1));
                    session.follow(session.subscribe(Some(before)), turn)
                }
                None => return last(session, present).await,
            },
        };
        let watch = TurnWatch { session, turn, signals, goal, person: self.person };
        watch.run(present).await
    }

    /// Sets or removes the goal as the command requests. Returns true if it set one.
    async fn goal(&self) -> Result<bool, Failure> {
        let asked = &self.task.input;
        let goal = asked
            .goal
            .as_ref()
            .map(|text| Goal { text: text.as_str().into(), turns: asked.goal_turns });
        let sets = goal.is_some();
        if sets || asked.no_goal {
            self.session.set_goal(goal, super::me()).await?;
        }
        Ok(sets)
    }
}

/// Returns the running turn, or the one that opens now for a waiting input.
async fn unfinished(session: &SessionHandle) -> Result<Option<TurnId>, Failure> {
    let state = session.state().await?;
    if let Phase::InTurn(turn) = &state.phase {
        return Ok(Some(turn.id));
    }
    if state.queue.is_empty() && state.compaction.is_none() {
        return Ok(None);
    }
    session.resume().await?;
    let state = session.state().await?;
    Ok(state.turn().map(|turn| turn.id))
}

/// Shows the last turn's end again, since nothing is left to do.
///
/// The end may have been decided a moment ago, so this waits for the log.
async fn last(session: &SessionHandle, present: &mut dyn Presenter) -> Result<ExitKind, Failure> {
    session.flush().await.map_err(|ended| Failure::from(&*ended))?;
    let mut after = Seq::ZERO;
    let (mut view, mut report) = (View::default(), None);
    loop {
        let facts = session.history(after, 1_000).await?;
        let Some(end) = facts.last().map(|fact| fact.seq) else {
            break;
        };
        after = end;
        for fact in facts {
            report = TurnReport::apply(&mut view, &Arc::new(fact)).or(report);
        }
    }
    let Some(report) = report else {
        return Err(Failure::usage(format!(
            "session {} has no turn yet: give it a prompt",
            session.id()
        )));
    };
    present
        .event(&Event::Fact(report.settled.clone().into()))
        .and_then(|()| present.settled(&report))
        .map_err(super::closed)?;
    Ok(ExitKind::of(&report.outcome))
}
