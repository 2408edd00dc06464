//! What is said at a node that does not drive the session is done by the one that does.

use serde_json::json;
use windlass_engine::core::{
    ApprovalAnswer, EffectClass, Fact, Goal, InputId, InterruptSource, Reject, Scope, StopTiming,
    TurnId, TurnOutcome, Widening,
};
use windlass_engine::{AwaitError, SendError, SessionCommand, StartError, WaitingInput};
use windlass_testkit::Gate;
use windlass_testkit::approver::ScriptedApprover;
use windlass_testkit::provider::{call, say};
use windlass_testkit::tools::CounterTool;

use crate::fleet::{Fleet, id, me, said, soon, until};

fn stop(turn: Option<TurnId>) -> SessionCommand {
    SessionCommand::Interrupt {
        by: InterruptSource::Person,
        reason: "enough".to_owned(),
        when: StopTiming::Now,
        turn,
    }
}

#[tokio::test(start_paused = true)]
async fn an_input_is_taken_by_the_node_that_drives() {
    let fleet = Fleet::new([say("one"), say("two")]);
    let (one, other) = (fleet.member(), fleet.member());
    let conversation = fleet.drives(&one).await;
    let reached = soon(other.engine.session(&id("s"), &me())).await.unwrap();
    let first = soon(reached.send(said("first"))).await.unwrap();
    let second = soon(reached.send(said("second"))).await.unwrap();
    assert_eq!(fleet.texts(), ["first", "second"]);
    let log = fleet.log();
    let queued = |input: InputId, text: &str| {
        let place = usize::try_from(input.0).unwrap() - 1;
        matches!(&log[place].fact, Fact::InputQueued(queued) if &*queued.text == text)
    };
    assert!(queued(first, "first") && queued(second, "second"));
    let report = soon(conversation.outcome(second)).await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed);
    assert_eq!(fleet.place.waiting(&id("s")), 0, "each has its reply");
    assert_eq!(fleet.count(|fact| matches!(fact, Fact::SessionResumed(_))), 0);
}

#[tokio::test(start_paused = true)]
async fn a_word_that_is_asked_for_again_is_done_once_whoever_is_asked() {
    let fleet = Fleet::new([say("one")]);
    let (one, other, third) = (fleet.member(), fleet.member(), fleet.member());
    let _conversation = fleet.drives(&one).await;
    let mut inputs = Vec::new();
    for member in [&other, &third, &one, &other] {
        let reached = soon(member.engine.session(&id("s"), &me())).await.unwrap();
        let mut send = said("pay");
        send.key = Some("once".to_owned());
        inputs.push(soon(reached.send(send)).await.unwrap());
    }
    inputs.dedup();
    assert_eq!((inputs.len(), fleet.texts().len()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn settings_and_a_goal_are_set_and_taken_away() {
    let fleet = Fleet::new([]);
    let (one, other) = (fleet.member(), fleet.member());
    let conversation = fleet.drives(&one).await;
    let reached = soon(other.engine.session(&id("s"), &me())).await.unwrap();
    let mut settings = fleet.settings();
    settings.model = "another".to_owned();
    let scope = Scope::system("the node's configuration");
    let configured = reached.configure(settings, scope, Widening::Allowed);
    soon(configured).await.unwrap();
    let state = conversation.state().await.unwrap();
    assert_eq!(state.settings.model, "another");
    let goal = Goal { text: "be done".into(), turns: 2 };
    soon(reached.set_goal(Some(goal), me())).await.unwrap();
    assert!(conversation.state().await.unwrap().goal.is_some());
    assert!(reached.state().await.unwrap().goal.is_some(), "from the log");
    soon(reached.set_goal(None, me())).await.unwrap();
    assert!(conversation.state().await.unwrap().goal.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_turn_is_interrupted_and_gone_on_with() {
    let gate = Gate::new();
    let fleet = Fleet::new([say("one").end_after(&gate), say("two")]);
    let (one, other) = (fleet.member(), fleet.member());
    let conversation = fleet.drives(&one).await;
    let reached = soon(other.engine.session(&id("s"), &me())).await.unwrap();
    soon(reached.send(said("first"))).await.unwrap();
    let waits = soon(reached.send(said("second"))).await.unwrap();
    gate.reached().await;
    let state = reached.state().await.unwrap();
    let turn = state.turn().unwrap().id;
    let elsewhere = soon(reached.execute(stop(Some(TurnId(turn.0 + 1))), me(), None)).await;
    let not_this =
        |error: &SendError| matches!(error, SendError::Rejected(Reject::TurnMismatch(_)));
    assert!(elsewhere.is_err_and(|error| not_this(&error)));
    soon(reached.execute(stop(Some(turn)), me(), Some("k"))).await.unwrap();
    soon(conversation.outcome(turn)).await.unwrap();
    // The same word once more, when that turn has ended.
    soon(reached.execute(stop(Some(turn)), me(), Some("k"))).await.unwrap();
    assert_eq!(fleet.count(|fact| matches!(fact, Fact::InterruptRequested(_))), 1);
    soon(reached.resume()).await.unwrap();
    let report = soon(conversation.outcome(waits)).await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed);
}

#[tokio::test(start_paused = true)]
async fn inputs_that_wait_are_listed_edited_moved_and_withdrawn() {
    let gate = Gate::new();
    let fleet = Fleet::new([say("one").end_after(&gate), say("two"), say("three")]);
    let (one, other) = (fleet.member(), fleet.member());
    let conversation = fleet.drives(&one).await;
    let reached = soon(other.engine.session(&id("s"), &me())).await.unwrap();
    soon(reached.send(said("first"))).await.unwrap();
    let second = soon(reached.send(said("second"))).await.unwrap();
    let third = soon(reached.send(said("third"))).await.unwrap();
    let fourth = soon(reached.send(said("fourth"))).await.unwrap();
    gate.reached().await;
    soon(reached.edit_input(second, "second, please", me())).await.unwrap();
    soon(reached.move_input(third, Some(second), me())).await.unwrap();
    soon(reached.withdraw_input(fourth, me())).await.unwrap();
    let texts = |inputs: Vec<WaitingInput>| -> Vec<String> {
        inputs.into_iter().map(|input| input.text.to_string()).collect()
    };
    let wanted = ["third", "second, please"];
    assert_eq!(texts(soon(reached.inputs()).await.unwrap()), wanted);
    assert_eq!(texts(soon(conversation.inputs()).await.unwrap()), wanted);
    let again = soon(reached.withdraw_input(fourth, me())).await;
    let not_there = SendError::Rejected(Reject::InputNotWaiting(fourth));
    assert_eq!(again.unwrap_err().to_string(), not_there.to_string());
    let never = soon(reached.outcome(fourth)).await;
    assert!(matches!(never, Err(AwaitError::Withdrawn(input)) if input == fourth));
    gate.open();
    let report = soon(conversation.outcome(second)).await.unwrap();
    assert_eq!((report.outcome, &*report.answer), (TurnOutcome::Completed, "three"));
}

#[tokio::test(start_paused = true)]
async fn a_question_is_answered_and_the_answer_counts_once() {
    let pay = CounterTool::new("pay", EffectClass::Effectful);
    let fleet = Fleet::with([call("pay", json!({})), say("Paid.")], [pay.tool()]);
    let fleet = fleet.asking(ScriptedApprover::holding());
    let (one, other) = (fleet.member(), fleet.member());
    let conversation = fleet.drives(&one).await;
    let reached = soon(other.engine.session(&id("s"), &me())).await.unwrap();
    let input = soon(reached.send(said("pay"))).await.unwrap();
    until(|| fleet.count(|fact| matches!(fact, Fact::ApprovalAsked(_))) == 1).await;
    let pending = conversation.pending_approvals().await.unwrap();
    let (call, digest) = (pending[0].call, pending[0].digest);
    for _ in 0..2 {
        let allowed = SessionCommand::Answer {
            call,
            arguments: digest,
            answer: ApprovalAnswer::Allow { edit: None },
        };
        let answered = reached.execute(allowed, me(), Some("yes"));
        soon(answered).await.unwrap();
    }
    let denied = ApprovalAnswer::Deny { reason: "no".to_owned() };
    let refused = soon(reached.answer(call, me(), digest, denied)).await;
    assert!(matches!(refused, Err(SendError::Rejected(Reject::NoOpenQuestion(_)))));
    soon(conversation.outcome(input)).await.unwrap();
    assert_eq!(pay.total(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_the_driver_refuses_is_refused_in_its_words() {
    let fleet = Fleet::new([]);
    let (one, other) = (fleet.member(), fleet.member());
    let conversation = fleet.drives(&one).await;
    let reached = soon(other.engine.session(&id("s"), &me())).await.unwrap();
    let here = conversation.resume().await.unwrap_err();
    for _ in 0..2 {
        // Each time anew, also under one key.
        let there =
            soon(reached.execute(SessionCommand::Resume {}, me(), Some("k"))).await.unwrap_err();
        assert_eq!(there.to_string(), here.to_string());
    }
    let empty = soon(reached.send(said(""))).await;
    assert!(matches!(empty, Err(SendError::Rejected(Reject::Empty))));
    let large = soon(reached.send(said(&"x".repeat(17 << 20)))).await;
    assert!(matches!(large, Err(SendError::TooLarge(_))), "{large:?}");
    let mut settings = fleet.settings();
    let tool = CounterTool::new("pay", EffectClass::Effectful).tool();
    settings.tools.push(tool.taking("no schema").spec().clone());
    let broken = soon(reached.configure(settings, me(), Widening::Allowed)).await;
    assert!(matches!(broken, Err(SendError::Settings(_))), "{broken:?}");
    assert_eq!(fleet.log().len(), 1, "nothing has changed");
}

#[tokio::test(start_paused = true)]
async fn whoever_may_not_see_a_session_leaves_no_letter() {
    let fleet = Fleet::new([]);
    let (one, other) = (fleet.member(), fleet.member());
    let _conversation = fleet.drives(&one).await;
    let stranger = Scope::Principal {
        tenant: "another".to_owned(),
        principal: "tester".to_owned(),
        claims: std::collections::BTreeMap::new(),
    };
    for name in ["s", "none"] {
        let reached = soon(other.engine.session(&id(name), &stranger)).await;
        assert!(matches!(reached, Err(StartError::Unknown(_))), "{name}");
    }
    // A word for another scope than that which has reached it.
    let reached = soon(other.engine.session(&id("s"), &me())).await.unwrap();
    let mut send = said("hello");
    send.scope = stranger;
    let refused = soon(reached.send(send)).await;
    assert!(matches!(refused, Err(SendError::Rejected(Reject::OutOfScope))));
    assert_eq!(fleet.log().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_nobody_drives_is_driven_by_whoever_is_asked() {
    let fleet = Fleet::new([say("one")]);
    let (one, other) = (fleet.member(), fleet.member());
    let conversation = fleet.drives(&one).await;
    soon(conversation.close()).await;
    let reached = soon(other.engine.session(&id("s"), &me())).await.unwrap();
    soon(reached.send(said("hello"))).await.unwrap();
    assert_eq!(fleet.place.asked(windlass_testkit::nodes::InboxOperation::Leave), 0);
    drop(reached);
    until(|| !fleet.place.is_held(&id("s"))).await;
    assert_eq!(fleet.count(|fact| matches!(fact, Fact::TurnSettled(_))), 1);
}
