//! Size of a history in memory, for caches.

use super::History;
use crate::compaction::VisiblePart;
use crate::context;

impl History {
    /// Returns the approximate bytes of text. Reads all of it.
    pub(crate) fn bytes(&self) -> u64 {
        let arriving = self.open_items.iter().map(|(_, item)| context::item(item));
        let shown = context::visible_part(self.items.iter());
        let shown = arriving.fold(shown, VisiblePart::with).bytes;
        let waiting = self.waiting.values().map(|waiting| {
            let context = waiting.context.iter().map(|part| part.text.len());
            context.fold(waiting.text.len(), usize::saturating_add)
        });
        let given = self.pending_contexts.values().map(|given| given.text.len());
        let observed = self.calls.iter().filter_map(|call| {
            let observation = call.observation.as_ref()?;
            Some(observation.output.len())
        });
        let returned = self.returned.iter().map(|text| text.len());
        let failure = self.program_failure.iter().map(|failure| failure.message.len());
        let left = returned.chain(failure).chain([self.memories.bytes()]);
        let more = waiting.chain(given).chain(observed).chain(left);
        let more = more.fold(0, usize::saturating_add);
        shown.saturating_add(u64::try_from(more).unwrap_or(u64::MAX))
    }
}
