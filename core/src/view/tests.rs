//! The view over hand-written logs.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::*;
use crate::arguments_digest::ArgumentsDigest;
use crate::call::{ObservationStatus, Verdict};
use crate::compaction::VisiblePart;
use crate::digest::Digest;
use crate::fact::{
    ApprovalAnswered, ApprovalAsked, Fact, HookDecided, HooksAsked, InputAccepted, InputEdited,
    InputQueued, Retained, SessionRewound,
};
use crate::failure::FailureKind;
use crate::format::FactFormat;
use crate::hook::{Edit, HookOccurrence, HookVerdict};
use crate::id::{CallId, InputId, Seq, SessionId, TurnId};
use crate::reason::Reason;
use crate::scope::Scope;
use crate::session::Delivery;
use crate::snapshot::log_builder::LogBuilder;
use crate::time::Timestamp;

impl LogBuilder {
    fn ask(&mut self, call: CallId) -> Seq {
        self.fact(Fact::ApprovalAsked(ApprovalAsked {
            call,
            attempt: 1,
            arguments: ArgumentsDigest::Digest(Digest::EMPTY),
            deadline: None,
        }))
    }

    fn answer(&mut self, call: CallId, edit: Option<Edit>) {
        self.fact(Fact::ApprovalAnswered(ApprovalAnswered {
            call,
            by: Arc::new(Scope::local("ada")),
            verdict: Verdict::Allow,
            reason: "".into(),
            arguments: ArgumentsDigest::Digest(Digest::EMPTY),
            edit,
            grant: None,
            key: None,
        }));
    }

    fn shown(&self) -> &SampleView {
        &self.view.turn().unwrap().sample
    }
}

fn edit(text: &str) -> Option<Edit> {
    Some(Edit::unchecked(text.into()))
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
    assert!(!log.shown().waits_for_client(), "nothing is open");
    let program = log.call(started, "run", "{}");
    assert!(!log.shown().waits_for_client(), "the program runs");
    let (first, second) = (log.calls(program, "look"), log.calls(program, "look"));
    let asked = log.ask(first);
    assert!(!log.shown().waits_for_client(), "the second call runs");
    log.observe(second, ObservationStatus::Done, "");
    assert!(log.shown().waits_for_client());
    let open = log.shown().find(first).and_then(CallView::question);
    assert_eq!(open.map(|open| open.asked), Some(asked));
    log.answer(first, None);
    assert!(!log.shown().waits_for_client());
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

#[test]
fn a_rewind_takes_out_what_belongs_to_turns_and_their_inputs() {
    let by = || Arc::new(Scope::local("ada"));
    let mut log: Vec<RecordedFact> = Vec::new();
    let mut fact = |turn: Option<u64>, fact: Fact| {
        let seq = Seq(log.len() as u64 + 1);
        let (turn, ts) = (turn.map(TurnId), Timestamp(seq.0));
        let session = SessionId::new("s").unwrap();
        log.push(RecordedFact {
            format: FactFormat::CURRENT,
            session,
            seq,
            turn,
            ts,
            cause: None,
            fact,
        });
    };
    let queued = || {
        Fact::InputQueued(InputQueued {
            scope: by(),
            text: "words".into(),
            delivery: Delivery::Steer,
            context: Vec::new(),
            images: Vec::new(),
            key: None,
            command_key: None,
            dry_run: false,
            result_of: None,
            command: None,
        })
    };
    let accepted = |input| Fact::InputAccepted(InputAccepted { input: InputId(input), call: None });
    let edited =
        |input| Fact::InputEdited(InputEdited { by: by(), input, text: "w".into(), key: None });
    for _ in 1..=3 {
        fact(None, queued());
    }
    fact(Some(4), accepted(1));
    fact(None, edited(InputId(2)));
    fact(None, edited(InputId(3)));
    fact(Some(4), accepted(2));
    let (to, visible) = (Seq(4), VisiblePart::EMPTY);
    let rewound = SessionRewound { by: by(), to, visible, notice: None, key: None };
    fact(None, Fact::SessionRewound(rewound));
    fact(Some(9), accepted(3));

    let mut rewound = RewoundFacts::default();
    log.iter().for_each(|fact| rewound.apply(fact));
    let found = log.iter().filter(|fact| rewound.includes(fact)).map(|fact| fact.seq.0);
    // The second input was accepted after the point, the third one only after the rewind.
    assert_eq!(found.collect::<Vec<_>>(), [2, 5, 7]);
}
