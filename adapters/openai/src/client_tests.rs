//! Tests of what the client is built from.

use super::*;
use crate::config::Api;
use crate::http::http_wire;

fn config() -> OpenAiConfig {
    OpenAiConfig::new(Api::Chat).with_api_key("sk-1")
}

fn client(config: &OpenAiConfig) -> Result<Client, ProviderError> {
    Client::new(config, http_wire(&config.base_url)?)
}

fn refused(config: &OpenAiConfig) -> String {
    match client(config) {
        Ok(_) => panic!("{config:?} was accepted"),
        Err(error) => error.context,
    }
}

#[test]
fn headers_say_who_asks() {
    let mut config = config();
    config.organisation = Some("org".into());
    config.project = Some("proj".into());
    config.headers.insert("X-Gate".into(), Secret::new("g"));
    let headers = headers(&config).unwrap();
    assert_eq!(headers["authorization"], "Bearer sk-1");
    assert_eq!(headers["openai-organization"], "org");
    assert_eq!(headers["openai-project"], "proj");
    assert_eq!(headers["x-gate"], "g");
    assert_eq!(headers["accept-encoding"], "identity");
    assert!(!format!("{headers:?}").contains("sk-1"));
}

#[test]
fn without_a_key_none_is_sent() {
    let headers = headers(&OpenAiConfig::new(Api::Chat)).unwrap();
    assert!(!headers.contains_key("authorization"));
    assert!(!headers.contains_key("openai-organization"));
}

#[test]
fn what_cannot_be_used_is_refused_in_words() {
    for (url, word) in [
        ("nonsense", "https://host/v1"),
        ("ftp://host/v1", "neither http nor https"),
        ("http://u:p@host/v1", "user name"),
        ("http://host/v1#x", "fragment"),
    ] {
        let said = refused(&config().with_base_url(url));
        assert!(said.contains(word) && !said.contains("u:p"), "{said}");
    }
    let said = refused(&config().with_api_key("sk-1\r\nx: y"));
    assert!(said.contains("API key") && !said.contains("sk-1"), "{said}");
    let mut bad = config();
    bad.headers.insert("a b".into(), Secret::new("g"));
    assert!(refused(&bad).contains("a b"));
}

#[test]
fn https_is_set_up_with_the_roots_of_the_system_or_says_what_is_missing() {
    match client(&config()) {
        Ok(client) => assert_eq!(client.base.scheme(), "https"),
        Err(error) => assert!(error.context.contains("root certificates"), "{error}"),
    }
}

#[test]
fn paths_are_joined_and_queries_kept() {
    let with = |url: &str| client(&config().with_base_url(url)).unwrap();
    let joined = |url: &str| with(url).call(&["chat", "completions"]).0.to_string();
    assert_eq!(joined("http://h/v1"), "http://h/v1/chat/completions");
    assert_eq!(joined("http://h/v1/"), "http://h/v1/chat/completions");
    assert_eq!(joined("http://h"), "http://h/chat/completions");
    assert_eq!(
        joined("http://h/v1?api-version=1"),
        "http://h/v1/chat/completions?api-version=1"
    );
}

#[test]
fn the_endpoint_is_named_without_its_query() {
    let named = |url: &str| client(&config().with_base_url(url)).unwrap().endpoint();
    assert_eq!(named("http://h/v1/?key=k"), "http://h/v1");
    assert_eq!(named("http://h"), "http://h");
}

#[test]
fn loopback_is_recognised() {
    let is = |url: &str| is_loopback(&Url::parse(url).unwrap());
    assert!(is("http://127.0.0.1:1/v1") && is("http://[::1]/") && is("http://localhost/"));
    assert!(!is("http://10.0.0.1/") && !is("https://api.openai.com/v1"));
}
