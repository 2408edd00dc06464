//! `windlass show --turns`: a snapshot a cycle, also of a turn that its process did not end.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::server::Server;
use common::{Place, lines};

#[test]
fn each_cycle_is_told_with_its_calls_and_a_cut_log_leaves_one_unfinished() {
    let place = Place::new();
    std::fs::write(place.file("README.md"), "# A winch\n").unwrap();
    let run = place.run(&["run", "What is in this folder?", "--session", "s"]);
    assert_eq!(run.code, 0, "{}", run.err);
    let told = place.run(&["show", "s", "--turns", "--json"]);
    assert_eq!(told.code, 0, "{}", told.err);
    let cycles = lines(&told.out);
    assert_eq!(cycles.len(), 3, "{}", told.out);
    let mut shown = 0;
    for (cycle, number) in cycles.iter().zip(1..) {
        assert_eq!(cycle["number"], number);
        assert_eq!(cycle["kind"], "normal");
        assert_eq!(cycle["success"], true);
        assert_eq!(cycle["messages"]["same"], shown, "{cycle}");
        shown = cycle["messages"]["count"].as_u64().unwrap();
    }
    let tools: Vec<_> = cycles.iter().map(|cycle| &cycle["tool_calls"][0]["name"]).collect();
    assert_eq!(tools[..2], ["list_dir", "read_file"]);
    let read = &cycles[1]["tool_calls"][0];
    assert_eq!(read["status"], "done");
    assert!(read["output"].as_str().unwrap().contains("A winch"), "{read}");
    let said = cycles[2]["raw_response"].as_str().unwrap();
    assert_eq!(run.out.trim(), said.trim());
    let people = place.run(&["show", "s", "--turns"]).out;
    assert!(people.contains("cycle 3: success, 0 calls"), "{people}");
    assert!(people.contains("read_file {\"path\":\"README.md\"}: returned"), "{people}");

    // As if the process had died while the second call ran.
    let log = place.log("s");
    let mut started = log.iter().filter(|fact| fact["kind"] == "CallStarted");
    let at = started.next_back().unwrap()["seq"].to_string();
    let cut = place.run(&["repair", "s", "--truncate-at", &at]);
    assert_eq!(cut.code, 0, "{}", cut.err);
    let open = lines(&place.run(&["show", "s", "--turns", "--json"]).out);
    assert_eq!(open[..1], cycles[..1]);
    assert_eq!(open[1]["success"], false);
    assert_eq!(open[1]["failure"]["class"], "unfinished");
    assert_eq!(open[1]["tool_calls"][0]["status"], serde_json::Value::Null);
    assert_eq!(open.len(), 2);

    // A server goes on with that turn, and tells the same in the same words.
    let server = Server::start(&place, &[]);
    let turn = format!("/v1/sessions/s/turns/{}", cycles[0]["turn"]);
    let (_, ended) = server.get(server.token(), &turn, "Prefer: wait=60\r\n");
    assert_eq!(ended["state"], "settled", "{ended}");
    let path = "/v1/sessions/s/turns?snapshots=true";
    let (status, told) = server.get(server.token(), path, "");
    assert_eq!(status, 200, "{told}");
    assert_eq!(server.stop("TERM").code, 0);
    let after = lines(&place.run(&["show", "s", "--turns", "--json"]).out);
    assert_eq!(after[0], cycles[0]);
    assert!(after.len() > open.len(), "{after:?}");
    let all = serde_json::json!({"snapshots": after, "open": null, "next": null});
    assert_eq!(told, all);
}

#[test]
fn json_is_for_turns_alone() {
    let place = Place::new();
    assert_eq!(place.run(&["show", "s", "--json"]).code, 2);
    assert_eq!(place.run(&["show", "s", "--turns", "--cache"]).code, 2);
    assert_eq!(place.run(&["show", "s", "--turns"]).code, 2);
}
