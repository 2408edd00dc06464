//! Questions: asks a session's open approvals at this terminal, and sends the answers to the
//! server. The first answer counts, here or elsewhere.

use std::collections::BTreeMap;
use std::sync::Arc;

use windlass_engine::core::{
    CallEntry, CallId, RecordedFact, Seq, TimelineEntry, TurnEntry, TurnId,
};
use windlass_engine::ports::{
    ApprovalDecision, ApprovalRequest, Approver as _, CancelSource, GrantOffer,
};

use super::client::{QuestionAnswer, RemoteSession, RequestFailure, ServerQuestion};
use crate::approver::TerminalApprover;
use crate::present::print_notice;

/// Open approvals of a session.
pub(super) struct Questions {
    session: Arc<RemoteSession>,
    terminal: Arc<TerminalApprover>,
    /// Approvals that are being asked here, with the positions of their `ApprovalAsked`.
    asked: BTreeMap<CallId, (Seq, CancelSource)>,
}

impl Questions {
    pub(super) fn new(far: Arc<RemoteSession>, posture: String) -> Self {
        Self {
            session: far,
            terminal: Arc::new(TerminalApprover::new(crate::command::me(), posture)),
            asked: BTreeMap::new(),
        }
    }

    /// Asks the approvals that are open already.
    pub(super) async fn ask_open(&mut self) -> Result<(), RequestFailure> {
        for open in self.session.open().await? {
            self.ask(open.call, open.asked);
        }
        Ok(())
    }

    /// Asks new approvals, and stops asking answered ones.
    pub(super) fn on_fact(&mut self, fact: &RecordedFact) {
        let entry = TimelineEntry::of(fact);
        if let TimelineEntry::Call(call, CallEntry::Asked(_)) = entry {
            self.ask(call, fact.seq);
        }
        if let TimelineEntry::Call(call, CallEntry::Answered(_) | CallEntry::Observed(_)) = entry {
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

    /// Asks about a call, unless this approval is being asked.
    fn ask(&mut self, call: CallId, asked: Seq) {
        if self.asked.get(&call).is_some_and(|(at, _)| *at >= asked) {
            return;
        }
        self.stop(call);
        let cancel = CancelSource::new();
        self.asked.insert(call, (asked, cancel.clone()));
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
