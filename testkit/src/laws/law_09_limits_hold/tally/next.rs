//! What the samples of a turn take: the one that streams, and the next one at least, as far as the log
//! tells.

use windlass_core::{Price, Reservation, Settings, Usage};

use super::Tally;

/// What is known of the next sample.
pub(super) struct Next {
    price: Option<Price>,
    /// The tokens that an answer may have, if they are limited.
    answer: Option<u64>,
    least: Reservation,
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
            least: Reservation::default(),
        }
    }

    /// A sample is asked for: a later one shows more.
    pub(super) fn asked(&mut self, reserved: Reservation) {
        self.least = reserved;
    }

    /// A longer form of a request takes no less than the provider measured. Where it said nothing, the
    /// next one is estimated anew, and the log does not tell at what.
    pub(super) fn measured(&mut self, usage: Option<Usage>) {
        let input = usage.and_then(|usage| usage.input).unwrap_or(0);
        let measured = match input {
            0 => Reservation::default(),
            input => self.taken(input, self.answer.unwrap_or(0)),
        };
        self.least = Reservation {
            tokens: measured.tokens.min(self.least.tokens),
            cost_micros: measured.cost_micros.min(self.least.cost_micros),
        };
    }

    pub(super) fn least(&self) -> Reservation {
        self.least
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
