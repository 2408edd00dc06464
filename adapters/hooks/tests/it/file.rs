//! Hooks files: what is taken, what is noted, what is refused and in which words.

use std::path::Path;

use serde_json::{Value, json};
use windlass_core::{HookFailurePolicy, HookOrder, HookPoint};
use windlass_hooks::CommandHooks;
use windlass_ports::Hooks;

use crate::common::{aliases, hook, parse, tools};

fn one(event: &str, group: Value) -> CommandHooks {
    parse(&json!({"hooks": {event: [group]}}).to_string()).unwrap()
}

fn only(event: &str, matcher: &str) -> Option<Vec<String>> {
    let hooks = one(event, json!({"matcher": matcher, "hooks": [hook("true")]}));
    hooks.hooks().remove(0).only
}

fn names(names: &[&str]) -> Option<Vec<String>> {
    Some(names.iter().map(|name| String::from(*name)).collect())
}

fn refused(handler: Value) -> String {
    let file = json!({"hooks": {"PreToolUse": [{"hooks": [hook("true"), handler]}]}});
    parse(&file.to_string()).unwrap_err().context
}

#[test]
fn a_settings_file_of_somebody_loads_as_it_is() {
    let text = r#"{
      "$schema": "https://json.schemastore.org/claude-code-settings.json",
      "permissions": {"allow": ["Bash(git:*)"]},
      "hooks": {
        "PreToolUse": [
          {"matcher": "Bash", "hooks": [
            {"type": "command", "command": "\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/check.sh"},
            {"type": "command", "command": "KEY=secret jq -r .x", "timeout": 5, "statusMessage": "Checking"}]},
          {"matcher": "Edit|MultiEdit|Write", "hooks": [{"type": "command", "command": "python3 x.py"}]}],
        "Notification": [{"hooks": [{"type": "http", "url": "https://example.org"}]}],
        "UserPromptSubmit": [{"hooks": [{"type": "command", "command": "date"}]}],
        "SessionEnd": [{"matcher": "", "hooks": [{"type": "command", "command": "true"}]}]
      },
      "model": "opus"
    }"#;
    let hooks = parse(text).unwrap();
    let specs = hooks.hooks();
    let shown: Vec<_> =
        specs.iter().map(|spec| (spec.name.as_str(), spec.timeout_ms, spec.only.clone())).collect();
    assert_eq!(
        shown,
        [
            ("PreToolUse[0].hooks[0] check.sh", 600_000, names(&["shell"])),
            ("PreToolUse[0].hooks[1] jq", 5_000, names(&["shell"])),
            ("PreToolUse[1].hooks[0] python3", 600_000, names(&["write_file", "edit_file"])),
            ("UserPromptSubmit[0].hooks[0] date", 30_000, None),
            ("SessionEnd[0].hooks[0] true", 1_500, None),
        ]
    );
    assert!(specs.iter().all(|spec| spec.order == HookOrder::Sequential));
    assert!(specs.iter().all(|spec| spec.on_failure == HookFailurePolicy::Open));
    assert_eq!(
        hooks.notes(),
        ["Notification: this event does not occur here; its hooks are never asked"]
    );
    assert!(hooks.redactor().is_none());
}

#[test]
fn a_matcher_knows_a_tool_by_both_its_names() {
    assert_eq!(only("PreToolUse", ""), None);
    assert_eq!(only("PreToolUse", "*"), None);
    assert_eq!(only("PreToolUse", "shell"), names(&["shell"]));
    assert_eq!(only("PostToolUse", "Bash|deploy"), names(&["shell", "deploy"]));
    assert_eq!(only("PreToolUse", "^(Wri|Ed)"), names(&["write_file", "edit_file"]));
    let group = json!({"matcher": "WebFetch", "hooks": [hook("true")]});
    let hooks = one("PreToolUse", group);
    assert_eq!(hooks.hooks()[0].only, names(&[]));
    assert!(hooks.notes()[0].starts_with("PreToolUse[0].hooks[0]: its matcher names no tool"));
}

#[test]
fn a_matcher_is_held_against_what_the_event_is_about() {
    assert_eq!(only("SessionStart", "startup"), names(&["startup"]));
    assert_eq!(only("PreCompact", "auto"), names(&["window", "overflow"]));
    assert_eq!(only("PreCompact", "overflow"), names(&["overflow"]));
    assert_eq!(only("PreCompact", "manual"), names(&[]));
    assert_eq!(only("SessionEnd", "other"), None);
    assert_eq!(only("SessionEnd", "logout"), names(&[]));
    assert_eq!(only("SubagentStop", "general-purpose"), None);
    assert_eq!(only("SubagentStop", "Explore"), names(&[]));
    assert_eq!(only("Stop", "x"), None);
    let start = one("SessionStart", json!({"hooks": [hook("true")]}));
    let point = |event| one(event, json!({"hooks": [hook("true")]})).hooks()[0].point;
    let points: Vec<_> = start.hooks().iter().map(|spec| spec.point).collect();
    assert_eq!(points, [HookPoint::SessionStart, point("PostCompact")]);
    let clear = one("SessionStart", json!({"matcher": "clear", "hooks": [hook("true")]}));
    assert_eq!(clear.hooks().len(), 1);
    assert_eq!(clear.hooks()[0].only, names(&[]));
    assert_eq!(clear.notes().len(), 1);
    let compact = json!({"matcher": "compact", "hooks": [hook("true")]});
    assert_eq!(one("SessionStart", compact).notes(), [""; 0]);
    let stop = one("Stop", json!({"matcher": "x", "hooks": [hook("true")]}));
    assert!(stop.notes()[0].starts_with("Stop[0]: a matcher has no meaning at Stop"));
}

#[test]
fn our_own_keys_say_how_a_hook_is_asked() {
    let with = |key: &str, value: Value| {
        let mut handler = hook("true");
        handler[key] = value;
        one("Stop", json!({"hooks": [handler]})).hooks().remove(0)
    };
    assert_eq!(with("name", json!("guard")).name, "guard");
    assert_eq!(with("parallel", json!(true)).order, HookOrder::Parallel);
    assert_eq!(with("async", json!(true)).order, HookOrder::Parallel);
    assert_eq!(with("asyncRewake", json!(true)).order, HookOrder::Parallel);
    assert_eq!(with("async", json!(false)).order, HookOrder::Sequential);
    assert_eq!(with("on_failure", json!("closed")).on_failure, HookFailurePolicy::Closed);
    assert_eq!(with("onFailure", json!("block")).on_failure, HookFailurePolicy::Closed);
    assert_eq!(with("onFailure", json!("continue")).on_failure, HookFailurePolicy::Open);
    assert_eq!(with("timeout", json!(0.25)).timeout_ms, 250);
    assert_eq!(with("timeout", json!(600_000)).timeout_ms, 86_400_000);
}

#[test]
fn what_would_protect_nothing_is_refused_at_its_place() {
    let place = "the hooks file h.json: PreToolUse[0].hooks[1]: ";
    let command = |key: &str, value: Value| {
        let mut handler = hook("true");
        handler[key] = value;
        refused(handler)
    };
    for (words, told) in [
        (refused(json!({"type": "http", "url": "u"})), "write it as a \"command\""),
        (refused(json!({"type": "prompt", "prompt": "p"})), "the type \"prompt\""),
        (refused(json!({"command": "c"})), "missing field `type`"),
        (refused(json!({"type": "command"})), "\"command\" is missing"),
        (command("command", json!(" ")), "\"command\" is missing or empty"),
        (command("if", json!("Bash(git *)")), "\"if\" is not supported"),
        (command("shell", json!("powershell")), "the shell \"powershell\""),
        (command("timeout", json!(0)), "in seconds, and more than 0"),
        (command("timeout", json!("5")), "invalid type"),
        (command("on_failure", json!("block")), "\"closed\" or \"open\""),
        (command("onFailure", json!("closed")), "\"block\" or \"continue\""),
        (command("on-failure", json!("closed")), "write \"on_failure\""),
        (command("Parallel", json!(true)), "write \"parallel\""),
        (command("name", json!("a\nb")), "the name \"a\\nb\""),
        (
            command("command", json!("${CLAUDE_PLUGIN_ROOT}/x")),
            "CLAUDE_PLUGIN_ROOT, which is not set",
        ),
    ] {
        assert!(words.starts_with(place), "{words}");
        assert!(words.contains(told), "{words}");
    }
    let mut both = hook("true");
    both["on_failure"] = json!("closed");
    both["onFailure"] = json!("continue");
    assert!(refused(both).contains("say different things"));
}

#[test]
fn a_file_that_says_nothing_or_loses_something_is_refused() {
    for (text, told) in [
        ("{}", "it has no \"hooks\""),
        (r#"{"PreToolUse": []}"#, "it has no \"hooks\""),
        ("[]", "it is not read"),
        ("{\"hooks\": ", "it is not read: EOF while parsing"),
        (r#"{"hooks": {"Stop": [], "Stop": []}}"#, "the event Stop comes twice"),
        (r#"{"hooks": {}, "hooks": {}}"#, "duplicate field `hooks`"),
        (
            r#"{"hooks": {"PreToolUSe": []}}"#,
            "PreToolUSe: there is no such event; write PreToolUse",
        ),
        (r#"{"hooks": {"Stop": {}}}"#, "Stop: invalid type"),
        (r#"{"hooks": {"Stop": [{"matcher": "x"}]}}"#, "Stop[0]: missing field `hooks`"),
        (
            r#"{"hooks": {"PreToolUse": [{"matcher": "^(?!Bash)", "hooks": []}]}}"#,
            "PreToolUse[0]: the matcher \"^(?!Bash)\"",
        ),
        (r#"{"redact": ["("]}"#, "redact[0]: \"(\" cannot be used"),
    ] {
        let error = parse(text).unwrap_err();
        assert!(error.context.starts_with("the hooks file h.json: "), "{error}");
        assert!(error.context.contains(told), "{text}: {error}");
    }
    let handler = json!({"type": "command", "command": "true", "name": "n"});
    let file = json!({"hooks": {"Stop": [{"hooks": [handler, handler]}]}});
    let error = parse(&file.to_string()).unwrap_err();
    assert!(error.context.contains("two hooks have the name \"n\""), "{error}");
    let many: Vec<Value> = (0..257).map(|_| hook("true")).collect();
    let error = parse(&json!({"hooks": {"Stop": [{"hooks": many}]}}).to_string());
    assert!(error.unwrap_err().context.contains("more than 256"));
}

#[test]
fn unknown_keys_and_events_are_noted_and_switched_off_hooks_are_off() {
    let mut handler = hook("true");
    handler["statusMesage"] = json!("x");
    let hooks = one("Stop", json!({"hooks": [handler], "note": 1}));
    assert_eq!(
        hooks.notes(),
        [
            "Stop[0]: nothing is known of the key \"note\"",
            "Stop[0].hooks[0]: nothing is known of the key \"statusMesage\"",
        ]
    );
    let file = json!({"disableAllHooks": true, "redact": ["k+"],
        "hooks": {"Stop": [{"hooks": [hook("true")]}]}});
    let off = parse(&file.to_string()).unwrap();
    assert!(off.hooks().is_empty());
    assert_eq!(off.notes(), ["disableAllHooks is set: no hook is asked"]);
    assert_eq!(off.redactor().unwrap().redact("akkb"), "a[redacted]b");
}

#[test]
fn a_file_is_loaded_from_its_path() {
    let dir = tempfile::tempdir().unwrap();
    let load = |path: &Path| CommandHooks::load(path, &tools(), aliases());
    let path = dir.path().join("hooks.json");
    let error = load(&path).unwrap_err();
    assert!(error.context.starts_with("reading the hooks file /"), "{error}");
    assert!(error.source.is_some() && error.context.contains("failed: No such file"));
    std::fs::write(&path, r#"{"hooks": {"Stop": [{"hooks": []}]}}"#).unwrap();
    assert!(load(&path).unwrap().hooks().is_empty());
    std::fs::write(&path, vec![b' '; 1024 * 1024 + 1]).unwrap();
    assert!(load(&path).unwrap_err().context.contains("is larger than"));
}
