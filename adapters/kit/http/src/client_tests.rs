//! Tests of the construction of a client.

use async_trait::async_trait;
use windlass_ports::{WireError, WireResponse};

use super::*;

struct Nowhere;

#[async_trait]
impl Wire for Nowhere {
    async fn send(&self, _: WireRequest) -> Result<WireResponse, WireError> {
        Err(WireError::new(WireErrorKind::Unreachable, "nowhere"))
    }
}

fn client(url: &str) -> Result<Client, ProviderError> {
    Client::new(url, &Headers::new(), false, Arc::new(Nowhere))
}

#[test]
fn what_cannot_be_used_is_refused_in_words() {
    for (url, word) in [
        ("nonsense", "https://host/v1"),
        ("ftp://host/v1", "neither http nor https"),
        ("http://u:p@host/v1", "user name"),
        ("http://host/v1#x", "fragment"),
    ] {
        let said = client(url).err().unwrap().context;
        assert!(said.contains(word) && !said.contains("u:p"), "{said}");
    }
}

#[test]
fn paths_are_joined_and_queries_kept() {
    let joined = |url: &str| {
        let client = client(url).unwrap();
        client.call(&["chat", "completions"]).0.to_string()
    };
    assert_eq!(joined("http://h/v1"), "http://h/v1/chat/completions");
    assert_eq!(joined("http://h/v1/"), "http://h/v1/chat/completions");
    assert_eq!(joined("http://h"), "http://h/chat/completions");
    assert_eq!(joined("http://h/v1?api-version=1"), "http://h/v1/chat/completions?api-version=1");
}

#[test]
fn the_endpoint_is_named_without_its_query() {
    let named = |url: &str| client(url).unwrap().endpoint();
    assert_eq!(named("http://h/v1/?key=k"), "http://h/v1");
    assert_eq!(named("http://h"), "http://h");
}

#[test]
fn loopback_is_recognised() {
    let is = |url: &str| is_loopback(&Url::parse(url).unwrap());
    assert!(is("http://127.0.0.1:1/v1") && is("http://[::1]/") && is("http://localhost/"));
    assert!(!is("http://10.0.0.1/") && !is("https://api.openai.com/v1"));
}
