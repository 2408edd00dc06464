//! Returns the conversation to what it was at an earlier position.

use super::apply::framed;
use super::{ConversationUnitKind, History, REWIND, invalid_fact};
use crate::context;
use crate::error::InvalidFact;
use crate::fact::{ContextLifetime, SessionRewound};
use crate::record::RecordedFact;

impl History {
    /// Drops what was added to the conversation after the position, and adds the notice.
    pub(super) fn rewind(
        &mut self,
        recorded: &RecordedFact,
        fact: &SessionRewound,
    ) -> Result<(), InvalidFact> {
        let count = usize::try_from(fact.visible.items).unwrap_or(usize::MAX);
        let items = self.items.truncated(count);
        if context::visible_part(items.iter()) != fact.visible {
            return Err(invalid_fact(recorded, "the conversation there is another one"));
        }
        self.units.retain(|unit| unit.first < items.len());
        self.items = items;
        self.collect_ids();
        self.memories.rewind(fact.to);
        self.discard_sample();
        self.pending_contexts.clear();
        self.asked.clear();
        self.failed.clear();
        self.returned = None;
        self.program_failure = None;
        if let Some(notice) = &fact.notice {
            let lifetime = ContextLifetime::Turn;
            self.begin(recorded, ConversationUnitKind::Context { name: None, lifetime });
            self.items.push(framed(REWIND, notice));
        }
        Ok(())
    }
}
