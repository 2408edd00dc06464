//! Approval effect: asks a person about one call, and reports the answer. Without a person to ask,
//! the system denies the call.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::time::timeout;
use windlass_core::{ApprovalAnswer, ApprovalGrant, ArgumentsDigest, EffectKey, Input, Scope};
use windlass_ports::{
    Approval, ApprovalDecision, ApprovalRequest, Approver, ApproverError, ApproverErrorKind,
    CancelSource, Clock, FileChange, GrantedCalls, ToolCall, ToolExecutor,
};

use super::hook::REASON;
use super::{CancelOnDrop, EffectReporter, EffectSignals};
use crate::arguments::Checker;
use crate::capacity::{self, FactCapacity};
use crate::grants::{GrantBook, GrantQuery};

/// Longest wait for the preview of a call.
const PREVIEW: Duration = Duration::from_secs(1);

/// Context of an approval effect.
pub(crate) struct ApprovalEffect {
    pub(crate) key: EffectKey,
    pub(crate) request: ApprovalRequest,
    /// Digest of the arguments, as the log states it.
    pub(crate) recorded: ArgumentsDigest,
    pub(crate) approver: Arc<dyn Approver>,
    pub(crate) tools: Arc<dyn ToolExecutor>,
    pub(crate) checker: Arc<Checker>,
    /// Calls that a grant about this one would cover.
    pub(crate) covers: Option<GrantedCalls>,
    pub(crate) workspace: Option<Arc<str>>,
    pub(crate) grants: GrantBook,
    /// True if grants may answer: this process recorded the call and all that was decided on it.
    pub(crate) grants_answer: bool,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) size: FactCapacity,
}

impl ApprovalEffect {
    /// Runs to the final report. The core limits its time.
    pub(crate) async fn run(self, voice: EffectReporter, signals: EffectSignals) {
        let key = self.key;
        let (scope, answer) = tokio::select! {
            biased;
            () = signals.cancel.cancelled() => denied("nobody needs the answer any more"),
            answered = self.answer() => answered,
        };
        voice.send(vec![Input::ApproverAnswered { key, scope, answer }], true).await;
    }

    async fn answer(self) -> (Scope, ApprovalAnswer) {
        let Self { mut request, recorded, approver, tools, checker, size, .. } = self;
        if request.digest != recorded {
            return denied(FORGED);
        }
        let query = GrantQuery {
            session: request.session.clone(),
            workspace: self.workspace,
            tool: request.name.clone(),
            arguments: request.arguments.clone(),
        };
        let changes = self.grants.changes();
        let answers = self.grants_answer && request.reason.permits_grants();
        if answers && let Some(grant) = self.grants.covering(&query, &checker).await {
            return granted(grant);
        }
        let (tool, arguments) = (request.name.clone(), request.arguments.clone());
        let stop = CancelSource::new();
        request.cancel = stop.signal();
        let _told = CancelOnDrop(stop);
        let asked = async {
            request.change = preview(&*tools, &request.name, &request.arguments).await;
            approver.ask(request).await
        };
        let asked = AssertUnwindSafe(asked).catch_unwind();
        let asked = tokio::select! {
            biased;
            asked = asked => asked,
            grant = self.grants.wait_covered(changes, &query, &checker), if answers => {
                return granted(grant);
            }
        };
        let Approval { by, answer } = match asked {
            Ok(Ok(approval)) => approval,
            Ok(Err(error)) => return unanswered(&error),
            Err(_) => return denied(PANICKED),
        };
        match answer {
            ApprovalDecision::Deny { mut reason } => {
                capacity::cut(&mut reason, REASON);
                (by, ApprovalAnswer::Deny { reason })
            }
            ApprovalDecision::Allow { arguments: edited } => {
                let edited = edited.filter(|edited| **edited != *arguments);
                if edited.as_ref().is_some_and(|text| !size.fits(&[text])) {
                    return denied("the edited arguments are larger than the store takes");
                }
                let edit = edited.map(|text| checker.edit(&tool, text.into()));
                (by, ApprovalAnswer::Allow { edit })
            }
            ApprovalDecision::Grant { lifetime } => {
                let Some(calls) = self.covers else {
                    return (by, ApprovalAnswer::Allow { edit: None });
                };
                let text = calls.to_string();
                match self.grants.add(&query, lifetime, calls, self.clock.now()).await {
                    Ok(_) => {
                        self.grants.announce();
                        let grant = ApprovalGrant { used: false, lifetime, text };
                        (by, ApprovalAnswer::Granted { grant })
                    }
                    Err(error) => {
                        tracing::error!(session = %query.session, %error, "allowed once");
                        (by, ApprovalAnswer::Allow { edit: None })
                    }
                }
            }
        }
    }
}

/// Reason for a denial of a call about which nobody is asked: its log does not tell the truth.
const FORGED: &str = "the log states the digest of other arguments for this call";

/// Returns what a call would change in a file, if its tool tells soon.
pub(crate) async fn preview(
    tools: &dyn ToolExecutor,
    tool: &str,
    arguments: &str,
) -> Option<FileChange> {
    let call = ToolCall { name: tool.to_owned(), arguments: arguments.to_owned() };
    timeout(PREVIEW, tools.preview(&call)).await.ok().flatten()
}

/// Reason for a denial after the approver panicked.
pub(crate) const PANICKED: &str = "the approver panicked: this is a defect of its adapter";

/// Returns the denial of a call that nobody can be asked about, with what the model should do.
fn unanswered(error: &ApproverError) -> (Scope, ApprovalAnswer) {
    match error.kind {
        ApproverErrorKind::Unavailable => {
            let mut why = error.to_string();
            capacity::cut(&mut why, REASON / 2);
            let reason = format!(
                "Denied: this call needs a person's approval, and nobody can be asked ({why}). Do \
                 not try it again, in this form or another. Go on without it, and say in your \
                 answer what you left out and why."
            );
            (Scope::system(why), ApprovalAnswer::Deny { reason })
        }
        ApproverErrorKind::Withdrawn => denied(&error.to_string()),
    }
}

/// Returns the answer of a grant.
fn granted(grant: ApprovalGrant) -> (Scope, ApprovalAnswer) {
    (Scope::system("an approval grant of the user"), ApprovalAnswer::Granted { grant })
}

/// Returns the answer if no person answered.
pub(crate) fn denied(why: &str) -> (Scope, ApprovalAnswer) {
    let mut reason = why.to_owned();
    capacity::cut(&mut reason, REASON);
    (Scope::system(reason.clone()), ApprovalAnswer::Deny { reason })
}
