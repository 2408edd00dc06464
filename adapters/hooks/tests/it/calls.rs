//! Hooks around calls: denied, asked about, allowed and rewritten.

use serde_json::{Value, json};
use windlass_core::{HookPoint, HookReply, HookVerdict, ObservationStatus};
use windlass_ports::{HookCall, HookSubject, Hooks, TurnCall, TurnCallStatus, TurnCalls};

use crate::common::{World, at, call, hook, ran};

fn shell(command: &str) -> HookSubject {
    call("shell", json!({"command": command}))
}

fn deny(reason: &str) -> HookReply {
    HookReply { verdict: HookVerdict::Deny, reason: reason.to_owned(), edit: None, context: None }
}

/// The hook says `output` on stdout.
async fn said(event: &str, output: Value, about: HookSubject) -> Result<HookReply, String> {
    let world = World::one(event, "cat answer");
    world.put("answer", &output.to_string());
    world.ask(about).await.map_err(|error| error.context)
}

fn specific(event: &str, mut output: Value) -> Value {
    output["hookEventName"] = json!(event);
    json!({"hookSpecificOutput": output})
}

fn edited(reply: &HookReply) -> Value {
    serde_json::from_str(&reply.edit.as_ref().unwrap().text).unwrap()
}

#[tokio::test]
async fn a_script_that_exits_with_2_denies_a_call_in_its_own_words() {
    let script = r#"grep -q '"command":"rm ' && { echo "no rm here" >&2; exit 2; }; exit 0"#;
    let world = World::one("PreToolUse", script);
    assert_eq!(world.ask(shell("rm -rf x")).await.unwrap(), deny("no rm here"));
    assert_eq!(world.ask(shell("ls")).await.unwrap(), HookReply::pass());
}

#[tokio::test]
async fn a_call_is_told_under_the_names_that_scripts_know() {
    let world = World::one("PreToolUse", "cat > asked");
    let edit = json!({"path": "src/a.rs", "old": "x", "new": "y"});
    world.ask(call("edit_file", edit)).await.unwrap();
    let folder = world.dir.path().to_str().unwrap();
    assert_eq!(
        world.asked(),
        json!({
            "hook_event_name": "PreToolUse",
            "session_id": "s-1",
            "transcript_path": "",
            "cwd": folder,
            "permission_mode": "default",
            "model": "m-1",
            "scope": {"kind": "principal", "tenant": "local", "principal": "tester"},
            "turn_id": "2",
            "tool_name": "Edit",
            "tool_input": {
                "file_path": format!("{folder}/src/a.rs"), "old_string": "x", "new_string": "y",
            },
            "tool_use_id": "7",
        })
    );
    world.ask(call("deploy", json!({"path": "p"}))).await.unwrap();
    assert_eq!(world.asked()["tool_name"], "deploy");
    assert_eq!(world.asked()["tool_input"], json!({"path": "p"}));
}

#[tokio::test]
async fn earlier_calls_of_the_turn_are_told_under_the_names_that_scripts_know() {
    let script = r#"cat > asked; printf %s "$WINDLASS_TURN_CALLS" > calls
        case "$WINDLASS_TURN_CALLS" in *'"tool_name":"Read"'*) exit 0;; esac; exit 2"#;
    let world = World::one("PreToolUse", script);
    let earlier = |tool: &str, arguments: Value, status| TurnCall {
        tool: tool.to_owned(),
        arguments: arguments.to_string().into(),
        status,
    };
    let mut context = world.context();
    context.calls = TurnCalls {
        listed: vec![
            earlier("shell", json!({"command": "ls"}), TurnCallStatus::Denied),
            earlier("deploy", json!({}), TurnCallStatus::Ended(ObservationStatus::Failed)),
        ],
        cut: true,
    };
    let reply = world.ask_in(shell("ls"), context).await.unwrap();
    assert_eq!(reply.verdict, HookVerdict::Deny, "nothing was read before");
    let asked = world.asked();
    assert_eq!(asked["tool_input"], json!({"command": "ls"}));
    assert!(!asked.to_string().contains("deploy"), "scripts search their whole stdin: {asked}");
    let earlier: Value = serde_json::from_str(&world.text("calls")).unwrap();
    assert_eq!(
        earlier,
        json!({"cut": true, "calls": [
            {"tool_name": "Bash", "tool_input": {"command": "ls"}, "status": "denied"},
            {"tool_name": "deploy", "tool_input": {}, "status": "failed"},
        ]})
    );
}

#[tokio::test]
async fn as_many_of_the_latest_earlier_calls_are_told_as_a_variable_takes() {
    let script = r#"printf %s "$WINDLASS_TURN_CALLS" > calls"#;
    let world = World::one("PreToolUse", script);
    let mut context = world.context();
    let earlier = |number: usize| TurnCall {
        tool: String::from("deploy"),
        arguments: json!({"number": number, "text": "x".repeat(10_000)}).to_string().into(),
        status: TurnCallStatus::Denied,
    };
    context.calls = TurnCalls { listed: (0..20).map(earlier).collect(), cut: false };
    world.ask_in(shell("ls"), context).await.unwrap();
    let earlier: Value = serde_json::from_str(&world.text("calls")).unwrap();
    let numbers: Vec<u64> = earlier["calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| call["tool_input"]["number"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, [11, 12, 13, 14, 15, 16, 17, 18, 19]);
    assert_eq!(earlier["cut"], true);
}

#[tokio::test]
async fn json_denies_asks_and_allows() {
    let word = |word: &str| {
        let output = json!({"permissionDecision": word, "permissionDecisionReason": "so"});
        said("PreToolUse", specific("PreToolUse", output), shell("ls"))
    };
    assert_eq!(word("deny").await.unwrap(), deny("so"));
    assert_eq!(word("ask").await.unwrap().verdict, HookVerdict::Ask);
    assert_eq!(word("defer").await.unwrap().verdict, HookVerdict::Ask);
    let allowed = word("allow").await.unwrap();
    assert_eq!((allowed.verdict, allowed.edit), (HookVerdict::Allow, None));
    let wrong = word("denied").await.unwrap_err();
    assert!(wrong.contains(r#"there is no decision "denied""#), "{wrong}");
    for (old, verdict) in [("approve", HookVerdict::Allow), ("block", HookVerdict::Deny)] {
        let output = json!({"decision": old, "reason": "so"});
        let reply = said("PreToolUse", output, shell("ls")).await.unwrap();
        assert_eq!(reply.verdict, verdict);
    }
    let both = json!({"decision": "block", "reason": "b",
        "hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}});
    assert_eq!(said("PreToolUse", both, shell("ls")).await.unwrap(), deny("b"));
}

#[tokio::test]
async fn an_input_is_rewritten_under_the_tools_own_names() {
    let world = World::one(
        "PreToolUse",
        r#"sed 's/.*"tool_input":\({[^}]*}\).*/\1/; s/"x"/"z"/' > input
           printf '{"hookSpecificOutput":{"hookEventName":"PreToolUse",'
           printf '"additionalContext":"note","updatedInput":%s}}' "$(cat input)""#,
    );
    let edit = json!({"path": "a.rs", "old": "x", "new": "y"});
    let reply = world.ask(call("edit_file", edit)).await.unwrap();
    assert_eq!(edited(&reply), json!({"path": "a.rs", "old": "z", "new": "y"}));
    assert_eq!(reply.verdict, HookVerdict::Pass);
    assert_eq!(reply.context.as_deref(), Some("note"));
    let same = call("edit_file", json!({"path": "a.rs", "old": "q", "new": "y"}));
    assert_eq!(world.ask(same).await.unwrap().edit, None);
}

#[tokio::test]
async fn a_changed_input_has_to_be_one_and_have_its_place() {
    let output = specific("PreToolUse", json!({"updatedInput": "ls"}));
    let wrong = said("PreToolUse", output, shell("ls")).await.unwrap_err();
    assert!(wrong.contains("not the JSON of a hook"), "{wrong}");
    let output = specific("PostToolUse", json!({"updatedInput": {}}));
    let about = ran(ObservationStatus::Done, "ok");
    let wrong = said("PostToolUse", output, about).await.unwrap_err();
    assert!(wrong.contains("no input to change at PostToolUse"), "{wrong}");
    let denied = json!({"permissionDecision": "deny", "updatedInput": {"command": "pwd"},
        "permissionDecisionReason": "r"});
    let output = specific("PreToolUse", denied);
    assert_eq!(said("PreToolUse", output, shell("ls")).await.unwrap(), deny("r"));
}

#[tokio::test]
async fn a_parallel_hook_changes_nothing_and_does_not_allow_what_it_meant_to_change() {
    let output = specific(
        "PreToolUse",
        json!({"permissionDecision": "allow", "updatedInput": {"command": "ls"}}),
    );
    let mut one = hook("cat answer");
    one["parallel"] = json!(true);
    let world = World::new(json!({"hooks": {"PreToolUse": [{"hooks": [one]}]}}));
    world.put("answer", &output.to_string());
    let error = world.ask(shell("rm")).await.unwrap_err();
    assert!(error.context.contains("only a sequential hook"), "{error}");
}

#[tokio::test]
async fn a_permission_request_is_answered() {
    let decision = |decision: Value| {
        let output = specific("PermissionRequest", json!({"decision": decision}));
        said("PermissionRequest", output, shell("rm"))
    };
    let input = json!({"command": "rm -i", "timeout": 5});
    let allowed = decision(json!({"behavior": "allow", "updatedInput": input})).await;
    let allowed = allowed.unwrap();
    assert_eq!(allowed.verdict, HookVerdict::Allow);
    assert_eq!(edited(&allowed), json!({"command": "rm -i", "timeout_ms": 5}));
    let denied = decision(json!({"behavior": "deny", "message": "no"})).await;
    assert_eq!(denied.unwrap(), deny("no"));
    let ended = json!({"behavior": "deny", "message": "no", "interrupt": true});
    let ended = decision(ended).await.unwrap();
    assert_eq!(ended.verdict, HookVerdict::Halt);
    let world = World::one("PermissionRequest", "echo never >&2; exit 2");
    assert_eq!(world.ask(shell("rm")).await.unwrap(), deny("never"));
}

#[tokio::test]
async fn a_result_is_seen_by_the_hook_for_how_it_ended() {
    let world = World::one("PostToolUse", "cat > asked; echo 'lint: bad' >&2; exit 2");
    let reply = world.ask(ran(ObservationStatus::Done, "ok")).await;
    assert_eq!(reply.unwrap(), deny("lint: bad"));
    let asked = world.asked();
    assert_eq!(asked["tool_response"]["success"], true);
    assert_eq!(asked["tool_response"]["stdout"], "ok");
    assert_eq!(asked["tool_response"]["filePath"], asked["tool_input"]["file_path"]);
    for other in [
        ObservationStatus::Failed,
        ObservationStatus::Aborted,
        ObservationStatus::Denied,
        ObservationStatus::NotStarted,
    ] {
        let reply = world.ask(ran(other, "bad")).await.unwrap();
        assert_eq!(reply, HookReply::pass(), "{other:?}");
    }
    let world = World::one("PostToolUseFailure", "cat > asked; cat answer");
    let note = json!({"additionalContext": "try again"});
    world.put("answer", &specific("PostToolUseFailure", note).to_string());
    let reply = world.ask(ran(ObservationStatus::Aborted, "bad")).await;
    assert_eq!(reply.unwrap().context.as_deref(), Some("try again"));
    assert_eq!(world.asked()["error"], "bad");
    assert_eq!(world.asked()["is_interrupt"], true);
    let reply = world.ask(ran(ObservationStatus::Done, "ok")).await.unwrap();
    assert_eq!(reply, HookReply::pass());
}

/// Where two readings of the protocol differ, the safe half of each counts.
#[tokio::test]
async fn beside_another_exit_code_a_denial_stands_and_an_allowance_does_not() {
    let world = World::one("PreToolUse", "cat answer; echo oops >&2; exit 1");
    let word = |word: &str| specific("PreToolUse", json!({"permissionDecision": word})).to_string();
    world.put("answer", &word("deny"));
    let reply = world.ask(shell("ls")).await.unwrap();
    assert_eq!(reply.verdict, HookVerdict::Deny);
    world.put("answer", &word("allow"));
    let error = world.ask(shell("ls")).await.unwrap_err();
    assert!(error.context.ends_with("it exited with code 1: oops"), "{error}");
    let world = World::one("PreToolUse", "cat answer; echo no >&2; exit 2");
    let change = json!({"permissionDecision": "ask", "updatedInput": {"command": "pwd"}});
    world.put("answer", &specific("PreToolUse", change).to_string());
    assert_eq!(world.ask(shell("ls")).await.unwrap(), deny("no"));
    world.put("answer", &word("allow"));
    assert_eq!(world.ask(shell("ls")).await.unwrap(), deny("no"));
    world.put("answer", "{broken}");
    assert_eq!(world.ask(shell("ls")).await.unwrap(), deny("no"));
}

#[tokio::test]
async fn what_is_no_word_of_a_hook_is_a_failure_that_says_so() {
    for (command, words) in [
        ("echo '{\"decision\": }'", "not the JSON of a hook"),
        ("echo '{\"decision\": 5}'", "not the JSON of a hook"),
        ("kill -9 $$", "it was ended by signal 9"),
        ("exit 3", "it exited with code 3"),
        (
            r#"echo '{"hookSpecificOutput":{"hookEventName":"Stop"}}'"#,
            "it answers Stop where PreToolUse was asked",
        ),
    ] {
        let error = World::one("PreToolUse", command).ask(shell("ls")).await;
        let error = error.unwrap_err().context;
        assert!(error.contains(words), "{command}: {error}");
        assert!(error.contains("PreToolUse[0].hooks[0]"), "{error}");
    }
}

#[tokio::test]
async fn arguments_that_are_no_object_are_told_as_they_are() {
    let world = World::one("PreToolUse", "cat > asked");
    let about = HookSubject::Call {
        tool: String::from("shell"),
        arguments: "{broken".into(),
        observation: None,
    };
    world.ask(about).await.unwrap();
    assert_eq!(world.asked()["tool_input"], "{broken");
}

#[tokio::test]
async fn a_background_hook_only_gives_context() {
    let mut one = hook("cat answer");
    one["async"] = json!(true);
    let world = World::new(json!({"hooks": {"PreToolUse": [{"hooks": [one]}]}}));
    assert!(world.hooks.notes()[0].contains("it is waited for"));
    let output = json!({"permissionDecision": "deny", "additionalContext": "c"});
    world.put("answer", &specific("PreToolUse", output).to_string());
    let spec = world.spec(0);
    let call = HookCall { hook: spec.name, at: at(HookPoint::BeforeTool), subject: shell("ls") };
    let reply = world.hooks.ask(call, world.context()).await.unwrap();
    assert_eq!(reply.verdict, HookVerdict::Pass);
    assert_eq!(reply.context.as_deref(), Some("c"));
}
