//! Facts as they are stored: encrypted, beside a fact that has what a listing shows and no more.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use windlass_core::{
    CallId, Delivery, Fact, FactFormat, InputAccepted, InputId, InputQueued, Limits, Lineage,
    Reason, RecordedFact, Scope, SealedFact, Seq, SessionOpened, SessionResumed, Settings,
    TurnOpened, TurnOutcome, TurnSettled, TurnUsage,
};
use windlass_ports::{MAX_FACT_BYTES, StoreError, StoreErrorKind, codec};

use crate::cipher::{Bound, open, seal};
use crate::error::{KeyError, damaged};
use crate::session_keys::SessionKey;

/// Text of a plain fact where its kind needs one.
const HIDDEN: &str = "encrypted";

/// Encrypts a fact.
pub(crate) fn seal_fact(
    key: &SessionKey,
    recorded: &RecordedFact,
) -> Result<RecordedFact, StoreError> {
    let (session, seq) = (&recorded.session, recorded.seq);
    let refused = |kind, why: String| {
        let context = format!("appending to session {session}: the fact at position {seq} {why}");
        StoreError::new(kind, context)
    };
    let text = codec::encode(recorded)
        .map_err(|error| refused(StoreErrorKind::Invalid, format!("has no text: {error}")))?;
    if text.len() > MAX_FACT_BYTES {
        let why = format!("has {} bytes, more than {MAX_FACT_BYTES}", text.len());
        return Err(refused(StoreErrorKind::TooLarge, why));
    }
    let mut stored = RecordedFact {
        format: FactFormat::CURRENT,
        session: session.clone(),
        seq,
        turn: None,
        ts: recorded.ts,
        cause: None,
        fact: plain(&recorded.fact),
    };
    let bytes = recorded.bytes();
    let bound = bound(key, &stored, bytes)?;
    let sealed = seal(&key.key, &bound, &text);
    let sealed = sealed.map_err(|error| KeyError::Random(error).of_log("appending to", session))?;
    let text = STANDARD.encode(sealed);
    stored.format.sealed = Some(Arc::new(SealedFact { bytes, text }));
    Ok(stored)
}

/// Decrypts a stored fact.
pub(crate) fn open_fact(
    key: &SessionKey,
    mut stored: RecordedFact,
) -> Result<RecordedFact, StoreError> {
    let (session, seq) = (stored.session.clone(), stored.seq);
    let Some(sealed) = stored.format.sealed.take() else {
        return Err(KeyError::NotEncrypted.of_log("reading", &session));
    };
    let damaged = || damaged(&session, seq);
    let bound = bound(key, &stored, sealed.bytes)?;
    let bytes = STANDARD.decode(&sealed.text).map_err(|_| damaged())?;
    let text = open(&key.key, &bound, &bytes).ok_or_else(damaged)?;
    let recorded = codec::decode(&text).map_err(|error| {
        let kind = match error {
            codec::CodecError::Newer { .. } => StoreErrorKind::Newer,
            codec::CodecError::Malformed(_) => return damaged().caused_by(error),
        };
        StoreError::new(kind, format!("reading session {session}: {error}")).caused_by(error)
    })?;
    match (&recorded.session, recorded.seq) == (&session, seq) {
        true => Ok(recorded),
        false => Err(damaged()),
    }
}

/// Returns the data that a fact's ciphertext is bound to: its tenant, session and position, and all
/// that is stored in plain text.
fn bound(key: &SessionKey, stored: &RecordedFact, bytes: u64) -> Result<Bound, StoreError> {
    let plain = codec::encode(stored).map_err(|error| {
        let context = format!("session {}: {error}", stored.session);
        StoreError::new(StoreErrorKind::Invalid, context)
    })?;
    Ok(Bound::to("windlass fact 1")
        .and_maybe(key.tenant.as_deref())
        .and(stored.session.as_str().as_bytes())
        .and(&stored.seq.0.to_le_bytes())
        .and(&bytes.to_le_bytes())
        .and(&plain))
}

/// Returns the tenant of the session that these facts open.
pub(crate) fn tenant(facts: &[Arc<RecordedFact>]) -> Option<String> {
    let first = facts.first()?;
    windlass_ports::SessionSummary::begin(first).tenant.map(|tenant| tenant.to_string())
}

/// Returns a fact that changes a session's summary as this one does, and has nothing else of it.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "a summary depends on these kinds alone, and a new one is hidden until it does"
)]
fn plain(fact: &Fact) -> Fact {
    let nobody = || Arc::new(Scope::system(HIDDEN));
    match fact {
        Fact::SessionOpened(opened) => Fact::SessionOpened(SessionOpened {
            owner: Arc::new(match &*opened.owner {
                Scope::Principal { tenant, .. } => Scope::Principal {
                    tenant: tenant.clone(),
                    principal: HIDDEN.to_owned(),
                    claims: std::collections::BTreeMap::new(),
                },
                Scope::System { .. } => Scope::system(HIDDEN),
            }),
            workspace: None,
            settings: Arc::new(Settings::new(HIDDEN, HIDDEN)),
            lineage: Lineage::Root,
        }),
        Fact::InputQueued(queued) => Fact::InputQueued(InputQueued {
            scope: nobody(),
            text: "".into(),
            delivery: Delivery::Turn,
            context: Vec::new(),
            images: Vec::new(),
            key: None,
            command_key: None,
            dry_run: false,
            result_of: queued.result_of.map(|_| CallId(0)),
            command: None,
        }),
        Fact::InputAccepted(_) | Fact::InputBlocked(_) | Fact::InputWithdrawn(_) => {
            Fact::InputAccepted(InputAccepted { input: InputId(0), call: None })
        }
        Fact::TurnOpened(_) => Fact::TurnOpened(TurnOpened {
            reason: Reason::Retry,
            scope: nobody(),
            settings: Seq::ZERO,
            limits: Limits::default(),
            dry_run: false,
            key: None,
        }),
        Fact::TurnSettled(settled) => Fact::TurnSettled(TurnSettled {
            outcome: TurnOutcome::Completed,
            spent: TurnUsage::default(),
            waiting: vec![InputId(0); settled.waiting.len()],
            detached: vec![CallId(0); settled.detached.len()],
            notice: None,
        }),
        _ => Fact::SessionResumed(SessionResumed {}),
    }
}
