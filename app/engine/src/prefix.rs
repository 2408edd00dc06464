//! Prefix: checks that each request extends the previous one, so that a provider's cache applies.

use windlass_core::{Prompt, SessionId};

/// Number of a session's requests by their relation to the previous one, since its driver began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PrefixReport {
    /// All requests. The first one has no predecessor.
    pub requests: u64,
    /// Requests that extend the previous one.
    pub extended: u64,
    /// Requests that do not, since the conversation was compacted or rewound before them, or a search
    /// has found tools.
    pub replaced: u64,
    /// Requests that do not, for any other cause. Each logs a warning.
    pub broken: u64,
}

/// Compares each request with the previous one.
#[derive(Debug, Default)]
pub(crate) struct PrefixTracker {
    last: Option<Prompt>,
    /// True if the conversation was compacted or rewound since the last request.
    replaced: bool,
    report: PrefixReport,
}

impl PrefixTracker {
    pub(crate) fn report(&self) -> PrefixReport {
        self.report
    }

    /// Records that the conversation was compacted or rewound.
    pub(crate) fn replaced(&mut self) {
        self.replaced = true;
    }

    /// Checks a request that is about to be sent. Content that shares memory with the last request
    /// is not compared.
    pub(crate) fn check(&mut self, session: &SessionId, prompt: &Prompt) {
        let report = &mut self.report;
        report.requests = report.requests.saturating_add(1);
        if let Some(last) = &self.last {
            match break_reason(last, prompt) {
                None => report.extended = report.extended.saturating_add(1),
                Some(_) if self.replaced || has_found(last, prompt) => {
                    report.replaced = report.replaced.saturating_add(1)
                }
                Some(why) => {
                    report.broken = report.broken.saturating_add(1);
                    tracing::warn!(%session, %why, "a request does not extend the last one");
                }
            }
        }
        self.last = Some(prompt.clone());
        self.replaced = false;
    }
}

/// Returns true if a request extends the last one but for tools that a search has found.
fn has_found(last: &Prompt, next: &Prompt) -> bool {
    let (old, new) = (&last.settings, &next.settings);
    let known = new.tools.iter().filter(|tool| !tool.deferred || old.tools.contains(tool));
    (&old.provider, &old.model) == (&new.provider, &new.model)
        && old.instructions == new.instructions
        && known.eq(old.tools.iter())
        && next.items.extends(&last.items)
}

/// Returns the reason why a request does not extend the last one; `None` if it does.
fn break_reason(last: &Prompt, next: &Prompt) -> Option<String> {
    let (old, new) = (&last.settings, &next.settings);
    if !std::sync::Arc::ptr_eq(old, new) {
        let model = (&old.provider, &old.model) == (&new.provider, &new.model);
        if !model || old.instructions != new.instructions || old.tools != new.tools {
            return Some("the model, the instructions or the tools were changed".to_owned());
        }
    }
    if next.items.extends(&last.items) {
        return None;
    }
    let both = last.items.iter().zip(&next.items);
    let same = both.take_while(|(old, new)| old == new).count();
    Some(format!(
        "item {same} is another one, of {} then and {} now",
        last.items.len(),
        next.items.len()
    ))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use windlass_core::{Permissions, PromptItem, Settings};

    use super::*;

    fn prompt(model: &str, words: &[&str]) -> Prompt {
        let user = |word: &&str| PromptItem::User { text: Arc::from(*word) };
        Prompt {
            settings: Arc::new(
                Settings::new("p", model).with(|it| it.permissions = Permissions::Auto),
            ),
            items: words.iter().map(user).collect(),
        }
    }

    #[test]
    fn counts_what_extends_what_was_replaced_and_what_breaks() {
        let session = SessionId::new("s").unwrap();
        let mut prefix = PrefixTracker::default();
        let mut look = |replaced: bool, model: &str, words: &[&str]| {
            if replaced {
                prefix.replaced();
            }
            prefix.check(&session, &prompt(model, words));
            let report = prefix.report();
            (report.extended, report.replaced, report.broken)
        };
        assert_eq!(look(false, "m", &["a"]), (0, 0, 0));
        assert_eq!(look(false, "m", &["a"]), (1, 0, 0), "a retry");
        assert_eq!(look(false, "m", &["a", "b"]), (2, 0, 0));
        assert_eq!(look(true, "m", &["summary", "b"]), (2, 1, 0));
        assert_eq!(look(false, "m", &["summary", "x", "c"]), (2, 1, 1));
        assert_eq!(look(false, "n", &["summary", "x", "c"]), (2, 1, 2));
        assert_eq!(prefix.report().requests, 6);
    }

    #[test]
    fn says_where_a_request_breaks() {
        let last = prompt("m", &["a", "b", "c"]);
        let why = break_reason(&last, &prompt("m", &["a", "x", "c", "d"])).unwrap();
        assert_eq!(why, "item 1 is another one, of 3 then and 4 now");
        let why = break_reason(&last, &prompt("m", &["a", "b"])).unwrap();
        assert_eq!(why, "item 2 is another one, of 3 then and 2 now");
        assert!(break_reason(&last, &prompt("n", &["a", "b", "c"])).is_some());
    }
}
