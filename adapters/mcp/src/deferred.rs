//! Deferral: tools of servers that are found by a search, since their schemas would fill each request.

use serde::Deserialize;
use windlass_core::ToolSpec;

use crate::error::McpError;

/// Most estimated tokens of the tools of all servers that are offered at once, unless the user sets it.
const DEFER_ABOVE_TOKENS: u64 = 10_000;

/// Form of the user's file, as far as it is about all servers.
#[derive(Deserialize)]
struct UserFile {
    #[serde(default)]
    mcp: McpTable,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct McpTable {
    defer_above_tokens: Option<u64>,
}

/// Reads `defer_above_tokens` of the table `[mcp]` of a TOML text: the most tokens of the tools of all
/// servers that are offered at once; 0 for no limit.
///
/// # Errors
/// [`McpError`] with the place in the text.
pub fn parse_deferred_limit(text: &str) -> Result<u64, McpError> {
    let file: UserFile =
        toml::from_str(text).map_err(|error| McpError::new(error.to_string().trim().to_owned()))?;
    Ok(file.mcp.defer_above_tokens.unwrap_or(DEFER_ABOVE_TOKENS))
}

/// Defers all tools if they have more tokens together, by estimate.
pub(crate) fn defer(specs: &mut [ToolSpec], above_tokens: u64) {
    let tokens: u64 = specs.iter().map(ToolSpec::estimated_tokens).sum();
    if above_tokens > 0 && tokens > above_tokens {
        specs.iter_mut().for_each(|spec| spec.deferred = true);
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::EffectClass;

    use super::*;

    #[test]
    fn the_limit_is_read_and_nothing_unknown() {
        assert_eq!(parse_deferred_limit("[mcp_servers.a]\ncommand = 'a'").unwrap(), 10_000);
        assert_eq!(parse_deferred_limit("[mcp]\ndefer_above_tokens = 0").unwrap(), 0);
        assert!(parse_deferred_limit("[mcp]\ndefer = 1").is_err());
    }

    #[test]
    fn tools_are_deferred_together_above_the_limit() {
        let deferred = |above: u64| {
            let mut specs = [
                ToolSpec::new("a", EffectClass::ReadOnly),
                ToolSpec::new("b", EffectClass::ReadOnly),
            ];
            assert_eq!(specs.iter().map(ToolSpec::estimated_tokens).sum::<u64>(), 36);
            defer(&mut specs, above);
            specs.iter().filter(|spec| spec.deferred).count()
        };
        assert_eq!([0, 35, 36].map(deferred), [0, 2, 0]);
    }
}
