//! The view over hand-written logs.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::*;
use crate::because::Because;
use crate::call::{Observation, ObservationStatus, Verdict};
use crate::digest::Digest;
use crate::fact::{
    ApprovalAnswered, ApprovalAsked, CallObserved, Fact, HookDecided, HooksAsked, ItemAdded,
    ProgramCalled, Reserved, SampleCut, SampleStarted, Stands,
};
use crate::failure::{FailureKind, Retry, SampleFailure};
use crate::hook::{Edit, HookAt, HookVerdict};
use crate::id::{CallId, Seq, SessionId};
use crate::item::{CallItem, Item};
use crate::program::SampleKind;
use crate::record::FACT_VERSION;
use crate::scope::Scope;
use crate::time::Timestamp;

#[derive(Default)]
struct Log {
    view: View,
    seq: u64,
}

impl Log {
    fn fact(&mut self, fact: Fact) -> Seq {
        self.seq += 1;
        self.view.apply(&Recorded {
            v: FACT_VERSION,
            session: SessionId::new("s").unwrap(),
            seq: Seq(self.seq),
            turn: Some(TurnId(1)),
            ts: Timestamp(self.seq),
            fact,
        });
        Seq(self.seq)
    }

    fn start(&mut self, sample: u32, attempt: u32) -> Seq {
        self.fact(Fact::SampleStarted(SampleStarted {
            sample,
            attempt,
            because: Because::ToolResults,
            digest: Digest::EMPTY,
            reserved: Reserved::default(),
            kind: SampleKind::Normal,
        }))
    }

    fn text(&mut self, started: Seq, text: &str) -> Seq {
        let item = Item::Text { text: text.into() };
        self.fact(Fact::ItemAdded(ItemAdded { started, item }))
    }

    fn call(&mut self, started: Seq) -> CallId {
        let item = Item::Call(item());
        CallId(self.fact(Fact::ItemAdded(ItemAdded { started, item })).0)
    }

    fn program_calls(&mut self, program: CallId) -> CallId {
        let item = item();
        let called = ProgramCalled { program, item };
        CallId(self.fact(Fact::ProgramCalled(called)).0)
    }

    fn cut(&mut self, started: Seq, stands: Stands) {
        self.fact(Fact::SampleCut(SampleCut {
            started,
            failure: SampleFailure::new(FailureKind::Steered, Retry::Never, "cut"),
            partial: " and more".into(),
            stands,
            usage: None,
            retry_at: Some(Timestamp(99)),
            asked: None,
        }));
    }

    fn ask(&mut self, call: CallId) {
        self.fact(Fact::ApprovalAsked(ApprovalAsked {
            call,
            attempt: 1,
            arguments: Digest::EMPTY,
            deadline: None,
        }));
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

    fn observe(&mut self, call: CallId) {
        self.fact(Fact::CallObserved(CallObserved {
            call,
            observation: Arc::new(Observation::new(ObservationStatus::Done, "done")),
            took: None,
            tells: None,
        }));
    }

    fn sample(&self) -> &SampleView {
        &self.view.turn().unwrap().sample
    }
}

fn item() -> Arc<CallItem> {
    Arc::new(CallItem {
        provider_id: "".into(),
        name: "look".into(),
        arguments: "{}".into(),
        fault: None,
        rules: Vec::new(),
        opaque: None,
        spoken: false,
    })
}

fn edit(text: &str) -> Option<Edit> {
    Some(Edit {
        text: text.into(),
        fault: None,
        rules: Vec::new(),
    })
}

#[test]
fn the_answer_is_what_stands_of_the_latest_sample() {
    let said = |stands: fn(Seq) -> Stands| {
        let mut log = Log::default();
        let started = log.start(1, 1);
        let first = log.text(started, "one");
        log.text(started, " two");
        log.cut(started, stands(first));
        assert_eq!(log.sample().text(), "one two and more");
        let answer = log.sample().answer();
        let again = log.start(1, 2);
        log.text(again, "two");
        assert_eq!(log.sample().answer(), "two");
        answer
    };
    assert_eq!(said(|_| Stands::Nothing), "");
    assert_eq!(said(|item| Stands::Through { item }), "one");
    assert_eq!(said(|_| Stands::Said), "one two and more");
}

#[test]
fn a_turn_waits_for_people_where_each_open_call_does() {
    let mut log = Log::default();
    let started = log.start(1, 1);
    assert!(!log.sample().waits_for_people(), "nothing is open");
    let program = log.call(started);
    assert!(!log.sample().waits_for_people(), "the program runs");
    let (first, second) = (log.program_calls(program), log.program_calls(program));
    log.ask(first);
    assert!(!log.sample().waits_for_people(), "the second call runs");
    log.observe(second);
    assert!(log.sample().waits_for_people());
    let open = log.sample().find(first).and_then(CallView::question);
    assert_eq!(open.map(|open| open.asked), Some(Seq(5)));
    log.answer(first, None);
    assert!(!log.sample().waits_for_people());
}

#[test]
fn a_call_shows_the_arguments_that_hooks_and_people_left() {
    let mut log = Log::default();
    let started = log.start(1, 1);
    let call = log.call(started);
    let asked = log.fact(Fact::HooksAsked(HooksAsked {
        at: HookAt::BeforeTool { call },
        hooks: Vec::new(),
        attempt: 1,
    }));
    log.fact(Fact::HookDecided(HookDecided {
        asked,
        hook: 0,
        name: "h".into(),
        verdict: HookVerdict::Pass,
        reason: "".into(),
        about: Digest::EMPTY,
        edit: edit("{\"a\":1}"),
        context: None,
    }));
    let shown = |log: &Log| {
        let call = log.sample().find(call).unwrap();
        (call.arguments().len(), call.edited().is_some())
    };
    assert_eq!(shown(&log), (7, true));
    log.answer(call, edit("{}"));
    assert_eq!(shown(&log), (2, false), "they are the proposed ones again");
}

#[test]
fn calls_stay_for_all_attempts_and_leave_with_the_next_sample() {
    let mut log = Log::default();
    let started = log.start(1, 1);
    let call = log.call(started);
    log.cut(started, Stands::Nothing);
    let again = log.start(1, 2);
    let stage = log.sample().find(call).map(|call| call.stage);
    assert_eq!(stage, Some(CallStage::Superseded));
    assert!(!log.sample().is_over(), "the answer is awaited");
    log.cut(again, Stands::Through { item: again });
    assert!(log.sample().is_over(), "no other attempt is due");
    log.start(2, 1);
    assert_eq!(log.sample().calls().count(), 0);
}
