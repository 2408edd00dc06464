//! Keys: which worlds a search takes for the same.
//!
//! Two worlds have the same key when the same things can happen in them from now on, and the same
//! follows. What a session, what runs and what is durable differ in is then only this:
//!
//! - **Positions** (`Seq`, `InputId`, `CallId`, `TurnId`) count by their order among those that the
//!   state still names. The core compares positions and never reckons with their distance. How far
//!   the log is durable counts by which of these it holds, and whether anything comes after.
//! - **Moments** count by their distance to now. The core compares moments with now and adds
//!   spans to them. When a turn opened counts only where its time is limited.
//! - **Attempts spent** are told when a turn settles, and nothing is decided by them.
//! - **What was shown** (its digest, its size, what the provider measured), what was estimated of it
//!   and the history count
//!   only in a world that can ask for their size: with a window, a budget of tokens or money, or a
//!   provider that refuses a request as too large.
//! - **Settings** count by which they are, and so do the limits and the size of the instructions,
//!   which are made of them.
//! - **Ceilings** count by the last one, and from when on it is in force.
//! - **Runs that have ended** count by their kinds, since each late answer of a kind is refused.
//! - **The log** counts as far as it may still be lost: by what it folds to where it is durable, or
//!   at each position from there on in a world where a crash loses part of the rest. Beyond that, the
//!   log, what was begun and what was lost are there for the laws, which hold one log of each
//!   state to account, the shortest.
//!
//! Nothing else is left out: the parts are taken to pieces field by field, so a new field of the
//! core does not compile here until somebody says what it is for. That worlds with one key do go
//! on alike is put to the test: see [`super::Extent::audit`].

use std::fmt::Write as _;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use windlass_core::{
    EffectKey, Fact, Phase, RecordedFact, Sampling, Seq, Session, Settings, Stage, Timestamp, Turn,
    TurnUsage,
};

use crate::laws::law_01_live_equals_fold;
use crate::world::World;

/// What a world is merged by.
///
/// Two worlds have the same key when the same may happen in them from now on, and the same
/// follows. Positions count by their order, moments by their distance to now, and what only grows
/// and decides nothing (the log itself, attempts spent, what the model was shown where nothing
/// asks for its size) does not count. All else of a session does, field by field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key([u8; 16]);

/// What counts in a bounded world besides what always does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counts {
    /// The size of the conversation: something asks for it.
    pub(super) size: bool,
    /// How much of a log that is not durable a crash may lose.
    pub(super) loss: Loss,
}

/// How much of a log that is not durable a crash may lose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Loss {
    /// Nothing.
    #[default]
    Nothing,
    /// All of it.
    All,
    /// Any number of facts.
    Some,
}

/// Makes keys. All keys that are compared come from the same one.
#[derive(Debug, Clone, Default)]
pub(super) struct Keys {
    /// The settings seen so far; a key names one by its place.
    settings: Vec<Arc<Settings>>,
    /// What else counts.
    counts: Counts,
    raw: String,
    text: String,
}

impl Keys {
    pub(super) fn new(counts: Counts) -> Self {
        Self { counts, ..Self::default() }
    }

    /// The key of a world.
    pub(super) fn of(&mut self, world: &World) -> Key {
        self.text(world);
        let hash = Sha256::digest(self.text.as_bytes());
        let mut key = [0; 16];
        key.copy_from_slice(hash.get(..16).unwrap_or(&[0; 16]));
        Key(key)
    }

    /// What the key of a world is the hash of.
    pub(super) fn text(&mut self, world: &World) -> &str {
        self.raw.clear();
        // Writing to a string does not fail.
        let _: std::fmt::Result = self.world(world);
        self.text.clear();
        relative(&self.raw, world.now(), &mut self.text);
        &self.text
    }

    fn world(&mut self, world: &World) -> std::fmt::Result {
        self.session(world.session())?;
        let evidence = world.evidence();
        if self.counts.size {
            write!(self.raw, " history {:?}", evidence.history)?;
        }
        let (running, durable) = (evidence.running, evidence.durable);
        let lags = durable < world.last();
        write!(self.raw, " running {running:?} ceiling ")?;
        // Earlier ones are about calls that have started, and law 19 has checked those.
        if let Some((since, ceiling)) = evidence.ceilings.last() {
            write!(self.raw, "Until({}) {ceiling:?}", since.0)?;
        }
        write!(self.raw, " durable Until({}) {lags}", durable.0)?;
        write!(self.raw, " entropy {:?}", world.entropy())?;
        self.gone(world.past(), evidence.log)?;
        match self.counts.loss {
            Loss::Nothing => Ok(()),
            Loss::All => self.lost(world, durable),
            Loss::Some => (durable.0..world.last().0).try_for_each(|at| self.lost(world, Seq(at))),
        }
    }

    /// What may be answered late.
    fn gone(&mut self, past: &[EffectKey], log: &[RecordedFact]) -> std::fmt::Result {
        let asked = |recorded: &RecordedFact| matches!(recorded.fact, Fact::ApprovalAsked(_));
        let asked = log.iter().any(asked);
        write!(self.raw, " past {:?} {asked}", kinds(past))
    }

    /// What a world comes back to whose log ends here.
    fn lost(&mut self, world: &World, last: Seq) -> std::fmt::Result {
        if last >= world.last() {
            return Ok(());
        }
        let log = world.evidence().log;
        let kept = log.partition_point(|recorded| recorded.seq <= last);
        let log = log.get(..kept).unwrap_or(log);
        // A log that does not fold has broken a law, and no search goes on from there.
        let Ok((session, history)) = law_01_live_equals_fold::fold(log) else {
            return write!(self.raw, " unreadable {last:?}");
        };
        write!(self.raw, " lost to ")?;
        self.session(&session)?;
        if self.counts.size {
            write!(self.raw, " history {history:?}")?;
        }
        let runs = world.past().iter().chain(world.evidence().running.keys());
        let past: Vec<EffectKey> = runs.filter(|key| key.started() <= last).copied().collect();
        self.gone(&past, log)
    }

    fn session(&mut self, session: &Session) -> std::fmt::Result {
        let Session {
            id: _,
            owner: _,
            bytes: _,
            title: _,
            totals: _,
            changed_at: _,
            workspace: _,
            lineage: _,
            next: _,
            settings,
            settings_at,
            queue,
            keys,
            hold,
            visible: shown,
            measured,
            known_context: told,
            // No bounded world has deferred tools.
            found_tools: _,
            goal,
            detached,
            compaction,
            // Worlds have one model.
            reader: _,
            start,
            pending,
            hook_rounds: gates,
            latest_sample: latest,
            phase,
            // No bounded world rewinds.
            rewind: _,
        } = session;
        let settings = self.place(settings);
        write!(self.raw, "settings {settings} {settings_at:?}")?;
        write!(self.raw, " queue {queue:?} {keys:?} {hold:?} told {told:?}")?;
        write!(self.raw, " goal {goal:?} {detached:?} {compaction:?} start {start:?} {pending:?}")?;
        write!(self.raw, " gates {gates:?} latest {latest:?}")?;
        if self.counts.size {
            write!(self.raw, " shown {shown:?} {measured:?}")?;
        }
        match phase {
            Phase::Idle => Ok(()),
            Phase::InTurn(turn) => self.turn(turn),
        }
    }

    fn turn(&mut self, turn: &Turn) -> std::fmt::Result {
        let Turn {
            id,
            goal,
            scope: _,
            settings,
            limits,
            dry_run,
            opened_at,
            spent,
            stop,
            pause,
            hook_rounds: gates,
            pending,
            base_bytes: _,
            context_bytes,
            compaction,
            command,
            compacted,
            compacting,
            announced_last: told_last,
            re_asks: retried,
            empty_answers: empty,
            program_effects,
            rules_changed,
            stage,
        } = turn;
        let settings = self.place(settings);
        write!(self.raw, " turn {id:?} {goal:?} settings {settings} {dry_run}")?;
        if limits.turn_ms > 0 {
            write!(self.raw, " opened {opened_at:?}")?;
        }
        let TurnUsage {
            samples,
            attempts: _,
            calls,
            usage,
            estimated_tokens,
            cost_micros,
            continuations,
            compactions,
            re_asks: returns,
            agents,
        } = spent;
        write!(self.raw, " spent {samples} {calls} {usage:?}")?;
        if self.counts.size {
            write!(self.raw, " {estimated_tokens} {cost_micros}")?;
        }
        write!(self.raw, " {continuations} {compactions} {returns} {agents:?}")?;
        write!(self.raw, " stop {stop:?} pause {pause:?} gates {gates:?}")?;
        write!(self.raw, " {pending:?} {context_bytes} {compaction:?}")?;
        write!(
            self.raw,
            " {command} {compacted:?} {compacting} {told_last} {retried} {empty} {program_effects:?} {rules_changed:?} \
             stage "
        )?;
        self.stage(stage)
    }

    fn stage(&mut self, stage: &Stage) -> std::fmt::Result {
        let Some(it) = stage.sampling() else {
            return write!(self.raw, "{stage:?}");
        };
        let Sampling {
            started,
            previous,
            failures,
            restarts,
            request: asked,
            reserved,
            output_bound,
            kind,
            calls,
            items,
            // No bounded world has deferred tools.
            found: _,
        } = it;
        write!(self.raw, "{started:?} {previous:?} {failures} {restarts}")?;
        write!(self.raw, " {reserved:?} {output_bound:?} {kind:?} {calls:?} {items:?}")?;
        match self.counts.size {
            true => write!(self.raw, " asked {asked:?}"),
            false => Ok(()),
        }
    }

    /// Which settings these are.
    fn place(&mut self, settings: &Arc<Settings>) -> usize {
        let same = |one: &Arc<Settings>| Arc::ptr_eq(one, settings) || one == settings;
        let found = self.settings.iter().position(same);
        found.unwrap_or_else(|| {
            self.settings.push(settings.clone());
            self.settings.len() - 1
        })
    }
}

/// Which kinds of effects are among these.
fn kinds(keys: &[EffectKey]) -> [bool; 6] {
    let mut kinds = [false; 6];
    for key in keys {
        if let Some(kind) = kinds.get_mut(kind(key)) {
            *kind = true;
        }
    }
    kinds
}

/// The place of an effect's kind among all kinds.
pub(super) fn kind(key: &EffectKey) -> usize {
    match key {
        EffectKey::Sample { .. } => 0,
        EffectKey::Call { .. } => 1,
        EffectKey::Hook { .. } => 2,
        EffectKey::Approval { .. } => 3,
        EffectKey::Reconcile { .. } => 4,
        EffectKey::Compact { .. } => 5,
    }
}

/// What stands before a position where the core writes one.
const POSITIONS: [&str; 5] = ["Seq(", "InputId(", "CallId(", "TurnId(", "\"call_w"];

/// Writes a text with its positions as ranks and its moments as distances to now.
fn relative(raw: &str, now: Timestamp, text: &mut String) {
    let found: Vec<(usize, usize, Named)> = named(raw).collect();
    let position = |one: &(usize, usize, Named)| match one.2 {
        Named::Position(position) => Some(position),
        Named::Durable(_) | Named::Moment(_) => None,
    };
    let mut ranks: Vec<u64> = found.iter().filter_map(position).collect();
    ranks.sort_unstable();
    ranks.dedup();
    let mut written = 0;
    for (from, to, one) in found {
        text.push_str(raw.get(written..from).unwrap_or_default());
        let _: std::fmt::Result = match one {
            // 0 stands before every log, and is told from all that is in one.
            Named::Position(0) => write!(text, "none"),
            Named::Position(position) => {
                let rank = ranks.partition_point(|other| *other < position);
                let zero = usize::from(ranks.first() == Some(&0));
                write!(text, "{}", rank - zero)
            }
            Named::Durable(last) => {
                let rank = ranks.partition_point(|other| *other <= last);
                write!(text, "{rank}")
            }
            Named::Moment(at) => write!(text, "{}", i128::from(at) - i128::from(now.0)),
        };
        written = to;
    }
    text.push_str(raw.get(written..).unwrap_or_default());
}

/// A number that a text names.
#[derive(Debug, Clone, Copy)]
enum Named {
    Position(u64),
    /// The last position that is durable: no matter which, but which others come before it.
    Durable(u64),
    Moment(u64),
}

/// The positions and moments that a text names, with the places of their digits. A call without an
/// id of its provider's is named after a position, too.
fn named(raw: &str) -> impl Iterator<Item = (usize, usize, Named)> {
    raw.match_indices(['(', 'w']).filter_map(move |(at, _)| {
        let (before, from) = (raw.get(..=at)?, at + 1);
        let position = POSITIONS.iter().any(|name| before.ends_with(name));
        let (durable, moment) = (before.ends_with("Until("), before.ends_with("Timestamp("));
        if !position && !durable && !moment {
            return None;
        }
        let digits = |c: char| !c.is_ascii_digit();
        let to = from + raw.get(from..)?.find(digits)?;
        let number = raw.get(from..to)?.parse().ok()?;
        let named = match (position, durable) {
            (true, _) => Named::Position(number),
            (false, true) => Named::Durable(number),
            (false, false) => Named::Moment(number),
        };
        Some((from, to, named))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(raw: &str) -> String {
        let mut text = String::new();
        relative(raw, Timestamp(100), &mut text);
        text
    }

    #[test]
    fn positions_count_by_their_order() {
        assert_eq!(told("Seq(7) CallId(4) Seq(9)"), told("Seq(30) CallId(29) Seq(31)"));
        assert_ne!(told("Seq(7) CallId(8)"), told("Seq(8) CallId(7)"));
        assert_ne!(told("Seq(7) CallId(7)"), told("Seq(8) CallId(7)"));
    }

    #[test]
    fn the_position_before_the_first_fact_is_its_own() {
        assert_ne!(told("Seq(0) Seq(9)"), told("Seq(3) Seq(9)"));
        assert_eq!(told("Seq(0) Seq(9)"), told("Seq(0) Seq(8)"));
    }

    #[test]
    fn what_is_durable_counts_by_what_it_holds() {
        assert_eq!(told("Seq(3) Seq(7) Until(4)"), told("Seq(3) Seq(7) Until(6)"));
        assert_ne!(told("Seq(3) Seq(7) Until(6)"), told("Seq(3) Seq(7) Until(7)"));
    }

    #[test]
    fn moments_count_by_their_distance_to_now() {
        assert_eq!(told("Timestamp(105)"), "Timestamp(5)");
        assert_eq!(told("Timestamp(95)"), "Timestamp(-5)");
    }

    #[test]
    fn other_numbers_stay() {
        assert_eq!(told("attempt 7 Some(7) (7)"), "attempt 7 Some(7) (7)");
    }
}
