//! Table of Anthropic's models, by name. Unknown models get settings that every model accepts: no
//! thinking is asked for, and answers are short.
//!
//! Source: the pages "Thinking", "Effort", "Structured outputs", "Preserved thinking" and "Models
//! overview" of the Claude API documentation.

use serde::Deserialize;

/// Form in which a model is asked to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Thinking {
    /// Does not ask for thinking.
    None,
    /// By a budget of tokens: `{"type": "enabled", "budget_tokens": N}`.
    Budget,
    /// By an effort: `{"type": "adaptive"}` and `output_config.effort`.
    Adaptive,
}

/// Traits of a model that requests depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ModelTraits {
    pub(crate) thinking: Thinking,
    /// The `max_tokens` of a request whose settings name none; the model takes at least as many.
    pub(crate) max_tokens: u64,
    /// Binds thinking to the messages before it, always thinks, and cannot be forced to call a
    /// tool.
    pub(crate) binds: bool,
    /// Accepts a JSON Schema for its answer.
    pub(crate) shapes: bool,
}

/// A model of which nothing is known.
const UNKNOWN: ModelTraits =
    ModelTraits { thinking: Thinking::None, max_tokens: 4_096, binds: false, shapes: false };

/// Traits by model family, from a version on; the last matching row counts. `*` is any family.
const KNOWN: &[(&str, (u32, u32), ModelTraits)] = &[
    ("*", (3, 5), ModelTraits { max_tokens: 8_192, ..UNKNOWN }),
    ("*", (3, 7), BUDGET),
    ("*", (4, 5), ModelTraits { shapes: true, ..BUDGET }),
    ("opus", (4, 6), ADAPTIVE),
    ("sonnet", (4, 6), ADAPTIVE),
    ("haiku", (5, 0), ADAPTIVE),
    ("fable", (5, 0), ModelTraits { shapes: false, ..ADAPTIVE }),
    ("mythos", (5, 0), ModelTraits { shapes: false, ..ADAPTIVE }),
    ("fable", (5, 1), ModelTraits { binds: true, shapes: false, ..ADAPTIVE }),
    ("mythos", (5, 1), ModelTraits { binds: true, shapes: false, ..ADAPTIVE }),
    ("opus", (5, 5), ModelTraits { binds: true, ..ADAPTIVE }),
    ("sonnet", (5, 5), ModelTraits { binds: true, ..ADAPTIVE }),
    ("haiku", (5, 5), ModelTraits { binds: true, ..ADAPTIVE }),
];

const BUDGET: ModelTraits =
    ModelTraits { thinking: Thinking::Budget, max_tokens: 32_000, binds: false, shapes: false };

const ADAPTIVE: ModelTraits =
    ModelTraits { thinking: Thinking::Adaptive, max_tokens: 64_000, binds: false, shapes: true };

/// The newest generation of which something is known.
const NEWEST: u32 = 5;

const FAMILIES: &[&str] = &["opus", "sonnet", "haiku", "fable", "mythos"];

/// Looks up the traits of a model.
pub(crate) fn traits(model: &str) -> ModelTraits {
    let Some((family, version)) = family(model) else {
        return UNKNOWN;
    };
    if version.0 > NEWEST {
        return UNKNOWN;
    }
    let fits = |row: &&(&str, (u32, u32), ModelTraits)| {
        (row.0 == "*" || row.0 == family) && version >= row.1
    };
    KNOWN.iter().rfind(fits).map_or(UNKNOWN, |row| row.2)
}

/// The family and version in a model's name: `claude-opus-4-5-20251101`, `claude-3-7-sonnet`,
/// `anthropic/claude-sonnet-4.6`, `us.anthropic.claude-haiku-4-5-v1:0`.
fn family(model: &str) -> Option<(&str, (u32, u32))> {
    let (_, name) = model.rsplit_once("claude-")?;
    let words: Vec<&str> = name.split(['-', '.', '@', ':', '_']).collect();
    let number = |at: usize| {
        let word = words.get(at).filter(|word| word.len() <= 2)?;
        word.parse::<u32>().ok()
    };
    let at = words.iter().position(|word| FAMILIES.contains(word))?;
    let family = *words.get(at)?;
    let version = match at {
        0 => (number(1)?, number(2).unwrap_or(0)),
        _ => (number(0)?, number(1).unwrap_or(0)),
    };
    Some((family, version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_family_and_version() {
        for (name, known) in [
            ("claude-opus-4-5-20251101", ("opus", (4, 5))),
            ("claude-sonnet-4-20250514", ("sonnet", (4, 0))),
            ("claude-3-7-sonnet-20250219", ("sonnet", (3, 7))),
            ("claude-3-haiku-20240307", ("haiku", (3, 0))),
            ("anthropic/claude-sonnet-4.6", ("sonnet", (4, 6))),
            ("us.anthropic.claude-haiku-4-5-20251001-v1:0", ("haiku", (4, 5))),
            ("claude-sonnet-4-5@20250929", ("sonnet", (4, 5))),
            ("claude-fable-5", ("fable", (5, 0))),
        ] {
            assert_eq!(family(name), Some(known), "{name}");
        }
        for name in ["gpt-5", "claude-instant-1", "claude-mythos-preview", "scripted", ""] {
            assert_eq!(family(name), None, "{name}");
        }
    }

    #[test]
    fn each_generation_is_asked_in_its_own_way() {
        for (name, thinking, max_tokens) in [
            ("claude-3-opus-20240229", Thinking::None, 4_096),
            ("claude-3-5-haiku-latest", Thinking::None, 8_192),
            ("claude-3-7-sonnet-latest", Thinking::Budget, 32_000),
            ("claude-opus-4-1-20250805", Thinking::Budget, 32_000),
            ("claude-haiku-4-5", Thinking::Budget, 32_000),
            ("claude-sonnet-4-6", Thinking::Adaptive, 64_000),
            ("claude-opus-4-8", Thinking::Adaptive, 64_000),
            ("claude-haiku-5-5", Thinking::Adaptive, 64_000),
            ("claude-opus-7", Thinking::None, 4_096),
            ("MiniMax-M2.7", Thinking::None, 4_096),
        ] {
            let known = traits(name);
            assert_eq!((known.thinking, known.max_tokens), (thinking, max_tokens), "{name}");
        }
        assert!(traits("claude-opus-5-5").binds && !traits("claude-opus-5").binds);
        assert!(traits("claude-sonnet-4-5").shapes && !traits("claude-sonnet-4").shapes);
        assert!(!traits("claude-fable-5-1").shapes);
    }
}
