//! Settings that the requests of both protocols share, read once.
//!
//! The bodies are written with borrowed types of this crate. async-openai's request types own
//! their texts, know a closed list of effort words, and hold schemas as values whose keys get
//! sorted; they serve as the oracle of the tests instead.

use windlass_core::Settings;

/// Returns true if the model may reason. OpenAI refuses requests for encrypted reasoning to other
/// families; unknown models are treated as reasoning ones.
pub(crate) fn may_reason(settings: &Settings) -> bool {
    let model = settings.model.rsplit('/').next().unwrap_or_default();
    let plain = ["gpt-3.5", "gpt-4", "chatgpt-"];
    !plain.iter().any(|family| model.starts_with(family)) && !model.contains("-chat-latest")
}
