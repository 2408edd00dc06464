//! Facts that are invalid in a state, and the effect of a turn's end on a goal.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::*;
use crate::compact::kit;
use crate::decide::{decide, decide_open};
use crate::error::Reject;
use crate::fact::{
    GoalSet, InputBlocked, InterruptRequested, ItemAdded, Lineage, Retained, SampleCut, StopTiming,
    TurnOpened, TurnSettled,
};
use crate::failure::{FailureKind, Retry, SampleFailure};
use crate::format::FactFormat;
use crate::goal::{Goal, GoalStatus};
use crate::id::{SessionId, TurnId};
use crate::input::{Incoming, Input, OpenSession};
use crate::item::{CallItem, Item};
use crate::limits::Limits;
use crate::outcome::{InterruptSource, LimitKind, TurnOutcome};
use crate::reason::Reason;
use crate::scope::Scope;
use crate::session::{Delivery, TurnUsage};
use crate::stage::Stage;
use crate::time::Timestamp;

const WHO: &str = "somebody";

fn stamped<T>(input: T) -> Incoming<T> {
    Incoming { at: Timestamp(5), entropy: 0, input }
}

/// Returns a session without inputs.
fn idle() -> Session {
    let first = decide_open(stamped(OpenSession {
        owner: Scope::local(WHO),
        workspace: None,
        settings: kit::settings(),
        lineage: Lineage::Root,
    }));
    let id = SessionId::new("s").unwrap();
    evolve_first(&first.number(&id, Seq(1))).unwrap()
}

/// Returns a session with one input, up to the first fact of this kind.
fn after(kind: &str) -> Session {
    let mut session = idle();
    let send = stamped(Input::Send {
        scope: Scope::local(WHO),
        text: String::from("hello"),
        delivery: Delivery::Turn,
        context: Vec::new(),
        images: Vec::new(),
        key: None,
        dry_run: false,
        turn: None,
    });
    for draft in decide(&session, &Limits::default(), send).unwrap() {
        let recorded = draft.number(&session.id, session.next);
        session.apply(&recorded).unwrap();
        if recorded.fact.kind() == kind {
            return session;
        }
    }
    unreachable!("no {kind} was written")
}

/// Applies a fact of the open turn, or the one that opens it.
fn add(session: &mut Session, fact: Fact) -> Result<Seq, InvalidFact> {
    let seq = session.next;
    let open = session.turn().map(|turn| turn.id);
    let recorded = RecordedFact {
        format: FactFormat::CURRENT,
        session: session.id.clone(),
        seq,
        turn: open.or(Some(TurnId(seq.0))),
        ts: Timestamp(6),
        cause: None,
        fact,
    };
    session.apply(&recorded).map(|()| seq)
}

fn interrupt(by: InterruptSource, when: StopTiming) -> Fact {
    Fact::InterruptRequested(InterruptRequested {
        by,
        scope: Arc::new(Scope::local(WHO)),
        reason: String::from("enough"),
        when,
        key: None,
    })
}

fn queued() -> Fact {
    Fact::InputQueued(InputQueued {
        scope: Arc::new(Scope::local(WHO)),
        text: "and more".into(),
        delivery: Delivery::Turn,
        context: Vec::new(),
        images: Vec::new(),
        key: None,
        dry_run: false,
        command_key: None,
        result_of: None,
        command: None,
    })
}

fn why(added: Result<Seq, InvalidFact>) -> String {
    added.unwrap_err().reason
}

#[test]
fn a_turn_that_is_to_stop_after_its_step_is_not_asked_so_again() {
    let mut session = after("SampleStarted");
    let pause = || interrupt(InterruptSource::Person, StopTiming::AfterStep);
    add(&mut session, pause()).unwrap();
    let why = why(add(&mut session, pause()));
    assert_eq!(why, "the turn was asked to stop already");
}

#[test]
fn what_was_said_stands_alone_only_without_a_call_and_in_a_turn_that_goes_on() {
    let cut = |session: &Session| {
        let Some(Stage::Sampling(sampling)) = session.turn().map(|turn| &turn.stage) else {
            unreachable!("{:?}", session.turn());
        };
        Fact::SampleCut(SampleCut {
            started: sampling.started,
            failure: SampleFailure::new(FailureKind::Steered, Retry::Never, "the user spoke"),
            partial: String::from("so far"),
            retained: Retained::Text,
            stopped_by: None,
            usage: None,
            estimate: None,
            retry_at: None,
            request: None,
        })
    };
    let wrong = "it does not say what stands of the answer";
    let session = after("SampleStarted");
    add(&mut session.clone(), cut(&session)).unwrap();

    let mut stopped = session.clone();
    add(&mut stopped, interrupt(InterruptSource::Person, StopTiming::Now)).unwrap();
    let said = cut(&stopped);
    assert_eq!(why(add(&mut stopped, said)), wrong);

    let mut called = session.clone();
    let call = CallItem {
        provider_id: String::from("call_0"),
        name: String::from("read"),
        arguments: String::from("{}"),
        fault: None,
        rules: Vec::new(),
        possible_rules: Vec::new(),
        outside_sandbox: false,
        sha256: None,
        opaque: None,
        inline: false,
    };
    let Fact::SampleCut(SampleCut { started, .. }) = cut(&called) else {
        unreachable!();
    };
    let item = Item::Call(Arc::new(call));
    add(&mut called, Fact::ItemAdded(ItemAdded { started, item, surplus: false })).unwrap();
    let said = cut(&called);
    assert_eq!(why(add(&mut called, said)), wrong);
}

#[test]
fn an_input_that_the_turn_is_not_about_is_not_blocked_in_it() {
    for kind in ["TurnOpened", "InputAccepted"] {
        let mut session = after(kind);
        let input = InputId(add(&mut session, queued()).unwrap().0);
        let reason = String::from("no");
        let blocked = Fact::InputBlocked(InputBlocked { input, reason });
        let why = why(add(&mut session, blocked));
        assert_eq!(why, "the turn does not wait for it", "{kind}");
    }
}

#[test]
fn a_goal_is_over_where_the_time_of_its_turn_is_over_before_it_began() {
    let mut session = idle();
    let scope = Arc::new(Scope::local(WHO));
    let goal = Goal { text: "win".into(), turns: 3 };
    let set = Fact::GoalSet(GoalSet { by: scope.clone(), goal: Some(Arc::new(goal)), key: None });
    let set = add(&mut session, set).unwrap();
    session.goal.as_mut().unwrap().status = GoalStatus::Due;
    let opens = Fact::TurnOpened(TurnOpened {
        reason: Reason::Goal { set },
        scope,
        settings: session.settings_at,
        limits: Limits::default(),
        dry_run: false,
        key: None,
    });
    add(&mut session, opens).unwrap();
    add(&mut session, interrupt(InterruptSource::Deadline, StopTiming::Now)).unwrap();
    let settled = Fact::TurnSettled(TurnSettled {
        outcome: TurnOutcome::Exhausted { limit: LimitKind::WallClock },
        spent: TurnUsage::default(),
        waiting: Vec::new(),
        detached: Vec::new(),
        notice: None,
    });
    add(&mut session, settled).unwrap();
    let standing = &session.goal.unwrap().status;
    assert!(matches!(standing, GoalStatus::Stopped { .. }), "{standing:?}");
}

#[test]
fn an_interrupt_stops_only_the_turn_that_it_is_about_and_only_what_is_said_has_a_key() {
    let session = after("SampleStarted");
    let running = session.turn().unwrap().id;
    let asked = |session: &Session, turn| {
        let input = stamped(Input::Interrupt {
            by: InterruptSource::Person,
            scope: Scope::local(WHO),
            reason: String::from("enough"),
            when: StopTiming::Now,
            turn,
        });
        decide(session, &Limits::default(), input)
    };
    let other = TurnId(running.0 + 1);
    assert_eq!(asked(&session, Some(other)), Err(Reject::TurnMismatch(other)));
    assert_eq!(asked(&idle(), Some(running)), Err(Reject::TurnMismatch(running)));
    assert_eq!(asked(&idle(), None), Err(Reject::Idle));
    let drafts = asked(&session, Some(running)).unwrap();
    assert_eq!(drafts, asked(&session, None).unwrap());

    let under = |input| {
        let key = String::from("k");
        let input = Box::new(input);
        decide(&session, &Limits::default(), stamped(Input::Keyed { key, input }))
    };
    let twice = Input::Keyed { key: String::from("l"), input: Box::new(Input::Continue) };
    for input in [twice, Input::Tick, Input::Close, Input::Recover] {
        assert_eq!(under(input), Err(Reject::KeyNotAllowed));
    }
    let clear = Input::SetGoal { scope: Scope::local(WHO), goal: None };
    assert_eq!(under(clear), Ok(Vec::new()));
}
