//! The quick start of the README, as it is built: it answers.

use std::process::Command;

use serde_json::json;
use windlass_testkit::http::{ModelServer, Reply};

#[test]
fn it_answers() {
    let replies =
        [Reply::call("weather", json!({ "city": "Oslo" })), Reply::say("Sunny, all day.")];
    let server = ModelServer::start(replies).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let ran = Command::new(env!("CARGO_BIN_EXE_newcomer"))
        .env("OPENAI_BASE_URL", server.base_url())
        .env("OPENAI_API_KEY", "key")
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "Sunny, all day.\n");
    assert_eq!(server.samples()[1].asked().results[0].1, "It is sunny in Oslo.");
}
