//! An approver that answers from a script, or holds its questions until a test answers them.

pub mod suite;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use windlass_core::Scope;
use windlass_ports::{Approval, ApprovalDecision, ApprovalRequest, Approver, ApproverError};

use crate::ledger::Ledger;

/// A scripted approver. Clones are the same approver.
///
/// ```
/// use windlass_testkit::approver::{ScriptedApprover, allow, deny};
///
/// let approver = ScriptedApprover::answering(|request| match request.name.as_str() {
///     "shell" => deny("no shell"),
///     _ => allow(),
/// });
/// assert!(approver.questions().is_empty());
/// ```
#[derive(Clone)]
pub struct ScriptedApprover {
    answer: Option<Arc<Function>>,
    questions: Arc<Ledger<Question>>,
}

type Function = dyn Fn(&ApprovalRequest) -> Approval + Send + Sync;

/// A question that the approver was asked.
#[derive(Debug, Clone)]
pub struct Question {
    /// The question.
    pub request: ApprovalRequest,
    /// What the test answers, once it has.
    answer: Option<Result<Approval, String>>,
    /// How it ended, once it has.
    pub ended: Option<QuestionEnded>,
}

/// How a question ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionEnded {
    /// It was answered.
    Answered,
    /// Nobody could be asked.
    Failed,
    /// Its signal was cancelled.
    Cancelled,
    /// The caller dropped it first.
    Dropped,
}

impl ScriptedApprover {
    /// Answers each question by a function.
    #[must_use]
    pub fn answering(
        function: impl Fn(&ApprovalRequest) -> Approval + Send + Sync + 'static,
    ) -> Self {
        Self { answer: Some(Arc::new(function)), questions: Arc::default() }
    }

    /// Holds each question until [`ScriptedApprover::answer`] or [`ScriptedApprover::fail`].
    #[must_use]
    pub fn holding() -> Self {
        Self { answer: None, questions: Arc::default() }
    }

    /// The questions so far, in the order in which they were asked.
    #[must_use]
    pub fn questions(&self) -> Vec<Question> {
        self.questions.snapshot()
    }

    /// Waits until question `index`, from 0, was asked.
    pub async fn asked(&self, index: usize) -> ApprovalRequest {
        self.questions.until(|all| Some(all.get(index)?.request.clone())).await
    }

    /// Waits until question `index`, from 0, has ended.
    pub async fn ended(&self, index: usize) -> QuestionEnded {
        self.questions.until(|all| all.get(index)?.ended).await
    }

    /// Answers question `index`, from 0, which was asked and is held. The first answer counts.
    pub fn answer(&self, index: usize, approval: Approval) {
        self.give(index, Ok(approval));
    }

    /// Lets question `index`, from 0, fail: nobody can be asked.
    pub fn fail(&self, index: usize, why: impl Into<String>) {
        self.give(index, Err(why.into()));
    }

    fn give(&self, index: usize, answer: Result<Approval, String>) {
        self.questions.update(index, |question| {
            question.answer.get_or_insert(answer);
        });
    }

    async fn wait(&self, index: usize) -> Result<Approval, String> {
        let answered = |all: &[Question]| all.get(index)?.answer.clone();
        self.questions.until(answered).await
    }
}

#[async_trait]
impl Approver for ScriptedApprover {
    async fn ask(&self, request: ApprovalRequest) -> Result<Approval, ApproverError> {
        let index =
            self.questions.push(Question { request: request.clone(), answer: None, ended: None });
        let mut ending = Ending { questions: self.questions.clone(), index, open: true };
        let answer = async {
            match &self.answer {
                Some(function) => Ok(function(&request)),
                None => self.wait(index).await,
            }
        };
        let answer = tokio::select! {
            biased;
            () = request.cancel.cancelled() => {
                ending.set(QuestionEnded::Cancelled);
                return Err(ApproverError::withdrawn());
            }
            answer = answer => answer,
        };
        ending.set(match answer {
            Ok(_) => QuestionEnded::Answered,
            Err(_) => QuestionEnded::Failed,
        });
        answer.map_err(ApproverError::unavailable)
    }
}

impl fmt::Debug for ScriptedApprover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedApprover").finish_non_exhaustive()
    }
}

/// A person named `approver` allows it.
#[must_use]
pub fn allow() -> Approval {
    said(ApprovalDecision::Allow { arguments: None })
}

/// A person named `approver` allows it with these arguments instead.
#[must_use]
pub fn allow_with(arguments: impl Into<String>) -> Approval {
    let arguments = Some(arguments.into());
    said(ApprovalDecision::Allow { arguments })
}

/// A person named `approver` denies it.
#[must_use]
pub fn deny(reason: impl Into<String>) -> Approval {
    let reason = reason.into();
    said(ApprovalDecision::Deny { reason })
}

fn said(answer: ApprovalDecision) -> Approval {
    let by = Scope::local("approver");
    Approval { by, answer }
}

/// Writes down how a question ended; dropped before that, it was dropped.
struct Ending {
    questions: Arc<Ledger<Question>>,
    index: usize,
    open: bool,
}

impl Ending {
    fn set(&mut self, ended: QuestionEnded) {
        if std::mem::replace(&mut self.open, false) {
            self.questions.update(self.index, |question| question.ended = Some(ended));
        }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.set(QuestionEnded::Dropped);
    }
}

#[cfg(test)]
mod suite_tests;
#[cfg(test)]
mod tests;
