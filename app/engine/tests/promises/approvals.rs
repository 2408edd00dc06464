//! Approvals: a question outlives its process; the first answer counts, for exactly what it was
//! asked about.

use std::sync::Arc;

use serde_json::json;
use windlass_engine::core::{
    ApprovalAnswer, ArgumentsDigest, Edit, EffectClass, Fact, ObservationStatus, Permissions,
    Reject, Scope, TurnOutcome,
};
use windlass_engine::ports::{ExternalApprover, arguments_sha256};
use windlass_engine::{PendingApproval, SendError, SessionHandle};
use windlass_testkit::approver::{QuestionEnded, ScriptedApprover, allow, allow_with, deny};
use windlass_testkit::faulty::FaultyStore;
use windlass_testkit::provider::{ScriptedProvider, call, say};
use windlass_testkit::tools::{CounterTool, ScriptedTools};

use crate::world::{Cast, World, hello, me, soon, until};

struct Paying {
    world: World,
    counter: CounterTool,
}

fn paying(approver: impl windlass_engine::ports::Approver) -> Paying {
    let counter = CounterTool::new("pay", EffectClass::Effectful);
    let provider = ScriptedProvider::responding(|request| match request.prompt.items.len() {
        0..=2 => call("pay", json!({ "to": "somebody" })),
        _ => say("so be it"),
    });
    let cast = Cast {
        provider: Arc::new(provider),
        tools: Arc::new(ScriptedTools::new([counter.tool()])),
        ..Cast::new([], [])
    };
    let world = World::of(FaultyStore::new(), cast.approver(approver));
    let world = world.tuned(|settings| settings.permissions = Permissions::Ask);
    Paying { world, counter }
}

async fn pending(conversation: &SessionHandle) -> PendingApproval {
    let wait = async {
        loop {
            let mut pending = conversation.pending_approvals().await.unwrap();
            if let Some(one) = pending.pop() {
                assert_eq!(pending, []);
                return one;
            }
            tokio::time::sleep(crate::world::ms(1)).await;
        }
    };
    soon(wait).await
}

#[tokio::test(start_paused = true)]
async fn a_person_allows_edits_or_denies() {
    for (answer, runs, status, words) in [
        (allow(), 1, ObservationStatus::Done, ""),
        (deny("too dear"), 0, ObservationStatus::Denied, "too dear"),
        (allow_with(r#"["no object"]"#), 0, ObservationStatus::Failed, "object"),
    ] {
        let paying = paying(ScriptedApprover::answering(move |_| answer.clone()));
        let (report, _) = paying.world.turn().await;
        assert_eq!(report.outcome, TurnOutcome::Completed);
        let (_, observation) = paying.world.observation();
        assert_eq!(observation.status, status);
        assert!(observation.output.contains(words), "{observation:?}");
        assert_eq!(paying.counter.total(), runs);
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_to_ask_is_a_denial_by_the_system() {
    let panics = ScriptedApprover::answering(|_| panic!("a panic on purpose"));
    let holding = ScriptedApprover::holding();
    for (approver, word) in [(panics, "panicked"), (holding, "nobody is here")] {
        let paying = paying(approver.clone());
        let conversation = paying.world.open("s").await;
        let input = conversation.send(hello()).await.unwrap();
        if word != "panicked" {
            soon(approver.asked(0)).await;
            approver.fail(0, word);
        }
        soon(conversation.outcome(input)).await.unwrap();
        assert_eq!(paying.counter.total(), 0);
        let by = paying.world.picked(|fact| match fact {
            Fact::ApprovalAnswered(fact) => Some((*fact.by).clone()),
            _ => None,
        });
        let [Scope::System { reason }] = &*by else { panic!("{by:?}") };
        assert!(reason.contains(word), "{reason}");
        let (_, observation) = paying.world.observation();
        assert_eq!(observation.status, ObservationStatus::Denied);
        if word != "panicked" {
            let told = "Denied: this call needs a person's approval, and nobody can be asked \
                        (nobody is here). Do not try it again, in this form or another. Go on \
                        without it, and say in your answer what you left out and why.";
            assert_eq!(observation.output, told);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_that_is_open_when_the_process_dies_is_asked_again() {
    let approver = ScriptedApprover::holding();
    let paying = paying(approver.clone());
    let conversation = paying.world.open("s").await;
    let input = conversation.send(hello()).await.unwrap();
    let first = soon(approver.asked(0)).await;
    assert_eq!((first.attempt, &*first.arguments), (1, r#"{"to":"somebody"}"#));

    let next = paying.world.next_process();
    let resumed = next.open("s").await;
    let again = soon(approver.asked(1)).await;
    assert_eq!((again.attempt, again.call), (2, first.call));
    assert_eq!((again.deadline, again.digest), (first.deadline, first.digest));
    assert_eq!(paying.counter.total(), 0);
    approver.answer(1, allow());
    let report = soon(resumed.outcome(input)).await.unwrap();
    assert_eq!((report.outcome, &*report.answer), (TurnOutcome::Completed, "so be it"));
    assert_eq!(paying.counter.total(), 1, "the tool ran once");
}

#[tokio::test(start_paused = true)]
async fn whoever_asks_later_finds_the_question_and_answers_it() {
    let paying = paying(ExternalApprover);
    let conversation = paying.world.open("s").await;
    let input = conversation.send(hello()).await.unwrap();
    pending(&conversation).await;
    drop(conversation);

    let next = paying.world.next_process();
    let conversation = next.open("s").await;
    let one = pending(&conversation).await;
    assert_eq!((one.tool.as_str(), &*one.arguments), ("pay", r#"{"to":"somebody"}"#));
    assert_eq!(one.attempt, 2);
    let say = async |scope: Scope, digest, answer| {
        conversation.answer(one.call, scope, digest, answer).await
    };
    let allowed = || ApprovalAnswer::Allow { edit: None };
    let sha256 = arguments_sha256(r#"{"to":"somebody"}"#);
    assert_eq!(one.digest, ArgumentsDigest::Sha256(sha256));
    let other = ArgumentsDigest::without_sha256(r#"{"to":"somebody"}"#);
    let refused = say(me(), other, allowed()).await;
    let other = Reject::ArgumentsMismatch(one.call);
    assert!(matches!(refused, Err(SendError::Rejected(why)) if why == other));
    let stranger = Scope::Principal {
        tenant: "another".into(),
        principal: "tester".into(),
        claims: Default::default(),
    };
    let refused = say(stranger, one.digest, allowed()).await;
    let foreign = Reject::OutOfScope;
    assert!(matches!(refused, Err(SendError::Rejected(why)) if why == foreign));
    assert_eq!(paying.counter.total(), 0);
    // What the caller says of its own edit does not count.
    let edit = Some(Edit {
        text: r#"{"to":"nobody"}"#.into(),
        fault: Some("it is broken".into()),
        rules: vec![7],
        possible_rules: Vec::new(),
        outside_sandbox: false,
        sha256: None,
    });
    say(me(), one.digest, ApprovalAnswer::Allow { edit }).await.unwrap();
    let refused = say(me(), one.digest, allowed()).await;
    let late = Reject::NoOpenQuestion(one.call);
    assert!(matches!(refused, Err(SendError::Rejected(why)) if why == late));
    let report = soon(conversation.outcome(input)).await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed);
    assert_eq!(paying.counter.total(), 1);
    let edits = next.picked(|fact| match fact {
        Fact::ApprovalAnswered(fact) => fact.edit.clone(),
        _ => None,
    });
    assert_eq!(edits.len(), 1);
    assert_eq!((&edits[0].fault, edits[0].rules.len()), (&None, 0));
    assert_eq!(edits[0].sha256, Some(arguments_sha256(&edits[0].text)));
}

#[tokio::test(start_paused = true)]
async fn an_approver_is_told_when_somebody_else_has_answered() {
    let approver = ScriptedApprover::holding();
    let paying = paying(approver.clone());
    let conversation = paying.world.open("s").await;
    conversation.send(hello()).await.unwrap();
    let asked = soon(approver.asked(0)).await;
    let answer = ApprovalAnswer::Deny { reason: "no".into() };
    conversation.answer(asked.call, me(), asked.digest, answer).await.unwrap();
    let ended = soon(approver.ended(0)).await;
    assert_ne!(ended, QuestionEnded::Answered);
    until(|| paying.world.kinds().last() == Some(&"TurnSettled")).await;
    assert_eq!(paying.counter.total(), 0);
}
