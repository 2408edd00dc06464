//! Responses.

use super::*;

fn whole() -> Value {
    let call = |id: &str| json!({ "type": "function_call", "call_id": id, "name": "read", "arguments": "{}" });
    let output = |id: &str| json!({ "type": "function_call_output", "call_id": id, "output": "" });
    json!({
        "model": "m",
        "stream": true,
        "store": false,
        "include": ["reasoning.encrypted_content"],
        "instructions": "Be short.",
        "max_output_tokens": 100,
        "reasoning": { "effort": "low", "summary": "auto" },
        "tool_choice": { "type": "function", "name": "read" },
        "tools": [{ "type": "function", "name": "read", "description": "Reads.", "parameters": schema(), "strict": false }],
        "input": [
            { "type": "message", "role": "user", "content": [
                { "type": "input_text", "text": "What is this?" },
                { "type": "input_image", "image_url": "data:image/png;base64,aGk=" },
            ] },
            { "type": "reasoning", "id": "rs_1", "summary": [{ "type": "summary_text", "text": "hm" }], "encrypted_content": "c2VhbA==" },
            call("a"),
            call("b"),
            output("b"),
            output("a"),
            { "type": "message", "role": "assistant", "id": "msg_1", "content": [{ "type": "output_text", "text": "All." }] },
            { "role": "developer", "content": "Time is short." },
            { "role": "user", "content": "Go on." },
        ],
    })
}

#[test]
fn what_stands_around_the_conversation() {
    let format = |format: Value| put("/text", json!({ "format": format }));
    breaks(
        &OPENAI_RESPONSES,
        &whole(),
        &[
            (&[put("/surprise", json!(1))], "surprise", "no such field"),
            (&[put("/messages", json!([]))], "messages", "no such field"),
            (&[cut("/model")], "model", "missing"),
            (&[put("/max_output_tokens", json!(15))], "max_output_tokens", "whole number from 16"),
            (&[put("/instructions", json!(""))], "instructions", "not empty"),
            (
                &[put("/include/1", json!("reasoning.secrets"))],
                "include[1]",
                "nothing of this name",
            ),
            (
                &[put("/stream", json!(false)), put("/stream_options", json!({}))],
                "stream_options",
                "only for a stream",
            ),
            (&[put("/reasoning/effort", json!("huge"))], "reasoning.effort", "no such effort"),
            (&[put("/reasoning/summary", json!("long"))], "reasoning.summary", "one of"),
            (&[put("/tools", json!([])), put("/tool_choice", json!("auto"))], "tools", "1 to 128"),
            (&[put("/tools/0/function", json!({}))], "tools[0].function", "no such field"),
            (
                &[put("/tools/0/name", json!("a b")), put("/tool_choice", json!("auto"))],
                "tools[0].name",
                "64 characters",
            ),
            (
                &[put("/tools/0/parameters/type", json!("array"))],
                "tools[0].parameters",
                "of an object",
            ),
            (
                &[
                    cut("/tools/0/strict"),
                    put("/tools/0/parameters/additionalProperties", json!(false)),
                ],
                "tools[0].parameters",
                "requires all",
            ),
            (&[put("/tool_choice", json!("any"))], "tool_choice", "one of"),
            (
                &[put("/tool_choice", json!({ "type": "function", "name": "write" }))],
                "tool_choice",
                "no such tool",
            ),
            (
                &[put(
                    "/tool_choice",
                    json!({ "type": "function", "name": "read", "function": { "name": "read" } }),
                )],
                "tool_choice",
                "names a tool as",
            ),
            (&[put("/text", json!({ "schema": {} }))], "text.schema", "no such field"),
            (&[format(json!({ "type": "xml" }))], "text.format", "its type is"),
            (&[format(json!({ "type": "json_object" }))], "text.format", "the word JSON"),
            (
                &[format(
                    json!({ "type": "json_schema", "json_schema": {}, "name": "x", "schema": schema() }),
                )],
                "text.format.json_schema",
                "no such field",
            ),
            (
                &[format(json!({ "type": "json_schema", "schema": schema() }))],
                "text.format.name",
                "missing",
            ),
            (
                &[format(
                    json!({ "type": "json_schema", "name": "x", "schema": { "type": "object" }, "strict": true }),
                )],
                "text.format.schema",
                "additionalProperties",
            ),
        ],
    );
    let shaped =
        json!({ "type": "json_schema", "name": "x", "schema": strict_schema(), "strict": true });
    passes(&OPENAI_RESPONSES, &changed(&whole(), &[format(shaped)]));
    passes(&OPENAI_RESPONSES, &json!({ "model": "m", "input": "hi" }));
}

#[test]
fn which_items_stand_where() {
    let late = |item: Value| put("/input/9", item);
    breaks(
        &OPENAI_RESPONSES,
        &whole(),
        &[
            (&[put("/input", json!([]))], "input", "neither text nor"),
            (&[put("/input", json!(""))], "input", "empty"),
            (&[late(json!(1))], "input[9]", "no object"),
            (&[late(json!({ "type": "thought" }))], "input[9]", "no item of the type"),
            (&[late(json!({ "role": "tool", "content": "x" }))], "input[9]", "no item of the type"),
            (&[late(json!({ "role": "user", "content": "" }))], "input[9].content", "empty"),
            (
                &[late(json!({ "role": "user", "content": [] }))],
                "input[9].content",
                "neither text nor",
            ),
            (
                &[late(json!({ "role": "user", "content": [{ "type": "text", "text": "x" }] }))],
                "input[9].content[0]",
                "no part of the type",
            ),
            (
                &[late(
                    json!({ "role": "assistant", "content": [{ "type": "input_text", "text": "x" }] }),
                )],
                "input[9].content[0]",
                "no part of the type",
            ),
            (
                &[late(json!({ "role": "user", "content": "x", "tool_calls": [] }))],
                "input[9].tool_calls",
                "no such field",
            ),
            (
                &[put("/input/0/content/1/image_url", json!("data:text/plain;base64,aGk="))],
                "input[0].content[1].image_url",
                "PNG, JPEG",
            ),
            (&[cut("/input/0/content/1/image_url")], "input[0].content[1]", "shows no image"),
            (&[put("/input/6/id", json!("a"))], "input[6].id", "begins with msg"),
            (&[put("/input/2/id", json!("call_1"))], "input[2].id", "begins with fc"),
            (&[put("/input/6/id", json!("msg_\u{e9}"))], "input[6].id", "a-z A-Z"),
            (
                &[late(json!({ "role": "assistant", "id": "msg_1", "content": "x" }))],
                "input[9].id",
                "another item",
            ),
            (
                &[late(json!({ "type": "item_reference", "id": "rs_9" }))],
                "input[9]",
                "nothing is stored",
            ),
            (
                &[late(json!({ "type": "function_call_output", "call_id": "c", "output": "x" }))],
                "input[9].call_id",
                "no call before it",
            ),
            (
                &[late(json!({ "type": "function_call_output", "call_id": "a", "output": "x" }))],
                "input[9].call_id",
                "no call before it",
            ),
            (
                &[late(
                    json!({ "type": "function_call", "call_id": "c", "name": "read", "arguments": "{}" }),
                )],
                "input",
                "the call \"c\" has to come first",
            ),
            (
                &[
                    late(
                        json!({ "type": "function_call", "call_id": "c", "name": "read", "arguments": "{}" }),
                    ),
                    put("/input/10", json!({ "role": "user", "content": "x" })),
                ],
                "input[10]",
                "the call \"c\" has to come first",
            ),
            (
                &[put(
                    "/input/4",
                    json!({ "type": "function_call_output", "call_id": "b", "output": 1 }),
                )],
                "input[4].output",
                "neither text nor",
            ),
            (
                &[put("/input/4", json!({ "type": "function_call_output", "call_id": "b" }))],
                "input[4].output",
                "missing",
            ),
        ],
    );
}

#[test]
fn how_a_call_is_made() {
    let call_id = |id: &str| -> Vec<Change> {
        vec![put("/input/3/call_id", json!(id)), put("/input/4/call_id", json!(id))]
    };
    breaks(
        &OPENAI_RESPONSES,
        &whole(),
        &[
            (&call_id(&"x".repeat(65)), "input[3].call_id", "1 to 64"),
            (
                &[put("/input/3/call_id", json!("a")), cut("/input/4")],
                "input[3].call_id",
                "another call",
            ),
            (&[put("/input/3/name", json!("a.b"))], "input[3].name", "64 characters"),
            (&[put("/input/3/arguments", json!("{\"a\":"))], "input[3].arguments", "JSON object"),
            (&[put("/input/3/arguments", json!({}))], "input[3].arguments", "have to be text"),
        ],
    );
    let mut said = whole();
    let items = said["input"].as_array_mut().unwrap();
    items.insert(4, json!({ "role": "assistant", "content": "Soon." }));
    passes(&OPENAI_RESPONSES, &said);
    let mut among = whole();
    let items = among["input"].as_array_mut().unwrap();
    items.insert(
        5,
        json!({ "type": "function_call", "call_id": "c", "name": "read", "arguments": "{}" }),
    );
    items.insert(7, json!({ "type": "function_call_output", "call_id": "c", "output": "" }));
    let faults = validate(&OPENAI_RESPONSES, &among).unwrap_err();
    assert_eq!(faults.len(), 1);
    assert_eq!(faults[0].to_string(), "input[5]: a call stands among the results of others");
}

#[test]
fn what_goes_back_of_reasoning() {
    let thought = |id: &str| json!({ "type": "reasoning", "id": id, "summary": [], "encrypted_content": "eA==" });
    breaks(
        &OPENAI_RESPONSES,
        &whole(),
        &[
            (&[cut("/input/1/encrypted_content")], "input[1]", "holds no encrypted content"),
            (
                &[put("/input/1/encrypted_content", json!(""))],
                "input[1]",
                "holds no encrypted content",
            ),
            (&[cut("/include")], "input[1].encrypted_content", "store false"),
            (&[put("/store", json!(true))], "input[1].encrypted_content", "store false"),
            (&[cut("/input/1/id")], "input[1].id", "missing"),
            (&[put("/input/1/id", json!("x_1"))], "input[1].id", "begins with rs"),
            (&[cut("/input/1/summary")], "input[1].summary", "missing"),
            (
                &[put("/input/1/summary/0/type", json!("text"))],
                "input[1].summary[0]",
                "no summary_text",
            ),
            (&[put("/input/9", thought("rs_2"))], "input[9]", "has to follow"),
            (
                &[
                    put("/input/9", thought("rs_2")),
                    put("/input/10", json!({ "role": "user", "content": "x" })),
                ],
                "input[9]",
                "has to follow",
            ),
        ],
    );
    let plain = [
        cut("/input/1/encrypted_content"),
        put("/input/1/content", json!([{ "type": "reasoning_text", "text": "hm" }])),
    ];
    let open = Profile { name: "open", rules: &[Rule::PlainReasoning], ..OPENAI_RESPONSES };
    passes(&open, &changed(&whole(), &plain));
    assert!(validate(&OPENAI_RESPONSES, &changed(&whole(), &plain)).is_err());
}

#[test]
fn only_what_is_new_goes_to_a_server_that_knows_the_rest() {
    let whole = json!({
        "model": "m",
        "previous_response_id": "resp_1",
        "input": [{ "type": "function_call_output", "call_id": "a", "output": "x" }, { "role": "user", "content": "x" }],
    });
    let had = "only what is new";
    breaks(
        &OPENAI_RESPONSES,
        &whole,
        &[
            (
                &[put("/conversation", json!("conv_1"))],
                "conversation",
                "beside previous_response_id",
            ),
            (&[put("/input/2", json!({ "role": "assistant", "content": "x" }))], "input[2]", had),
            (
                &[
                    put(
                        "/input/2",
                        json!({ "type": "function_call", "call_id": "b", "name": "f", "arguments": "{}" }),
                    ),
                    put(
                        "/input/3",
                        json!({ "type": "function_call_output", "call_id": "b", "output": "x" }),
                    ),
                ],
                "input[2]",
                had,
            ),
        ],
    );
}
