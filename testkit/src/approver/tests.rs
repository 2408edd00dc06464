//! The scripted approver answers by its script, or holds the question.

use std::time::Duration;

use windlass_core::{ApprovalReason, ArgumentsDigest, CallId, SessionId, TurnId};
use windlass_ports::{CancelSource, GrantOffer};

use super::*;
use crate::wait::within;

const LONG: Duration = Duration::from_secs(60);

fn question(tool: &str, cancel: &CancelSource) -> ApprovalRequest {
    ApprovalRequest {
        scope: Arc::new(Scope::local("somebody")),
        session: SessionId::new("s").unwrap(),
        turn: TurnId(3),
        call: CallId(6),
        name: tool.into(),
        arguments: "{}".into(),
        change: None,
        digest: ArgumentsDigest::without_sha256("{}"),
        reason: ApprovalReason::Permissions,
        earlier: None,
        offer: GrantOffer::Withheld { reason: String::new() },
        attempt: 1,
        deadline: None,
        cancel: cancel.signal(),
    }
}

#[test]
fn it_answers_by_its_function() {
    let approver = ScriptedApprover::answering(|request| match request.name.as_str() {
        "shell" => deny("no shell"),
        _ => allow(),
    });
    let cancel = CancelSource::default();
    let ask = |tool: &str| within(LONG, approver.ask(question(tool, &cancel))).unwrap();
    assert_eq!(ask("shell").unwrap(), deny("no shell"));
    assert_eq!(ask("read").unwrap(), allow());
    assert_eq!(approver.questions().len(), 2);
}

#[test]
fn it_holds_a_question_until_it_is_answered_once() {
    let approver = ScriptedApprover::holding();
    let cancel = CancelSource::default();
    let mut first = approver.ask(question("shell", &cancel));
    assert!(within(Duration::ZERO, &mut first).is_none());
    approver.answer(0, allow_with("{ }"));
    approver.answer(0, deny("too late"));
    assert_eq!(within(LONG, first).unwrap().unwrap(), allow_with("{ }"));

    let mut second = approver.ask(question("shell", &cancel));
    assert!(within(Duration::ZERO, &mut second).is_none());
    approver.fail(1, "nobody is here");
    within(LONG, second).unwrap().unwrap_err();

    let mut third = approver.ask(question("shell", &cancel));
    assert!(within(Duration::ZERO, &mut third).is_none());
    cancel.cancel();
    within(LONG, third).unwrap().unwrap_err();

    let ended: Vec<_> = approver.questions().iter().map(|q| q.ended).collect();
    let answered = Some(QuestionEnded::Answered);
    let cancelled = Some(QuestionEnded::Cancelled);
    assert_eq!(ended, [answered, Some(QuestionEnded::Failed), cancelled]);
}
