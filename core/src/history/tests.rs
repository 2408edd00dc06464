//! What a history keeps of what hooks gave.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::*;
use crate::digest::Digest;
use crate::fact::{HooksAsked, TurnSettled};
use crate::hook::{HookVerdict, SessionStart};
use crate::id::SessionId;
use crate::outcome::Outcome;
use crate::record::FACT_VERSION;
use crate::session::Spent;
use crate::time::Timestamp;

fn recorded(seq: u64, fact: Fact) -> Recorded {
    Recorded {
        v: FACT_VERSION,
        session: SessionId::new("s").unwrap(),
        seq: Seq(seq),
        turn: Some(TurnId(1)),
        ts: Timestamp(0),
        fact,
    }
}

/// A history after a turn in which a hook gave so much lasting context, from position 2 on.
fn given(texts: u64) -> History {
    let mut history = History::default();
    let start = SessionStart::Startup;
    let mut facts = vec![Fact::HooksAsked(HooksAsked {
        at: HookAt::SessionStart { start },
        hooks: vec![0],
        attempt: 1,
    })];
    facts.extend((0..texts).map(|_| {
        Fact::HookDecided(HookDecided {
            asked: Seq(1),
            hook: 0,
            name: String::from("lint"),
            verdict: HookVerdict::Pass,
            reason: String::new(),
            about: Digest::EMPTY,
            edit: None,
            context: Some("use tabs".into()),
        })
    }));
    facts.push(Fact::TurnSettled(TurnSettled {
        outcome: Outcome::Completed,
        spent: Spent::default(),
        waiting: Vec::new(),
    }));
    for (seq, fact) in (1..).zip(facts) {
        history.apply(&recorded(seq, fact)).unwrap();
    }
    history
}

#[test]
fn the_latest_lasting_context_outlives_its_turn_and_the_oldest_goes_where_it_is_too_much() {
    let injected = |texts: u64, decided: u64| {
        let from = ContextSource::Hook {
            decided: Seq(decided),
        };
        let lasting = Lasting::Session;
        let fact = Fact::ContextInjected(ContextInjected { from, lasting });
        given(texts).apply(&recorded(1_000, fact))
    };
    let most = GIVEN as u64;
    assert_eq!(injected(most, 2), Ok(()));
    assert!(injected(most + 1, 2).is_err());
    assert_eq!(injected(most + 1, 3), Ok(()));
    assert!(injected(most + 2, 3).is_err());
    assert_eq!(injected(most + 2, 4), Ok(()));
}
