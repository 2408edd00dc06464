//! Empty answers in a row, and how often the model was asked again after one.

use windlass_core::{
    ContextFact, ContextSource, FactGroup, Item, Limits, RecordedFact, SampleFact,
};

use super::super::over;
use crate::laws::Held;

#[derive(Default)]
pub(super) struct EmptyAnswers {
    /// True if the answer has text or a call.
    says: bool,
    /// Times in a row that the model was asked again.
    asked: u32,
}

impl EmptyAnswers {
    pub(super) fn count(&mut self, recorded: &RecordedFact, limits: &Limits) -> Held {
        match recorded.fact.group() {
            FactGroup::Sample(SampleFact::SampleStarted(_)) => self.says = false,
            FactGroup::Sample(SampleFact::ItemAdded(fact)) => {
                self.says |= !matches!(fact.item, Item::Reasoning(_));
            }
            FactGroup::Sample(SampleFact::SampleEnded(_)) if self.says => self.asked = 0,
            FactGroup::Context(ContextFact::ContextInjected(fact)) => {
                if let ContextSource::EmptyAnswer { .. } = fact.from {
                    self.asked += 1;
                    let (asked, most) = (u64::from(self.asked), u64::from(limits.empty_answers));
                    return over(recorded, "re-asks of empty answers", asked, most);
                }
            }
            FactGroup::Sample(SampleFact::SampleEnded(_) | SampleFact::SampleCut(_))
            | FactGroup::Session(_)
            | FactGroup::Goal(_)
            | FactGroup::Turn(_)
            | FactGroup::Recovery(_)
            | FactGroup::Input(_)
            | FactGroup::Hook(_)
            | FactGroup::Compaction(_)
            | FactGroup::Permission(_)
            | FactGroup::Run(_)
            | FactGroup::Program(_) => {}
        }
        Ok(())
    }
}
