//! Output of `windlass show --cache`: one line for each request, and a total.

use windlass_engine::core::{CacheBreak, CacheEntry, CacheLedger, RecordedFact};

/// Report on a session's requests and the providers' caches.
#[derive(Debug, Default)]
pub(super) struct CacheReport {
    ledger: CacheLedger,
    requests: u64,
    input: u64,
    cached: u64,
    missed: u64,
    cost_micros: u64,
    priced: bool,
}

impl CacheReport {
    /// Returns the line of a request that ends with this fact.
    pub(super) fn on_fact(&mut self, recorded: &RecordedFact) -> Option<String> {
        let entry = self.ledger.apply(recorded)?;
        let (input, cached) = (entry.usage.input, entry.usage.cached_input);
        let sum = |sum: u64, more: Option<u64>| sum.saturating_add(more.unwrap_or(0));
        self.requests = self.requests.saturating_add(1);
        self.input = sum(self.input, input);
        self.cached = sum(self.cached, cached);
        self.missed = sum(self.missed, entry.missed);
        self.cost_micros = sum(self.cost_micros, entry.cost_micros);
        self.priced |= entry.cost_micros.is_some();
        Some(line(&entry))
    }

    /// Formats the total of all requests.
    pub(super) fn sum(&self) -> String {
        let Self { requests, input, cached, missed, .. } = self;
        let cost = match self.priced {
            true => format!(", which cost {} more", money(self.cost_micros)),
            false => String::new(),
        };
        format!(
            "{requests} requests: {input} tokens, {cached} from the cache, {missed} missed{cost}"
        )
    }
}

fn line(entry: &CacheEntry) -> String {
    let tokens = |tokens: Option<u64>| tokens.map_or("?".to_owned(), |tokens| tokens.to_string());
    let mut text = format!(
        "{}: {} tokens, {} from the cache, {} were there before",
        entry.started,
        tokens(entry.usage.input),
        tokens(entry.usage.cached_input),
        entry.expected,
    );
    if let Some(written) = entry.usage.cache_write {
        text.push_str(&format!(", {written} written to it"));
    }
    if let Some(broken) = &entry.broken {
        text.push_str(&format!("; {} missed: {}", tokens(entry.missed), why(broken)));
        if let Some(cost) = entry.cost_micros {
            text.push_str(&format!(" (cost {} more)", money(cost)));
        }
    }
    text
}

fn why(broken: &CacheBreak) -> String {
    match broken {
        CacheBreak::Compacted => "the conversation was compacted".to_owned(),
        CacheBreak::Rewound => "the session was rewound".to_owned(),
        CacheBreak::Settings(names) => format!("other settings ({})", names.join(", ")),
        CacheBreak::ProviderChanged { before, now } => {
            format!("{now} was asked, and {before} before")
        }
        CacheBreak::LoweringChanged => {
            "parts of the conversation were shown differently".to_owned()
        }
        CacheBreak::Expired { idle_ms } => {
            format!("the provider no longer had it; the last request was {idle_ms} ms before")
        }
    }
}

/// Formats millionths as an amount.
fn money(micros: u64) -> String {
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_engine::core::{Seq, Usage};

    #[test]
    fn a_line_says_what_was_missed_why_and_at_what_cost() {
        let entry = CacheEntry {
            started: Seq(7),
            turn: None,
            usage: Usage { input: Some(12_000), cached_input: Some(0), ..Usage::default() },
            expected: 10_000,
            missed: Some(10_000),
            broken: Some(CacheBreak::Settings(vec!["model", "tools"])),
            cost_micros: Some(15_000),
        };
        let expected = "7: 12000 tokens, 0 from the cache, 10000 were there before; 10000 missed: \
                        other settings (model, tools) (cost 0.015000 more)";
        assert_eq!(line(&entry), expected);
    }
}
