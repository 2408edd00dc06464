//! The cache ledger: which requests missed the provider's cache, the reason, and the cost. A
//! projection of the log; no decision depends on it.

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

/// Caches store whole blocks and no short ones, so a miss of this many tokens proves nothing.
const BLOCK_TOKENS: u64 = 1_024;

/// Computes the cache entries of one session.
#[derive(Debug, Clone, Default)]
pub struct CacheLedger {
    settings: BTreeMap<Seq, Arc<Settings>>,
    /// Settings of the open turn, or of the last one.
    current: Option<Arc<Settings>>,
    /// Previous request, with the changes since.
    last: Option<LedgerRequest>,
    replaced: Option<CacheBreak>,
    started: Option<(Seq, Timestamp)>,
}

#[derive(Debug, Clone)]
struct LedgerRequest {
    at: Timestamp,
    tokens: u64,
    settings: Option<Arc<Settings>>,
    request: Option<RequestRecord>,
}

/// Result of one request at its provider's cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheEntry {
    /// Position of the `SampleStarted`.
    pub started: Seq,
    /// Turn that it belongs to.
    pub turn: Option<TurnId>,
    /// Usage that the provider reported.
    pub usage: Usage,
    /// Tokens of the previous request, a prefix of this one unless the conversation changed; 0 for
    /// the first.
    pub expected: u64,
    /// Number of those tokens that missed the cache, if the provider reports hits.
    pub missed: Option<u64>,
    /// Reason, if more than a block missed.
    pub broken: Option<CacheBreak>,
    /// Extra cost compared with cached tokens, in millionths of the user's currency, if the
    /// settings have a price.
    pub cost_micros: Option<u64>,
}

/// Reason why a request does not start with the cached prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CacheBreak {
    /// The conversation was compacted.
    Compacted,
    /// The session was rewound to an earlier point of the conversation.
    Rewound,
    /// The settings changed: names of the changed ones.
    Settings(Vec<&'static str>),
    /// A fallback changed the adapter, endpoint or model with the same settings.
    ProviderChanged {
        /// Provider of the previous request.
        before: String,
        /// Provider of this request.
        now: String,
    },
    /// Parts of the conversation were lowered differently.
    LoweringChanged,
    /// No cause in the log: the provider's cache expired after this time.
    Expired {
        /// Time since the previous request, in milliseconds.
        idle_ms: u64,
    },
}

impl CacheLedger {
    /// Applies the next fact of the log. Returns an entry if the fact ends a request.
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
                // No later turn runs with older settings.
                self.settings = self.settings.split_off(&fact.settings);
            }
            TimelineEntry::Compaction(CompactionEntry::Done(_)) => {
                self.replaced = Some(CacheBreak::Compacted);
            }
            TimelineEntry::Session(SessionEntry::Rewound(_)) => {
                self.replaced = Some(CacheBreak::Rewound);
            }
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

    /// Returns the entry of a request; `None` if the provider did not report usage.
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
        let missed = usage.cached_input.map(|cached| expected.saturating_sub(cached));
        let broken = match (&self.last, missed) {
            (Some(last), Some(missed)) if missed > BLOCK_TOKENS => {
                Some(break_reason(last, &sent, self.replaced.take()))
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
        self.replaced = None;
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

fn break_reason(
    before: &LedgerRequest,
    now: &LedgerRequest,
    replaced: Option<CacheBreak>,
) -> CacheBreak {
    if let (Some(before), Some(now)) = (&before.settings, &now.settings) {
        let others = changed_settings(before, now);
        if !others.is_empty() {
            return CacheBreak::Settings(others);
        }
    }
    if let (Some(before), Some(now)) = (&before.request, &now.request) {
        let who = |asked: &RequestRecord| {
            (asked.provider.clone(), asked.endpoint.clone(), asked.model.clone())
        };
        if who(before) != who(now) {
            let name = |asked: &RequestRecord| alloc::format!("{} {}", asked.provider, asked.model);
            return CacheBreak::ProviderChanged { before: name(before), now: name(now) };
        }
    }
    if let Some(replaced) = replaced {
        return replaced;
    }
    if let (Some(before), Some(now)) = (&before.request, &now.request)
        && !now.lowered.starts_with(&before.lowered)
    {
        return CacheBreak::LoweringChanged;
    }
    CacheBreak::Expired { idle_ms: now.at.since_ms(before.at) }
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
        ("temperature", before.temperature == now.temperature),
        ("options", before.options == now.options),
    ];
    let others = checks.iter().filter(|(_, same)| !same);
    others.map(|(name, _)| *name).collect()
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
