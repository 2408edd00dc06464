//! `windlass serve` with two tenants: the tools of one reach nothing of the other.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::os::unix::fs::symlink;

use common::Place;
use common::server::{Server, sha256};
use serde_json::{Value, json};
use windlass_testkit::Answer;
use windlass_testkit::http::{ModelServer, Reply, Script};

const SECRET: &str = "the other's secret";

/// A place with the workspaces of two tenants, and a configuration that has this beside them.
fn configured(more: &str, of_each: &str, base_url: &str) -> Place {
    let place = Place::new();
    for folder in ["a", "b"] {
        fs::create_dir(place.file(folder)).unwrap();
    }
    fs::write(place.file("b/secret"), SECRET).unwrap();
    symlink(place.file("b"), place.file("a/link")).unwrap();
    symlink(place.file("b/secret"), place.file("a/file")).unwrap();
    let tenant = |name: &str| {
        format!(
            "[[tenant]]\nname = \"{name}\"\nworkspace = \"{name}\"\nprovider = \"openai-chat\"\n\
             base_url = \"{base_url}\"\nmodel = \"m\"\n{of_each}\n[[token]]\nsha256 = \"{}\"\n\
             tenant = \"{name}\"\nprincipal = \"ann\"\nrights = [\"read\", \"run\"]\n",
            sha256(name)
        )
    };
    let text = format!("{more}\n{}{}", tenant("a"), tenant("b"));
    fs::write(place.file("server.toml"), text).unwrap();
    place
}

/// What the tools of tenant `a` return for these calls, as its log has it.
fn observed(calls: impl Fn(&Place) -> Vec<(&'static str, Value)> + 'static) -> String {
    let place_of_calls = std::sync::Arc::new(std::sync::OnceLock::<Vec<(&str, Value)>>::new());
    let known = place_of_calls.clone();
    let script = Script::respond(move |request| match request.asked().results.is_empty() {
        true => {
            let calls = known.get().unwrap().iter();
            Reply::answer(
                calls.fold(Answer::new(), |it, (tool, said)| it.call(*tool, said.clone())),
            )
        }
        false => Reply::say("done"),
    });
    let model = ModelServer::start(script).unwrap();
    let place = configured("", "", &model.base_url());
    place_of_calls.set(calls(&place)).unwrap();
    let server = Server::start(&place, &["--config", "server.toml"]);
    let (status, opened) = server.post("a", "/v1/sessions", &json!({}));
    assert_eq!(status, 201, "{opened}");
    let session = opened["id"].as_str().unwrap().to_owned();
    let turns = format!("/v1/sessions/{session}/turns");
    let (status, sent) = server.post("a", &turns, &json!({"text": "go"}));
    assert_eq!(status, 202, "{sent}");
    let (_, ended) = server.get("a", &format!("{turns}/{}", sent["turn"]), "Prefer: wait=60\r\n");
    assert_eq!(ended["outcome"]["outcome"], "completed", "{ended}");
    server.stop("TERM");
    let log = place.log(&session);
    let observed = log.iter().filter(|fact| fact["kind"] == "CallObserved");
    observed.map(|fact| format!("{}\n", fact["body"]["observation"])).collect()
}

#[test]
fn the_tools_of_a_tenant_read_nothing_of_another() {
    let observed = observed(|place| {
        let shell = |line: String| ("shell", json!({ "command": line }));
        let read = |path: String| ("read_file", json!({ "path": path }));
        let (other, state) = (place.file("b"), place.state());
        vec![
            shell(format!("cat {0}/secret; cat link/secret file; cat ../b/secret", other.display())),
            shell(format!("cat {}; echo read $?", place.file("server.toml").display())),
            shell(format!("grep -r . {} | head -3; echo listed", state.display())),
            shell(
                "for p in /proc/[0-9]*; do cat $p/cwd/b/secret $p/root$PWD/../b/secret $p/environ; \
                 done 2>/dev/null | tr '\\0' '\\n' | grep -a -e secret -e WINDLASS; echo looked"
                    .to_owned(),
            ),
            read(other.join("secret").display().to_string()),
            read("link/secret".to_owned()),
            read("file".to_owned()),
            read("../b/secret".to_owned()),
        ]
    });
    assert!(!observed.contains(SECRET), "{observed}");
    assert!(!observed.contains("sha256 ="), "{observed}");
    assert!(!observed.contains("SessionOpened"), "{observed}");
    assert!(!observed.contains("WINDLASS_HOME"), "{observed}");
    assert!(observed.contains("listed") && observed.contains("looked"), "{observed}");
}

#[test]
fn tenants_that_are_not_isolated_are_refused() {
    let off = configured("", "sandbox = \"off\"", "http://127.0.0.1:9/v1");
    let refused = off.run(&["serve", "--listen", "127.0.0.1:0", "--config", "server.toml"]);
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(refused.err.contains("a has no sandbox"), "{}", refused.err);
    assert!(refused.err.contains("isolation = \"none\""), "{}", refused.err);
    let said = configured("isolation = \"none\"", "sandbox = \"off\"", "http://127.0.0.1:9/v1");
    let server = Server::start(&said, &["--config", "server.toml"]);
    assert_eq!(server.stop("TERM").code, 0);
    let nested = configured("", "", "http://127.0.0.1:9/v1");
    let text = fs::read_to_string(nested.file("server.toml")).unwrap();
    fs::create_dir(nested.file("a/in")).unwrap();
    let text = text.replace("workspace = \"b\"", "workspace = \"a/in\"");
    fs::write(nested.file("server.toml"), text).unwrap();
    let refused = nested.run(&["serve", "--listen", "127.0.0.1:0", "--config", "server.toml"]);
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(refused.err.contains("b can read"), "{}", refused.err);
}
