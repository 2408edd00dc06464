//! The headers of every request: who asks, and for which organisation and project.

use windlass_kit_http::{Headers, Secret};
use windlass_ports::ProviderError;

use crate::config::OpenAiConfig;
use crate::quirks::Auth;

pub(crate) fn headers(config: &OpenAiConfig) -> Result<Headers, ProviderError> {
    let key = config.api_key.as_ref().map_or("", Secret::expose).trim();
    let organisation = config.organisation.as_deref().unwrap_or_default();
    let project = config.project.as_deref().unwrap_or_default();
    let bearer = format!("Bearer {key}");
    let (name, value) = match config.quirks().auth {
        Auth::Bearer => ("authorization", bearer.as_str()),
        Auth::ApiKey => ("api-key", key),
    };
    let mut headers = Headers::new();
    if !key.is_empty() {
        headers.set("API key", name, value)?;
    }
    for (what, name, value) in [
        ("organisation", "openai-organization", organisation),
        ("project", "openai-project", project),
    ] {
        if !value.is_empty() {
            headers.set(what, name, value)?;
        }
    }
    if let Some(key) = &config.api_key {
        headers.hide(key.clone());
    }
    headers.extend(&config.headers)?;
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Api;

    #[test]
    fn headers_say_who_asks() {
        let mut config = OpenAiConfig::new(Api::Chat).with_api_key("sk-1");
        config.organisation = Some("org".into());
        config.project = Some("proj".into());
        config.headers.insert("X-Gate".into(), Secret::new("g"));
        let headers = headers(&config).unwrap().sent();
        assert_eq!(headers.text("authorization"), Some("Bearer sk-1"));
        assert_eq!(headers.text("openai-organization"), Some("org"));
        assert_eq!(headers.text("openai-project"), Some("proj"));
        assert_eq!(headers.text("x-gate"), Some("g"));
        assert_eq!(headers.text("accept-encoding"), Some("identity"));
        assert!(!format!("{headers:?}").contains("sk-1"));
    }

    #[test]
    fn azure_takes_the_key_in_a_header_of_its_own() {
        let config = OpenAiConfig::new(Api::Chat).with_api_key("k-1");
        let config = config.with_base_url("https://me.openai.azure.com/openai/v1");
        let headers = headers(&config).unwrap().sent();
        assert_eq!(headers.text("api-key"), Some("k-1"));
        assert_eq!(headers.get("authorization"), None);
        assert!(!format!("{headers:?}").contains("k-1"));
    }

    #[test]
    fn without_a_key_none_is_sent() {
        let headers = headers(&OpenAiConfig::new(Api::Chat)).unwrap().sent();
        assert_eq!(headers.get("authorization"), None);
        assert_eq!(headers.get("openai-organization"), None);
    }

    #[test]
    fn what_cannot_be_sent_is_refused_in_words() {
        let bad = OpenAiConfig::new(Api::Chat).with_api_key("sk-1\r\nx: y");
        let said = headers(&bad).err().unwrap().context;
        assert!(said.contains("API key") && !said.contains("sk-1"), "{said}");
        let mut bad = OpenAiConfig::new(Api::Chat);
        bad.headers.insert("a b".into(), Secret::new("g"));
        assert!(headers(&bad).err().unwrap().context.contains("a b"));
    }
}
