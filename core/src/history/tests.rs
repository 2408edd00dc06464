//! Contexts of hooks in a history.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::*;
use crate::call::ObservationStatus;
use crate::compaction::CutPoint;
use crate::digest::Digest;
use crate::fact::{CallObserved, Compacted, HooksAsked, ItemAdded, SampleEnded, TurnSettled};
use crate::fact::{ContextInjected, ContextSource, Fact, HookDecided};
use crate::format::FactFormat;
use crate::hook::{HookVerdict, SessionStart};
use crate::id::SessionId;
use crate::item::StopReason;
use crate::outcome::TurnOutcome;
use crate::session::TurnUsage;
use crate::time::Timestamp;
use crate::{compact, context};

fn recorded(seq: u64, fact: Fact) -> RecordedFact {
    RecordedFact {
        format: FactFormat::CURRENT,
        session: SessionId::new("s").unwrap(),
        seq: Seq(seq),
        turn: Some(TurnId(1)),
        ts: Timestamp(0),
        cause: None,
        fact,
    }
}

/// Returns a history after a turn in which a hook added this many lasting contexts, from position 2
/// on.
fn given(texts: u64) -> History {
    let mut history = History::default();
    let start = SessionStart::Startup;
    let mut facts = vec![Fact::HooksAsked(HooksAsked {
        at: HookOccurrence::SessionStart { start },
        hooks: vec![0],
        attempt: 1,
        all: false,
    })];
    facts.extend((0..texts).map(|_| {
        Fact::HookDecided(HookDecided {
            asked: Seq(1),
            hook: 0,
            name: String::from("lint"),
            verdict: HookVerdict::Pass,
            reason: String::new(),
            subject: Digest::EMPTY,
            edit: None,
            context: Some("use tabs".into()),
        })
    }));
    facts.push(Fact::TurnSettled(TurnSettled {
        outcome: TurnOutcome::Completed,
        spent: TurnUsage::default(),
        waiting: Vec::new(),
        detached: Vec::new(),
        notice: None,
    }));
    for (seq, fact) in (1..).zip(facts) {
        history.apply(&recorded(seq, fact)).unwrap();
    }
    history
}

#[test]
fn the_latest_lasting_context_outlives_its_turn_and_the_oldest_goes_where_it_is_too_much() {
    let injected = |texts: u64, decided: u64| {
        let from = ContextSource::Hook { decided: Seq(decided) };
        let lasting = ContextLifetime::Session;
        let fact = Fact::ContextInjected(ContextInjected { from, lifetime: lasting });
        given(texts).apply(&recorded(1_000, fact))
    };
    let most = MAX_PENDING_CONTEXTS as u64;
    assert_eq!(injected(most, 2), Ok(()));
    assert!(injected(most + 1, 2).is_err());
    assert_eq!(injected(most + 1, 3), Ok(()));
    assert!(injected(most + 2, 3).is_err());
    assert_eq!(injected(most + 2, 4), Ok(()));
}

/// Returns a history after a sample with a call of this id; positions continue from `seq`.
fn called(mut history: History, seq: u64, provider_id: &str) -> History {
    let call = CallItem {
        provider_id: String::from(provider_id),
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
    let facts = [
        Fact::ItemAdded(ItemAdded {
            started: Seq(seq),
            item: Item::Call(Arc::new(call)),
            surplus: false,
        }),
        Fact::SampleEnded(SampleEnded {
            started: Seq(seq),
            stop: StopReason::Stop,
            usage: None,
            estimate: None,
            response_id: None,
            request: None,
            fault: None,
        }),
        Fact::CallObserved(CallObserved {
            call: CallId(seq),
            observation: Arc::new(Observation::new(ObservationStatus::Done, "done")),
            usage: None,
            report: None,
            form: None,
            detached: false,
            by: None,
            key: None,
        }),
    ];
    for (seq, fact) in (seq..).zip(facts) {
        history.apply(&recorded(seq, fact)).unwrap();
    }
    history
}

fn ids(history: &History) -> Vec<&str> {
    let ids = history.items().iter().filter_map(|item| {
        let PromptItem::Call { id, .. } = item else {
            return None;
        };
        Some(&**id)
    });
    ids.collect()
}

#[test]
fn the_id_of_a_call_that_left_the_conversation_is_free_again_and_no_other() {
    let history = called(History::default(), 10, "first");
    let mut history = called(history, 20, "second");
    let cut = CutPoint { drop_before: 2, ..CutPoint::default() };
    let (items, _) = compact::apply(&history.items, &history.units, Some(TurnId(1)), &cut);
    let compacted = Fact::Compacted(Compacted {
        started: Seq(30),
        cut,
        visible: context::visible_part(items.iter()),
        usage: None,
        unmeasured: None,
        fallback: None,
    });
    assert_eq!(ids(&called(history.clone(), 30, "first")), ["first", "second", "call_w30_0"]);
    history.apply(&recorded(30, compacted)).unwrap();
    assert_eq!(ids(&history), ["second"]);
    let history = called(called(history, 40, "first"), 50, "second");
    assert_eq!(ids(&history), ["second", "first", "call_w50_0"]);
}
