//! The headers of every request.

use windlass_kit_http::{Headers, Secret};
use windlass_ports::ProviderError;

use crate::config::{AnthropicConfig, Auth};

/// The feature in trial by which a model is told what to do with thinking whose conversation has
/// changed.
const BINDING: &str = "thinking-binding-controls-2026-08-01";

pub(crate) fn headers(config: &AnthropicConfig) -> Result<Headers, ProviderError> {
    let mut headers = Headers::new();
    if let Some(key) = &config.api_key {
        let text = key.expose().trim();
        match config.auth {
            Auth::ApiKey => headers.set("API key", "x-api-key", text)?,
            Auth::Bearer => headers.set("API key", "authorization", &format!("Bearer {text}"))?,
        }
        headers.hide(key.clone());
        headers.hide(Secret::new(text));
    }
    headers.set("version", "anthropic-version", config.version.trim())?;
    let mut beta: Vec<&str> = config.beta.iter().map(|name| name.trim()).collect();
    if config.drops_stale_thinking() && !beta.contains(&BINDING) {
        beta.push(BINDING);
    }
    if !beta.is_empty() {
        headers.set("list of beta features", "anthropic-beta", &beta.join(","))?;
    }
    headers.extend(&config.headers)?;
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_say_who_asks() {
        let mut config = AnthropicConfig::new().with_api_key(" sk-1\n");
        config.beta = vec!["interleaved-thinking-2025-05-14".into()];
        config.headers.insert("X-Gate".into(), Secret::new("g"));
        let headers = headers(&config).unwrap();
        assert!(headers.secrets().iter().any(|s| s.expose() == "sk-1"));
        let sent = headers.sent();
        assert_eq!(sent.text("x-api-key"), Some("sk-1"));
        assert_eq!(sent.text("anthropic-version"), Some("2023-06-01"));
        let beta = format!("interleaved-thinking-2025-05-14,{BINDING}");
        assert_eq!(sent.text("anthropic-beta"), Some(beta.as_str()));
        assert_eq!(sent.text("x-gate"), Some("g"));
        assert!(!format!("{sent:?}").contains("sk-1"));
    }

    #[test]
    fn a_key_may_be_a_bearer_token() {
        let config = AnthropicConfig::new().with_api_key("k-1").with_auth(Auth::Bearer);
        let sent = headers(&config).unwrap().sent();
        assert_eq!(sent.text("authorization"), Some("Bearer k-1"));
        assert_eq!(sent.get("x-api-key"), None);
        let read: AnthropicConfig = serde_json::from_str(r#"{"auth":"bearer"}"#).unwrap();
        assert_eq!(read.auth, Auth::Bearer);
    }

    #[test]
    fn elsewhere_nothing_is_asked_for_that_nobody_named() {
        let config = AnthropicConfig::new().with_base_url("http://host/v1");
        let sent = headers(&config).unwrap().sent();
        assert_eq!(sent.get("anthropic-beta"), None);
        assert_eq!(sent.get("x-api-key"), None);
    }

    #[test]
    fn what_cannot_be_sent_is_refused_in_words() {
        let bad = AnthropicConfig::new().with_api_key("sk-1\r\nx: y");
        let said = headers(&bad).err().unwrap().context;
        assert!(said.contains("API key") && !said.contains("sk-1"), "{said}");
    }
}
