//! The view over hand-written logs.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::*;
use crate::call::{ObservationStatus, Verdict};
use crate::digest::Digest;
use crate::fact::{ApprovalAnswered, ApprovalAsked, Fact, HookDecided, HooksAsked, Retained};
use crate::failure::FailureKind;
use crate::hook::{Edit, HookOccurrence, HookVerdict};
use crate::id::{CallId, Seq};
use crate::reason::Reason;
use crate::scope::Scope;
use crate::snapshot::log_builder::LogBuilder;

impl LogBuilder {
    fn ask(&mut self, call: CallId) -> Seq {
        self.fact(Fact::ApprovalAsked(ApprovalAsked {
            call,
            attempt: 1,
            arguments: Digest::EMPTY,
            deadline: None,
        }))
    }

    fn answer(&mut self, call: CallId, edit: Option<Edit>) {
        self.fact(Fact::ApprovalAnswered(ApprovalAnswered {
            call,
            by: Arc::new(Scope::local("ada")),
            verdict: Verdict::Allow,
            reason: "".into(),
            arguments: Digest::EMPTY,
            edit,
            key: None,
        }));
    }

    fn shown(&self) -> &SampleView {
        &self.view.turn().unwrap().sample
    }
}

fn edit(text: &str) -> Option<Edit> {
    Some(Edit { text: text.into(), fault: None, rules: Vec::new() })
}

#[test]
fn the_answer_is_what_stands_of_the_latest_sample() {
    let said = |stands: fn(Seq) -> Retained| {
        let mut log = LogBuilder::new(false);
        let started = log.start(1, Reason::ToolResults);
        let first = log.text(started, "one");
        log.text(started, " two");
        log.cut(started, FailureKind::Steered, stands(first), true);
        assert_eq!(log.shown().text(), "one two and on");
        let answer = log.shown().answer();
        let again = log.start(2, Reason::Retry);
        log.text(again, "two");
        assert_eq!(log.shown().answer(), "two");
        answer
    };
    assert_eq!(said(|_| Retained::Nothing), "");
    assert_eq!(said(|item| Retained::Through { item }), "one");
    assert_eq!(said(|_| Retained::Text), "one two and on");
}

#[test]
fn a_turn_waits_for_people_where_each_open_call_does() {
    let mut log = LogBuilder::new(false);
    let started = log.start(1, Reason::ToolResults);
    assert!(!log.shown().waits_for_approval(), "nothing is open");
    let program = log.call(started, "run", "{}");
    assert!(!log.shown().waits_for_approval(), "the program runs");
    let (first, second) = (log.calls(program, "look"), log.calls(program, "look"));
    let asked = log.ask(first);
    assert!(!log.shown().waits_for_approval(), "the second call runs");
    log.observe(second, ObservationStatus::Done, "");
    assert!(log.shown().waits_for_approval());
    let open = log.shown().find(first).and_then(CallView::question);
    assert_eq!(open.map(|open| open.asked), Some(asked));
    log.answer(first, None);
    assert!(!log.shown().waits_for_approval());
}

#[test]
fn a_call_shows_the_arguments_that_hooks_and_people_left() {
    let mut log = LogBuilder::new(false);
    let started = log.start(1, Reason::ToolResults);
    let call = log.call(started, "look", "{}");
    let asked = log.fact(Fact::HooksAsked(HooksAsked {
        at: HookOccurrence::BeforeTool { call },
        hooks: Vec::new(),
        attempt: 1,
        all: false,
    }));
    log.fact(Fact::HookDecided(HookDecided {
        asked,
        hook: 0,
        name: "h".into(),
        verdict: HookVerdict::Pass,
        reason: "".into(),
        subject: Digest::EMPTY,
        edit: edit("changed"),
        context: None,
    }));
    let shown = |log: &LogBuilder| log.shown().find(call).cloned().unwrap();
    assert_eq!(shown(&log).arguments(), "changed");
    log.answer(call, edit("{}"));
    assert_eq!(shown(&log).edited(), None, "they are the proposed ones");
}

#[test]
fn calls_stay_for_all_attempts_and_leave_with_the_next_sample() {
    let mut log = LogBuilder::new(false);
    let started = log.start(1, Reason::ToolResults);
    let call = log.call(started, "look", "{}");
    log.cut(started, FailureKind::Steered, Retained::Nothing, true);
    let again = log.start(2, Reason::Retry);
    let stage = log.shown().find(call).map(|call| call.stage);
    assert_eq!(stage, Some(CallStage::Superseded));
    assert!(!log.shown().is_over(), "the answer is awaited");
    log.cut(again, FailureKind::Steered, Retained::Nothing, false);
    assert!(log.shown().is_over(), "no other attempt is due");
    log.start(1, Reason::Retry);
    assert_eq!(log.shown().calls().count(), 0);
}
