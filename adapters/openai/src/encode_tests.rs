//! Tests of request bodies: their exact bytes, that async-openai's types read them, and that the
//! remembered prefix never shows.

use async_openai::types::chat::CreateChatCompletionRequest;
use async_openai::types::responses::CreateResponse;
use windlass_core::PromptItem;

use super::*;
use crate::tests::fixtures::*;

#[test]
fn a_chat_body_is_exactly_this() {
    let body = body(Api::Chat, &prompt(settings("o9"), &conversation()));
    let expected = concat!(
        r#"{"model":"o9","stream":true,"stream_options":{"include_usage":true},"#,
        r#""reasoning_effort":"low","#,
        r#""tools":[{"type":"function","function":{"name":"echo","description":"Says it again.","#,
        r#""parameters":{"type":"object","properties":{"b":{},"a":{}}}}}],"#,
        r#""messages":[{"role":"system","content":"Be brief."},"#,
        r#"{"role":"system","content":"<context from=\"workspace\">\n/w\n</context>"},"#,
        r#"{"role":"user","content":"hi \"you\""},"#,
        r#"{"role":"assistant","content":"Let me see.","tool_calls":["#,
        r#"{"id":"c1","type":"function","function":{"name":"echo","arguments":"{\"a\":1}"}},"#,
        r#"{"id":"c2","type":"function","function":{"name":"no_such_tool","#,
        r#""arguments":"{\"not_a_json_object\":\"not json\"}"}}]},"#,
        r#"{"role":"tool","tool_call_id":"c1","content":"1"},"#,
        r#"{"role":"tool","tool_call_id":"c2","content":"[The arguments were changed before "#,
        r#"the call was run: {\"b\":2}]\n"},"#,
        r#"{"role":"system","content":"mind the gap"},"#,
        r#"{"role":"assistant","content":"Done."},"#,
        r#"{"role":"user","content":"thanks"}],"max_tokens":100}"#,
    );
    assert_eq!(body, expected);
    let read: CreateChatCompletionRequest = serde_json::from_str(&body).unwrap();
    assert_eq!(read.messages.len(), 9);
}

#[test]
fn a_responses_body_is_exactly_this() {
    let body = body(Api::Responses, &prompt(settings("o9"), &conversation()));
    let expected = concat!(
        r#"{"model":"o9","stream":true,"store":false,"include":["reasoning.encrypted_content"],"#,
        r#""instructions":"Be brief.","reasoning":{"effort":"low"},"#,
        r#""tools":[{"type":"function","name":"echo","description":"Says it again.","#,
        r#""parameters":{"type":"object","properties":{"b":{},"a":{}}},"strict":false}],"#,
        r#""input":[{"type":"message","role":"developer","#,
        r#""content":"<context from=\"workspace\">\n/w\n</context>"},"#,
        r#"{"type":"message","role":"user","content":"hi \"you\""},"#,
        r#"{"type":"reasoning","id":"rs","summary":[],"encrypted_content":"x"},"#,
        r#"{"type":"message","role":"assistant","content":"Let me see."},"#,
        r#"{"type":"function_call","call_id":"c1","name":"echo","arguments":"{\"a\":1}"},"#,
        r#"{"type":"function_call","call_id":"c2","name":"no_such_tool","#,
        r#""arguments":"{\"not_a_json_object\":\"not json\"}"},"#,
        r#"{"type":"function_call_output","call_id":"c1","output":"1"},"#,
        r#"{"type":"function_call_output","call_id":"c2","output":"[The arguments were changed "#,
        r#"before the call was run: {\"b\":2}]\n"},"#,
        r#"{"type":"message","role":"developer","content":"mind the gap"},"#,
        r#"{"type":"message","role":"assistant","content":"Done."},"#,
        r#"{"type":"message","role":"user","content":"thanks"}],"max_output_tokens":100}"#,
    );
    assert_eq!(body, expected);
    serde_json::from_str::<CreateResponse>(&body).unwrap();
}

#[test]
fn the_budget_bounds_an_answer_and_a_known_model_bounds_the_budget() {
    let most = |model: &str, settings_most: Option<u64>, bound: Option<u64>| {
        let mut settings = settings(model);
        settings.max_output_tokens = settings_most;
        let request =
            SampleRequest { output_bound: bound, ..request(&prompt(settings, &[user("hi")])) };
        let mut out = Vec::new();
        OpenAiEncoder::new(Api::Responses, ENDPOINT).tail(&request, &mut out).unwrap();
        let read: Value = serde_json::from_slice(&[br#"{"input":["#, &out[..]].concat()).unwrap();
        read["max_output_tokens"].as_u64()
    };
    assert_eq!(most("o9", None, None), None);
    assert_eq!(most("o9", Some(100), Some(70)), Some(70));
    assert_eq!(most("o9", Some(100), Some(170)), Some(100));
    assert_eq!(most("o9", None, Some(500_000)), Some(500_000));
    assert_eq!(most("gpt-4o", None, Some(500_000)), Some(16_384));
    // What the user says is sent as it is.
    assert_eq!(most("gpt-4o", Some(20_000), None), Some(20_000));
}

#[test]
fn reasoning_goes_back_only_where_it_came_from_and_only_if_it_is_whole() {
    let shown = |model: &str, items: &[PromptItem]| {
        let prompt = prompt(settings(model), items);
        body(Api::Responses, &prompt).contains(r#""id":"rs""#)
    };
    let said = |sample: u64| PromptItem::text(windlass_core::Seq(sample), "Yes?");
    let sent = |model: &str, item: PromptItem| shown(model, &[user("hi"), item, said(3)]);
    assert!(sent("o9", reasoning(ENDPOINT, ENCRYPTED)));
    assert!(!sent("o8", reasoning(ENDPOINT, ENCRYPTED)));
    assert!(!sent("o9", reasoning("http://other/v1", ENCRYPTED)));
    assert!(!sent("o9", reasoning(ENDPOINT, r#"{"type":"reasoning","id":"rs","summary":[]}"#)));
    let open = r#"{"type":"reasoning","id":"rs","content":[{"type":"reasoning_text","text":"t"}]}"#;
    assert!(sent("o9", reasoning(ENDPOINT, open)));
    // Without the item that the model gave after it the server refuses it.
    let alone = || reasoning(ENDPOINT, ENCRYPTED);
    assert!(!shown("o9", &[user("hi"), alone()]));
    assert!(!shown("o9", &[user("hi"), alone(), user("well?")]));
    assert!(!shown("o9", &[user("hi"), alone(), said(5)]));
}

#[test]
fn items_of_the_providers_own_tools_go_back_and_others_stay() {
    let search = r#"{"type":"web_search_call","id":"w","status":"completed"}"#;
    let click = r#"{"type":"computer_call","id":"cc","call_id":"c"}"#;
    let items = [
        user("hi"),
        reasoning(ENDPOINT, ENCRYPTED),
        reasoning(ENDPOINT, search),
        reasoning(ENDPOINT, click),
        reasoning("http://other/v1", search),
    ];
    let written = RequestFixture::new(Api::Responses);
    let written = written.written(&request(&prompt(settings("o9"), &items))).unwrap();
    let body = text(&written);
    // The item after a reasoning is there, so the reasoning goes back too.
    assert!(body.contains(&format!("{ENCRYPTED},{search}]")), "{body}");
    assert!(!body.contains("computer_call"), "{body}");
    let why: Vec<_> = written.lowered.iter().map(|one| (one.reason, one.count)).collect();
    use windlass_core::LoweringReason::{Foreign, Unsupported};
    assert!(why.contains(&(Unsupported, 1)) && why.contains(&(Foreign, 1)), "{why:?}");
}

#[test]
fn families_that_do_not_reason_are_not_asked_for_it() {
    let asked = |model: &str| {
        body(Api::Responses, &prompt(settings(model), &[])).contains("encrypted_content")
    };
    assert!(asked("gpt-5.2") && asked("o3") && asked("openai/gpt-oss-20b"));
    assert!(!asked("gpt-4o-mini") && !asked("openai/gpt-4.1") && !asked("gpt-5-chat-latest"));
}

#[test]
fn ids_that_are_too_long_stay_the_same_for_call_and_result() {
    let long = "x".repeat(80);
    let items = [call(2, &long, "echo", "{}"), result(&long, "1")];
    let body = body(Api::Responses, &prompt(settings("m"), &items));
    let read: Value = serde_json::from_str(&body).unwrap();
    let id = read["input"][0]["call_id"].as_str().unwrap();
    assert!(id.len() <= 64 && read["input"][1]["call_id"] == id, "{body}");
}

#[test]
fn a_schema_that_is_not_json_is_named() {
    let mut settings = settings("m");
    settings.tools[0].parameters = "{".into();
    let error = RequestFixture::new(Api::Chat).body(&prompt(settings, &[])).unwrap_err();
    assert!(error.context.contains("tool echo"), "{error}");
}

#[test]
fn a_remembered_prefix_changes_nothing() {
    let items = conversation();
    for api in [Api::Chat, Api::Responses] {
        let bodies = RequestFixture::new(api);
        let mut growing = prompt(settings("o9"), &[]);
        for item in &items {
            growing.items.push(item.clone());
            let sent = bodies.body(&growing).unwrap();
            assert_eq!(sent, body(api, &growing));
        }
        // A conversation that was rewritten at the same length, one that is shorter, and other
        // settings are each written anew.
        let mut rewritten = items.clone();
        rewritten[3] = model_text(3, "Other words.");
        for prompt in [
            prompt(settings("o9"), &rewritten),
            prompt(settings("o9"), &items[..3]),
            prompt(settings("o8"), &items),
        ] {
            let sent = bodies.body(&prompt).unwrap();
            assert_eq!(sent, body(api, &prompt));
        }
    }
}

#[test]
fn after_a_compaction_nothing_of_before_is_sent() {
    let before = conversation();
    let summary = context("what was before");
    // A summary in the place of the beginning, old results cleared at the same length, the
    // beginning left out, and a context that took the place of one of the same name.
    let mut summed = vec![summary.clone()];
    summed.extend_from_slice(&before[8..]);
    let mut cleared = before.clone();
    cleared[5] = result("c1", "[cleared]");
    let slid = before[1..].to_vec();
    let mut renamed = before.clone();
    renamed[0] = summary;
    for api in [Api::Chat, Api::Responses] {
        for compacted in [&summed, &cleared, &slid, &renamed] {
            let bodies = RequestFixture::new(api);
            bodies.body(&prompt(settings("o9"), &before)).unwrap();
            // What comes next grows beyond what was there before, and is remembered again.
            let mut growing = prompt(settings("o9"), compacted);
            for n in 0..12 {
                let sent = bodies.body(&growing).unwrap();
                assert_eq!(sent, body(api, &growing));
                growing.items.push(model_text(20 + n, "more"));
                growing.items.push(context("and more"));
            }
        }
    }
}

#[test]
fn a_result_that_ran_with_other_arguments_is_another_item() {
    let mut items = conversation();
    for api in [Api::Chat, Api::Responses] {
        let bodies = RequestFixture::new(api);
        for arguments in ["{}", r#"{"b":3}"#] {
            items[6] = edited(items[6].clone(), arguments);
            let prompt = prompt(settings("o9"), &items);
            let sent = bodies.body(&prompt).unwrap();
            assert_eq!(sent, body(api, &prompt));
        }
    }
}

#[test]
fn a_model_that_is_known_gets_what_it_takes() {
    use windlass_core::{Image, ImageMedia, LoweringReason};
    let image = PromptItem::Image {
        image: Image { media: ImageMedia::Png, sha256: "00".repeat(32), bytes: 3 }.into(),
    };
    let lowered = |model: &str| {
        let prompt = prompt(settings(model), &[user("hi"), image.clone()]);
        let written = RequestFixture::new(Api::Chat).written(&request(&prompt)).unwrap();
        written.lowered[0].reason
    };
    // The image is not kept here; a model without eyes has no place for it in any case.
    assert_eq!(lowered("gpt-4o"), LoweringReason::Missing);
    assert_eq!(lowered("gpt-3.5-turbo"), LoweringReason::Unsupported);
    assert_eq!(lowered("my-own"), LoweringReason::Missing);
}
