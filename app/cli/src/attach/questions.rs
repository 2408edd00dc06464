//! Questions: asks a session's open approvals and the model's own questions at this terminal, and
//! sends the answers to the server. The first answer counts, here or elsewhere.

use std::collections::BTreeMap;
use std::sync::Arc;

use windlass_engine::core::{
    CallEntry, CallId, RecordedFact, Seq, TimelineEntry, TurnEntry, TurnId,
};
use windlass_engine::ports::{
    ApprovalDecision, ApprovalRequest, Approver as _, CancelSource, GrantOffer,
};

use windlass_interaction::{ASK_USER_TOOL, Question};

use super::client::{QuestionAnswer, RemoteSession, RequestFailure, ServerQuestion};
use crate::approver::TerminalApprover;
use crate::present::print_notice;

/// Open approvals of a session.
pub(super) struct Questions {
    session: RemoteSession,
    terminal: Arc<TerminalApprover>,
    /// Position of the log before the questions of the beginning were read.
    known: Seq,
    /// Calls that are being asked about here, with the positions of the facts that ask.
    asked: BTreeMap<CallId, (Seq, CancelSource)>,
}

impl Questions {
    pub(super) fn new(far: RemoteSession, posture: String, known: Seq) -> Self {
        Self {
            session: far,
            known,
            terminal: Arc::new(TerminalApprover::new(crate::command::me(), posture)),
            asked: BTreeMap::new(),
        }
    }

    /// Asks what is open already.
    pub(super) async fn ask_open(&mut self) -> Result<(), RequestFailure> {
        for open in self.session.open().await? {
            self.ask(open.call, open.asked);
        }
        for open in self.session.client_calls().await? {
            self.ask_for_model(open.call);
        }
        Ok(())
    }

    /// Asks new questions, and stops asking answered ones.
    pub(super) fn on_fact(&mut self, fact: &RecordedFact) {
        // What these say is asked already, or was answered before.
        if fact.seq <= self.known {
            return;
        }
        let entry = TimelineEntry::of(fact);
        if let TimelineEntry::Call(call, CallEntry::Asked(_)) = entry {
            self.ask(call, fact.seq);
        }
        if let TimelineEntry::Call(call, CallEntry::Started(started)) = entry
            && started.client
        {
            self.ask_for_model(call);
        }
        if let TimelineEntry::Call(call, CallEntry::Suspended(fact)) = entry
            && fact.suspension.question.is_some()
        {
            // Asked already if it was open at the beginning.
            self.ask_for_model(call);
        }
        if let TimelineEntry::Call(
            call,
            CallEntry::Answered(_) | CallEntry::Resumed(_) | CallEntry::Observed(_),
        ) = entry
        {
            self.stop(call);
        }
        if let TimelineEntry::Turn(TurnEntry::Settled(_)) = entry {
            for (_, (_, cancel)) in std::mem::take(&mut self.asked) {
                cancel.cancel();
            }
        }
    }

    fn stop(&mut self, call: CallId) {
        if let Some((_, cancel)) = self.asked.remove(&call) {
            cancel.cancel();
        }
    }

    /// Begins to ask about a call for the fact at this position, unless that is being done.
    fn begin(&mut self, call: CallId, asked: Seq) -> Option<CancelSource> {
        if self.asked.get(&call).is_some_and(|(at, _)| *at >= asked) {
            return None;
        }
        self.stop(call);
        let cancel = CancelSource::new();
        self.asked.insert(call, (asked, cancel.clone()));
        Some(cancel)
    }

    /// Asks the model's question, if the call is one, unless that is being done. The call asks the same
    /// each time that it starts.
    fn ask_for_model(&mut self, call: CallId) {
        if self.asked.contains_key(&call) {
            return;
        }
        let cancel = CancelSource::new();
        self.asked.insert(call, (Seq(call.0), cancel.clone()));
        let (far, terminal) = (self.session.clone(), self.terminal.clone());
        tokio::spawn(async move {
            if let Err(trouble) = model_question(&far, &terminal, call, &cancel).await {
                print_notice(&format!("! cannot answer the model's question: {}", trouble.message));
            }
        });
    }

    /// Asks about an approval.
    fn ask(&mut self, call: CallId, asked: Seq) {
        let Some(cancel) = self.begin(call, asked) else {
            return;
        };
        let (far, terminal) = (self.session.clone(), self.terminal.clone());
        tokio::spawn(async move {
            let open = match far.open().await {
                Ok(open) => open,
                Err(trouble) => {
                    return print_notice(&format!(
                        "! cannot list the open questions: {}",
                        trouble.message
                    ));
                }
            };
            // An approval from the log may have been answered long ago.
            if let Some(open) = open.into_iter().find(|open| open.asked == asked) {
                one(&far, &terminal, open, &cancel).await;
            }
        });
    }
}

async fn one(
    far: &RemoteSession,
    terminal: &TerminalApprover,
    open: ServerQuestion,
    cancel: &CancelSource,
) {
    let request = ApprovalRequest {
        scope: Arc::new(crate::command::me()),
        session: far.id().clone(),
        turn: TurnId(0),
        call: open.call,
        name: open.tool.clone(),
        arguments: open.arguments.as_str().into(),
        change: open.change.clone(),
        digest: open.digest,
        reason: open.reason,
        earlier: open.earlier.as_deref().map(Arc::from),
        offer: match (&open.grant, &open.grant_withheld) {
            (Some(text), _) => GrantOffer::Offered { text: text.clone() },
            (None, why) => GrantOffer::Withheld {
                reason: why
                    .clone()
                    .unwrap_or_else(|| "the server remembers no approvals".to_owned()),
            },
        },
        attempt: open.attempt,
        deadline: open.deadline,
        cancel: cancel.signal(),
    };
    let said = match terminal.ask(request).await {
        Ok(approval) => match approval.answer {
            ApprovalDecision::Allow { arguments } => QuestionAnswer::Allow { arguments },
            ApprovalDecision::Grant { lifetime } => QuestionAnswer::Grant { lifetime },
            ApprovalDecision::Deny { reason } => QuestionAnswer::Deny { reason },
        },
        // It stays open for an answer from elsewhere.
        Err(_) if cancel.signal().is_cancelled() => return,
        Err(error) => {
            return print_notice(&format!("? cannot ask about {} here: {error}", open.tool));
        }
    };
    if let Err(trouble) = far.answer(&open, &said).await {
        print_notice(&format!(
            "! cannot answer the question about {}: {}",
            open.tool, trouble.message
        ));
    }
}

/// Asks a question of the model, if this call is one and still waits, and sends the answer.
async fn model_question(
    far: &RemoteSession,
    terminal: &TerminalApprover,
    call: CallId,
    cancel: &CancelSource,
) -> Result<(), RequestFailure> {
    let open = far.client_calls().await?;
    let asked = open.into_iter().find(|open| open.call == call && open.tool == ASK_USER_TOOL);
    let Some(Ok(question)) = asked.map(|asked| Question::parse(&asked.arguments)) else {
        return Ok(());
    };
    let answer = tokio::select! {
        biased;
        () = cancel.signal().cancelled() => return Ok(()),
        answer = terminal.ask_question(&question) => answer,
    };
    match answer {
        Ok(answer) => far.submit(call, &answer).await,
        // It stays open for an answer from elsewhere.
        Err(error) => {
            print_notice(&format!("? cannot ask the model's question here: {error}"));
            Ok(())
        }
    }
}
