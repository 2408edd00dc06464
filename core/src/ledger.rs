//! The cache ledger: which request a provider's cache should have known, which it did not, why, and
//! what that cost. A projection of the log; no decision depends on it.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::id::{Seq, TurnId};
use crate::record::RecordedFact;
use crate::request_record::RequestRecord;
use crate::settings::Settings;
use crate::time::Timestamp;
use crate::usage::Usage;
use crate::view::{CompactionEntry, SampleEntry, SessionEntry, TimelineEntry, TurnEntry};

/// Caches keep whole blocks and none that is short, so that this many tokens prove nothing.
const BLOCK_TOKENS: u64 = 1_024;

/// Keeps the ledger of one session.
#[derive(Debug, Clone, Default)]
pub struct CacheLedger {
    settings: BTreeMap<Seq, Arc<Settings>>,
    /// Those of the turn that is open, or of the last one.
    current: Option<Arc<Settings>>,
    /// The request before, and what has come between.
    last: Option<LedgerRequest>,
    compacted: bool,
    started: Option<(Seq, Timestamp)>,
}

#[derive(Debug, Clone)]
struct LedgerRequest {
    at: Timestamp,
    tokens: u64,
    settings: Option<Arc<Settings>>,
    request: Option<RequestRecord>,
}

/// One request, as its provider's cache saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheEntry {
    /// Position of the `SampleStarted`.
    pub started: Seq,
    /// Turn that it belongs to.
    pub turn: Option<TurnId>,
    /// Usage that the provider reported.
    pub usage: Usage,
    /// Tokens of the request before, which this one begins with unless something came between; 0
    /// for the first.
    pub expected: u64,
    /// Number of those that missed the cache, if the provider reports hits.
    pub missed: Option<u64>,
    /// Reason, if more than a block missed.
    pub broken: Option<CacheBreak>,
    /// Cost beyond that of cached tokens, in millionths of the user's currency, if the settings
    /// have a price.
    pub cost_micros: Option<u64>,
}

/// Reason why a request does not start with the cached prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CacheBreak {
    /// The conversation was compacted.
    Compacted,
    /// Other settings, by their names.
    Settings(Vec<&'static str>),
    /// Another adapter, endpoint or model was asked, though the settings are the same: a fallback.
    ProviderChanged {
        /// Provider of the previous request.
        before: String,
        /// Provider of this request.
        now: String,
    },
    /// Other parts of the conversation could not be shown as they were.
    LoweringChanged,
    /// Nothing that the log knows of: the provider's cache had let it go after so long.
    Expired {
        /// Time since the request before, in milliseconds.
        idle_ms: u64,
    },
}

impl CacheLedger {
    /// Takes the next fact of the log. Answers the entry of a request whose end it is.
    pub fn apply(&mut self, recorded: &RecordedFact) -> Option<CacheEntry> {
        match TimelineEntry::of(recorded) {
            TimelineEntry::Session(SessionEntry::Opened(fact)) => {
                self.settings.insert(recorded.seq, fact.settings.clone());
            }
            TimelineEntry::Session(SessionEntry::Settings(fact)) => {
                self.settings.insert(recorded.seq, fact.settings.clone());
            }
            TimelineEntry::Turn(TurnEntry::Opened(fact)) => {
                self.current = self.settings.get(&fact.settings).cloned();
                // No later turn is run with older settings.
                self.settings = self.settings.split_off(&fact.settings);
            }
            TimelineEntry::Compaction(CompactionEntry::Done(_)) => self.compacted = true,
            TimelineEntry::Sample(SampleEntry::Started(_)) => {
                self.started = Some((recorded.seq, recorded.ts));
            }
            TimelineEntry::Sample(SampleEntry::Ended(fact)) => {
                return self.ended(recorded, fact.usage, &fact.request);
            }
            TimelineEntry::Sample(SampleEntry::Cut(fact)) => {
                return self.ended(recorded, fact.usage, &fact.request);
            }
            TimelineEntry::Session(_)
            | TimelineEntry::Input(_)
            | TimelineEntry::Turn(_)
            | TimelineEntry::Hook(_)
            | TimelineEntry::Context(_)
            | TimelineEntry::Compaction(_)
            | TimelineEntry::Sample(_)
            | TimelineEntry::Call(..)
            | TimelineEntry::Program(_) => {}
        }
        None
    }

    /// A request whose provider says nothing of its tokens shows nothing of its cache.
    fn ended(
        &mut self,
        recorded: &RecordedFact,
        usage: Option<Usage>,
        asked: &Option<alloc::boxed::Box<RequestRecord>>,
    ) -> Option<CacheEntry> {
        let (started, at) = self.started.take()?;
        let usage = usage?;
        let tokens = usage.input?;
        let sent = LedgerRequest {
            at,
            tokens,
            settings: self.current.clone(),
            request: asked.as_deref().cloned(),
        };
        let expected = self.last.as_ref().map_or(0, |last| last.tokens.min(tokens));
        let missed = usage
            .cached_input
            .map(|cached| expected.saturating_sub(cached));
        let broken = match (&self.last, missed) {
            (Some(last), Some(missed)) if missed > BLOCK_TOKENS => {
                Some(break_reason(last, &sent, self.compacted))
            }
            (Some(_) | None, Some(_) | None) => None,
        };
        let price = self.current.as_ref().and_then(|settings| settings.price);
        let cost_micros = price.zip(missed).map(|(price, missed)| {
            let more = price.input_micros.saturating_sub(price.cached_input_micros);
            let cost = u128::from(missed).saturating_mul(u128::from(more));
            u64::try_from(cost.div_ceil(1_000_000)).unwrap_or(u64::MAX)
        });
        self.last = Some(sent);
        self.compacted = false;
        Some(CacheEntry {
            started,
            turn: recorded.turn,
            usage,
            expected,
            missed,
            broken,
            cost_micros,
        })
    }
}

fn break_reason(before: &LedgerRequest, now: &LedgerRequest, compacted: bool) -> CacheBreak {
    if let (Some(before), Some(now)) = (&before.settings, &now.settings) {
        let others = changed_settings(before, now);
        if !others.is_empty() {
            return CacheBreak::Settings(others);
        }
    }
    if let (Some(before), Some(now)) = (&before.request, &now.request) {
        let who = |asked: &RequestRecord| {
            (
                asked.provider.clone(),
                asked.endpoint.clone(),
                asked.model.clone(),
            )
        };
        if who(before) != who(now) {
            let name = |asked: &RequestRecord| alloc::format!("{} {}", asked.provider, asked.model);
            return CacheBreak::ProviderChanged {
                before: name(before),
                now: name(now),
            };
        }
    }
    if compacted {
        return CacheBreak::Compacted;
    }
    if let (Some(before), Some(now)) = (&before.request, &now.request)
        && !now.lowered.starts_with(&before.lowered)
    {
        return CacheBreak::LoweringChanged;
    }
    CacheBreak::Expired {
        idle_ms: now.at.since_ms(before.at),
    }
}

/// Lists the settings that differ and change requests.
fn changed_settings(before: &Settings, now: &Settings) -> Vec<&'static str> {
    let checks = [
        ("provider", before.provider == now.provider),
        ("model", before.model == now.model),
        ("base_url", before.base_url == now.base_url),
        ("instructions", before.instructions == now.instructions),
        ("tools", before.tools == now.tools),
        ("effort", before.effort == now.effort),
        ("options", before.options == now.options),
    ];
    let others = checks.iter().filter(|(_, same)| !same);
    others.map(|(name, _)| *name).collect()
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
