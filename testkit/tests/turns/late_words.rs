//! Words that come late, or from somebody who may not say them, held against the state alone: what
//! `decide` makes of them before any tick has come.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use windlass_core::{
    ApprovalAnswer, CallId, CallObserved, Delivery, EffectKey, Fact, HookReply, Incoming, Input,
    InterruptSource, Limits, ObservationStatus, Reject, Scope, Seq, Session, StopTiming, Timestamp,
    Verdict, Widening, decide,
};
use windlass_testkit::world::{Script, Transitions, run};

fn session(script: &str) -> Session {
    let script: Script = script.parse().unwrap();
    run(Transitions::CORE, &script).unwrap().session().clone()
}

/// What follows from an input so many milliseconds after the turn opened.
fn after(session: &Session, ms: u64, input: Input) -> Result<Vec<Fact>, Reject> {
    let at = session.turn().unwrap().opened_at.plus_ms(ms);
    let stamped = Incoming { at, entropy: 0, input };
    let drafts = decide(session, &Limits::default(), stamped)?;
    Ok(drafts.into_iter().map(|draft| draft.fact).collect())
}

const ASKED: &str = "open permissions=ask approval_ms=100\nsend hello\ncall write {}\nend stop";

const CALL: CallId = CallId(7);
const QUESTION: EffectKey = EffectKey::Approval { call: CALL, asked: Seq(9) };

fn allowed(key: EffectKey, scope: Scope) -> Input {
    let answer = ApprovalAnswer::Allow { edit: None };
    Input::ApproverAnswered { key, scope, answer }
}

fn verdict(facts: &[Fact]) -> (Verdict, &str) {
    let answered = facts.iter().find_map(|fact| {
        let Fact::ApprovalAnswered(fact) = fact else {
            return None;
        };
        Some((fact.verdict, fact.reason.as_str()))
    });
    answered.unwrap()
}

#[test]
fn an_approver_is_heard_until_the_deadline_and_not_at_it() {
    let session = session(ASKED);
    let ask = |ms| after(&session, ms, allowed(QUESTION, Scope::local("approver"))).unwrap();
    assert_eq!(verdict(&ask(99)), (Verdict::Allow, ""));
    let late = "Denied: nobody answered in time.";
    assert_eq!(verdict(&ask(100)), (Verdict::Deny, late));
}

#[test]
fn an_answer_from_another_tenant_is_a_denial() {
    let session = session(ASKED);
    let facts = after(&session, 0, allowed(QUESTION, another_tenant())).unwrap();
    let reason = "Denied: the answer came from outside the session's tenant.";
    assert_eq!(verdict(&facts), (Verdict::Deny, reason));
}

#[test]
fn an_answer_to_a_question_that_was_asked_again_is_stale() {
    let session = session(&format!("{ASKED}\ncrash"));
    let again = EffectKey::Approval { call: CALL, asked: Seq(11) };
    for late in [0, 100] {
        let stale = after(&session, late, allowed(QUESTION, Scope::local("approver")));
        assert!(matches!(stale, Err(Reject::Stale(key)) if key == QUESTION));
    }
    let facts = after(&session, 0, allowed(again, Scope::local("approver"))).unwrap();
    assert_eq!(verdict(&facts), (Verdict::Allow, ""));
}

/// What is observed of a call of which the driver says that it never began, once it is to stop.
/// Until then that is not taken.
fn never(script: &str, key: EffectKey) -> ObservationStatus {
    let never = || Input::NeverStarted { key };
    let early = after(&session(script), 0, never());
    assert!(matches!(early, Err(Reject::Stale(stale)) if stale == key));
    let stopping = session(&format!("{script}\ninterrupt person"));
    let facts = after(&stopping, 0, never()).unwrap();
    let observed = facts.iter().find_map(|fact| {
        let Fact::CallObserved(CallObserved { observation, .. }) = fact else {
            return None;
        };
        Some(observation.status)
    });
    observed.unwrap()
}

#[test]
fn what_never_began_again_may_have_taken_effect_before() {
    let call = CallId(6);
    let first = EffectKey::Call { call, started: Seq(8) };
    let again = EffectKey::Call { call, started: Seq(10) };
    let script = |tool: &str| format!("send hello\ncall {tool} {{}}\nend stop");
    assert_eq!(never(&script("read"), first), ObservationStatus::NotStarted);
    let crashed = |tool: &str| format!("{}\ncrash", script(tool));
    assert_eq!(never(&crashed("read"), again), ObservationStatus::Aborted);
    assert_eq!(never(&crashed("put"), again), ObservationStatus::Unknown);
    let dry = "send dry hello\ncall put {}\nend stop\ncrash";
    assert_eq!(never(dry, again), ObservationStatus::Aborted);
}

#[test]
fn the_time_of_a_session_is_its_own() {
    let session = session("open turn_ms=50\nsend hello");
    assert!(after(&session, 49, Input::Tick).unwrap().is_empty());
    assert!(!after(&session, 50, Input::Tick).unwrap().is_empty());
    assert!(session.turn().unwrap().opened_at > Timestamp(0));
}

fn another_tenant() -> Scope {
    let mut other = Scope::local("approver");
    if let Scope::Principal { tenant, .. } = &mut other {
        *tenant = "another".into();
    }
    other
}

#[test]
fn a_session_does_not_exist_for_another_tenant() {
    let session = session("send hello");
    let scope = another_tenant();
    let inputs = [
        Input::SetGoal { scope: scope.clone(), goal: None },
        Input::Configure {
            scope: scope.clone(),
            settings: (*session.settings).clone(),
            widening: Widening::Allowed,
        },
        Input::Interrupt {
            by: InterruptSource::Person,
            scope: scope.clone(),
            reason: String::new(),
            when: StopTiming::Now,
            turn: None,
        },
        Input::Send {
            scope,
            text: String::from("hello"),
            delivery: Delivery::Turn,
            context: Vec::new(),
            images: Vec::new(),
            key: None,
            dry_run: false,
            turn: None,
        },
    ];
    for input in inputs {
        assert!(matches!(after(&session, 0, input), Err(Reject::OutOfScope)));
    }
}

#[test]
fn a_hook_speaks_of_the_prompt_that_it_was_asked_about() {
    let session = session("open hooks=prompt_submitted\nsend hello\nsend another");
    let key = EffectKey::Hook { hook: 0, asked: Seq(4) };
    let reply = HookReply::pass();
    let facts = after(&session, 0, Input::HookReplied { key, reply }).unwrap();
    let Some(Fact::HookDecided(fact)) = facts.first() else {
        panic!("{facts:?}");
    };
    let prompt = session.queue.front().unwrap().text;
    assert_eq!(fact.subject, prompt.digest);
    assert_ne!(fact.subject, session.queue.back().unwrap().text.digest);
}
