//! Approval effect: asks a person about one call, and reports the answer. Without a person to ask,
//! the system denies the call.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::time::timeout;
use windlass_core::{ApprovalAnswer, ArgumentsDigest, EffectKey, Input, Scope};
use windlass_ports::{
    Approval, ApprovalDecision, ApprovalRequest, Approver, ApproverError, ApproverErrorKind,
    CancelSource, FileChange, ToolCall, ToolExecutor,
};

use super::hook::REASON;
use super::{CancelOnDrop, EffectReporter, EffectSignals};
use crate::arguments::Checker;
use crate::capacity::{self, FactCapacity};

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
        let (tool, arguments) = (request.name.clone(), request.arguments.clone());
        let stop = CancelSource::new();
        request.cancel = stop.signal();
        let _told = CancelOnDrop(stop);
        let asked = async {
            request.change = preview(&*tools, &request.name, &request.arguments).await;
            approver.ask(request).await
        };
        let asked = AssertUnwindSafe(asked).catch_unwind();
        let Approval { by, answer } = match asked.await {
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

/// Returns the answer if no person answered.
pub(crate) fn denied(why: &str) -> (Scope, ApprovalAnswer) {
    let mut reason = why.to_owned();
    capacity::cut(&mut reason, REASON);
    (Scope::system(reason.clone()), ApprovalAnswer::Deny { reason })
}
