//! Helpers of the tests: requests and expected events.

pub(crate) mod expected;
pub(crate) mod fixtures;
mod one_body;
mod web_search;
