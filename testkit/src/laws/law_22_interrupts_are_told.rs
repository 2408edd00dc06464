//! Law 22: an interrupt is told to the model as what it was.
//!
//! A turn that an interrupt ends after its input was admitted ends with a notice in the
//! conversation. The notice says who stopped the turn: the user only if a person did. A turn that a
//! fork inherited says that the fork ended it. The text of an answer that the interrupt cut off stays
//! in the conversation, with the same cause.
//!
//! It kills: an interrupt that the next request does not mention, a shutdown that is worded as an
//! act of the user, an answer that the interrupt takes back.

use windlass_core::{
    Ancestor, ContextSource, Fact, History, InterruptSource, InvalidFact, Item, LimitKind, Lineage,
    PromptItem, RecordedFact, Retained, SampleCut, Seq, StopTiming, TurnId, TurnOutcome,
    TurnSettled,
};

use super::{Held, broken, hold};

/// Checks a log, with the history that `remember` makes of it.
///
/// # Errors
/// [`Broken`](super::Broken) with the first interrupt that is not told, or told as another.
pub fn check(
    remember: fn(&mut History, &RecordedFact) -> Result<(), InvalidFact>,
    log: &[RecordedFact],
) -> Held {
    let mut history = History::default();
    for recorded in log {
        remember(&mut history, recorded)
            .map_err(|misfit| broken(22, format!("the history does not take it: {misfit}")))?;
        let (Fact::TurnSettled(fact), Some(turn)) = (&recorded.fact, recorded.turn) else {
            continue;
        };
        let before = log.iter().take_while(|other| other.seq < recorded.seq);
        let own: Vec<&RecordedFact> = before.filter(|other| other.turn == Some(turn)).collect();
        let Some(by) = source(&fact.outcome) else {
            hold(22, fact.notice.is_none(), || format!("{} tells of an interrupt", recorded.seq))?;
            continue;
        };
        notice(log, recorded.seq, fact, &own, by, &history)?;
        answers(turn, &own, by, &history)?;
    }
    Ok(())
}

/// Who interrupted a turn that ends in this way.
fn source(outcome: &TurnOutcome) -> Option<InterruptSource> {
    match outcome {
        TurnOutcome::Interrupted { by, .. } => Some(*by),
        TurnOutcome::Exhausted { limit: LimitKind::WallClock } => Some(InterruptSource::Deadline),
        TurnOutcome::Exhausted { .. }
        | TurnOutcome::Completed
        | TurnOutcome::NoAnswer
        | TurnOutcome::Refused
        | TurnOutcome::InvalidOutput { .. }
        | TurnOutcome::Blocked { .. }
        | TurnOutcome::Failed { .. } => None,
    }
}

/// The notice is the last that the model is shown of the turn, and names who stopped it.
fn notice(
    log: &[RecordedFact],
    at: Seq,
    fact: &TurnSettled,
    own: &[&RecordedFact],
    by: InterruptSource,
    history: &History,
) -> Held {
    let admitted = own.iter().any(|recorded| admits(&recorded.fact));
    hold(22, fact.notice.is_some() == admitted, || {
        format!("{at} ends an interrupted turn, admitted: {admitted}, with {:?}", fact.notice)
    })?;
    let Some(notice) = &fact.notice else {
        return Ok(());
    };
    let says = |words: &str| notice.contains(words);
    if own.first().is_some_and(|opened| is_inherited(log, at, opened.seq)) {
        return hold(22, says("was forked here"), || format!("{at} ends a fork's turn: {notice}"));
    }
    let cause = match by {
        InterruptSource::Person => says("interrupted"),
        InterruptSource::Parent => says("calling session stopped"),
        InterruptSource::Shutdown => says("process was shut down"),
        InterruptSource::Deadline => says("time limit"),
    };
    let user = by == InterruptSource::Person;
    let told = cause && says("The user interrupted") == user;
    hold(22, told, || format!("{at} tells of {by:?} as {notice:?}"))?;
    let last = history.items().iter().last();
    let frame = "<context from=\"interrupt\">";
    let shown = matches!(last, Some(PromptItem::Context { text }) if text.starts_with(frame));
    hold(22, shown, || format!("{at} ends with {last:?}, and not with its notice"))
}

/// Returns true if a fact admits what its turn is about.
fn admits(fact: &Fact) -> bool {
    if let Fact::ContextInjected(fact) = fact {
        return matches!(fact.from, ContextSource::Goal { .. });
    }
    matches!(fact, Fact::InputAccepted(_))
}

/// Returns true if a turn that ends at `end` was opened by the session that this one was forked from.
fn is_inherited(log: &[RecordedFact], end: Seq, opened: Seq) -> bool {
    let Some(Fact::SessionOpened(fact)) = log.first().map(|first| &first.fact) else {
        return false;
    };
    let Lineage::Fork { at, ancestors, .. } = &fact.lineage else {
        return false;
    };
    let older = ancestors.iter().filter_map(|ancestor| match ancestor {
        Ancestor::Fork { at, .. } => Some(*at),
        Ancestor::Child { .. } => None,
    });
    older.chain([*at]).any(|at| opened <= at && at < end)
}

/// The texts of an answer that the interrupt cut off are shown.
fn answers(turn: TurnId, own: &[&RecordedFact], by: InterruptSource, history: &History) -> Held {
    let stops = |recorded: &&&RecordedFact| matches!(&recorded.fact, Fact::InterruptRequested(fact) if fact.when == StopTiming::Now);
    let Some(stop) = own.iter().find(stops) else {
        return Ok(());
    };
    let cut = own.iter().filter(|recorded| recorded.seq > stop.seq).find_map(|recorded| {
        let Fact::SampleCut(fact) = &recorded.fact else {
            return None;
        };
        Some((recorded.seq, fact))
    });
    let Some((at, cut)) = cut else {
        return Ok(());
    };
    let texts = texts(own, at, cut);
    // What a started call follows stands for that reason.
    let truncated = |(seq, _): &(Seq, &str)| match cut.retained {
        Retained::Through { item } => *seq > item,
        Retained::Nothing | Retained::Text => true,
    };
    let stands = cut.stopped_by == Some(by) && cut.retained != Retained::Nothing;
    hold(22, stands || !texts.iter().any(truncated), || {
        format!("{at} cuts an answer of turn {turn} that {by:?} stopped, and drops its text")
    })?;
    let shown: Vec<&str> = history.items().iter().filter_map(said).collect();
    let all = texts.iter().all(|(_, text)| shown.iter().any(|shown| shown.starts_with(text)));
    hold(22, all, || format!("{texts:?}, which {at} cut off, is not in the conversation"))
}

/// The texts of an answer, with their positions: its whole ones, and the one that streamed.
fn texts<'a>(own: &'a [&RecordedFact], at: Seq, cut: &'a SampleCut) -> Vec<(Seq, &'a str)> {
    let whole = own.iter().filter_map(|recorded| {
        let Fact::ItemAdded(fact) = &recorded.fact else {
            return None;
        };
        match &fact.item {
            Item::Text { text, .. } | Item::Refusal { text } => Some((recorded.seq, &**text)),
            Item::Reasoning(_) | Item::Call(_) => None,
        }
        .filter(|_| fact.started == cut.started)
    });
    let partial = Some((at, cut.partial.as_str()));
    let partial = partial.filter(|(_, partial)| !partial.trim().is_empty());
    whole.chain(partial).collect()
}

/// What the model said to the user.
fn said(item: &PromptItem) -> Option<&str> {
    match item {
        PromptItem::Text { text, .. } | PromptItem::Refusal { text, .. } => Some(text),
        PromptItem::User { .. }
        | PromptItem::Image { .. }
        | PromptItem::Context { .. }
        | PromptItem::Reasoning { .. }
        | PromptItem::Call { .. }
        | PromptItem::Result { .. }
        | PromptItem::CallReport { .. }
        | PromptItem::ProgramReport { .. } => None,
    }
}
