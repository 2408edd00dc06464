//! Judge: holds what today's engine would write against what was written.

use alloc::vec::Vec;

use super::Decide;
use super::cause::causes;
use super::own::is_own;
use super::report::{Divergence, Instead, Unclear, Unjudged};
use crate::error::{Misfit, Reject};
use crate::fact::Fact;
use crate::failure::Retry;
use crate::hook::HookVerdict;
use crate::input::{Input, SampleNews, Stamped};
use crate::limits::Limits;
use crate::record::{Draft, Recorded};
use crate::session::Session;
use crate::time::Timestamp;

/// Judgement of the next decision, with its number of facts.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Judgement {
    /// It needs more facts to tell.
    More,
    /// It would be made as it was.
    Same {
        /// Number of its facts.
        facts: usize,
    },
    /// So it would, and its last facts were lost with its process.
    CutShort {
        /// Its facts that are there.
        facts: usize,
    },
    /// The log does not say enough of it.
    Unjudged(usize, Unjudged),
    /// It would be made otherwise.
    Different(usize, Divergence),
}

/// Result of an input, compared with the log.
struct Tried {
    /// Number of facts that it explains.
    same: usize,
    drafts: Result<Vec<Draft>, Reject>,
    /// True if nobody said anything: time passed, or a process came.
    by_itself: bool,
}

impl Tried {
    fn drafts(&self) -> &[Draft] {
        self.drafts.as_deref().unwrap_or_default()
    }

    /// Returns true if all that it would write was written.
    fn is_whole(&self) -> bool {
        self.same > 0 && self.same == self.drafts().len()
    }
}

/// Context of the judgement.
#[derive(Debug, Clone, Copy)]
pub(super) struct Judge<'a> {
    pub(super) decide: Decide,
    pub(super) ceiling: &'a Limits,
    /// True if nothing comes after the facts that are there.
    pub(super) ends: bool,
}

impl Judge<'_> {
    /// Judges the decision that the first of these facts begins.
    ///
    /// # Errors
    /// [`Misfit`] when the facts do not fit together.
    pub(super) fn judge(&self, session: &Session, facts: &[Recorded]) -> Result<Judgement, Misfit> {
        let Some(first) = facts.first() else {
            return Ok(Judgement::More);
        };
        let causes = causes(session, &first.fact, facts);
        let tried: Vec<Tried> = causes
            .into_iter()
            .map(|input| self.try_(session, facts, &input))
            .collect();
        if !self.ends && tried.iter().any(|one| one.drafts().len() >= facts.len()) {
            return Ok(Judgement::More);
        }
        let whole = tried.iter().filter(|one| one.is_whole());
        let whole = whole.map(|one| one.same).max().unwrap_or(0);
        // A longer one of which the rest is missing counts for more than a shorter one.
        let mut cut: Vec<&Tried> = tried.iter().filter(|one| one.same > whole).collect();
        cut.sort_by_key(|one| core::cmp::Reverse(one.same));
        for one in cut {
            if let Some(judgement) = self.cut_short(session, facts, one)? {
                return Ok(judgement);
            }
        }
        if whole == 0 {
            return Ok(different(facts, &tried));
        }
        if let Fact::HookDecided(fact) = &first.fact
            && fact.verdict == HookVerdict::Overrun
        {
            let (seq, why) = (first.seq, Unclear::Overrun);
            return Ok(Judgement::Unjudged(whole, Unjudged { seq, why }));
        }
        Ok(Judgement::Same { facts: whole })
    }

    /// Returns true if the rest of a decision may have been lost with its process.
    fn cut_short(
        &self,
        session: &Session,
        facts: &[Recorded],
        tried: &Tried,
    ) -> Result<Option<Judgement>, Misfit> {
        let kept = tried.same;
        let (there, rest) = facts.split_at(kept);
        let lost = tried.drafts().get(kept).map(|draft| draft.fact.kind());
        let (Some(last), Some(lost)) = (there.last(), lost) else {
            return Ok(None);
        };
        let Some(next) = rest.first() else {
            let (seq, why) = (last.seq.next(), Unclear::Ends(lost));
            return Ok(Some(Judgement::Unjudged(kept, Unjudged { seq, why })));
        };
        let mut session = session.clone();
        for fact in there {
            session.apply(fact)?;
        }
        let late = Judgement::Unjudged(
            kept,
            Unjudged {
                seq: next.seq,
                why: Unclear::Late(lost),
            },
        );
        let recovered = self.try_(&session, rest, &Input::Recovered);
        if recovered.same == 0 {
            // A new process had nothing to add, under a clock that was set back.
            let silent = recovered.drafts.as_ref().is_ok_and(Vec::is_empty);
            return Ok((silent && next.ts < last.ts).then_some(late));
        }
        // What a program came to is told with its end: what the engine says later is for one that lost
        // its own word.
        let untold = match (&last.fact, &next.fact) {
            (Fact::ProgramRun(run), Fact::CallObserved(seen)) => {
                run.program == seen.call && is_own(&next.fact)
            }
            (_, _) => false,
        };
        if untold || self.try_(&session, rest, &Input::Tick).same == 0 {
            return Ok(Some(Judgement::CutShort { facts: kept }));
        }
        // No process need have ended for this one. At the same moment it is the same decision.
        Ok((next.ts != last.ts).then_some(late))
    }

    /// Asks what an input would lead to at the moment of the first of these facts. A turn that opened
    /// at this moment may be of a later decision, and its limits then say nothing of this one.
    fn try_(&self, session: &Session, facts: &[Recorded], input: &Input) -> Tried {
        let Some(ceiling) = ceiling(facts) else {
            return self.try_under(self.ceiling, session, facts, input);
        };
        let tried = self.try_under(ceiling, session, facts, input);
        if tried.is_whole() {
            return tried;
        }
        let wide = self.try_under(self.ceiling, session, facts, input);
        match wide.same > tried.same {
            true => wide,
            false => tried,
        }
    }

    /// As [`Self::try_`], where this is what the process allowed at most.
    fn try_under(
        &self,
        ceiling: &Limits,
        session: &Session,
        facts: &[Recorded],
        input: &Input,
    ) -> Tried {
        let Some(first) = facts.first() else {
            return Tried {
                same: 0,
                drafts: Ok(Vec::new()),
                by_itself: true,
            };
        };
        let ask = |input: &Input, entropy: u64| {
            let stamped = Stamped {
                at: first.ts,
                entropy,
                input: input.clone(),
            };
            (self.decide)(session, ceiling, stamped)
        };
        let mut drafts = ask(input, 0);
        if let Some(entropy) = spread(first, &drafts, || ask(&soon(input)?, 0).ok()) {
            drafts = ask(input, entropy);
        }
        let drawn = drafts.as_deref().unwrap_or_default();
        let pairs = drawn.iter().zip(facts);
        let same = pairs.take_while(|(draft, fact)| is(draft, fact)).count();
        let by_itself = matches!(input, Input::Tick | Input::Recovered);
        Tried {
            same,
            drafts,
            by_itself,
        }
    }
}

fn is(draft: &Draft, recorded: &Recorded) -> bool {
    draft.turn == recorded.turn && draft.ts == recorded.ts && draft.fact == recorded.fact
}

/// Returns the ceiling of limits under which the process opened a turn: the turn's limits are
/// within it, and today's engine must derive the same.
fn ceiling(facts: &[Recorded]) -> Option<&Limits> {
    let now = facts.first()?.ts;
    let mut now = facts.iter().take_while(|fact| fact.ts == now);
    now.find_map(|recorded| {
        let Fact::TurnOpened(fact) = &recorded.fact else {
            return None;
        };
        Some(&fact.limits)
    })
}

/// The entropy by which a failed sample gets the moment of the next attempt that was recorded.
/// Without entropy a backoff is at its shortest; what was recorded beyond that is what was drawn.
fn spread(
    first: &Recorded,
    drafts: &Result<Vec<Draft>, Reject>,
    soon: impl FnOnce() -> Option<Vec<Draft>>,
) -> Option<u64> {
    let recorded = retry_at(&first.fact)?;
    let drafts = drafts.as_ref().ok()?;
    let drawn = retry_at(&drafts.first()?.fact)?;
    if drawn == recorded {
        return None;
    }
    let shortest = retry_at(&soon()?.first()?.fact)?;
    Some(recorded.since_ms(shortest))
}

fn retry_at(fact: &Fact) -> Option<Timestamp> {
    let Fact::SampleCut(fact) = fact else {
        return None;
    };
    fact.retry_at
}

/// The same failure, with the engine's own backoff.
fn soon(input: &Input) -> Option<Input> {
    let mut input = input.clone();
    let Input::Sampled {
        news: SampleNews::Failed { failure, .. },
        ..
    } = &mut input
    else {
        return None;
    };
    failure.retry = Retry::Soon;
    Some(input)
}

/// The divergence, by the cause that explains the most.
fn different(facts: &[Recorded], tried: &[Tried]) -> Judgement {
    // Of those that explain as much: where the engine itself speaks, what it would say by itself;
    // else one that leads to a fact of this kind.
    let own = facts.first().is_some_and(|first| is_own(&first.fact));
    let says = |one: &Tried| own && one.by_itself && !one.drafts().is_empty();
    let alike = |one: &Tried| {
        let (would, is) = (one.drafts().get(one.same), facts.get(one.same));
        would.map(|draft| draft.fact.kind()) == is.map(|recorded| recorded.fact.kind())
    };
    let tried = tried.iter().rev();
    let best = tried.max_by_key(|one| (one.same, says(one), alike(one)));
    let same = best.map_or(0, |one| one.same);
    let Some(at) = facts.get(same) else {
        return Judgement::Same { facts: same };
    };
    let kind = at.fact.kind();
    let instead = match best.map(|one| &one.drafts) {
        None => Instead::Nothing,
        Some(Err(reject)) => Instead::Refused(reject.clone()),
        Some(Ok(drafts)) => match drafts.get(same).map(|draft| draft.fact.kind()) {
            None => Instead::Nothing,
            Some(other) if other == kind => Instead::Other,
            Some(other) => Instead::Kind(other),
        },
    };
    let divergence = Divergence {
        seq: at.seq,
        recorded: kind,
        instead,
    };
    Judgement::Different(same.saturating_add(1), divergence)
}
