//! Titles of sessions that nobody named: the first words of their first inputs.

use std::sync::Arc;

use windlass_engine::core::{Fact, RecordedFact, Seq, SessionId};
use windlass_engine::ports::LogStore;

use super::failure;
use crate::problem::Problem;

/// Facts from a log's beginning that are searched for a title.
const TITLE_SEARCH: usize = 64;
/// Longest title, in characters.
const FIRST_WORDS_CHARS: usize = 80;

/// Returns the first words of a session's first input.
pub(super) async fn read(
    store: &dyn LogStore,
    id: &SessionId,
) -> Result<Option<Arc<str>>, Problem> {
    let facts = store.read(id, Seq::ZERO, TITLE_SEARCH).await;
    let facts = facts.map_err(|error| failure::store(&error))?;
    Ok(of(&facts))
}

/// Returns the first words of the first input of these facts.
pub(super) fn of(facts: &[RecordedFact]) -> Option<Arc<str>> {
    let mut said = facts.iter().filter_map(|fact| {
        if let Fact::InputQueued(queued) = &fact.fact
            && queued.command.is_none()
        {
            return Some(&queued.text);
        }
        None
    });
    said.next().map(|text| first_words(text).into())
}

/// Returns the first words of a text, on one line.
fn first_words(text: &str) -> String {
    let mut line = String::new();
    let mut length = 0_usize;
    for word in text.split_whitespace() {
        let more = word.chars().count();
        if length.saturating_add(more) >= FIRST_WORDS_CHARS {
            if line.is_empty() {
                line = word.chars().take(FIRST_WORDS_CHARS).collect();
            }
            line.push('…');
            break;
        }
        if !line.is_empty() {
            line.push(' ');
            length = length.saturating_add(1);
        }
        line.push_str(word);
        length = length.saturating_add(more);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_one_bounded_line_of_whole_words() {
        assert_eq!(first_words("  List\n the\tfiles. "), "List the files.");
        assert_eq!(first_words(" \n "), "");
        let long = first_words(&"word ".repeat(100));
        assert!(long.ends_with("word…") && long.chars().count() <= FIRST_WORDS_CHARS + 1, "{long}");
        let one = first_words(&"ä".repeat(500));
        assert_eq!(one.chars().count(), FIRST_WORDS_CHARS + 1);
    }
}
