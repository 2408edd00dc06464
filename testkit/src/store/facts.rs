//! Facts to fill logs with: every kind, awkward texts, exact sizes. They are numbered as a log
//! numbers them and make no sense as a turn; stores do not read them.

use std::sync::Arc;

use windlass_core::{
    Because, CallDecided, CallId, CallItem, CallObserved, CallStarted, Concurrency, Decider,
    Delivery, Digest, Draft, EffectClass, Fact, FailureKind, InputAccepted, InputId, InputQueued,
    InterruptRequested, Interrupter, Item, ItemAdded, LimitKind, Limits, Lineage, Mode,
    Observation, ObservationStatus, Opaque, Outcome, Permissions, ReasoningItem, Recorded, Retry,
    SampleCut, SampleEnded, SampleFailure, SampleStarted, Scope, Seq, SessionId, SessionOpened,
    Settings, SettingsChanged, Spent, StopReason, Timestamp, ToolSpec, TurnId, TurnOpened,
    TurnSettled, Usage, Verdict,
};

/// Texts that break what is careless: empty, quoted, of control characters, of line ends, not
/// normalised, beyond the basic plane, or looking like the log itself.
pub const NASTY_TEXTS: &[&str] = &[
    "",
    "plain",
    "\"quoted\" \\back\\slashed\\ 'single' `tick` $(sub) %s {}",
    "\0nul\0in\0the\0middle\0",
    "\u{1}\u{2}\u{7}\u{8}\u{b}\u{c}\u{e}\u{1b}[31m\u{1f}\u{7f}\u{80}\u{9f}",
    "line\nline\r\nline\rtab\tend\n\n",
    "\u{2028}\u{2029}\u{85}\u{a0}\u{feff}\u{200b}\u{202e}reversed",
    "ä ß 漢字 e\u{301} é 👩‍👩‍👧 🦀 \u{fffd}\u{ffff}\u{10ffff}",
    "\n{\"v\":1,\"session\":\"other\",\"seq\":1,\"turn\":null,\"ts\":0,\"kind\":\"None\"}\n",
    "   leading and trailing blanks \t ",
];

/// A log with every kind of fact and every awkward text, numbered from 1.
#[must_use]
pub fn sample_facts(session: &SessionId) -> Vec<Arc<Recorded>> {
    let long = "0123456789abcdef \"\n\0漢🦀".repeat(3_000);
    let texts = NASTY_TEXTS.iter().copied().chain([long.as_str()]);
    let facts = texts.flat_map(facts_with);
    let moments = [0, 1, 1_700_000_000_000, u64::MAX].into_iter().cycle();
    let turns = [None, Some(TurnId(4)), Some(TurnId(u64::MAX))]
        .into_iter()
        .cycle();
    let drafts = facts.zip(moments).zip(turns);
    let numbered = drafts.zip(1..).map(|(((fact, ts), turn), seq)| {
        let ts = Timestamp(ts);
        Arc::new(Draft { turn, ts, fact }.number(session, Seq(seq)))
    });
    numbered.collect()
}

/// `count` small facts that follow position `after`, each with a text of its own.
#[must_use]
pub fn numbered_facts(session: &SessionId, after: Seq, count: u64) -> Vec<Arc<Recorded>> {
    let fact = |n: u64| {
        let seq = after.plus(n);
        Arc::new(queued(session, seq, format!("fact {seq} of {session}")))
    };
    (1..=count).map(fact).collect()
}

/// The fact that follows position `after`, with a text form of `bytes` bytes.
///
/// `None` when no fact is that small.
#[must_use]
pub fn fact_of_size(session: &SessionId, after: Seq, bytes: usize) -> Option<Arc<Recorded>> {
    let seq = after.next();
    let empty = windlass_ports::codec::encode(&queued(session, seq, String::new())).ok()?;
    let filling = bytes.checked_sub(empty.len())?;
    Some(Arc::new(queued(session, seq, "x".repeat(filling))))
}

fn queued(session: &SessionId, seq: Seq, text: String) -> Recorded {
    let fact = Fact::InputQueued(InputQueued {
        scope: Scope::local("someone").into(),
        text: text.into(),
        delivery: Delivery::Turn,
        key: None,
        dry_run: false,
    });
    let draft = Draft {
        turn: None,
        ts: Timestamp(1_700_000_000_000),
        fact,
    };
    draft.number(session, seq)
}

/// One fact of each kind, with `text` wherever it takes a text.
fn facts_with(text: &str) -> Vec<Fact> {
    let mut facts = vec![
        Fact::SessionOpened(SessionOpened {
            owner: principal(text).into(),
            workspace: Some(text.into()),
            settings: Arc::new(settings(text)),
            lineage: Lineage::Root,
        }),
        Fact::SettingsChanged(SettingsChanged {
            settings: Arc::new(settings(text)),
        }),
        Fact::InputQueued(InputQueued {
            scope: principal(text).into(),
            text: text.into(),
            delivery: Delivery::Turn,
            key: Some(text.into()),
            dry_run: true,
        }),
        Fact::TurnOpened(TurnOpened {
            because: Because::Opened { input: InputId(3) },
            scope: Scope::system(text).into(),
            settings: Seq(1),
            limits: Limits::default(),
            dry_run: false,
        }),
        Fact::InputAccepted(InputAccepted { input: InputId(3) }),
    ];
    facts.extend(sample_with(text));
    facts.extend(call_with(text));
    facts.push(Fact::InterruptRequested(InterruptRequested {
        by: Interrupter::Person,
        reason: text.into(),
    }));
    facts.extend(outcomes_with(text).into_iter().map(|outcome| {
        let spent = Spent::default();
        Fact::TurnSettled(TurnSettled { outcome, spent })
    }));
    facts
}

fn sample_with(text: &str) -> Vec<Fact> {
    let opaque = Opaque {
        provider: text.into(),
        endpoint: text.into(),
        model: text.into(),
        payload: text.into(),
    };
    let call = CallItem {
        provider_id: text.into(),
        name: text.into(),
        arguments: text.into(),
        fault: Some(text.into()),
        opaque: Some(opaque.clone()),
    };
    let reasoning = ReasoningItem {
        text: text.into(),
        opaque: Some(opaque),
    };
    let items = [
        Item::Text { text: text.into() },
        Item::Refusal { text: text.into() },
        Item::Reasoning(Arc::new(reasoning)),
        Item::Call(Arc::new(call)),
    ];
    let started = Seq(6);
    let mut facts = vec![Fact::SampleStarted(SampleStarted {
        sample: 1,
        attempt: u32::MAX,
        because: Because::Retry,
        digest: Digest::EMPTY.part(text.as_bytes()),
    })];
    facts.extend(items.map(|item| Fact::ItemAdded(ItemAdded { started, item })));
    facts.push(Fact::SampleEnded(SampleEnded {
        started,
        stop: StopReason::Other(text.into()),
        usage: Some(Usage {
            input: Some(u64::MAX),
            ..Usage::default()
        }),
        response_id: Some(text.into()),
    }));
    facts.push(Fact::SampleCut(SampleCut {
        started,
        failure: SampleFailure {
            status: Some(503),
            request_id: Some(text.into()),
            ..SampleFailure::new(FailureKind::Overloaded, Retry::AfterMs(7), text)
        },
        partial: text.into(),
        retry_at: Some(Timestamp(u64::MAX)),
    }));
    facts
}

fn call_with(text: &str) -> [Fact; 3] {
    let call = CallId(10);
    [
        Fact::CallDecided(CallDecided {
            call,
            verdict: Verdict::Deny,
            by: Decider::Policy,
            reason: text.into(),
            arguments: Digest::EMPTY,
        }),
        Fact::CallStarted(CallStarted {
            call,
            attempt: 1,
            idempotency_key: text.into(),
            timeout_ms: u64::MAX,
        }),
        Fact::CallObserved(CallObserved {
            call,
            observation: Arc::new(Observation {
                omitted_bytes: u64::MAX,
                ..Observation::new(ObservationStatus::Unknown, text)
            }),
        }),
    ]
}

fn outcomes_with(text: &str) -> [Outcome; 5] {
    [
        Outcome::Completed,
        Outcome::Interrupted {
            by: Interrupter::Shutdown,
            reason: text.into(),
        },
        Outcome::Blocked {
            reason: text.into(),
        },
        Outcome::Exhausted {
            limit: LimitKind::WallClock,
        },
        Outcome::Failed {
            failure: FailureKind::Server,
            message: text.into(),
        },
    ]
}

fn principal(text: &str) -> Scope {
    Scope::Principal {
        tenant: text.into(),
        principal: text.into(),
        claims: [(text.into(), text.into()), ("role".into(), text.into())].into(),
    }
}

fn settings(text: &str) -> Settings {
    Settings {
        provider: text.into(),
        model: text.into(),
        instructions: text.into(),
        mode: Mode::Plan,
        permissions: Permissions::ReadOnly,
        tools: vec![ToolSpec {
            name: text.into(),
            description: text.into(),
            parameters: text.into(),
            effect: EffectClass::Effectful,
            concurrency: Concurrency::Exclusive,
            timeout_ms: Some(1),
        }],
        limits: Limits::default(),
        max_output_tokens: Some(u64::MAX),
        effort: Some(text.into()),
        base_url: Some(text.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use windlass_ports::codec;

    use super::*;

    #[test]
    fn samples_have_every_kind_and_are_numbered_on() {
        let session = SessionId::new("s").unwrap();
        let facts = sample_facts(&session);
        let kinds: BTreeSet<_> = facts.iter().map(|fact| fact.fact.kind()).collect();
        assert_eq!(kinds.len(), 14);
        for (fact, seq) in facts.iter().zip(1..) {
            assert_eq!(fact.seq, Seq(seq));
            let text = codec::encode(fact).unwrap();
            assert_eq!(codec::decode(&text).unwrap(), **fact);
        }
    }

    #[test]
    fn a_fact_has_the_size_that_was_asked_for() {
        let session = SessionId::new("s").unwrap();
        assert!(fact_of_size(&session, Seq(9), 20).is_none());
        for bytes in [300, 301, 70_000] {
            let fact = fact_of_size(&session, Seq(9), bytes).unwrap();
            assert_eq!(codec::encode(&fact).unwrap().len(), bytes);
            assert_eq!(fact.seq, Seq(10));
        }
    }
}
