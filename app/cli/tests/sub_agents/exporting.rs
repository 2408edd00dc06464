//! Exporting: a session and those of its agents, as one export that comes back as it was.

use std::fs;

use serde_json::json;
use windlass_testkit::http::{ModelServer, Reply, Script};

use super::common::Place;
use super::{child, declares, going, holds};

#[test]
fn an_export_takes_the_agents_along_where_it_is_told_to() {
    let place = Place::new();
    let script = Script::respond(|request| {
        let long = |last: u32| Reply::call("shell", json!({"command": format!("seq 1 {last}")}));
        let saw = |words: &str| holds(request, words);
        match saw("You are a scout.") {
            true if saw("100000") => Reply::say("the scout counted"),
            true => long(100_000),
            false if saw("100001") => Reply::say("both counted"),
            false if saw("the scout counted") => long(100_001),
            false => Reply::call("scout", json!({"prompt": "count"})),
        }
    });
    let server = ModelServer::start(script).unwrap();
    let (base_url, tools) = (server.base_url(), declares(&place, "shell"));
    let going = [&going(&base_url, &tools)[..], &["--permissions", "auto"]].concat();
    let run = |words: &[&str]| {
        let done = place.run(words);
        assert_eq!(done.code, 0, "{words:?}: {}", done.err);
        done
    };
    run(&[&["run", "go", "--session", "s"][..], &going].concat());
    let child = child(&place);
    let export = |id: &str, store: &str, more: &[&str]| {
        let words = ["export", id, "--with-outputs", "--store", store];
        run(&[&words[..], more].concat())
    };
    let here = &place.store_url();
    let family = export("s", here, &["--with-agents"]);
    assert_eq!(family.err, "", "nobody is left behind");
    let of_two = r#","sessions":2}"#;
    let (mut heads, mut outputs) = (Vec::new(), 0);
    for line in family.out.lines() {
        outputs += usize::from(line.starts_with(r#"{"output":"#) && line.contains(r#""at":0,"#));
        if line.starts_with(r#"{"export":1"#) {
            heads.push(line.replace(of_two, "}"));
        }
    }
    assert!(family.out.lines().next().unwrap().ends_with(of_two));
    let each = [child.as_str(), "s"].map(|id| export(id, here, &[]).out);
    assert_eq!(heads, each.clone().map(|one| one.lines().next().unwrap().to_owned()));
    assert_eq!(outputs, 2);
    // One without agents is what it is without asking for them.
    assert_eq!(export(&child, here, &["--with-agents"]).out, each[0]);

    let import = |text: &str, store: &str| {
        fs::write(place.file("family.jsonl"), text).unwrap();
        place.run(&["import", "family.jsonl", "--store", store])
    };
    // Cut between the two, one of them twice, or changed: nothing is written.
    let second = family.out.rfind(r#"{"export":1"#).unwrap();
    let (one, rest) = family.out.split_at(second);
    let twice = format!("{one}{}", one.replace(of_two, "}"));
    let sooner = |text: &str| text.replacen(r#""ts":1"#, r#""ts":"#, 1);
    for (text, why) in [
        (one, "says 2 sessions, and there are 1"),
        (&twice, "it has session "),
        (&sooner(&family.out), "its first line says"),
        (&format!("{one}{}", sooner(rest)), "its first line says"),
    ] {
        let refused = import(text, "file:there");
        assert_eq!(refused.code, 2, "{}", refused.err);
        assert!(refused.err.contains(why), "{}", refused.err);
        assert!(refused.err.contains("Nothing was written"), "{}", refused.err);
    }
    assert!(!place.file("there").exists());
    // Where one of them is there, the other is added; then there is nothing left to do.
    let plain = run(&["export", &child, "--store", here]).out;
    for (store, before) in [("file:there", None), ("sled:other", Some(plain))] {
        if let Some(before) = before {
            let imported = import(&before, store);
            assert_eq!(imported.code, 0, "{}", imported.err);
        }
        let imported = import(&family.out, store);
        assert_eq!(imported.code, 0, "{}", imported.err);
        assert_eq!(imported.err.matches("1 output, chain").count(), 2, "{}", imported.err);
        assert_eq!([child.as_str(), "s"].map(|id| export(id, store, &[]).out), each);
        assert_eq!(export("s", store, &["--with-agents"]).out, family.out);
    }
    // Of outputs that are cut off the rest can follow, whosever they are.
    let cut = &family.out[..family.out.trim_end().rfind('\n').unwrap()];
    let refused = import(cut, "file:later");
    assert_eq!(refused.code, 5, "{}", refused.err);
    assert!(refused.err.contains("import again"), "{}", refused.err);
    assert_eq!(import(&family.out, "file:later").code, 0);
    assert_eq!(export("s", "file:later", &["--with-agents"]).out, family.out);
    // Without outputs it is refused where it is there already.
    let bare = run(&["export", "s", "--with-agents", "--store", here]).out;
    let again = import(&bare, "file:later");
    assert_eq!(again.code, 2, "{}", again.err);
    assert!(again.err.contains("session s exists in this store already"), "{}", again.err);
}
