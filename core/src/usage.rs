//! Token usage, as the provider reported it.

use serde::{Deserialize, Serialize};

/// Tokens of one sample, or of a turn. `None` means that the provider did not report them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    /// Tokens of the answer, including reasoning if the provider includes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// Total as reported; providers define it differently.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// Request tokens that came from the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<u64>,
    /// Request tokens that the provider wrote into its cache, if it bills them separately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<u64>,
    /// Answer tokens spent on reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_output: Option<u64>,
}

impl Usage {
    /// Returns input plus output, or the reported total if neither was reported.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        match (self.input, self.output) {
            (None, None) => self.total.unwrap_or(0),
            (input, output) => input.unwrap_or(0).saturating_add(output.unwrap_or(0)),
        }
    }

    /// Adds another sample's usage; a number stays `None` until it is reported.
    pub fn add(&mut self, other: &Self) {
        let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
        };
        self.input = sum(self.input, other.input);
        self.output = sum(self.output, other.output);
        self.total = sum(self.total, other.total);
        self.cached_input = sum(self.cached_input, other.cached_input);
        self.cache_write = sum(self.cache_write, other.cache_write);
        self.reasoning_output = sum(self.reasoning_output, other.reasoning_output);
    }
}

/// Price of tokens, in millionths of the user's currency for a million tokens. Windlass does not
/// know the currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Price of a million tokens of requests.
    pub input_micros: u64,
    /// Price of a million request tokens that came from the provider's cache.
    pub cached_input_micros: u64,
    /// Price of a million request tokens that the provider wrote into its cache; `None` for the
    /// price of other requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_micros: Option<u64>,
    /// Price of a million tokens of answers.
    pub output_micros: u64,
}

impl Price {
    /// Returns the cost of a usage, in millionths of the currency, rounded up.
    #[must_use]
    pub fn of(&self, usage: &Usage) -> u64 {
        let (input, output) = match (usage.input, usage.output) {
            (None, None) => (usage.total.unwrap_or(0), 0),
            (input, output) => (input.unwrap_or(0), output.unwrap_or(0)),
        };
        let cached = usage.cached_input.unwrap_or(0).min(input);
        let written = usage.cache_write.unwrap_or(0);
        let written = written.min(input.saturating_sub(cached));
        let fresh = input.saturating_sub(cached).saturating_sub(written);
        let writing = self.cache_write_micros.unwrap_or(self.input_micros);
        let parts = [
            (fresh, self.input_micros),
            (cached, self.cached_input_micros),
            (written, writing),
            (output, self.output_micros),
        ];
        let sum = parts.iter().fold(0_u128, |sum, (tokens, micros)| {
            sum.saturating_add(u128::from(*tokens).saturating_mul(u128::from(*micros)))
        });
        u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}
