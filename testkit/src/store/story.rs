//! Facts that tell a session's story, as far as a listing is about it, and what a listing then says.

use std::sync::Arc;

use windlass_core::{
    Draft, Fact, InputAccepted, InputBlocked, InputId, Lineage, Reason, RecordedFact, Scope, Seq,
    SessionId, SessionOpened, SessionResumed, Settings, Timestamp, TurnOpened, TurnOutcome,
    TurnSettled, TurnUsage,
};
use windlass_ports::SessionSummary;

use super::facts::{queued, settings};

/// A fact, and what its log's summary says when it is the last: whether a turn is open, and how many
/// inputs wait.
pub(super) type Told = (Fact, bool, u32);

/// How far a story goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// Nothing is left to do.
    Done,
    /// An input waits.
    Waiting,
    /// A turn is open, and no input waits.
    Turning,
}

/// The owner of a session: of a tenant, or the system.
pub(super) fn owner(tenant: Option<&str>) -> Scope {
    match tenant {
        Some(tenant) => Scope::Principal {
            tenant: tenant.to_owned(),
            principal: String::from("someone"),
            claims: [].into(),
        },
        None => Scope::system("upkeep"),
    }
}

/// A session that is opened, asked three things in two turns, and at rest again.
pub(super) fn story(session: &SessionId, tenant: Option<&str>) -> Vec<Told> {
    let input = || queued(session, Seq(1), String::from("and then?")).fact;
    vec![
        (opened(tenant), false, 0),
        (input(), false, 1),
        (input(), false, 2),
        (turn(InputId(2)), true, 2),
        (accepted(InputId(2)), true, 1),
        (Fact::SessionResumed(SessionResumed {}), true, 1),
        (input(), true, 2),
        (blocked(InputId(3)), true, 1),
        (settled(&[InputId(7)]), false, 1),
        (turn(InputId(7)), true, 1),
        (accepted(InputId(7)), true, 0),
        (settled(&[]), false, 0),
    ]
}

/// The facts of a session whose story goes so far.
pub(super) fn log_until(
    session: &SessionId,
    tenant: Option<&str>,
    until: Until,
) -> Vec<Arc<RecordedFact>> {
    let facts = match until {
        Until::Done => 12,
        Until::Waiting => 9,
        Until::Turning => 11,
    };
    let told = story(session, tenant).into_iter().take(facts);
    numbered(session, told.map(|(fact, ..)| fact))
}

/// Facts as a log that begins with them numbers and dates them.
pub(super) fn numbered(
    session: &SessionId,
    facts: impl Iterator<Item = Fact>,
) -> Vec<Arc<RecordedFact>> {
    let numbered = facts.zip(1..).map(|(fact, seq)| {
        let (turn, ts) = (None, changed(Seq(seq)));
        Arc::new(Draft { turn, ts, cause: None, fact }.number(session, Seq(seq)))
    });
    numbered.collect()
}

/// What a listing says of a log that ends here.
pub(super) fn summary(
    session: &SessionId,
    tenant: Option<&str>,
    last: Seq,
    turning: bool,
    waiting: u32,
) -> SessionSummary {
    let told = story(session, tenant).into_iter().map(|(fact, ..)| fact);
    let facts = numbered(session, told).into_iter().filter(|fact| fact.seq <= last);
    SessionSummary {
        last,
        changed_at: changed(last),
        tenant: tenant.map(Into::into),
        turn_open: turning,
        waiting_inputs: waiting,
        bytes: Some(facts.map(|fact| fact.bytes()).sum()),
    }
}

/// When the fact at a position was decided. It goes back once: a listing tells the last fact's time,
/// not the latest.
fn changed(seq: Seq) -> Timestamp {
    let back = if seq.0 == 8 { 5_000 } else { 0 };
    Timestamp(1_700_000_000_000 + seq.0 * 10 - back)
}

fn opened(tenant: Option<&str>) -> Fact {
    Fact::SessionOpened(SessionOpened {
        owner: owner(tenant).into(),
        workspace: None,
        settings: Arc::<Settings>::new(settings("plain")),
        lineage: Lineage::Root,
    })
}

fn turn(input: InputId) -> Fact {
    Fact::TurnOpened(TurnOpened {
        reason: Reason::Input { input },
        scope: Scope::local("someone").into(),
        settings: Seq(1),
        limits: windlass_core::Limits::default(),
        dry_run: false,
        key: None,
    })
}

fn accepted(input: InputId) -> Fact {
    Fact::InputAccepted(InputAccepted { input, call: None })
}

fn blocked(input: InputId) -> Fact {
    Fact::InputBlocked(InputBlocked { input, reason: "not that".into() })
}

fn settled(waiting: &[InputId]) -> Fact {
    Fact::TurnSettled(TurnSettled {
        outcome: TurnOutcome::Completed,
        spent: TurnUsage::default(),
        waiting: waiting.to_vec(),
        detached: Vec::new(),
        notice: None,
    })
}
