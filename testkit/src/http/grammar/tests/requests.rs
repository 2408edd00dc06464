//! Whole requests: by their paths, and as streams.

use super::*;
use crate::http::Request;

fn judged(path: &str, body: Option<Value>) -> Option<String> {
    fault(&Request {
        number: 0,
        connection: 1,
        method: "POST".into(),
        path: path.into(),
        headers: Vec::new(),
        body: Vec::new(),
        json: body,
        ended: None,
        ended_at: None,
        sent: 0,
        protocol: None,
    })
}

#[test]
fn the_path_says_the_grammar() {
    let turn = json!([{ "role": "user", "content": "hi" }]);
    let chat = json!({ "model": "m", "stream": true, "messages": turn });
    let responses = json!({ "model": "m", "stream": true, "input": turn });
    let messages = json!({ "model": "m", "stream": true, "max_tokens": 9, "messages": turn });
    for (path, body) in [
        ("/v1/chat/completions", &chat),
        ("/v1/responses", &responses),
        ("/v1/messages?beta=true", &messages),
    ] {
        assert_eq!(judged(path, Some(body.clone())), None, "{path}");
        let silent = changed(body, &[cut("/stream")]);
        let fault = judged(path, Some(silent)).unwrap();
        assert!(fault.contains("it asks for no stream"), "{fault}");
        let fault = judged(path, Some(changed(body, &[cut("/model")]))).unwrap();
        assert!(fault.contains("model: it is missing"), "{fault}");
        let fault = judged(path, None).unwrap();
        assert!(fault.contains("its body is no JSON"), "{fault}");
    }
    let fault = judged("/v1/models", Some(chat)).unwrap();
    assert!(fault.contains("asked by no dialect"), "{fault}");
}
