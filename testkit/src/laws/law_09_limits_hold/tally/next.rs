//! What the samples of a turn take: the one that streams, and the next one at least, as far as the log
//! tells.

use windlass_core::{Price, Reservation, SampleStarted, Settings, Usage};

use super::Tally;

/// The fewest tokens that are asked for as an answer.
const LEAST: u64 = 256;

/// What is known of the next sample.
pub(super) struct Next {
    price: Option<Price>,
    /// The tokens that an answer may have, if they are limited.
    answer: Option<u64>,
    /// What it takes at least, if that is known.
    least: Option<Reservation>,
}

impl Tally {
    /// What the answer that streams is expected to take.
    pub(super) fn streaming(&self) -> Reservation {
        if self.streams { self.reserved } else { Reservation::default() }
    }
}

impl Next {
    pub(super) fn new(settings: Option<&Settings>) -> Self {
        Self {
            price: settings.and_then(|settings| settings.price),
            answer: settings.and_then(|settings| settings.max_output_tokens),
            least: None,
        }
    }

    /// A sample is asked for: a later one shows more, and its answer may be as long.
    pub(super) fn asked(&mut self, fact: &SampleStarted) {
        let whole = self.answer.is_some() && fact.output_bound.is_none();
        self.least = whole.then_some(fact.reserved);
    }

    /// A longer form of a request takes no less than the provider measured. Where it said nothing, the
    /// next one is estimated again, and the log does not tell at what.
    pub(super) fn measured(&mut self, usage: Option<Usage>) {
        let measured = match usage.and_then(|usage| usage.input).unwrap_or(0) {
            0 => Reservation::default(),
            input => self.taken(input, self.answer.unwrap_or(LEAST)),
        };
        let least = self.least.unwrap_or(measured);
        self.least = Some(Reservation {
            tokens: measured.tokens.min(least.tokens),
            cost_micros: measured.cost_micros.min(least.cost_micros),
        });
    }

    pub(super) fn least(&self) -> Reservation {
        self.least.unwrap_or_default()
    }

    /// The tokens that an answer may have, if they are limited.
    pub(super) fn longest(&self) -> Option<u64> {
        self.answer
    }

    /// What an answer of so many tokens takes, without its request.
    pub(super) fn answers(&self, tokens: u64) -> Reservation {
        self.taken(0, tokens)
    }

    /// What an answer takes at most that it is told, if answers are limited.
    pub(super) fn told(&self) -> Option<Reservation> {
        self.answer.map(|tokens| self.taken(tokens, 0))
    }

    fn taken(&self, input: u64, output: u64) -> Reservation {
        let usage = Usage { input: Some(input), output: Some(output), ..Usage::default() };
        Reservation {
            tokens: usage.tokens(),
            cost_micros: self.price.map_or(0, |price| price.of(&usage)),
        }
    }
}
