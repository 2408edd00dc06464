//! Agents in the background: they work beside the turn, and their results come as messages.

use super::*;

#[test]
fn a_model_starts_an_agent_goes_on_and_waits_for_its_result() {
    let place = Place::new();
    let agent = json!({
        "name": "scout",
        "description": "Looks around.",
        "agent": {"instructions": "You are a scout.", "samples": 3, "background": true},
    });
    let path = place.file("tools.json");
    fs::write(&path, json!({"tools": [agent]}).to_string()).unwrap();
    let gate = Gate::new();
    let opened = gate.clone();
    let script = Script::respond(move |request| {
        let started = holds(request, "works in the background, in its session");
        match (holds(request, "You are a scout."), started, holds(request, "there is an oak")) {
            (true, _, _) => Reply::say("there is an oak").head_after(&gate),
            (false, false, _) => Reply::call("scout", json!({"prompt": "look for a tree"})),
            (false, true, false) => {
                opened.open();
                Reply::call("wait_for_agent", json!({"agent": "scout", "seconds": 30}))
            }
            (false, true, true) => Reply::say("it was found"),
        }
    });
    let server = ModelServer::start(script).unwrap();
    let base_url = server.base_url();
    let provider = ["--provider", "openai-chat", "--base-url", &base_url, "--session", "s"];
    let tools = ["--no-agents", "--permissions", "auto", "--tools", path.to_str().unwrap()];
    let done = place.run(&[&["run", "find a tree"][..], &provider, &tools].concat());
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(done.out.contains("it was found"), "{}", done.out);
    let last = server.samples().into_iter().rfind(|one| !holds(one, "You are a scout.")).unwrap();
    let body = String::from_utf8(last.body).unwrap();
    assert_eq!(body.matches("there is an oak").count(), 1, "{body}");
    assert!(body.contains("No user wrote this"), "{body}");
    let told = place.run(&["show", "s"]).out;
    assert!(told.contains("result of the agent of call"), "{told}");
}
