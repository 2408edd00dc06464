//! Messages.

use super::*;

fn whole() -> Value {
    let call = |id: &str| json!({ "type": "tool_use", "id": id, "name": "read", "input": {} });
    json!({
        "model": "m",
        "stream": true,
        "max_tokens": 4000,
        "thinking": { "type": "enabled", "budget_tokens": 2000 },
        "system": [{ "type": "text", "text": "Be short.", "cache_control": { "type": "ephemeral" } }],
        "tool_choice": { "type": "auto", "disable_parallel_tool_use": true },
        "tools": [{ "name": "read", "description": "Reads.", "input_schema": schema() }],
        "messages": [
            { "role": "user", "content": [
                { "type": "text", "text": "What is this?" },
                { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "aGk=" } },
            ] },
            { "role": "assistant", "content": [
                { "type": "thinking", "thinking": "hm", "signature": "c2ln" },
                { "type": "redacted_thinking", "data": "eHg=" },
                { "type": "text", "text": "Let me look." },
                call("a"),
                call("b"),
            ] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "b", "content": "" },
                { "type": "tool_result", "tool_use_id": "a", "is_error": true, "content": [{ "type": "text", "text": "gone" }] },
                { "type": "text", "text": "Time is short." },
            ] },
            { "role": "assistant", "content": "That is all." },
            { "role": "user", "content": "Go on." },
            { "role": "user", "content": "Please.", },
        ],
    })
}

#[test]
fn what_stands_around_the_conversation() {
    let cache = || json!({ "type": "ephemeral" });
    breaks(
        &ANTHROPIC,
        &whole(),
        &[
            (&[put("/surprise", json!(1))], "surprise", "no such field"),
            (&[cut("/model")], "model", "missing"),
            (
                &[put("/temperature", json!(1.5)), put("/thinking", json!({ "type": "disabled" }))],
                "temperature",
                "from 0 to 1",
            ),
            (&[put("/system", json!(" "))], "system", "more than whitespace"),
            (&[put("/system", json!([]))], "system", "neither text nor"),
            (&[put("/system/0/type", json!("image"))], "system[0]", "only text"),
            (&[put("/metadata", json!({ "session": "x" }))], "metadata.session", "no such field"),
            (&[put("/stop_sequences", json!(["\n"]))], "stop_sequences[0]", "only whitespace"),
            (
                &[put("/output_config", json!({ "effort": "minimal" }))],
                "output_config.effort",
                "one of",
            ),
            (
                &[put(
                    "/output_config",
                    json!({ "format": { "type": "json_schema", "schema": { "type": "object" } } }),
                )],
                "output_config.format.schema",
                "additionalProperties",
            ),
            (&[put("/tools/0/parameters", json!({}))], "tools[0].parameters", "no such field"),
            (&[cut("/tools/0/input_schema")], "tools[0].input_schema", "missing"),
            (
                &[put("/tools/0/input_schema/type", json!("string"))],
                "tools[0].input_schema",
                "of an object",
            ),
            (&[put("/tools/0/name", json!("a.b"))], "tools[0].name", "64 characters"),
            (
                &[put("/tools/1", json!({ "name": "read", "input_schema": schema() }))],
                "tools[1]",
                "another tool",
            ),
            (&[cut("/tools")], "tool_choice", "with tools"),
            (&[put("/tool_choice/type", json!("required"))], "tool_choice", "one of"),
            (
                &[put("/tool_choice/type", json!("none"))],
                "tool_choice.disable_parallel_tool_use",
                "no such field",
            ),
            (
                &[
                    put("/tool_choice", json!({ "type": "tool", "name": "write" })),
                    cut("/thinking"),
                ],
                "tool_choice",
                "no such tool",
            ),
            (&[put("/tool_choice", json!("auto"))], "tool_choice", "an object"),
            (&[put("/tool_choice/type", json!("any"))], "tool_choice", "not made to call"),
            (&[put("/thinking", json!({ "type": "on" }))], "thinking", "its type is"),
            (&[put("/thinking/budget_tokens", json!(1023))], "thinking.budget_tokens", "from 1024"),
            (
                &[put("/thinking/budget_tokens", json!(4000))],
                "thinking.budget_tokens",
                "less than max_tokens",
            ),
            (&[put("/temperature", json!(0.5))], "temperature", "asked at 1"),
            (&[put("/top_k", json!(5))], "top_k", "not for a model that thinks"),
            (
                &[put("/system/0/cache_control/ttl", json!("1d"))],
                "system[0].cache_control.ttl",
                "one of",
            ),
            (
                &[put("/system/0/cache_control/type", json!("durable"))],
                "system[0].cache_control.type",
                "one of",
            ),
            (
                &[
                    put("/cache_control", cache()),
                    put("/tools/0/cache_control", cache()),
                    put("/messages/0/content/0/cache_control", cache()),
                    put("/messages/2/content/1/cache_control", cache()),
                ],
                "",
                "more than four",
            ),
        ],
    );
    let shaped =
        json!({ "format": { "type": "json_schema", "schema": strict_schema() }, "effort": "max" });
    passes(&ANTHROPIC, &changed(&whole(), &[put("/output_config", shaped)]));
    // What a call holds under this name is the tool's own matter.
    let held = json!({ "cache_control": 1, "x": { "cache_control": [{ "cache_control": 1 }] } });
    let marks = [
        put("/messages/1/content/3/input", held),
        put("/cache_control", cache()),
        put("/tools/0/cache_control", cache()),
    ];
    passes(&ANTHROPIC, &changed(&whole(), &marks));
    let unbounded = changed(&whole(), &[cut("/max_tokens"), cut("/thinking")]);
    assert_eq!(
        validate(&ANTHROPIC, &unbounded).unwrap_err()[0].to_string(),
        "max_tokens: it is missing"
    );
}

#[test]
fn who_speaks_when() {
    breaks(
        &ANTHROPIC,
        &whole(),
        &[
            (&[put("/messages", json!([]))], "messages", "one at least"),
            (
                &[put(
                    "/messages",
                    json!([{ "role": "assistant", "content": "hi" }, { "role": "user", "content": "hi" }]),
                )],
                "messages[0]",
                "the first message is the user's",
            ),
            (&[put("/messages/5/name", json!("x"))], "messages[5].name", "no such field"),
            (
                &[put("/messages/5/content", json!(""))],
                "messages[5].content",
                "more than whitespace",
            ),
            (&[put("/messages/5/content", json!([]))], "messages[5].content", "neither text nor"),
            (
                &[put("/messages/5/content", json!([{ "type": "text", "text": "\n" }]))],
                "messages[5].content[0].text",
                "more than whitespace",
            ),
            (
                &[put("/messages/5/content", json!([{ "type": "input_text", "text": "x" }]))],
                "messages[5].content[0]",
                "no block of the type",
            ),
            (
                &[put("/messages/3/content", json!([{ "type": "image", "source": {} }]))],
                "messages[3].content[0]",
                "says no block",
            ),
            (
                &[put("/messages/0/content/1/source/media_type", json!("image/tiff"))],
                "messages[0].content[1].source",
                "PNG, JPEG",
            ),
            (
                &[put("/messages/0/content/1/source/data", json!("data:image/png;base64,aGk="))],
                "messages[0].content[1].source",
                "no base64",
            ),
            (
                &[put("/messages/0/content/1/source/type", json!("file"))],
                "messages[0].content[1].source",
                "base64 or url",
            ),
            (
                &[put("/messages/6", json!({ "role": "assistant", "content": "So" }))],
                "messages[6]",
                "is not given the beginning",
            ),
            (
                &[
                    put("/messages/6", json!({ "role": "assistant", "content": "So " })),
                    cut("/thinking"),
                ],
                "messages[6]",
                "end in whitespace",
            ),
        ],
    );
    let system = changed(&whole(), &[put("/messages/4/role", json!("system"))]);
    let faults = validate(&ANTHROPIC, &system).unwrap_err();
    assert_eq!(faults[0].at, "messages[4].role");
}

#[test]
fn how_a_call_is_made() {
    let id = |id: &str| -> Vec<Change> {
        vec![
            put("/messages/1/content/4/id", json!(id)),
            put("/messages/2/content/0/tool_use_id", json!(id)),
        ]
    };
    breaks(
        &ANTHROPIC,
        &whole(),
        &[
            (&id("a.b"), "messages[1].content[4].id", "a-z A-Z 0-9 _ -"),
            (&id(&"x".repeat(65)), "messages[1].content[4].id", "1 to 64"),
            (
                &[put("/messages/1/content/4/id", json!("a")), cut("/messages/2/content/0")],
                "messages[1].content[4].id",
                "another call",
            ),
            (
                &[put("/messages/1/content/4/name", json!(""))],
                "messages[1].content[4].name",
                "64 characters",
            ),
            (
                &[put("/messages/1/content/4/input", json!("{}"))],
                "messages[1].content[4].input",
                "an object",
            ),
            (
                &[cut("/messages/2/content/0")],
                "messages[2]",
                "the call \"b\" has to come right after",
            ),
            (
                &[
                    put(
                        "/messages/2/content/3",
                        json!({ "type": "tool_result", "tool_use_id": "b", "content": "x" }),
                    ),
                    cut("/messages/2/content/0"),
                ],
                "messages[2].content[2]",
                "before all else",
            ),
            (
                &[
                    put("/messages/2/content/0/tool_use_id", json!("a")),
                    cut("/messages/2/content/1"),
                    cut("/messages/1/content/4"),
                    put(
                        "/messages/5/content",
                        json!([{ "type": "tool_result", "tool_use_id": "a", "content": "x" }]),
                    ),
                    cut("/messages/4"),
                ],
                "messages[4].content[0].tool_use_id",
                "no such call",
            ),
            (
                &[put("/messages/2/content/1/content", json!([]))],
                "messages[2].content[1].content",
                "what went wrong",
            ),
            (
                &[put("/messages/2/content/0/content", json!(7))],
                "messages[2].content[0].content",
                "neither text nor",
            ),
            (
                &[put("/messages/2/content/0/content", json!([{ "type": "text", "text": "" }]))],
                "messages[2].content[0].content[0].text",
                "more than whitespace",
            ),
            (
                &[put("/messages/2/content/0/status", json!("done"))],
                "messages[2].content[0].status",
                "no such field",
            ),
        ],
    );
    let open = changed(
        &whole(),
        &[
            put(
                "/messages/6",
                json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": "c", "name": "read", "input": {} }] }),
            ),
            cut("/thinking"),
        ],
    );
    let faults = validate(&ANTHROPIC, &open).unwrap_err();
    assert_eq!(faults.len(), 1);
    assert!(faults[0].to_string().contains("\"c\" has to come right after"));
}

#[test]
fn how_a_model_thinks() {
    let blocks = "/messages/1/content";
    assert!(whole().pointer(blocks).is_some());
    let thought = || json!({ "type": "thinking", "thinking": "hm", "signature": "c2ln" });
    breaks(
        &ANTHROPIC,
        &whole(),
        &[
            (
                &[cut("/messages/1/content/0/signature")],
                "messages[1].content[0].signature",
                "missing",
            ),
            (
                &[put("/messages/1/content/0/signature", json!(""))],
                "messages[1].content[0].signature",
                "not empty",
            ),
            (
                &[put("/messages/1/content/0/thinking", json!(null))],
                "messages[1].content[0].thinking",
                "has to be text",
            ),
            (
                &[put("/messages/1/content/0/cache_control", json!({ "type": "ephemeral" }))],
                "messages[1].content[0].cache_control",
                "no such field",
            ),
            (
                &[put("/messages/1/content/1/data", json!(""))],
                "messages[1].content[1].data",
                "not empty",
            ),
            (
                &[
                    put("/messages/1/content/5", thought()),
                    put("/messages/1/content/6", json!({ "type": "text", "text": "x" })),
                ],
                "messages[1].content[5]",
                "thinks before it calls",
            ),
            (
                &[put("/messages/3/content", json!([{ "type": "text", "text": "x" }, thought()]))],
                "messages[3].content[1]",
                "does not end with thinking",
            ),
        ],
    );
}
