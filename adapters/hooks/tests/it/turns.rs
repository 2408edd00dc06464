//! Hooks around prompts, answers, turns and sessions.

use serde_json::{Value, json};
use windlass_core::{
    CompactionTrigger, HookPoint, HookReply, HookVerdict, InterruptSource, Mode, Permissions,
    TurnOutcome,
};
use windlass_ports::{HookCall, HookSubject, Hooks};

use crate::common::{World, answer, at, context, prompt};

async fn reply(event: &str, command: &str, about: HookSubject) -> Result<HookReply, String> {
    let world = World::one(event, command);
    world.ask(about).await.map_err(|error| error.context)
}

/// What a hook of an event is told.
async fn asked(event: &str, about: HookSubject) -> Value {
    let world = World::one(event, "cat > asked");
    assert_eq!(world.ask(about).await.unwrap(), HookReply::pass());
    world.asked()
}

fn words(reply: Result<HookReply, String>) -> (HookVerdict, String, Option<String>) {
    let reply = reply.unwrap();
    let context = reply.context.map(|text| text.to_string());
    (reply.verdict, reply.reason, context)
}

#[tokio::test]
async fn a_prompt_is_blocked_by_exit_2_and_by_json() {
    let script =
        r#"grep -q '"prompt":"[^"]*password' && { echo "no secrets" >&2; exit 2; }; exit 0"#;
    let world = World::one("UserPromptSubmit", script);
    let blocked = world.ask(prompt("my password is x")).await.unwrap();
    assert_eq!(blocked.verdict, HookVerdict::Deny);
    assert_eq!(blocked.reason, "no secrets");
    let passed = world.ask(prompt("hello")).await.unwrap();
    assert_eq!(passed, HookReply::pass());
    let json = r#"echo '{"decision":"block","reason":"not now"}'"#;
    let blocked = reply("UserPromptSubmit", json, prompt("p")).await;
    assert_eq!(words(blocked), (HookVerdict::Deny, "not now".into(), None));
}

#[tokio::test]
async fn a_prompt_gets_context_from_plain_words_and_from_json() {
    let plain = reply("UserPromptSubmit", "echo; echo 'It is noon.'", prompt("p")).await;
    let noon = Some(String::from("It is noon."));
    assert_eq!(words(plain), (HookVerdict::Pass, String::new(), noon.clone()));
    let json = r#"echo '{"hookSpecificOutput":{"hookEventName":"UserPromptSubmit",
        "additionalContext":"It is noon."}}'"#;
    let told = reply("UserPromptSubmit", json, prompt("p")).await;
    assert_eq!(words(told), (HookVerdict::Pass, String::new(), noon));
    let elsewhere = reply("Stop", "echo 'It is noon.'", answer("a")).await;
    assert_eq!(elsewhere.unwrap(), HookReply::pass());
}

#[tokio::test]
async fn a_prompt_may_be_rewritten() {
    let json = r#"echo '{"hookSpecificOutput":{"updatedPrompt":"p, please"}}'"#;
    let edited = reply("UserPromptSubmit", json, prompt("p")).await.unwrap();
    assert_eq!(&*edited.edit.unwrap().text, "p, please");
    let wrong = reply("Stop", json, answer("a")).await.unwrap_err();
    assert!(wrong.contains("no prompt to change at Stop"), "{wrong}");
}

#[tokio::test]
async fn a_stop_is_blocked_until_the_hook_is_told_that_it_was() {
    let script = r#"grep -q '"stop_hook_active":true' && exit 0
        echo '{"decision":"block","reason":"run the tests"}'"#;
    let world = World::one("Stop", script);
    assert_eq!(world.ask(answer("a")).await.unwrap(), HookReply::pass());
    let world = World::one("SubagentStop", script);
    let reply = world.ask(answer("a")).await.unwrap();
    assert_eq!(reply.verdict, HookVerdict::Deny);
    assert_eq!(reply.reason, "run the tests");
}

#[tokio::test]
async fn a_turn_is_ended_whatever_else_is_said() {
    let json = r#"echo '{"continue":false,"stopReason":"build broken","decision":"approve"}'"#;
    for event in ["UserPromptSubmit", "PreSample", "PostAnswer", "Stop", "SessionStart"] {
        let ended = reply(event, json, HookSubject::Nothing).await;
        assert_eq!(words(ended), (HookVerdict::Halt, "build broken".into(), None));
    }
    let late = reply("SessionEnd", json, HookSubject::Nothing).await;
    assert_eq!(late.unwrap().verdict, HookVerdict::Pass);
}

/// There is nothing to say no to: it is a failure, and counts as the file says.
#[tokio::test]
async fn what_cannot_be_blocked_is_not() {
    for event in ["SessionStart", "SessionEnd", "PostCompact", "SubagentStart", "Interrupt"] {
        let told = reply(event, "echo no >&2; exit 2", HookSubject::Nothing).await;
        let told = told.unwrap_err();
        assert!(told.contains("stops nothing at"), "{told}");
        assert!(told.ends_with(": no"), "{told}");
        let json = r#"echo '{"decision":"block","reason":"no"}'"#;
        let told = reply(event, json, HookSubject::Nothing).await.unwrap_err();
        assert!(told.contains("cannot be blocked"), "{told}");
    }
}

#[tokio::test]
async fn each_event_is_told_what_the_protocol_says_of_it() {
    let start = asked("SessionStart", HookSubject::Nothing).await;
    assert_eq!(start["source"], "resume");
    assert_eq!(start["model"], "m-1");
    let end = asked("SessionEnd", HookSubject::Nothing).await;
    assert_eq!(end["reason"], "other");
    let submitted = asked("UserPromptSubmit", prompt("pröm\"pt")).await;
    assert_eq!(submitted["prompt"], "pröm\"pt");
    let sample = asked("PreSample", HookSubject::Nothing).await;
    assert_eq!(sample["sample"], 2);
    let after = asked("PostAnswer", answer("words")).await;
    assert_eq!(after["last_assistant_message"], "words");
    assert_eq!(after["tool_calls"], json!(["shell"]));
    let stop = asked("Stop", answer("words")).await;
    assert_eq!(stop["stop_hook_active"], true);
    assert_eq!(stop["last_assistant_message"], "words");
    assert_eq!(stop.get("tool_calls"), None);
    let sub = asked("SubagentStop", answer("words")).await;
    assert_eq!(sub["agent_type"], "general-purpose");
    assert_eq!(sub["agent_id"], "s-1");
    let about = || HookSubject::Compaction { trigger: CompactionTrigger::Overflow };
    let compact = asked("PreCompact", about()).await;
    assert_eq!(compact["trigger"], "auto");
    assert_eq!(compact["custom_instructions"], "");
    assert_eq!(asked("PostCompact", about()).await["trigger"], "auto");
    let outcome =
        TurnOutcome::Interrupted { by: InterruptSource::Person, reason: String::from("enough") };
    let ending = asked("Interrupt", HookSubject::Ending { outcome }).await;
    assert_eq!(ending["outcome"]["reason"], "enough");
}

#[tokio::test]
async fn the_posture_is_told_in_the_protocols_words() {
    for (mode, permissions, word) in [
        (Mode::Plan, Permissions::Auto, "plan"),
        (Mode::Build, Permissions::Auto, "bypassPermissions"),
        (Mode::Build, Permissions::Ask, "default"),
        (Mode::Build, Permissions::ReadOnly, "dontAsk"),
    ] {
        let world = World::one("Stop", "cat > asked");
        let mut context = world.context();
        (context.mode, context.permissions) = (mode, permissions);
        world.ask_in(answer("a"), context).await.unwrap();
        assert_eq!(world.asked()["permission_mode"], word);
    }
}

/// The documented way to tell the model again what a compaction took away.
#[tokio::test]
async fn a_session_start_hook_for_compactions_is_asked_after_them() {
    let hooks = json!([{"type": "command", "command": "cat > asked; echo 'Use bun.'"}]);
    let file = json!({"hooks": {"SessionStart": [{"matcher": "compact", "hooks": hooks}]}});
    let world = World::new(file);
    assert_eq!(world.hooks.hooks().len(), 1);
    let compacted = World::one("PostCompact", "true").spec(0).point;
    assert_eq!(world.spec(0).point, compacted);
    let about = HookSubject::Compaction { trigger: CompactionTrigger::Window };
    let reply = world.ask(about).await.unwrap();
    assert_eq!(reply.context.as_deref(), Some("Use bun."));
    assert_eq!(world.asked()["hook_event_name"], "SessionStart");
    assert_eq!(world.asked()["source"], "compact");
}

#[tokio::test]
async fn a_script_finds_its_project_and_its_folder() {
    let script = r#"sh "$CLAUDE_PROJECT_DIR"/hook.sh"#;
    let world = World::one("UserPromptSubmit", script);
    world.put("hook.sh", "pwd");
    let reply = world.ask(prompt("p")).await.unwrap();
    let folder = world.dir.path().canonicalize().unwrap();
    assert_eq!(reply.context.as_deref(), folder.to_str());
    let run = json!({"type": "command", "command": "printf", "args": ["%s", "${CLAUDE_PROJECT_DIR}; $HOME"]});
    let world = World::new(json!({"hooks": {"UserPromptSubmit": [{"hooks": [run]}]}}));
    let reply = world.ask(prompt("p")).await.unwrap();
    let expected = format!("{}; $HOME", world.dir.path().display());
    assert_eq!(reply.context.as_deref(), Some(expected.as_str()));
}

#[tokio::test]
async fn a_hook_of_another_file_is_not_taken_for_another() {
    let world = World::one("Stop", "true");
    for (hook, point) in
        [(String::from("gone"), HookPoint::Stop), (world.spec(0).name, HookPoint::BeforeTool)]
    {
        let call = HookCall { hook, at: at(point), subject: HookSubject::Nothing };
        let error = world.hooks.ask(call, context("/")).await.unwrap_err();
        assert!(error.context.contains("was it changed?"), "{error}");
    }
}
