//! Law 10: every prefix renders to a request that a provider's grammar accepts, and the next
//! request extends the last one unless a compaction or a rewind lies between.
//!
//! The grammar is the strictest of the providers': a conversation begins with the user, or with
//! context; each call has an id of its own; the results of an answer's calls follow it, one a call,
//! in the order of the calls, with nothing in between. What `SampleStarted` and `Compacted` say was
//! shown is what the history renders to. Where a compaction lies between two requests, the later
//! one need not extend the earlier; what its turn is about is in each request of it, word for word,
//! all the same. Nothing that a user said is in the conversation unless it was let in.
//!
//! It kills: a history that shows a call without its result, that changes what it once showed, or
//! that shows what was blocked, a compaction that takes the request away, or a digest that does not
//! cover what is shown.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use windlass_core::{
    ContextFact, ContextSource, Fact, FactGroup, History, HookFact, HookOccurrence, InputFact,
    InputId, InvalidFact, Prompt, PromptItem, RecordedFact, RunFact, Seq, TurnFact,
    command_result_text, command_text, render,
};

use super::{Held, broken, hold, reading};

/// Checks a log, with the history that `remember` makes of it.
///
/// # Errors
/// [`Broken`](super::Broken) with the first prefix whose request breaks the grammar, is not what
/// the log says, or does not extend the one before it.
pub fn check(
    remember: fn(&mut History, &RecordedFact) -> Result<(), InvalidFact>,
    log: &[RecordedFact],
) -> Held {
    let Some(settings) = reading::settings(log, Seq::ZERO.next()).cloned().map(Arc::new) else {
        return Ok(());
    };
    let mut history = History::default();
    let mut grammar = Grammar::default();
    let mut requests = Requests::default();
    let mut seen = 0;
    let mut last: Option<Prompt> = None;
    for recorded in log {
        remember(&mut history, recorded)
            .map_err(|misfit| broken(10, format!("the history does not take it: {misfit}")))?;
        requests.take(log, recorded);
        let prompt = render(&history, &settings, &BTreeSet::new());
        if let Fact::Compacted(fact) = &recorded.fact {
            (grammar, seen, last) = (Grammar::default(), 0, None);
            let said = (fact.visible.digest, fact.visible.items);
            let shown = (prompt.digest(), prompt.items.len() as u64);
            hold(10, said == shown, || {
                format!("{} says that it leaves {said:?}, and it leaves {shown:?}", recorded.seq)
            })?;
        }
        if let Fact::SessionRewound(_) = &recorded.fact {
            (grammar, seen, last) = (Grammar::default(), 0, None);
        }
        for item in prompt.items.iter_from(seen) {
            grammar.accept(recorded.seq, item)?;
        }
        seen = prompt.items.len();
        hold(10, grammar.open.is_empty(), || {
            format!("up to {} the calls {:?} have no result", recorded.seq, grammar.open)
        })?;
        requests.only_what_was_let_in(recorded.seq, &grammar.users)?;
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
                format!("the request of {} does not extend the one before it", recorded.seq)
            })?;
        }
        requests.are_in(recorded.seq, &prompt)?;
        last = Some(prompt);
    }
    Ok(())
}

/// What the user asked for, as far as the log has been read.
#[derive(Default)]
struct Requests {
    /// What waits, as hooks have left it.
    waiting: BTreeMap<InputId, Arc<str>>,
    /// All that was let in, in order.
    accepted: Vec<Arc<str>>,
    /// What the open turn is about.
    current: Vec<Arc<str>>,
    goal: Option<Arc<str>>,
}

impl Requests {
    fn take(&mut self, log: &[RecordedFact], recorded: &RecordedFact) {
        match recorded.fact.group() {
            FactGroup::Input(InputFact::InputQueued(fact)) => {
                self.waiting.insert(InputId(recorded.seq.0), fact.text.clone());
            }
            FactGroup::Input(InputFact::InputEdited(fact)) => {
                self.waiting.insert(fact.input, fact.text.clone());
            }
            FactGroup::Input(InputFact::InputWithdrawn(fact)) => {
                self.waiting.remove(&fact.input);
            }
            FactGroup::Hook(HookFact::HookDecided(fact)) => {
                let place = reading::place(log, fact);
                if let (Some(edit), Some(HookOccurrence::PromptSubmitted { input })) =
                    (&fact.edit, place)
                {
                    self.waiting.insert(input, edit.text.clone());
                }
            }
            FactGroup::Input(InputFact::InputAccepted(fact)) => {
                let text = self.waiting.remove(&fact.input);
                let text = match fact.call {
                    Some(_) => text.map(|command| command_text(&command).into()),
                    None => text,
                };
                self.accepted.extend(text.clone());
                self.current.extend(text);
            }
            FactGroup::Run(RunFact::CallObserved(fact)) if reading::is_command(log, fact.call) => {
                let edited = reading::edited(log, fact.call);
                let result = command_result_text(&fact.visible_observation(), edited);
                self.accepted.push(result.into());
            }
            FactGroup::Context(ContextFact::ContextInjected(fact)) => {
                if let ContextSource::Goal { text } = &fact.from {
                    self.goal = Some(text.clone());
                }
            }
            FactGroup::Turn(TurnFact::TurnOpened(_) | TurnFact::TurnSettled(_)) => {
                (self.current, self.goal) = (Vec::new(), None);
            }
            FactGroup::Hook(HookFact::HooksAsked(_))
            | FactGroup::Input(InputFact::InputBlocked(_) | InputFact::InputMoved(_))
            | FactGroup::Turn(TurnFact::InterruptRequested(_))
            | FactGroup::Session(_)
            | FactGroup::Recovery(_)
            | FactGroup::Program(_)
            | FactGroup::Goal(_)
            | FactGroup::Compaction(_)
            | FactGroup::Sample(_)
            | FactGroup::Permission(_)
            | FactGroup::Run(_) => {}
        }
    }

    /// Checks that the conversation holds no word of a user that was not let in.
    fn only_what_was_let_in(&self, at: Seq, users: &[Arc<str>]) -> Held {
        let mut accepted = self.accepted.iter();
        let all = users.iter().all(|user| accepted.any(|text| text == user));
        hold(10, all, || {
            format!("up to {at} {users:?} is shown, and {:?} was let in", self.accepted)
        })
    }

    /// Checks that a request holds all that its turn is about, word for word.
    fn are_in(&self, at: Seq, prompt: &Prompt) -> Held {
        let is = |item: &PromptItem, wanted: &Arc<str>| match item {
            PromptItem::User { text } => text == wanted,
            PromptItem::Image { .. }
            | PromptItem::Context { .. }
            | PromptItem::Text { .. }
            | PromptItem::Refusal { .. }
            | PromptItem::Reasoning { .. }
            | PromptItem::Call { .. }
            | PromptItem::Result { .. }
            | PromptItem::CallReport { .. }
            | PromptItem::ProgramReport { .. } => false,
        };
        let mut items = prompt.items.iter();
        for wanted in &self.current {
            hold(10, items.any(|item| is(item, wanted)), || {
                format!("the request of {at} does not hold {wanted:?}")
            })?;
        }
        let Some(goal) = &self.goal else {
            return Ok(());
        };
        let says = |item: &PromptItem| match item {
            PromptItem::Context { text } => text.contains(&**goal),
            PromptItem::User { .. }
            | PromptItem::Image { .. }
            | PromptItem::Text { .. }
            | PromptItem::Refusal { .. }
            | PromptItem::Reasoning { .. }
            | PromptItem::Call { .. }
            | PromptItem::Result { .. }
            | PromptItem::CallReport { .. }
            | PromptItem::ProgramReport { .. } => false,
        };
        hold(10, prompt.items.iter().any(says), || {
            format!("the request of {at} does not hold the goal {goal:?}")
        })
    }
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
    /// True if its results have begun.
    results: bool,
    /// What users said.
    users: Vec<Arc<str>>,
}

impl Grammar {
    fn accept(&mut self, at: Seq, item: &PromptItem) -> Held {
        let opens = matches!(
            item,
            PromptItem::User { .. } | PromptItem::Image { .. } | PromptItem::Context { .. }
        );
        hold(10, self.begun || opens, || {
            format!("up to {at} the conversation begins with {item:?}")
        })?;
        self.begun = true;
        match item {
            PromptItem::User { text } => {
                self.sample = None;
                self.users.push(text.clone());
                self.between(at, item)
            }
            PromptItem::Image { .. }
            | PromptItem::Context { .. }
            | PromptItem::CallReport { .. }
            | PromptItem::ProgramReport { .. } => {
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
                hold(10, fresh, || format!("up to {at} the call id {id:?} is not its own"))
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
