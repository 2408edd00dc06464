//! Answers to questions: decisions about calls, and texts for the model.

use windlass_engine::core::CallId;

use super::tools::AnswerArguments;
use crate::access::Right;
use crate::api::{
    ClientResult, Decision, DecisionRequest, RunRight, SessionAccess, decide, submit,
};
use crate::app::App;
use crate::problem::{Problem, ProblemCode};

/// Answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reply {
    /// The call may run.
    Allow,
    /// The call may not run, for this reason.
    Deny(Option<String>),
    /// Text for the model.
    Text(String),
    /// The person does not answer.
    Declined,
}

impl Reply {
    /// Reads the answer of a call of the tool.
    pub(super) fn of(arguments: &AnswerArguments) -> Result<Self, Problem> {
        let (decision, reason, text) =
            (arguments.decision, arguments.reason.clone(), arguments.text.clone());
        match (decision, reason, text) {
            (Some(Decision::Allow), None, None) => Ok(Self::Allow),
            (Some(Decision::Deny), reason, None) => Ok(Self::Deny(reason)),
            (None, None, Some(text)) => Ok(Self::Text(text)),
            (Some(_) | None, _, _) => Err(Problem::new(
                ProblemCode::Refused,
                "an answer has a decision (with a reason only to deny), or a text",
            )),
        }
    }
}

/// Answers an open question of a session.
pub(super) async fn answer(
    app: &App,
    seen: &SessionAccess<RunRight>,
    question: &str,
    reply: Reply,
) -> Result<(), Problem> {
    let approval = question.split_once('.');
    let number = approval.map_or(question, |(call, _)| call).parse();
    let call = number.map(CallId).map_err(|_| no_question())?;
    match approval {
        Some((_, digest)) => {
            seen.caller.require(Right::Approve)?;
            let (decision, reason) = match reply {
                Reply::Allow => (Decision::Allow, None),
                Reply::Deny(reason) => (Decision::Deny, reason),
                Reply::Declined => (Decision::Deny, Some("declined".to_owned())),
                Reply::Text(_) => return Err(mismatch("a decision: allow or deny")),
            };
            let digest = digest.to_owned();
            let word =
                DecisionRequest { decision, digest, reason, arguments: None, remember: None };
            decide(app, &seen.caller, (&seen.id, &*seen.first), (call, None), word).await?;
        }
        None => {
            let output = match reply {
                Reply::Text(text) => text,
                Reply::Declined => "The user declined to answer.".to_owned(),
                Reply::Allow | Reply::Deny(_) => return Err(mismatch("a text")),
            };
            submit(app, seen, call, ClientResult { output, failed: false }).await?;
        }
    }
    Ok(())
}

/// Returns true if a question is answered already, or never was open.
pub(super) fn is_over(problem: &Problem) -> bool {
    matches!(problem.code, ProblemCode::NotAsked | ProblemCode::NotAwaited | ProblemCode::NoCall)
}

fn no_question() -> Problem {
    let detail = "no question has this id: status shows those that are open";
    Problem::new(ProblemCode::NotAsked, detail)
}

fn mismatch(wanted: &str) -> Problem {
    Problem::new(ProblemCode::Refused, format!("the answer to this question is {wanted}"))
}
