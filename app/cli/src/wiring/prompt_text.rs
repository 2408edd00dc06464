//! Prompt as the model is given it, after what it names was read.

use windlass_engine::core::ContextPart;

#[cfg(feature = "mcp")]
pub(crate) use super::mcp::PromptServers;

/// Text of a prompt, with what it brings along.
#[derive(Debug)]
pub(crate) struct PromptText {
    pub(crate) text: String,
    pub(crate) context: Vec<ContextPart>,
    pub(crate) images: Vec<Vec<u8>>,
}

/// Servers that prompts may name: this build has none.
#[cfg(not(feature = "mcp"))]
#[derive(Clone, Default)]
pub(crate) struct PromptServers(());

#[cfg(not(feature = "mcp"))]
impl PromptServers {
    pub(crate) fn or(self, _: Self) -> Self {
        self
    }

    pub(crate) fn for_model(self, _: windlass_engine::ports::ModelCapabilities) -> Self {
        self
    }

    /// Returns the prompt as it is.
    pub(crate) async fn read(
        &self,
        prompt: &str,
        _: usize,
    ) -> Result<PromptText, crate::exit::Failure> {
        Ok(PromptText { text: prompt.to_owned(), context: Vec::new(), images: Vec::new() })
    }
}
