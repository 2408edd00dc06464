//! The end of a program in a turn whose answer was truncated after a retained call.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::*;
use crate::call::{Observation, ObservationStatus};
use crate::compact::kit;
use crate::decide::{decide, decide_open};
use crate::desired_effects::desired_effects;
use crate::effect::EffectKey;
use crate::fact::{CallObserved, Lineage, ProgramRun};
use crate::failure::FailureKind;
use crate::format::FactFormat;
use crate::id::{CallId, SessionId};
use crate::input::{Incoming, Input, OpenSession, SampleEvent};
use crate::item::{CallItem, Item, StopReason};
use crate::limits::Limits;
use crate::options::OutputSchema;
use crate::outcome::TurnOutcome;
use crate::program::{
    PROGRAM_TOOL, ProgramEnd, ProgramLimits, ProgramMode, ProgramOutcome, ProgramTransport,
};
use crate::reason::Reason;
use crate::scope::Scope;
use crate::session::Delivery;
use crate::stage::{AfterCalls, Stage};
use crate::time::Timestamp;

fn stamped<T>(input: T) -> Incoming<T> {
    Incoming { at: Timestamp(5), entropy: 0, input }
}

fn take(session: &mut Session, input: Input) {
    for draft in decide(session, &Limits::default(), stamped(input)).unwrap() {
        let recorded = draft.number(&session.id, session.next);
        session.apply(&recorded).unwrap();
    }
}

/// Returns the only desired effect.
fn key(session: &Session) -> EffectKey {
    let owed = desired_effects(session);
    assert_eq!(owed.len(), 1);
    owed[0].key
}

/// Returns a session whose program runs, with its call. An output schema applies.
fn running() -> (Session, CallId) {
    let mut settings = kit::settings();
    settings.options.program = Some(ProgramMode {
        runtime: String::from("r"),
        transport: ProgramTransport::Call,
        limits: ProgramLimits::default(),
        data: None,
        corrections: 0,
    });
    settings.options.output_schema = Some(OutputSchema {
        name: String::from("a"),
        schema: "{}".into(),
        strict: false,
        max_re_asks: 1,
    });
    let first = decide_open(stamped(OpenSession {
        owner: Scope::local("somebody"),
        workspace: None,
        settings,
        lineage: Lineage::Root,
    }));
    let id = SessionId::new("s").unwrap();
    let mut session = evolve_first(&first.number(&id, Seq(1))).unwrap();
    let send = Input::Send {
        scope: Scope::local("somebody"),
        text: String::from("hello"),
        delivery: Delivery::Turn,
        context: Vec::new(),
        images: Vec::new(),
        key: None,
        dry_run: false,
        turn: None,
    };
    take(&mut session, send);
    let sample = key(&session);
    let call = Item::Call(Arc::new(CallItem {
        provider_id: String::from("c"),
        name: String::from(PROGRAM_TOOL),
        arguments: String::from("{}"),
        fault: None,
        rules: Vec::new(),
        possible_rules: Vec::new(),
        outside_sandbox: false,
        sha256: None,
        opaque: None,
        inline: false,
    }));
    let ended = SampleEvent::Ended {
        stop: StopReason::Stop,
        usage: None,
        response_id: None,
        request: None,
        fault: None,
    };
    for news in [SampleEvent::Item(call), ended] {
        take(&mut session, Input::SampleEvent { key: sample, event: news });
    }
    let EffectKey::Call { call, .. } = key(&session) else {
        unreachable!("a program runs");
    };
    (session, call)
}

/// Returns the stage after a program with this end, in a turn with this next step after its calls.
fn after(then: AfterCalls, end: ProgramEnd, fault: Option<&str>) -> Stage {
    let (mut session, program) = running();
    let Some(Stage::Executing(executing)) = session.turn_mut().map(|turn| &mut turn.stage) else {
        unreachable!("calls are out");
    };
    executing.after = then;
    let outcome = ProgramOutcome {
        end,
        prints: Vec::new(),
        memory: None,
        retained: Vec::new(),
        defined: Vec::new(),
        repairs: Vec::new(),
        steps: 1,
    };
    let run = Fact::ProgramRun(ProgramRun {
        program,
        outcome: Arc::new(outcome),
        fault: fault.map(String::from),
    });
    let seen = Fact::CallObserved(CallObserved {
        call: program,
        observation: Arc::new(Observation::new(ObservationStatus::Done, "seen")),
        usage: None,
        report: None,
        form: None,
        detached: false,
        by: None,
        key: None,
    });
    for fact in [run, seen] {
        let recorded = RecordedFact {
            format: FactFormat::CURRENT,
            session: session.id.clone(),
            seq: session.next,
            turn: session.turn().map(|turn| turn.id),
            ts: Timestamp(6),
            cause: None,
            fact,
        };
        session.apply(&recorded).unwrap();
    }
    session.turn().unwrap().stage.clone()
}

fn ends() -> [ProgramEnd; 3] {
    let value = || "1".into();
    [
        ProgramEnd::Value { value: value() },
        ProgramEnd::Fail { value: value() },
        ProgramEnd::Return { value: value() },
    ]
}

fn broken() -> TurnOutcome {
    TurnOutcome::Failed { failure: FailureKind::Truncated, message: String::from("it broke off") }
}

#[test]
fn a_turn_that_a_broken_answer_has_ended_ends_so_unless_its_program_has_the_result() {
    let end = || AfterCalls::End(broken());
    let [value, fail, result] = ends();
    for other in [value, fail] {
        assert_eq!(after(end(), other, None), Stage::Ending(broken()));
    }
    let rejected = after(end(), result.clone(), Some("not so"));
    assert_eq!(rejected, Stage::Ending(broken()));
    let Stage::Concluding(concluding) = after(end(), result, None) else {
        unreachable!("it has the result");
    };
    assert_eq!(concluding.fault, None);
}

#[test]
fn a_turn_that_asks_again_after_a_broken_answer_does_so_unless_its_program_ends_it() {
    let wait = || AfterCalls::Wait(Timestamp(900));
    let [value, fail, result] = ends();
    let Stage::Ready(ready) = after(wait(), value, None) else {
        unreachable!("it asks again");
    };
    assert_eq!(ready.not_before, Some(Timestamp(900)));
    assert_eq!(ready.reason, Reason::ToolResults);
    let Stage::Ending(TurnOutcome::Failed { failure, .. }) = after(wait(), fail, None) else {
        unreachable!("it gave up");
    };
    assert_eq!(failure, FailureKind::Program);
    let Stage::Ready(ready) = after(wait(), result.clone(), Some("not so")) else {
        unreachable!("it asks for another result");
    };
    assert!(ready.reason.is_invalid_output());
    assert!(matches!(after(wait(), result, None), Stage::Concluding(_)));
}
