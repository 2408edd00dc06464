//! Law 10: every prefix renders to a request that a provider's grammar accepts, and the next
//! request extends the last one.
//!
//! The grammar is the strictest of the providers': a conversation begins with the user; each
//! call has an id of its own; the results of an answer's calls follow it, one a call, in the
//! order of the calls, with nothing in between. What `SampleStarted` says was shown is what the
//! history renders to.
//!
//! It kills: a history that shows a call without its result, that changes what it once showed,
//! or a digest that does not cover what is shown.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use windlass_core::{Fact, History, Misfit, Prompt, PromptItem, Recorded, Seq, render};

use super::{Held, broken, hold, reading};

/// Checks a log, with the history that `remember` makes of it.
///
/// # Errors
/// [`Broken`](super::Broken) with the first prefix whose request breaks the grammar, is not what
/// the log says, or does not extend the one before it.
pub fn check(
    remember: fn(&mut History, &Recorded) -> Result<(), Misfit>,
    log: &[Recorded],
) -> Held {
    let Some(settings) = reading::settings(log, Seq::ZERO.next())
        .cloned()
        .map(Arc::new)
    else {
        return Ok(());
    };
    let mut history = History::default();
    let mut grammar = Grammar::default();
    let mut seen = 0;
    let mut last: Option<Prompt> = None;
    for recorded in log {
        remember(&mut history, recorded)
            .map_err(|misfit| broken(10, format!("the history does not take it: {misfit}")))?;
        let prompt = render(&history, &settings);
        for item in prompt.items.iter_from(seen) {
            grammar.accept(recorded.seq, item)?;
        }
        seen = prompt.items.len();
        hold(10, grammar.open.is_empty(), || {
            format!(
                "up to {} the calls {:?} have no result",
                recorded.seq, grammar.open
            )
        })?;
        let Fact::SampleStarted(fact) = &recorded.fact else {
            continue;
        };
        hold(10, seen > 0 && prompt.digest() == fact.digest, || {
            format!(
                "{} says that {} was shown, and the log renders to {}",
                recorded.seq,
                fact.digest,
                prompt.digest()
            )
        })?;
        if let Some(last) = &last {
            let grown = prompt.items.iter().take(last.items.len());
            hold(10, grown.eq(last.items.iter()), || {
                format!(
                    "the request of {} does not extend the one before it",
                    recorded.seq
                )
            })?;
        }
        last = Some(prompt);
    }
    Ok(())
}

/// The grammar of a conversation, as far as it has been read.
#[derive(Default)]
struct Grammar {
    begun: bool,
    ids: BTreeSet<Arc<str>>,
    /// Calls without a result, in order.
    open: VecDeque<Arc<str>>,
    /// The answer that is being read.
    sample: Option<Seq>,
    /// Whether its results have begun.
    results: bool,
}

impl Grammar {
    fn accept(&mut self, at: Seq, item: &PromptItem) -> Held {
        let begins = self.begun || matches!(item, PromptItem::User { .. });
        hold(10, begins, || {
            format!("up to {at} the conversation begins with {item:?}")
        })?;
        self.begun = true;
        match item {
            PromptItem::User { .. } => {
                self.sample = None;
                self.between(at, item)
            }
            PromptItem::Text { sample, .. }
            | PromptItem::Refusal { sample, .. }
            | PromptItem::Reasoning { sample, .. } => self.answer(at, *sample, item),
            PromptItem::Call { sample, id, .. } => {
                self.answer(at, *sample, item)?;
                self.open.push_back(id.clone());
                let fresh = !id.is_empty() && self.ids.insert(id.clone());
                hold(10, fresh, || {
                    format!("up to {at} the call id {id:?} is not its own")
                })
            }
            PromptItem::Result { id, .. } => {
                self.results = true;
                let next = self.open.pop_front();
                hold(10, next.as_ref() == Some(id), || {
                    format!("up to {at} the result of {id:?} stands where that of {next:?} belongs")
                })
            }
        }
    }

    /// An item of an answer: the same answer goes on until its results begin.
    fn answer(&mut self, at: Seq, sample: Seq, item: &PromptItem) -> Held {
        if self.sample == Some(sample) && !self.results {
            return Ok(());
        }
        (self.sample, self.results) = (Some(sample), false);
        self.between(at, item)
    }

    /// Something new begins: nothing may be open.
    fn between(&self, at: Seq, item: &PromptItem) -> Held {
        hold(10, self.open.is_empty(), || {
            format!("up to {at} {item:?} comes between a call and its result")
        })
    }
}
