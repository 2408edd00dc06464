//! Tests of the conversation in a body: its exact bytes, and that the remembered prefix never shows.

use super::*;

#[test]
fn a_body_is_exactly_this() {
    let id = call_id("c:2");
    let expected = [
        r#"{"model":"claude-sonnet-4-6","stream":true,"#,
        r#""cache_control":{"type":"ephemeral"},"#,
        r#""tools":[{"name":"echo","description":"Says it again.","#,
        r#""input_schema":{"type":"object","properties":{"b":{},"a":{}}},"#,
        r#""cache_control":{"type":"ephemeral"}}],"#,
        r#""system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],"#,
        r#""messages":[{"role":"user","content":["#,
        r#"{"type":"text","text":"<context from=\"workspace\">\n/w\n</context>"}"#,
        "\n",
        r#",{"type":"text","text":"hi \"you\""}"#,
        "\n",
        r#"]},{"role":"assistant","content":["#,
        SIGNED,
        r#",{"type":"text","text":"Let me see."},"#,
        r#"{"type":"tool_use","id":"c1","name":"echo","input":{"a":1}},"#,
        r#"{"type":"tool_use","id":""#,
        &id,
        r#"","name":"no_such_tool","input":{"not_a_json_object":"not json"}}"#,
        r#"]},{"role":"user","content":["#,
        r#"{"type":"tool_result","tool_use_id":"c1","content":"1"}"#,
        "\n",
        r#",{"type":"tool_result","tool_use_id":""#,
        &id,
        r#"","content":"[There is no output.]","is_error":true}"#,
        "\n",
        r#",{"type":"text","text":"<context from=\"hook\">\nmind the gap\n</context>"}"#,
        "\n",
        r#"]},{"role":"assistant","content":[{"type":"text","text":"Done."}]},"#,
        r#"{"role":"user","content":[{"type":"text","text":"thanks"}"#,
        "\n",
        r#",{"type":"text","text":"[The user showed an image here (image/png, 7 bytes), which "#,
        r#"cannot be shown to you.]"}"#,
        "\n",
        r#"]}],"max_tokens":100}"#,
    ];
    let items = conversation();
    assert_eq!(body(&prompt(settings(SONNET), &items)), expected.concat());
}

fn call_id(id: &str) -> String {
    fit::call_id(id).into_owned()
}

#[test]
fn what_is_not_as_it_was_is_reported_once_and_stays_so() {
    use LoweringReason::{Foreign, Invalid, Missing, Unsupported};
    let mut items = conversation();
    items.insert(2, opaque("https://other/v1", SONNET, SIGNED));
    items.push(PromptItem::Refusal { sample: Seq(12), text: "No.".into() });
    let lowered =
        |what, how, why, count| LoweringRecord { part: what, action: how, reason: why, count };
    let mut expected = vec![
        lowered(LoweredPart::Context, LoweringAction::Downgraded, Unsupported, 2),
        lowered(LoweredPart::Reasoning, LoweringAction::Dropped, Foreign, 1),
        lowered(LoweredPart::CallId, LoweringAction::Downgraded, Invalid, 1),
        lowered(LoweredPart::ToolName, LoweringAction::Downgraded, Invalid, 1),
        lowered(LoweredPart::Arguments, LoweringAction::Downgraded, Invalid, 1),
        lowered(LoweredPart::Image, LoweringAction::Downgraded, Missing, 1),
        lowered(LoweredPart::Refusal, LoweringAction::Downgraded, Unsupported, 1),
    ];
    expected.sort();
    let bodies = bodies();
    for _ in 0..2 {
        let prompt = prompt(settings(SONNET), &items);
        let mut got = written(&bodies, &request(&prompt)).unwrap().lowered;
        got.sort();
        assert_eq!(got, expected);
    }
}

#[test]
fn reasoning_goes_back_only_where_it_came_from_and_only_if_it_is_whole() {
    let sent = |model: &str, item: PromptItem| {
        let items = [user("hi"), item, said(3, "There.")];
        body(&prompt(settings(model), &items)).contains("thinking")
    };
    let redacted = r#"{"type":"redacted_thinking","data":"x"}"#;
    assert!(sent(SONNET, opaque(ENDPOINT, SONNET, SIGNED)));
    assert!(sent(SONNET, opaque(ENDPOINT, SONNET, redacted)));
    assert!(!sent("claude-sonnet-4-5", opaque(ENDPOINT, SONNET, SIGNED)));
    assert!(!sent(SONNET, opaque("https://other/v1", SONNET, SIGNED)));
    for payload in [
        r#"{"type":"thinking","thinking":"hm","signature":""}"#,
        r#"{"type":"thinking","thinking":"hm"}"#,
        r#"{"type":"thinking_of_another_kind"}"#,
        "thinking",
    ] {
        assert!(!sent(SONNET, opaque(ENDPOINT, SONNET, payload)), "{payload}");
    }
}

/// The roles of all messages, and how many blocks each has.
fn shape(items: &[PromptItem]) -> Vec<(String, usize)> {
    let read = read(settings(SONNET), items);
    let messages = read["messages"].as_array().unwrap().iter();
    messages
        .map(|message| {
            let role = message["role"].as_str().unwrap().to_owned();
            (role, message["content"].as_array().unwrap().len())
        })
        .collect()
}

#[test]
fn the_messages_take_turns_whatever_the_items_are() {
    let thought = || opaque(ENDPOINT, SONNET, SIGNED);
    let of = |items: &[PromptItem], expected: &[(&str, usize)]| {
        let got = shape(items);
        let got: Vec<(&str, usize)> = got.iter().map(|(role, n)| (role.as_str(), *n)).collect();
        assert_eq!(got, expected, "{items:?}");
    };
    of(&[], &[("user", 1)]);
    of(&[user("a"), user("b"), context("c")], &[("user", 3)]);
    of(&[user(" \n")], &[("user", 1)]);
    let (one, two) = (("user", 1), ("assistant", 1));
    of(&[said(3, "a")], &[one, two, one]);
    of(&[user("a"), said(3, "b"), said(3, " "), said(3, "c")], &[one, ("assistant", 2), one]);
    of(&[user("a"), said(3, "b"), said(5, "c")], &[one, two, one, two, one]);
    // A message of nothing but thinking is refused.
    of(&[user("a"), thought(), user("b")], &[("user", 2)]);
    of(&[user("a"), thought()], &[("user", 2)]);
    of(&[user("a"), thought(), said(5, "b")], &[("user", 2), two, one]);
    of(&[user("a"), said(3, "b"), thought(), user("c")], &[one, two, one]);
    of(&[user("a"), thought(), said(3, "b")], &[one, ("assistant", 2), one]);
}

#[test]
fn a_remembered_prefix_changes_nothing_and_each_request_extends_the_last() {
    let mut items = conversation();
    items.extend([
        said(12, "I"),
        said(14, "go on."),
        user("and?"),
        opaque(ENDPOINT, SONNET, SIGNED),
        user("so?"),
        call(20, "d", "echo", "{}"),
        done("d", "x"),
    ]);
    let remembering = bodies();
    let mut growing = prompt(settings(SONNET), &[]);
    let mut before: Option<String> = None;
    for item in &items {
        growing.items.push(item.clone());
        let asked = written(&remembering, &request(&growing)).unwrap();
        let sent = String::from_utf8(asked.body.to_bytes().to_vec()).unwrap();
        assert_eq!(sent, body(&growing));
        serde_json::from_str::<Value>(&sent).unwrap();
        let kept = usize::try_from(asked.reused_bytes).unwrap();
        if let Some(before) = &before {
            assert_eq!(before.get(..kept), sent.get(..kept));
            assert!(kept > 0);
        }
        before = Some(sent);
    }
    let mut rewritten = items.clone();
    rewritten[3] = said(3, "Other words.");
    for prompt in [
        prompt(settings(SONNET), &rewritten),
        prompt(settings(SONNET), &items[..3]),
        prompt(settings("claude-opus-4-6"), &items),
    ] {
        assert_eq!(text(&remembering, &prompt), body(&prompt));
    }
}

#[test]
fn each_step_of_a_tool_loop_writes_only_its_own_items() {
    let bodies = bodies();
    let mut growing = prompt(settings(SONNET), &[user("go")]);
    let mut last = written(&bodies, &request(&growing)).unwrap().body.len();
    for n in 0..50 {
        let id = format!("c{n}");
        growing.items.push(call(n, &id, "echo", "{}"));
        growing.items.push(done(&id, &"x".repeat(1_000)));
        let asked = written(&bodies, &request(&growing)).unwrap();
        // All but the closing of the list, and what comes after it.
        let rest = r#"]}],"max_tokens":100}"#;
        assert_eq!(asked.reused_bytes, last as u64 - rest.len() as u64);
        last = asked.body.len();
    }
}

#[test]
fn arguments_that_would_spoil_the_whole_request_are_wrapped() {
    let input = |arguments: &str| {
        let items = [user("hi"), call(3, "c", "echo", arguments), done("c", "")];
        read(settings(SONNET), &items)["messages"][1]["content"][0]["input"].clone()
    };
    assert_eq!(input(r#" {"a": "\ud83e\uddca"} "#), json!({ "a": "\u{1f9ca}" }));
    for broken in [r#"{"a":"\ud83e"}"#, "[1]", "", "{", "null"] {
        assert_eq!(input(broken), json!({ "not_a_json_object": broken }));
    }
}
