//! State that lasts from one program to the next: definitions and the last results.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::program::{RunEnd, RunOutcome};
use crate::value::Value;

/// Number of remembered results: `*1`, `*2` and `*3`.
pub(crate) const REMEMBERED: usize = 3;

/// Definitions and last results.
#[derive(Clone, Debug, Default)]
pub struct LispSession {
    /// Definitions of earlier programs.
    pub definitions: BTreeMap<Arc<str>, Value>,
    /// The last results, the latest last.
    pub history: Vec<Value>,
    /// The highest number that a function in it has.
    pub(crate) ids: u64,
}

impl LispSession {
    /// Takes in what a program came to. A value commits its definitions and is remembered; `return`
    /// commits its definitions; a failure of any kind changes nothing.
    pub fn commit(&mut self, outcome: &RunOutcome) {
        match &outcome.end {
            RunEnd::Value(_) | RunEnd::Return(_) => self.ids = self.ids.max(outcome.ids),
            RunEnd::Fail(_) | RunEnd::Fault(_) => {}
        }
        match &outcome.end {
            RunEnd::Value(value) => {
                self.definitions.clone_from(&outcome.definitions);
                self.history.push(value.clone());
                let surplus = self.history.len().saturating_sub(REMEMBERED);
                self.history.drain(..surplus);
            }
            RunEnd::Return(_) => self.definitions.clone_from(&outcome.definitions),
            RunEnd::Fail(_) | RunEnd::Fault(_) => {}
        }
    }
}
