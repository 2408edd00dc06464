//! The headers of every request. async-openai knows OpenAI's own; each value is checked before,
//! because it takes them on trust.

use async_openai::config::{Config as _, OpenAIConfig};
use windlass_kit_http::{Headers, Secret, checked};
use windlass_ports::ProviderError;

use crate::config::OpenAiConfig;
use crate::quirks::Auth;

pub(crate) fn headers(config: &OpenAiConfig) -> Result<Headers, ProviderError> {
    let key = config.api_key.as_ref().map_or("", Secret::expose).trim();
    let organisation = config.organisation.as_deref().unwrap_or_default();
    let project = config.project.as_deref().unwrap_or_default();
    for (what, text) in [("API key", key), ("organisation", organisation), ("project", project)] {
        checked(what, text)?;
    }
    let auth = config.quirks().auth;
    let bearer = if auth == Auth::Bearer { key } else { "" };
    let known = OpenAIConfig::default()
        .with_api_base(config.base_url.as_str())
        .with_api_key(bearer)
        .with_org_id(organisation)
        .with_project_id(project);
    let mut headers = Headers::new();
    for (name, value) in &known.headers() {
        let value = value.to_str().unwrap_or_default();
        if !(bearer.is_empty() && name.as_str() == "authorization") {
            headers.set(name.as_str(), name.as_str(), value)?;
        }
    }
    if auth == Auth::ApiKey && !key.is_empty() {
        headers.set("API key", "api-key", key)?;
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
