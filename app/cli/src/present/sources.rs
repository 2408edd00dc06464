//! Sources: the web pages that the answer of a turn cites, as a short list. Pure.

use std::collections::BTreeSet;

use windlass_engine::core::Citation;

use super::words::first_words;

/// Most sources that are listed.
const SHOWN: usize = 20;
/// Most characters of a title.
const TITLE: usize = 100;

/// Sources of a turn, each once.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    list: Vec<Citation>,
    seen: BTreeSet<String>,
}

impl Sources {
    /// Adds the sources of a text.
    pub(crate) fn add(&mut self, citations: &[Citation]) {
        for citation in citations {
            if self.seen.insert(citation.url.clone()) && self.list.len() < SHOWN {
                self.list.push(citation.clone());
            }
        }
    }

    /// Returns the lines of the list, numbered from 1; none without a source.
    pub(crate) fn lines(&self) -> Vec<String> {
        let source = |(number, citation): (usize, &Citation)| {
            let url = first_words(&citation.url, Citation::MAX_URL_BYTES);
            match first_words(citation.title.trim(), TITLE) {
                title if title.is_empty() => format!("  [{number}] {url}"),
                title => format!("  [{number}] {title}: {url}"),
            }
        };
        let mut lines: Vec<String> = (1..).zip(&self.list).map(source).collect();
        if !lines.is_empty() {
            lines.insert(0, "Sources:".to_owned());
        }
        let more = self.seen.len() - self.list.len();
        if more > 0 {
            lines.push(format!("  and {more} more"));
        }
        lines
    }
}

/// Describes the searches of a step.
pub(crate) fn search_words(queries: &[String]) -> String {
    let named: Vec<String> =
        queries.iter().map(|query| format!("{:?}", first_words(query, 200))).collect();
    format!("searched the web for {}", named.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_page_is_listed_once_and_the_list_is_short() {
        let page = |number: usize, title: &str| Citation {
            url: format!("https://example.org/{number}"),
            title: title.to_owned(),
            span: None,
        };
        let mut sources = Sources::default();
        assert!(sources.lines().is_empty());
        sources.add(&[page(1, "One\nline"), page(1, "Again"), page(2, " ")]);
        let listed =
            ["Sources:", "  [1] One line: https://example.org/1", "  [2] https://example.org/2"];
        assert_eq!(sources.lines(), listed);
        for _ in 0..2 {
            sources.add(&(0..30).map(|number| page(number, "")).collect::<Vec<_>>());
        }
        let lines = sources.lines();
        assert_eq!((lines.len(), lines.last().map(String::as_str)), (22, Some("  and 10 more")));
    }
}
