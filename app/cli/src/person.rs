//! Person: puts the model's questions to the person at the terminal, and returns the answers.

use std::collections::BTreeMap;
use std::sync::Arc;

use windlass_engine::core::{CallEntry, CallId, CallProgress, Seq, Session, TimelineEntry, View};
use windlass_engine::ports::CancelSource;
use windlass_engine::{AwaitedCall, Event, SendError, SessionCommand, SessionHandle};
use windlass_interaction::{ASK_USER_TOOL, Question};

use crate::approver::TerminalApprover;
use crate::present::print_notice;

/// Result of a question that nobody can be asked.
const NOBODY: &str = "Nobody can be asked: the command has no terminal. Decide without the user, or \
                      name in your answer what you need to know.";

/// Questions of a session's model to the person at the terminal.
pub(crate) struct PersonAnswers {
    session: SessionHandle,
    terminal: Arc<TerminalApprover>,
    view: View,
    /// Position behind the facts that the questions of the beginning were read from.
    next: Seq,
    asked: BTreeMap<CallId, CancelSource>,
}

impl PersonAnswers {
    /// Creates the answers of a session, and asks its open questions.
    pub(crate) fn new(
        session: &SessionHandle,
        terminal: Arc<TerminalApprover>,
        (open, next): (Vec<AwaitedCall>, Seq),
    ) -> Self {
        let (session, view) = (session.clone(), View::default());
        let mut answers = Self { session, terminal, view, next, asked: BTreeMap::new() };
        for call in open.into_iter().filter(|call| call.tool == ASK_USER_TOOL) {
            answers.ask(call.call, &call.arguments);
        }
        answers
    }

    /// Asks new questions, and stops asking answered ones.
    pub(crate) fn on_event(&mut self, event: &Event) {
        let Event::Fact(fact) = event else {
            return;
        };
        let entry = self.view.apply(fact);
        // What these say is asked already, or was answered long ago.
        if fact.seq < self.next {
            return;
        }
        let TimelineEntry::Call(id, entry) = entry else {
            return;
        };
        match entry {
            CallEntry::Started(started) if started.client => {
                let call = self.view.turn().and_then(|turn| turn.sample.find(id));
                let asks = call.filter(|call| call.item.name == ASK_USER_TOOL);
                let arguments = asks.map(|call| call.arguments().to_owned());
                if let Some(arguments) = arguments {
                    self.ask(id, &arguments);
                }
            }
            CallEntry::Suspended(_) => {
                let call = self.view.turn().and_then(|turn| turn.sample.find(id));
                let asked =
                    call.and_then(|call| Some(call.user_question()?.asked_by(&call.item.name)));
                // Its tool may have asked something else before.
                self.stop(id);
                if let Some(arguments) = asked.and_then(|asked| serde_json::to_string(&asked).ok())
                {
                    self.ask(id, &arguments);
                }
            }
            CallEntry::Resumed(_) | CallEntry::Observed(_) => self.stop(id),
            CallEntry::Proposed(..)
            | CallEntry::Decided(_)
            | CallEntry::Asked(_)
            | CallEntry::Answered(_)
            | CallEntry::Started(_)
            | CallEntry::Reconciling => {}
        }
    }

    fn stop(&mut self, call: CallId) {
        if let Some(cancel) = self.asked.remove(&call) {
            cancel.cancel();
        }
    }

    fn ask(&mut self, call: CallId, arguments: &str) {
        if self.asked.contains_key(&call) {
            return;
        }
        let cancel = CancelSource::new();
        self.asked.insert(call, cancel.clone());
        let (session, terminal) = (self.session.clone(), self.terminal.clone());
        let question = Question::parse(arguments);
        tokio::spawn(async move {
            // A log that is read again has questions that were answered long ago.
            if !session.state().await.is_ok_and(|state| is_awaited(&state, call)) {
                return;
            }
            let (output, failed) = match question {
                Err(error) => (error.to_string(), true),
                Ok(question) => tokio::select! {
                    biased;
                    () = cancel.signal().cancelled() => return,
                    answer = terminal.ask_question(&question) => match answer {
                        Ok(answer) => (answer, false),
                        Err(_) => (NOBODY.to_owned(), true),
                    },
                },
            };
            let result = SessionCommand::SubmitResult { call, output, failed };
            match session.execute(result, crate::command::me(), None).await {
                // Answered elsewhere meanwhile, or the turn has ended.
                Ok(_) | Err(SendError::Rejected(_)) => {}
                Err(error) => print_notice(&format!("! the answer did not count: {error}")),
            }
        });
    }
}

impl Drop for PersonAnswers {
    fn drop(&mut self) {
        for cancel in self.asked.values() {
            cancel.cancel();
        }
    }
}

fn is_awaited(session: &Session, id: CallId) -> bool {
    let mut calls = session.turn().into_iter().flat_map(|turn| turn.calls().iter());
    calls.any(|call| call.id == id && matches!(call.progress, CallProgress::AwaitingResult { .. }))
}
