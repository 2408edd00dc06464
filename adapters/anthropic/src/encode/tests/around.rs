//! Tests of what stands around the conversation.

use super::*;

#[test]
fn the_budget_of_a_turn_bounds_the_answer_and_its_thinking() {
    let asked = |bound: u64| {
        let settings = settings("claude-sonnet-4-5").with(|it| {
            it.effort = Some("high".into());
            it.max_output_tokens = None;
        });
        let prompt = prompt(settings, &[user("hi")]);
        let request = SampleRequest { output_bound: Some(bound), ..request(&prompt) };
        let body = written(&bodies(), &request).unwrap().body.to_bytes();
        let body: Value = serde_json::from_slice(&body).unwrap();
        (body["max_tokens"].clone(), body["thinking"]["budget_tokens"].clone())
    };
    assert_eq!(asked(500_000), (json!(32_000), json!(20_000)));
    assert_eq!(asked(4_000), (json!(4_000), json!(3_000)));
    assert_eq!(asked(1_000), (json!(1_000), Value::Null));
}

#[test]
fn a_temperature_is_sent_as_the_model_takes_it() {
    let asked = |model: &str, thousandths: u16, change: fn(&mut Settings)| {
        let settings = settings(model).with(|it| {
            it.effort = None;
            it.max_output_tokens = None;
            it.temperature = Temperature::from_thousandths(thousandths);
            change(it);
        });
        let prompt = prompt(settings, &[user("hi")]);
        let written = written(&bodies(), &request(&prompt))?;
        let body: Value = serde_json::from_slice(&written.body.to_bytes()).unwrap();
        Ok::<_, ProviderError>(body["temperature"].clone())
    };
    let as_it_is: fn(&mut Settings) = |_| {};
    let effort: fn(&mut Settings) = |it| it.effort = Some("high".into());
    for model in ["claude-3-opus", "claude-sonnet-4-5", SONNET] {
        assert_eq!(asked(model, 0, as_it_is).unwrap(), json!(0.0), "{model}");
        assert_eq!(asked(model, 700, as_it_is).unwrap(), json!(0.7), "{model}");
        let hot = asked(model, 1_001, as_it_is).unwrap_err();
        assert_eq!(hot.kind, FailureKind::Unsupported, "{model}");
    }
    for model in ["claude-sonnet-4-5", SONNET] {
        assert_eq!(asked(model, 1_000, effort).unwrap(), json!(1.0), "{model}");
        let thinks = asked(model, 999, effort).unwrap_err();
        assert!(thinks.context.contains("thinks"), "{model}: {}", thinks.context);
    }
    let summary: fn(&mut Settings) = |it| it.options.reasoning_summary = Some("auto".into());
    assert!(asked(SONNET, 500, summary).is_err());
    assert!(asked("claude-opus-5-5", 500, as_it_is).is_err(), "it always thinks");
}

#[test]
fn effort_is_asked_for_as_the_model_takes_it() {
    let asked = |model: &str, effort: &str, most: Option<u64>| {
        let mut settings = settings(model);
        settings.effort = Some(effort.into());
        settings.max_output_tokens = most;
        let prompt = prompt(settings, &[user("hi")]);
        let written = written(&bodies(), &request(&prompt))?;
        let body: Value = serde_json::from_slice(&written.body.to_bytes()).unwrap();
        Ok::<_, ProviderError>((
            body["max_tokens"].clone(),
            body["thinking"].clone(),
            body["output_config"].clone(),
        ))
    };
    let adaptive = (json!(64_000), json!({ "type": "adaptive" }), json!({ "effort": "high" }));
    assert_eq!(asked(SONNET, "high", None).unwrap(), adaptive);
    let budget = |n: u64| json!({ "type": "enabled", "budget_tokens": n });
    let old = "claude-sonnet-4-5";
    let none = Value::Null;
    assert_eq!(asked(old, "high", None).unwrap(), (json!(32_000), budget(20_000), none.clone()));
    assert_eq!(asked(old, "max", None).unwrap().1, budget(24_000));
    assert_eq!(asked(old, "low", Some(3_000)).unwrap().1, budget(2_250));
    assert_eq!(asked(old, "none", None).unwrap().1, none);
    assert_eq!(asked("claude-3-opus", "none", None).unwrap().0, json!(4_096));
    let fails = |model: &str, effort: &str, most| {
        let error = asked(model, effort, most).unwrap_err();
        (error.kind, error.context)
    };
    assert_eq!(fails("claude-3-opus", "low", None).0, FailureKind::Unsupported);
    assert_eq!(fails("gpt-5", "low", None).0, FailureKind::Unsupported);
    let (kind, said) = fails(old, "low", Some(1_364));
    assert!(kind == FailureKind::InvalidRequest && said.contains("1366"), "{said}");
    let (kind, said) = fails(SONNET, "utmost", None);
    assert!(kind == FailureKind::InvalidRequest && said.contains("xhigh"), "{said}");
}

#[test]
fn the_choice_of_tools_goes_out_as_it_is() {
    let asked = |choice: ToolChoice, parallel: Option<bool>, change: &dyn Fn(&mut Settings)| {
        let mut settings = settings(SONNET);
        settings.options.parallel_calls = parallel;
        change(&mut settings);
        let mut request = request(&prompt(settings, &[user("hi")]));
        request.choice = choice;
        let written = written(&bodies(), &request)?;
        let body: Value = serde_json::from_slice(&written.body.to_bytes()).unwrap();
        Ok::<_, ProviderError>((body["tool_choice"].clone(), body["thinking"].clone()))
    };
    let chosen = |choice, parallel| asked(choice, parallel, &|_| ()).unwrap().0;
    let named = || ToolChoice::Tool("echo".into());
    assert_eq!(chosen(ToolChoice::Auto, None), Value::Null);
    let single = json!({ "type": "auto", "disable_parallel_tool_use": true });
    assert_eq!(chosen(ToolChoice::Auto, Some(false)), single);
    assert_eq!(chosen(ToolChoice::None, Some(false)), json!({ "type": "none" }));
    assert_eq!(chosen(ToolChoice::Required, Some(true)), json!({ "type": "any" }));
    let one = json!({ "type": "tool", "name": "echo", "disable_parallel_tool_use": true });
    assert_eq!(chosen(named(), Some(false)), one);
    let without = asked(named(), Some(false), &|settings| settings.tools.clear());
    assert_eq!(without.unwrap().0, Value::Null);
    let hard = |settings: &mut Settings| settings.effort = Some("high".into());
    assert_ne!(asked(ToolChoice::Auto, None, &hard).unwrap().1, Value::Null);
    assert_eq!(asked(named(), None, &hard).unwrap().1, Value::Null);
    let newest = |settings: &mut Settings| settings.model = "claude-opus-5-5".into();
    let error = asked(named(), None, &newest).unwrap_err();
    assert_eq!(error.kind, FailureKind::Unsupported);
}

#[test]
fn a_model_that_holds_on_to_its_thinking_is_told_to_let_go() {
    let thinking = |config: AnthropicConfig, model: &str| {
        let writer = MessagesEncoder::new(&config, ENDPOINT);
        let prompt = prompt(settings(model), &[user("hi")]);
        serde_json::from_str::<Value>(&text(&Bodies::new(writer), &prompt)).unwrap()["thinking"]
            .clone()
    };
    let own = AnthropicConfig::new;
    let drop = json!({
        "type": "adaptive",
        "block_binding": { "prefix_mismatch_behavior": "drop_block" },
    });
    assert_eq!(thinking(own(), "claude-opus-5-5"), drop);
    assert_eq!(thinking(own(), "claude-opus-5"), Value::Null);
    let other = own().with_base_url("https://host/v1");
    assert_eq!(thinking(other, "claude-opus-5-5"), Value::Null);
}

#[test]
fn a_shape_is_asked_for_where_it_can_be_held() {
    let format = |model: &str, strict: bool, schema: &str| {
        let mut settings = settings(model);
        settings.options.output_schema =
            Some(OutputSchema { name: "it".into(), schema: schema.into(), strict, max_re_asks: 1 });
        read(settings, &[user("hi")])["output_config"]["format"].clone()
    };
    let schema = r#"{"type":"object","properties":{},"additionalProperties":false}"#;
    let asked = json!({
        "type": "json_schema",
        "schema": { "type": "object", "properties": {}, "additionalProperties": false },
    });
    assert_eq!(format(SONNET, true, schema), asked);
    assert_eq!(format(SONNET, false, schema), Value::Null);
    assert_eq!(format("claude-sonnet-4", true, schema), Value::Null);
    assert_eq!(format(SONNET, true, r#"{"type":"object"}"#), Value::Null);
}

#[test]
fn marks_are_as_configured() {
    let marks = |caching: Caching| {
        let config = AnthropicConfig::new().with_caching(caching);
        let bodies = Bodies::new(MessagesEncoder::new(&config, ENDPOINT));
        let body = text(&bodies, &prompt(settings(SONNET), &[user("hi")]));
        body.matches("cache_control").count()
    };
    assert_eq!(marks(Caching::Off), 0);
    assert_eq!(marks(Caching::Prefix), 2);
    assert_eq!(marks(Caching::Automatic), 3);
}

#[test]
fn a_schema_that_is_not_json_is_named() {
    let mut settings = settings(SONNET);
    settings.tools[0].parameters = "{".into();
    let error = written(&bodies(), &request(&prompt(settings, &[]))).unwrap_err();
    assert!(error.context.contains("tool echo"), "{error}");
}
