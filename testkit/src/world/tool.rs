//! Tools of users in simulated worlds, and how a script spells them: `NAME:EFFECT[:exclusive]`, parted
//! by commas.

use windlass_core::{Concurrency, EffectClass};

use super::words::{spell, word};

/// A tool that the models of random worlds call, beside those of the kit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorldTool {
    declared: DeclaredTool,
    pub(crate) arguments: Vec<String>,
    pub(crate) weight: u32,
}

/// Name, effect class and concurrency class of a tool, as its settings declare it.
pub type DeclaredTool = (String, EffectClass, Concurrency);

impl WorldTool {
    /// Creates a tool that may run beside others and is called without arguments, as often as all
    /// tools of the kit together.
    #[must_use]
    pub fn new(name: impl Into<String>, effect: EffectClass) -> Self {
        let declared = (name.into(), effect, Concurrency::Parallel);
        Self { declared, arguments: vec![String::from("{}")], weight: 14 }
    }

    /// Runs only alone.
    #[must_use]
    pub fn exclusive(mut self) -> Self {
        self.declared.2 = Concurrency::Exclusive;
        self
    }

    /// Is called with one of these arguments, each a JSON object. An empty list stands for `{}`.
    #[must_use]
    pub fn arguments<T: Into<String>>(mut self, all: impl IntoIterator<Item = T>) -> Self {
        self.arguments = all.into_iter().map(Into::into).collect();
        if self.arguments.is_empty() {
            self.arguments.push(String::from("{}"));
        }
        self
    }

    /// Sets how often models call it; calls of all tools of the kit together have 14.
    #[must_use]
    pub fn weight(mut self, weight: u32) -> Self {
        self.weight = weight;
        self
    }

    /// Returns its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.declared.0
    }

    /// Returns how settings declare it.
    #[must_use]
    pub fn declared(&self) -> &DeclaredTool {
        &self.declared
    }
}

/// Reads tools.
pub(super) fn read_tools(text: &str) -> Result<Vec<DeclaredTool>, String> {
    text.split(',').map(read_tool).collect()
}

fn read_tool(text: &str) -> Result<DeclaredTool, String> {
    let (name, rest) =
        text.split_once(':').ok_or_else(|| format!("{text} is not NAME:EFFECT[:exclusive]"))?;
    let (effect, concurrency) = match rest.split_once(':') {
        None => (rest, Concurrency::Parallel),
        Some((effect, concurrency)) => (effect, word(concurrency)?),
    };
    Ok((name.to_owned(), word(effect)?, concurrency))
}

/// Spells tools.
pub(super) fn spell_tools(tools: &[DeclaredTool]) -> String {
    let spelled = tools.iter().map(|(name, effect, concurrency)| match concurrency {
        Concurrency::Parallel => format!("{name}:{}", spell(effect)),
        Concurrency::Exclusive => format!("{name}:{}:{}", spell(effect), spell(concurrency)),
    });
    spelled.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spelled_is_read() {
        for text in ["pay:effectful", "pay:effectful:exclusive,find:read_only,put_it:idempotent"] {
            assert_eq!(spell_tools(&read_tools(text).unwrap()), text);
        }
        for text in ["pay", "pay:dangerous", "pay:effectful:alone"] {
            read_tools(text).unwrap_err();
        }
    }
}
