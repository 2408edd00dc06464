//! Law 23: an input enters with the text that its hooks let in.
//!
//! Before an input is accepted, each hook of its turn on prompts has replied about it in this turn,
//! none of them with a denial, and all of them after the latest edit of a user.
//!
//! It kills: an edit after which the replies to the old text still count, an input that is accepted
//! before its hooks have replied.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::{
    Fact, HookPoint, HookSpec, HookVerdict, InputAccepted, InputId, RecordedFact, Seq,
};

use super::{Held, hold, reading};

/// Checks a log.
///
/// # Errors
/// [`Broken`](super::Broken) with the first input that enters unseen.
pub fn check(log: &[RecordedFact]) -> Held {
    // Hooks that have let an input in as it is now, and since when it is so.
    let mut passed = BTreeMap::<InputId, BTreeSet<u32>>::new();
    let mut edited = BTreeMap::<InputId, Seq>::new();
    for recorded in log {
        if let Fact::TurnOpened(_) = &recorded.fact {
            passed.clear();
        }
        if let Fact::InputEdited(fact) = &recorded.fact {
            passed.remove(&fact.input);
            edited.insert(fact.input, recorded.seq);
        }
        if let Fact::HookDecided(fact) = &recorded.fact
            && let Some(input) = reading::place(log, fact).and_then(|at| at.input())
            && edited.get(&input).is_none_or(|edit| *edit < fact.asked)
            && reading::counts_as(&reading::hooks(log, recorded), fact) != HookVerdict::Deny
        {
            passed.entry(input).or_default().insert(fact.hook);
        }
        if let Fact::InputAccepted(InputAccepted { input, call: None }) = &recorded.fact {
            let seen = passed.remove(input).unwrap_or_default();
            let all = on_prompts(&reading::hooks(log, recorded));
            hold(23, seen == all, || {
                format!("{} accepts input {input}, seen by {seen:?} of {all:?}", recorded.seq)
            })?;
        }
    }
    Ok(())
}

/// The hooks that are asked about prompts.
pub(super) fn on_prompts(hooks: &[HookSpec]) -> BTreeSet<u32> {
    let hooks = (0_u32..).zip(hooks);
    let asked = hooks.filter(|(_, hook)| hook.matches(HookPoint::PromptSubmitted, ""));
    asked.map(|(index, _)| index).collect()
}
