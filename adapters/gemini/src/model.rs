//! Traits of models by their names, as far as requests depend on them.
//!
//! Source: the pages "Gemini thinking", "Thought signatures" and "Structured outputs" of the Gemini
//! API documentation.

use serde::Deserialize;

/// Form in which a model is asked to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Thinking {
    /// Does not ask for thinking.
    None,
    /// By a budget of tokens: `thinkingBudget`.
    Budget,
    /// By a level: `thinkingLevel`.
    Level,
}

/// Traits of a model that requests depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ModelTraits {
    pub(crate) thinking: Thinking,
    /// Refuses a call of its own that comes back without the signature of the thought behind it,
    /// and takes a schema of the answer beside tools: from Gemini 3 on.
    pub(crate) signs: bool,
}

/// Looks up the traits of a model. One that is not known is taken for a new one.
pub(crate) fn traits(model: &str) -> ModelTraits {
    let name = model.rsplit('/').next().unwrap_or(model);
    let starts = |names: &[&str]| names.iter().any(|known| name.starts_with(known));
    if starts(&["gemini-1", "gemini-2.0", "gemma"]) {
        ModelTraits { thinking: Thinking::None, signs: false }
    } else if starts(&["gemini-2"]) {
        ModelTraits { thinking: Thinking::Budget, signs: false }
    } else {
        ModelTraits { thinking: Thinking::Level, signs: true }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_the_generation() {
        for (name, thinking, signs) in [
            ("gemini-2.0-flash", Thinking::None, false),
            ("models/gemini-2.5-pro", Thinking::Budget, false),
            ("gemini-3-flash-preview", Thinking::Level, true),
            ("another", Thinking::Level, true),
        ] {
            assert_eq!(traits(name), ModelTraits { thinking, signs }, "{name}");
        }
    }
}
