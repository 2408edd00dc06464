//! What servers of Chat Completions ask for beyond its own rules.

use super::*;

fn call(id: &str) -> Value {
    json!({ "id": id, "type": "function", "function": { "name": "read", "arguments": "{}" } })
}

/// A conversation that all servers take.
fn whole() -> Value {
    json!({
        "model": "m",
        "stream": true,
        "tool_choice": "auto",
        "tools": [{ "type": "function", "function": { "name": "read", "parameters": schema() } }],
        "messages": [
            { "role": "system", "content": "Be short." },
            { "role": "user", "content": "hi" },
            { "role": "assistant", "content": null, "tool_calls": [call("abcdefgh1")] },
            { "role": "tool", "tool_call_id": "abcdefgh1", "content": "done" },
        ],
    })
}

/// The profiles of Chat Completions.
fn chats() -> impl Iterator<Item = &'static Profile> {
    PROFILES.iter().copied().filter(|one| one.grammar == Grammar::Chat)
}

#[test]
fn a_plain_conversation_is_taken_by_all() {
    assert_eq!(chats().count(), 12);
    for profile in chats() {
        passes(profile, &whole());
    }
}

#[test]
fn no_server_takes_what_it_does_not_know() {
    for profile in chats() {
        breaks(profile, &whole(), &[(&[put("/surprise", json!(1))], "surprise", "no such field")]);
        for field in profile.without {
            let mut body = whole();
            body[*field] = json!(null);
            let faults = validate(profile, &body).unwrap_err();
            assert!(faults.iter().any(|fault| fault.at == *field), "{}: {field}", profile.name);
        }
        for field in profile.also {
            let mut body = whole();
            body[*field] = json!({});
            passes(profile, &body);
        }
    }
}

#[test]
fn mistral() {
    let id = |id: &str| -> Vec<Change> {
        vec![
            put("/messages/2/tool_calls/0/id", json!(id)),
            put("/messages/3/tool_call_id", json!(id)),
        ]
    };
    let at = "messages[2].tool_calls[0].id";
    breaks(
        &MISTRAL,
        &whole(),
        &[
            (&id("abcdefgh"), at, "exactly 9"),
            (&id("abcdefgh12"), at, "exactly 9"),
            (&id("abcdefg_1"), at, "exactly 9"),
            (&[put("/messages/0/role", json!("developer"))], "messages[0].role", "developer"),
            (&[put("/messages/1/name", json!("x"))], "messages[1].name", "no names"),
            (
                &[
                    put("/messages/4", json!({ "role": "assistant", "content": "x" })),
                    put("/messages/5", json!({ "role": "system", "content": "x" })),
                    put("/messages/6", json!({ "role": "user", "content": "x" })),
                ],
                "messages[5].role",
                "before all others",
            ),
            (
                &[put("/messages/4", json!({ "role": "user", "content": "x" }))],
                "messages[4].role",
                "the model has to",
            ),
            (
                &[put("/messages/4", json!({ "role": "assistant", "content": "x" }))],
                "messages",
                "the last of them",
            ),
            (&[put("/tool_choice", json!("must"))], "tool_choice", "any"),
        ],
    );
    passes(&MISTRAL, &changed(&whole(), &[put("/tool_choice", json!("any"))]));
}

#[test]
fn deepseek() {
    let image = json!([{ "type": "image_url", "image_url": { "url": "https://a/b.png" } }]);
    let shape =
        json!({ "type": "json_schema", "json_schema": { "name": "x", "schema": schema() } });
    let at = "messages[2].reasoning_content";
    breaks(
        &DEEPSEEK,
        &whole(),
        &[
            (&[put("/messages/0/role", json!("developer"))], "messages[0].role", "developer"),
            (&[put("/messages/1/content", image)], "messages[1].content[0]", "no images"),
            (&[cut("/messages/2/content")], "messages[2].content", "missing"),
            (&[put("/response_format", shape)], "response_format", "no schema"),
            (&[put("/model", json!("deepseek-reasoner"))], at, "come back"),
            (&[put("/thinking", json!({ "type": "enabled" }))], at, "come back"),
        ],
    );
    let thought = [
        put("/model", json!("deepseek-reasoner")),
        put("/messages/2/reasoning_content", json!("")),
    ];
    passes(&DEEPSEEK, &changed(&whole(), &thought));
}

#[test]
fn gemini() {
    let signed = json!({ "google": { "thought_signature": "c2ln" } });
    let model = || put("/model", json!("gemini-3-pro"));
    breaks(&GEMINI, &whole(), &[(&[model()], "messages[2].tool_calls[0]", "signature")]);
    passes(
        &GEMINI,
        &changed(&whole(), &[model(), put("/messages/2/tool_calls/0/extra_content", signed)]),
    );
    // What is before the last words of the user is not asked for.
    passes(
        &GEMINI,
        &changed(
            &whole(),
            &[model(), put("/messages/4", json!({ "role": "user", "content": "x" }))],
        ),
    );
}

#[test]
fn local_servers() {
    let named = json!({ "type": "function", "function": { "name": "read" } });
    for profile in [&LLAMA_CPP, &LM_STUDIO] {
        breaks(
            profile,
            &whole(),
            &[
                (&[put("/tool_choice", named.clone())], "tool_choice", "by its name"),
                (&[put("/messages/0/role", json!("developer"))], "messages[0].role", "developer"),
                (
                    &[put("/messages/4", json!({ "role": "system", "content": "x" }))],
                    "messages[4].role",
                    "before all others",
                ),
            ],
        );
    }
    passes(&VLLM, &changed(&whole(), &[put("/tool_choice", named)]));
}

#[test]
fn groq() {
    breaks(
        &GROQ,
        &whole(),
        &[
            (&[put("/messages/1/name", json!("x"))], "messages[1].name", "no names"),
            (
                &[put("/messages/2/reasoning_content", json!("hm"))],
                "messages[2].reasoning_content",
                "no such field",
            ),
        ],
    );
    passes(&GROQ, &changed(&whole(), &[put("/messages/2/reasoning", json!("hm"))]));
}
