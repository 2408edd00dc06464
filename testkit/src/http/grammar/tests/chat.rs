//! Chat Completions.

use super::*;

fn whole() -> Value {
    let call = |id: &str| json!({ "id": id, "type": "function", "function": { "name": "read", "arguments": "{}" } });
    json!({
        "model": "m",
        "stream": true,
        "stream_options": { "include_usage": true },
        "max_completion_tokens": 100,
        "reasoning_effort": "low",
        "tool_choice": { "type": "function", "function": { "name": "read" } },
        "parallel_tool_calls": true,
        "tools": [{ "type": "function", "function": { "name": "read", "description": "Reads.", "parameters": schema() } }],
        "messages": [
            { "role": "system", "content": "Be short. Answer in JSON." },
            { "role": "user", "content": [
                { "type": "text", "text": "What is this?" },
                { "type": "image_url", "image_url": { "url": "data:image/png;base64,aGk=" } },
            ] },
            { "role": "assistant", "content": null, "tool_calls": [call("a"), call("b")] },
            { "role": "tool", "tool_call_id": "b", "content": "" },
            { "role": "tool", "tool_call_id": "a", "content": "two" },
            { "role": "assistant", "content": "That is all." },
            { "role": "system", "content": "Time is short." },
            { "role": "user", "content": "Go on." },
        ],
    })
}

#[test]
fn what_stands_around_the_conversation() {
    let named = |name: &str| json!({ "type": "function", "function": { "name": name } });
    let tool = |name: &str| json!({ "type": "function", "function": { "name": name, "parameters": schema() } });
    let format = |schema: Value| json!({ "type": "json_schema", "json_schema": { "name": "x", "schema": schema, "strict": true } });
    breaks(
        &OPENAI_CHAT,
        &whole(),
        &[
            (&[put("/surprise", json!(1))], "surprise", "no such field"),
            (
                &[put("/max_tokens", json!(1)), cut("/max_completion_tokens")],
                "max_tokens",
                "no such field",
            ),
            (&[cut("/model")], "model", "missing"),
            (&[put("/model", json!(""))], "model", "text that is not empty"),
            (&[put("/store", json!("yes"))], "store", "true or false"),
            (&[put("/max_completion_tokens", json!(0))], "max_completion_tokens", "whole number"),
            (&[put("/temperature", json!(3))], "temperature", "a number from 0 to 2"),
            (
                &[put("/prompt_cache_key", json!("k".repeat(65)))],
                "prompt_cache_key",
                "64 characters",
            ),
            (&[put("/verbosity", json!("chatty"))], "verbosity", "one of"),
            (&[put("/logit_bias", json!([]))], "logit_bias", "an object"),
            (&[put("/modalities", json!("text"))], "modalities", "a list"),
            (&[put("/reasoning_effort", json!("huge"))], "reasoning_effort", "no such effort"),
            (&[put("/stop", json!(["a", "b", "c", "d", "e"]))], "stop", "four"),
            (&[put("/stream", json!(false))], "stream_options", "only for a stream"),
            (&[put("/stream_options/usage", json!(true))], "stream_options.usage", "no such field"),
            (&[cut("/tools"), cut("/tool_choice")], "parallel_tool_calls", "with tools"),
            (
                &[cut("/tools"), cut("/parallel_tool_calls"), put("/tool_choice", json!("auto"))],
                "tool_choice",
                "with tools",
            ),
            (&[put("/tools", json!([])), put("/tool_choice", json!("auto"))], "tools", "1 to 128"),
            (&[put("/tools/1", tool("read"))], "tools[1]", "another tool is called"),
            (&[put("/tools/1", tool("a b"))], "tools[1].function.name", "64 characters"),
            (&[put("/tools/1", tool(&"x".repeat(65)))], "tools[1].function.name", "64 characters"),
            (&[put("/tools/0/type", json!("custom"))], "tools[0].type", "one of"),
            (
                &[put("/tools/0/function/parameters/type", json!("string"))],
                "tools[0].function.parameters",
                "of an object",
            ),
            (
                &[
                    put("/tools/0/function/strict", json!(true)),
                    put("/tools/0/function/parameters/additionalProperties", json!(false)),
                ],
                "tools[0].function.parameters",
                "requires all",
            ),
            (&[put("/tools/0/name", json!("read"))], "tools[0].name", "no such field"),
            (&[put("/tool_choice", json!("any"))], "tool_choice", "one of"),
            (&[put("/tool_choice", named("write"))], "tool_choice", "no such tool is offered"),
            (
                &[put(
                    "/tool_choice",
                    json!({ "type": "function", "name": "read", "function": { "name": "read" } }),
                )],
                "tool_choice",
                "names a tool as",
            ),
            (
                &[put("/response_format", json!({ "type": "xml" }))],
                "response_format",
                "its type is",
            ),
            (
                &[
                    put("/response_format", json!({ "type": "json_object" })),
                    put("/messages/0/content", json!("Be short.")),
                ],
                "response_format",
                "the word JSON",
            ),
            (
                &[put("/response_format", format(json!({ "type": "object" })))],
                "response_format.json_schema.schema",
                "additionalProperties",
            ),
            (
                &[put(
                    "/response_format",
                    format(
                        json!({ "type": "object", "properties": { "a": {} }, "additionalProperties": false }),
                    ),
                )],
                "response_format.json_schema.schema",
                "requires all",
            ),
            (
                &[put(
                    "/response_format",
                    json!({ "type": "json_schema", "json_schema": { "name": "a b", "schema": schema() } }),
                )],
                "response_format.json_schema.name",
                "64 characters",
            ),
            (
                &[put(
                    "/response_format",
                    json!({ "type": "json_schema", "schema": {}, "json_schema": { "name": "a", "schema": schema() } }),
                )],
                "response_format.schema",
                "no such field",
            ),
        ],
    );
    passes(&OPENAI_CHAT, &changed(&whole(), &[put("/response_format", format(strict_schema()))]));
    let both = changed(&whole(), &[put("/max_tokens", json!(1))]);
    breaks(
        &VLLM,
        &whole(),
        &[(&[put("/max_tokens", json!(1))], "max_tokens", "beside max_completion_tokens")],
    );
    assert_eq!(validate(&OPENAI_CHAT, &both).unwrap_err().len(), 2);
}

#[test]
fn who_speaks_when() {
    let user = || json!({ "role": "user", "content": "hi" });
    breaks(
        &OPENAI_CHAT,
        &whole(),
        &[
            (&[put("/messages", json!([]))], "messages", "one at least"),
            (&[put("/messages/7", json!("hi"))], "messages[7]", "no object"),
            (&[put("/messages/7/role", json!("robot"))], "messages[7].role", "no such role"),
            (&[put("/messages/7/surprise", json!(1))], "messages[7].surprise", "no such field"),
            (&[put("/messages/7/content", json!(""))], "messages[7].content", "empty"),
            (&[put("/messages/7/content", json!([]))], "messages[7].content", "neither text nor"),
            (&[put("/messages/7/content", json!(null))], "messages[7].content", "neither text nor"),
            (&[cut("/messages/7/content")], "messages[7].content", "missing"),
            (
                &[put("/messages/7/content", json!([{ "type": "text", "text": "" }]))],
                "messages[7].content[0].text",
                "not empty",
            ),
            (
                &[put("/messages/7/content", json!([{ "type": "refusal", "refusal": "no" }]))],
                "messages[7].content[0]",
                "no part of the type",
            ),
            (
                &[
                    put(
                        "/messages/0/content",
                        json!([{ "type": "image_url", "image_url": { "url": "https://a/b.png" } }]),
                    ),
                    put("/messages/6/content", json!("JSON")),
                ],
                "messages[0].content[0]",
                "no part of the type",
            ),
            (&[put("/messages/5/content", json!(null))], "messages[5].content", "says nothing"),
            (
                &[put("/messages/5/reasoning_content", json!("hm"))],
                "messages[5].reasoning_content",
                "no such field",
            ),
            (
                &[put("/messages/1/content/1/image_url/url", json!("file:///a.png"))],
                "messages[1].content[1].image_url.url",
                "neither a web address",
            ),
            (
                &[put("/messages/1/content/1/image_url/url", json!("data:image/bmp;base64,aGk="))],
                "messages[1].content[1].image_url.url",
                "PNG, JPEG",
            ),
            (
                &[put("/messages/1/content/1/image_url/url", json!("data:image/png;base64,a_k="))],
                "messages[1].content[1].image_url.url",
                "no base64",
            ),
            (
                &[put("/messages/1/content/1/image_url/url", json!("data:image/png;base64,"))],
                "messages[1].content[1].image_url.url",
                "no base64",
            ),
            (
                &[put("/messages/1/content/1/image_url/detail", json!("tiny"))],
                "messages[1].content[1].image_url.detail",
                "one of",
            ),
            (
                &[put(
                    "/messages/8",
                    json!({ "role": "tool", "tool_call_id": "c", "content": "x" }),
                )],
                "messages[8].tool_call_id",
                "no call before it",
            ),
            (
                &[put(
                    "/messages/8",
                    json!({ "role": "tool", "tool_call_id": "a", "content": "x" }),
                )],
                "messages[8].tool_call_id",
                "no call before it",
            ),
            (&[put("/messages/4", user())], "messages[4]", "the call \"a\" has to come first"),
            (
                &[put("/messages/4", json!({ "role": "assistant", "content": "x" }))],
                "messages[4]",
                "the call \"a\" has to come first",
            ),
        ],
    );
    let open = changed(
        &whole(),
        &[cut("/messages/7"), cut("/messages/6"), cut("/messages/5"), cut("/messages/4")],
    );
    let faults = validate(&OPENAI_CHAT, &open).unwrap_err();
    assert_eq!(faults.len(), 1);
    assert!(faults[0].to_string().starts_with("messages: the result of the call \"a\""));
}

#[test]
fn how_a_call_is_made() {
    let at = "messages[2].tool_calls[1]";
    let id = |id: &str| -> Vec<Change> {
        let id = json!(id);
        vec![put("/messages/2/tool_calls/1/id", id.clone()), put("/messages/3/tool_call_id", id)]
    };
    breaks(
        &OPENAI_CHAT,
        &whole(),
        &[
            (&id(&"x".repeat(41)), &format!("{at}.id"), "1 to 40 characters"),
            (
                &[put("/messages/2/tool_calls/1/id", json!("a")), cut("/messages/3")],
                &format!("{at}.id"),
                "another call has this id",
            ),
            (
                &[put("/messages/2/tool_calls/1/type", json!("custom"))],
                &format!("{at}.type"),
                "one of",
            ),
            (
                &[put("/messages/2/tool_calls/1/index", json!(1))],
                &format!("{at}.index"),
                "no such field",
            ),
            (
                &[put("/messages/2/tool_calls/1/function/name", json!(""))],
                &format!("{at}.function.name"),
                "64 characters",
            ),
            (
                &[put("/messages/2/tool_calls/1/function/arguments", json!({}))],
                &format!("{at}.function.arguments"),
                "have to be text",
            ),
            (
                &[put("/messages/2/tool_calls/1/function/arguments", json!(""))],
                &format!("{at}.function.arguments"),
                "JSON object",
            ),
            (
                &[put("/messages/2/tool_calls/1/function/arguments", json!("[1]"))],
                &format!("{at}.function.arguments"),
                "JSON object",
            ),
            (&[put("/messages/5/tool_calls", json!([]))], "messages[5].tool_calls", "an empty one"),
            (&[put("/messages/3/content", json!(null))], "messages[3].content", "neither text nor"),
            (&[cut("/messages/3/content")], "messages[3].content", "missing"),
        ],
    );
    passes(&OPENAI_CHAT, &changed(&whole(), &id(&"x".repeat(40))));
}
