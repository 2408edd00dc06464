//! Snapshots of hand-written logs, with one cycle of each kind.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use super::log_builder::{LogBuilder, TURN};
use super::*;
use crate::call::ObservationStatus;
use crate::fact::{Fact, ProgramRun, Retained};
use crate::failure::FailureKind;
use crate::id::{CallId, InputId, Seq};
use crate::item::StopReason;
use crate::program::{PROGRAM_TOOL, ProgramEnd, ProgramFault, ProgramOutcome, SampleKind};
use crate::reason::Reason;

impl LogBuilder {
    /// Adds a cycle whose program makes one call and ends like this.
    fn program(&mut self, end: ProgramEnd, memory: Option<&str>, fault: Option<&str>) {
        let started = self.start(1, Reason::ToolResults);
        self.text(started, "I look.");
        let program = self.call(started, PROGRAM_TOOL, r#"{"source":"look\n()"}"#);
        self.end(started, StopReason::Stop, None);
        let call = self.calls(program, "read");
        self.observe(call, ObservationStatus::Failed, "no such file");
        self.fact(Fact::ProgramRun(ProgramRun {
            program,
            outcome: Arc::new(ProgramOutcome {
                end,
                prints: vec![String::from("here")],
                memory: memory.map(Arc::from),
                retained: Vec::new(),
                defined: Vec::new(),
                repairs: vec![String::from("a parenthesis")],
                steps: 3,
            }),
            fault: fault.map(String::from),
        }));
        self.observe(program, ObservationStatus::Done, "feedback");
    }

    fn last(&self) -> &TurnSnapshot {
        self.made.last().unwrap()
    }

    fn class(&self) -> &str {
        &self.last().fault().unwrap().class
    }
}

/// Memory that was recorded whole.
fn base(cycle: &Cycle) -> Option<&str> {
    cycle.memory.as_ref()?.base.as_deref()
}

fn value(text: &str) -> ProgramEnd {
    ProgramEnd::Value { value: text.into() }
}

#[test]
fn a_program_that_ends_is_a_success_with_all_that_it_did() {
    let mut log = LogBuilder::new(true);
    log.program(value("42"), Some("m1"), None);
    let snapshot = log.last();
    let cycle = snapshot.cycle();
    assert!(snapshot.is_success() && snapshot.fault().is_none());
    assert_eq!((cycle.turn, cycle.number, cycle.attempts), (TURN, 1, 1));
    assert_eq!(cycle.raw_response, "I look.\n\nlook\n()");
    assert_eq!(cycle.program.as_deref(), Some("look\n()"));
    assert_eq!(cycle.result, Some(value("42")));
    assert_eq!(cycle.prints, ["here"]);
    assert_eq!(cycle.repairs, ["a parenthesis"]);
    assert_eq!(base(cycle), Some("m1"));
    let names: Vec<&str> = cycle.tool_calls.iter().map(|call| &*call.call.name).collect();
    assert_eq!(names, ["read"]);
    let status = cycle.tool_calls.first().and_then(CycleCall::status);
    assert_eq!(status, Some(ObservationStatus::Failed));
    let calls: Vec<CallId> = snapshot.calls().collect();
    assert_eq!(calls, [CallId(5), CallId(7)]);
    assert!(cycle.started < cycle.ended);
    assert_eq!(cycle.usage.unwrap().input, Some(10));
}

#[test]
fn a_program_that_fails_in_any_way_is_a_failure_and_memory_stays() {
    let mut log = LogBuilder::new(true);
    log.program(value("1"), Some("m1"), None);
    let fault = ProgramFault::new("type_error", "no number");
    log.program(ProgramEnd::Fault(fault.clone()), None, None);
    assert_eq!(log.last().fault(), Some(&fault));
    assert_eq!(base(log.last().cycle()), Some("m1"));
    assert_eq!(log.last().cycle().tool_calls.len(), 1);
    log.program(ProgramEnd::Fail { value: "\"no\"".into() }, None, None);
    assert_eq!(log.class(), "fail");
    let returned = ProgramEnd::Return { value: "1".into() };
    log.program(returned.clone(), None, Some("not a text"));
    assert_eq!((log.class(), &log.last().cycle().result), ("rejected", &Some(returned)));
    assert_eq!(log.last().cycle().number, 4);
    assert_eq!(base(log.last().cycle()), Some("m1"));
}

#[test]
fn a_program_that_an_interrupt_stops_keeps_its_calls() {
    let mut log = LogBuilder::new(true);
    let started = log.start(1, Reason::ToolResults);
    let program = log.call(started, PROGRAM_TOOL, r#"{"source":"look()"}"#);
    log.end(started, StopReason::Stop, None);
    let call = log.calls(program, "write");
    let open = log.fold.unfinished().unwrap();
    assert_eq!(open.fault().unwrap().class, "unfinished");
    assert_eq!(open.calls().collect::<Vec<_>>(), [program, call]);
    log.observe(call, ObservationStatus::Unknown, "nobody knows");
    assert!(log.made.is_empty());
    log.observe(program, ObservationStatus::Aborted, "Stopped");
    assert_eq!(log.class(), "aborted");
    assert_eq!(log.last().calls().collect::<Vec<_>>(), [program, call]);
    assert_eq!(log.last().cycle().result, None);
    assert!(log.fold.unfinished().is_none());
}

#[test]
fn attempts_are_one_cycle_which_keeps_the_calls_that_were_thrown_away() {
    let mut log = LogBuilder::new(false);
    let started = log.start(1, Reason::ToolResults);
    let gone = log.call(started, "read", "{}");
    log.cut(started, FailureKind::Restart, Retained::Nothing, true);
    assert_eq!(log.fold.unfinished().unwrap().fault().unwrap().class, "restart");
    let started = log.start(2, Reason::Retry);
    log.text(started, "Here.");
    let call = log.call(started, "read", "{}");
    log.end(started, StopReason::Stop, None);
    assert!(log.made.is_empty());
    log.observe(call, ObservationStatus::Done, "text");
    let cycle = log.last().cycle();
    assert!(log.last().is_success());
    assert_eq!((cycle.number, cycle.attempts), (1, 2));
    assert_eq!(cycle.raw_response, "Here.");
    let told: Vec<_> = cycle.tool_calls.iter().map(|call| (call.id, call.status())).collect();
    assert_eq!(told, [(gone, None), (call, Some(ObservationStatus::Done))]);
    assert_eq!(cycle.program, None);
}

#[test]
fn an_attempt_that_is_not_made_again_ends_its_cycle() {
    let mut log = LogBuilder::new(false);
    let started = log.start(1, Reason::ToolResults);
    log.cut(started, FailureKind::Server, Retained::Nothing, true);
    let started = log.start(1, Reason::PendingInput { input: InputId(9) });
    assert_eq!((log.class(), log.last().cycle().number), ("server", 1));
    log.text(started, "I was");
    log.cut(started, FailureKind::Steered, Retained::Text, false);
    assert_eq!((log.class(), log.last().cycle().number), ("steered", 2));
    assert_eq!(log.last().cycle().raw_response, "I was and on");
    let started = log.start(1, Reason::Retry);
    let call = log.call(started, "read", "{}");
    let late = log.call(started, "read", "{}");
    let item = Seq(call.0);
    log.cut(started, FailureKind::Truncated, Retained::Through { item }, true);
    assert_eq!(log.made.len(), 2);
    log.observe(call, ObservationStatus::Done, "text");
    assert_eq!((log.class(), log.made.len()), ("truncated", 3));
    assert_eq!(log.last().calls().collect::<Vec<_>>(), [call, late]);
}

#[test]
fn an_answer_is_judged_by_its_shape_and_its_end() {
    for (stop, fault, class) in [
        (StopReason::Stop, None, None),
        (StopReason::Stop, Some("no number"), Some("invalid_output")),
        (StopReason::Length, None, Some("length")),
        (StopReason::ContentFilter, None, Some("content_filter")),
    ] {
        for programs in [false, true] {
            let mut log = LogBuilder::new(programs);
            let started = log.start(1, Reason::InvalidOutput { started: Seq(1) });
            log.text(started, "Two.");
            log.end(started, stop.clone(), fault);
            let found = log.last().fault().map(|why| why.class.as_str());
            assert_eq!(found, class);
            assert_eq!(log.last().cycle().kind, SampleKind::ReAsk);
        }
    }
}

#[test]
fn calls_of_tools_are_no_program_where_programs_are_asked_for() {
    for (programs, success) in [(true, false), (false, true)] {
        let mut log = LogBuilder::new(programs);
        let started = log.start(1, Reason::ToolResults);
        let call = log.call(started, "read", "{}");
        log.end(started, StopReason::Stop, None);
        log.observe(call, ObservationStatus::Failed, "Not run");
        assert_eq!(log.last().is_success(), success);
        assert_eq!(log.last().cycle().tool_calls.len(), 1);
    }
}

#[test]
fn messages_are_told_once() {
    let mut log = LogBuilder::new(false);
    for _ in 0..3 {
        let started = log.start(1, Reason::ToolResults);
        log.text(started, "Once.");
        log.end(started, StopReason::Unfinished, None);
    }
    let told: Vec<_> = log.made.iter().map(|made| &made.cycle().messages).collect();
    let told: Vec<_> =
        told.iter().map(|all| (all.count(), all.same(), all.added().count())).collect();
    assert_eq!(told, [(0, 0, 0), (1, 0, 1), (2, 1, 1)]);
    let last = log.made.last().cloned().map(TurnSnapshot::with_all_messages).unwrap();
    let all = &last.cycle().messages;
    assert_eq!((all.count(), all.same(), all.added().count()), (2, 0, 2));
    assert!(log.fold.bytes() >= 15, "three answers of five bytes: {}", log.fold.bytes());
}

/// Checks a rule that the compiler does not: inside its own file, where its fields are visible,
/// only the two documented functions create a snapshot.
#[test]
fn nothing_makes_a_snapshot_but_success_and_failure() {
    let file = include_str!("turn.rs");
    let code = file.lines().filter(|line| !line.trim_start().starts_with("///"));
    let code: Vec<&str> = code.collect();
    let built = code.iter().filter(|line| line.trim_start().starts_with("Self {")).count();
    let count = |mark: &str| code.iter().filter(|line| line.contains(mark)).count();
    assert_eq!(built, 2);
    assert_eq!(count("TurnSnapshot {"), 2, "it is declared, and has functions");
    for made in ["success: true", "success: false"] {
        assert_eq!(count(made), 1);
    }
    assert!(!file.contains("Deserialize"));
}
