//! Approver: asks the person at the terminal for approval of a call.
//!
//! It uses the terminal itself, even if standard input and output are redirected. Without a
//! terminal nobody can be asked, and the call is denied.

mod question;
mod terminal;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Mutex;
use windlass_engine::core::Scope;
use windlass_engine::ports::{
    Approval, ApprovalDecision, ApprovalRequest, Approver, ApproverError, LogStore,
};

use windlass_interaction::Question;

use crate::present::print_notice;
use question::{
    ANSWER, CallOrigin, TypedReply, denial_hint, format_model_question, format_question, keys,
    not_offered, parse_edit, parse_reply,
};
pub(crate) use terminal::Terminal;

/// Time for the engine to answer the next question by a grant that was just given.
const GRANT_WAIT: Duration = Duration::from_millis(200);
const EDIT: &str = "the arguments instead, as JSON on one line: ";

/// Asks at the terminal, one question after the other.
pub(crate) struct TerminalApprover {
    scope: Scope,
    /// Description of the calls' permissions.
    posture: String,
    /// Logs that name the agents of calls; `None` if only one session is watched.
    logs: Option<Arc<dyn LogStore>>,
    /// True to name the flag that allows a call which is denied without a terminal.
    hints: bool,
    /// Opened for the first question.
    terminal: Mutex<Option<Terminal>>,
    /// True if the latest answer gave a grant.
    granted: AtomicBool,
}

impl TerminalApprover {
    /// Creates an approver that answers as `me` and shows this posture.
    pub(crate) fn new(me: Scope, posture: String) -> Self {
        let (terminal, granted) = (Mutex::new(None), AtomicBool::new(false));
        Self { scope: me, posture, logs: None, hints: false, terminal, granted }
    }

    /// Asks at this terminal instead of the process's own.
    #[cfg(test)]
    fn at(self, terminal: Terminal) -> Self {
        Self { terminal: Mutex::new(Some(terminal)), ..self }
    }

    /// Adds the logs that name agents.
    pub(crate) fn with_agent_names(self, logs: Arc<dyn LogStore>) -> Self {
        Self { logs: Some(logs), ..self }
    }

    /// Names the flag that allows a call about which nobody can be asked.
    pub(crate) fn with_flag_hint(self) -> Self {
        Self { hints: true, ..self }
    }

    /// Returns the session or agent that wants to make the call.
    async fn asker(&self, request: &ApprovalRequest) -> CallOrigin {
        let Some(logs) = &self.logs else {
            return CallOrigin::Model;
        };
        match windlass_engine::child_session(logs.as_ref(), &request.session).await {
            Ok(None) => CallOrigin::Model,
            Ok(Some(sent)) => CallOrigin::Agent { name: sent.agent, session: sent.session },
            Err(_) => CallOrigin::Agent { name: String::new(), session: request.session.clone() },
        }
    }

    /// Waits for its turn, and asks: a person answers one question after the other.
    async fn ask_in_turn(
        &self,
        request: &ApprovalRequest,
    ) -> Result<ApprovalDecision, ApproverError> {
        let mut held = self.terminal.lock().await;
        if self.granted.swap(false, Ordering::SeqCst) {
            // If the grant covers this call too, the question is withdrawn before it is shown.
            tokio::time::sleep(GRANT_WAIT).await;
        }
        let answer = match opened(&mut held) {
            Ok(terminal) => self.converse(terminal, request).await,
            Err(error) => Err(error),
        };
        answer.map_err(|error| {
            // It gives no more answers; the next question opens it again.
            *held = None;
            if self.hints {
                print_notice(&denial_hint(&request.name, request.reason));
            }
            ApproverError::unavailable(format!("no terminal answers: {error}"))
        })
    }

    /// Asks what the model wants to know, and returns the answer. Cancel safe.
    ///
    /// # Errors
    /// When there is no terminal, or it fails.
    pub(crate) async fn ask_question(&self, question: &Question) -> io::Result<String> {
        let mut held = self.terminal.lock().await;
        let answer = match opened(&mut held) {
            Ok(terminal) => ask_until_answered(terminal, question).await,
            Err(error) => Err(error),
        };
        if answer.is_err() {
            *held = None;
        }
        answer
    }

    async fn converse(
        &self,
        terminal: &mut Terminal,
        request: &ApprovalRequest,
    ) -> io::Result<ApprovalDecision> {
        // Input typed before the question was shown does not answer it.
        terminal.discard_input();
        let mut words = format_question(request, &self.asker(request).await, &self.posture);
        let (offer, keys) = (&request.offer, keys(&request.offer));
        words.push_str(keys);
        loop {
            match parse_reply(&terminal.ask(words).await?, offer) {
                TypedReply::Grant(lifetime) => {
                    self.granted.store(true, Ordering::SeqCst);
                    return Ok(ApprovalDecision::Grant { lifetime });
                }
                TypedReply::NotOffered => words = format!("{}{keys}", not_offered(offer)),
                TypedReply::Allow => return Ok(ApprovalDecision::Allow { arguments: None }),
                TypedReply::Deny { reason } => return Ok(ApprovalDecision::Deny { reason }),
                TypedReply::Edit => match parse_edit(&terminal.ask(EDIT.to_owned()).await?) {
                    Ok(arguments) => {
                        let arguments = Some(arguments);
                        return Ok(ApprovalDecision::Allow { arguments });
                    }
                    Err(why) => words = format!("{why}\n{keys}"),
                },
                TypedReply::Nothing => words = keys.to_owned(),
            }
        }
    }
}

/// Returns the terminal, which is opened if it is not.
fn opened(held: &mut Option<Terminal>) -> io::Result<&mut Terminal> {
    Ok(match held {
        Some(terminal) => terminal,
        none => none.insert(Terminal::open()?),
    })
}

async fn ask_until_answered(terminal: &mut Terminal, question: &Question) -> io::Result<String> {
    terminal.discard_input();
    let mut words = format_model_question(question);
    loop {
        let typed = terminal.ask(words).await?;
        match question.answer(&typed) {
            Some(answer) => return Ok(answer.to_owned()),
            None => words = ANSWER.to_owned(),
        }
    }
}

#[async_trait]
impl Approver for TerminalApprover {
    async fn ask(&self, request: ApprovalRequest) -> Result<Approval, ApproverError> {
        let answer = tokio::select! {
            biased;
            () = request.cancel.cancelled() => {
                return Err(ApproverError::withdrawn());
            }
            answer = self.ask_in_turn(&request) => answer?,
        };
        Ok(Approval { by: self.scope.clone(), answer })
    }
}

#[cfg(test)]
mod tests;
