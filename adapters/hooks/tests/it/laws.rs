//! The laws of the hooks port, held against hook commands.

use std::collections::BTreeSet;

use serde_json::json;
use windlass_core::HookVerdict;
use windlass_ports::{HookCall, HookSubject, Hooks};

use crate::common::{World, at, hook};

const EVENTS: [&str; 15] = [
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "PreSample",
    "PostAnswer",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PermissionRequest",
    "PreCompact",
    "PostCompact",
    "Stop",
    "SubagentStart",
    "SubagentStop",
    "Interrupt",
];

fn every(command: &str) -> World {
    let groups = EVENTS.map(|event| {
        let hooks = [hook(command), hook(command)];
        (event.to_owned(), json!([{"hooks": hooks}, {"hooks": hooks}]))
    });
    World::new(json!({"hooks": serde_json::Map::from_iter(groups)}))
}

/// Every hook of every point is declared once, under a name of its own, and answers under it.
#[tokio::test]
async fn names_are_unique_and_every_hook_answers() {
    let world = every("true");
    let specs = world.hooks.hooks();
    assert_eq!(specs.len(), (EVENTS.len() + 1) * 4);
    let names: BTreeSet<_> = specs.iter().map(|spec| &spec.name).collect();
    assert_eq!(names.len(), specs.len());
    let points: BTreeSet<_> = specs.iter().map(|spec| spec.point).collect();
    assert_eq!(points.len(), 14);
    assert_eq!(specs, world.hooks.hooks());
    for spec in specs {
        assert!(spec.timeout_ms > 0);
        let call = HookCall { hook: spec.name, at: at(spec.point), subject: HookSubject::Nothing };
        let reply = world.hooks.ask(call, world.context()).await.unwrap();
        assert_eq!(reply.verdict, HookVerdict::Pass);
    }
}

/// At each point a hook that says no denies, or fails where there is nothing to deny: it is never
/// taken for one that passes.
#[tokio::test]
async fn no_is_never_taken_for_yes() {
    let world = every("exit 2");
    for spec in world.hooks.hooks() {
        let call =
            HookCall { hook: spec.name.clone(), at: at(spec.point), subject: HookSubject::Nothing };
        match world.hooks.ask(call, world.context()).await {
            Ok(reply) => assert_eq!(reply.verdict, HookVerdict::Deny, "{}", spec.name),
            Err(error) => assert!(error.context.contains("stops nothing"), "{error}"),
        }
    }
}

/// What comes out of the redactor of a file does not depend on how it was cut, also when two
/// parts come in turns.
#[test]
fn redaction_does_not_depend_on_chunks() {
    let world = World::new(json!({"redact": ["to[kx]en-[0-9]+", "(?i)secret"]}));
    let text = "A token-12, ein Sécret secReT und toxen-9";
    let expected = "A [redacted], ein Sécret [redacted] und [redacted]";
    assert_eq!(world.hooks.redactor().unwrap().redact(text), expected);
    for size in 1..text.len() {
        let mut redactor = world.hooks.redactor().unwrap();
        let (mut one, mut two) = (String::new(), String::new());
        let chars: Vec<char> = text.chars().collect();
        for chunk in chars.chunks(size) {
            let chunk: String = chunk.iter().collect();
            one += &redactor.push(1, &chunk);
            two += &redactor.push(2, &chunk);
        }
        one += &redactor.end(1);
        two += &redactor.end(2);
        assert_eq!((one.as_str(), two.as_str()), (expected, expected), "{size}");
    }
}
