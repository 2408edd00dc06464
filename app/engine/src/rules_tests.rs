//! Tests of rules: what each compares, by value, by command and by path.

use super::*;

fn rule(verdict: RuleVerdict, tool: &str, argument: Option<(&str, &str)>) -> Rule {
    Rule {
        verdict,
        tool: tool.into(),
        argument: argument
            .map(|(name, pattern)| ArgumentPattern { name: name.into(), pattern: pattern.into() }),
    }
}

fn met(rules: &[Rule], tool: &str, arguments: &str) -> Vec<u32> {
    let call = ComparedCall { tool, arguments, formats: None, workspace: None, paths: &[] };
    matching_rules(rules, &call).certain
}

/// Rules that match a call of a tool with a command, a path and a plain text.
fn met_in_format(rules: &[Rule], arguments: &str) -> (Vec<u32>, Vec<u32>) {
    met_at(rules, arguments, &[])
}

fn met_at(rules: &[Rule], arguments: &str, paths: &[ArgumentPath]) -> (Vec<u32>, Vec<u32>) {
    let schema = r#"{"properties":{"command":{"type":"string","format":"shell"},
        "path":{"type":"string","format":"path"},"text":{"type":"string"}}}"#;
    let formats = text_formats(&serde_json::from_str(schema).unwrap());
    let (formats, workspace) = (Some(&formats), Some("/home/w"));
    let call = ComparedCall { tool: "t", arguments, formats, workspace, paths };
    let MatchedRules { certain, possible } = matching_rules(rules, &call);
    (certain, possible)
}

#[test]
fn commands_are_compared_part_by_part() {
    let rules = [
        rule(RuleVerdict::Allow, "t", Some(("command", "git log *"))),
        rule(RuleVerdict::Allow, "*", Some(("command", "head *"))),
        rule(RuleVerdict::Deny, "t", Some(("command", "rm *"))),
        rule(RuleVerdict::Ask, "t", Some(("command", "head -9*"))),
        rule(RuleVerdict::Allow, "t", Some(("text", "x *"))),
    ];
    for (arguments, certain, possible) in [
        (r#"{"command":"git log -1"}"#, &[0][..], &[][..]),
        (r#"{"command":"git log -1; touch x"}"#, &[], &[]),
        (r#"{"command":"git log -1 | head -1"}"#, &[0, 1], &[]),
        (r#"{"command":"git log -1 | head -9"}"#, &[0, 1, 3], &[]),
        (r#"{"command":"git log -1; /bin/r\u006d x"}"#, &[2], &[]),
        (r#"{"command":"git log -1; $X x"}"#, &[3], &[2]),
        (r#"{"command":"git log -1; $X x; rm y"}"#, &[2, 3], &[]),
        (r#"{"command":"git log -1","command":"ls"}"#, &[], &[]),
        (r#"{"command":"git log -1","command":"head x"}"#, &[0, 1], &[]),
        (r#"{"command":"ls","command":"rm x"}"#, &[2], &[]),
        (r#"{"command":["git log -1"]}"#, &[3], &[2]),
        (r#"{"text":"x ; rm y"}"#, &[4], &[]),
        ("{}", &[], &[]),
    ] {
        let expected = (certain.to_vec(), possible.to_vec());
        assert_eq!(met_in_format(&rules, arguments), expected, "{arguments}");
    }
    let all =
        [rule(RuleVerdict::Deny, "*", None), rule(RuleVerdict::Deny, "t", Some(("command", "*")))];
    assert_eq!(met_in_format(&all, r#"{"command":"git log 'x"}"#), (vec![0, 1], vec![]));
}

#[test]
fn paths_are_compared_as_where_they_lead() {
    let rules = [
        rule(RuleVerdict::Deny, "t", Some(("path", "secret/*"))),
        rule(RuleVerdict::Allow, "t", Some(("path", "./docs//*"))),
        rule(RuleVerdict::Deny, "t", Some(("path", "/home/w/own/*"))),
    ];
    for (path, expected) in [
        ("secret/y", &[0][..]),
        ("./x/../secret/y", &[0]),
        ("x//..///secret/./y", &[0]),
        ("/home/w/secret/y", &[0]),
        ("/home/./w/x/../secret/y", &[0]),
        ("docs/../secret/y", &[0]),
        ("docs/a", &[1]),
        ("own/x", &[2]),
        ("docs", &[]),
        ("x/secret/y", &[]),
    ] {
        let arguments = serde_json::json!({ "path": path }).to_string();
        assert_eq!(met_in_format(&rules, &arguments).0, expected, "{path}");
    }
}

#[test]
fn a_path_is_also_what_its_links_lead_to() {
    let rules = [
        rule(RuleVerdict::Deny, "t", Some(("path", "secret/*"))),
        rule(RuleVerdict::Allow, "t", Some(("path", "docs/*"))),
    ];
    for (path, leads_to, expected) in [
        ("docs/a", "docs/a", &[1][..]),
        ("docs/a", "secret/a", &[0]),
        ("docs/a", "src/a", &[]),
        ("link/a", "docs/a", &[1]),
        ("link/a", "secret/a", &[0]),
        ("secret/a", "src/a", &[0]),
    ] {
        let arguments = serde_json::json!({ "path": path }).to_string();
        let argument = String::from("path");
        let paths = [ArgumentPath { argument, path: leads_to.into(), written: None }];
        assert_eq!(met_at(&rules, &arguments, &paths).0, expected, "{path} to {leads_to}");
    }
}

#[test]
fn paths_within_a_patch_are_compared_each() {
    let rules = [
        rule(RuleVerdict::Deny, "t", Some(("path", "secret/*"))),
        rule(RuleVerdict::Allow, "t", Some(("path", "docs/*"))),
        rule(RuleVerdict::Ask, "t", Some(("path", "link/*"))),
    ];
    for (paths, expected) in [
        (&[("docs/a", "docs/a"), ("docs/b", "./docs//b")][..], &[1][..]),
        (&[("docs/a", "docs/a"), ("src/b", "src/b")], &[]),
        (&[("docs/a", "docs/a"), ("secret/b", "docs/link")], &[0]),
        (&[("docs/a", "link/a")], &[1, 2]),
        (&[], &[]),
    ] {
        let told = paths.iter().map(|(path, written)| ArgumentPath {
            argument: "path".into(),
            path: (*path).into(),
            written: Some((*written).into()),
        });
        let told: Vec<ArgumentPath> = told.collect();
        assert_eq!(met_at(&rules, r#"{"text":"docs/x"}"#, &told).0, expected, "{paths:?}");
    }
}

#[test]
fn arguments_are_compared_by_what_they_say() {
    let rules = [rule(RuleVerdict::Deny, "sh*", Some(("command", "rm *")))];
    for (arguments, denied) in [
        (r#"{"command":"rm -rf /"}"#, true),
        (r#"{"command":"\u0072m -rf \/"}"#, true),
        (r#"{"\u0063ommand":"rm x"}"#, true),
        (r#"{"command":"\\u0072m x"}"#, false),
        (r#"{"command":" rm x"}"#, false),
        (r#"{"command":["rm","x"]}"#, false),
        (r#"{"other":"rm x"}"#, false),
        (r#"{"nested":{"command":"rm x"}}"#, false),
        (r#"{"command":"ls","command":"rm x"}"#, true),
        (r#"{"command":"rm x","command":"ls"}"#, true),
        ("{command", false),
        (r#"["rm x"]"#, false),
    ] {
        let met = met(&rules, "shell", arguments);
        assert_eq!(!met.is_empty(), denied, "{arguments}");
    }
    assert!(met(&rules, "bash", r#"{"command":"rm x"}"#).is_empty());
}

#[test]
fn values_that_are_no_text_are_compared_as_compact_json() {
    let meets = |pattern: &str, arguments: &str| {
        let rules = [rule(RuleVerdict::Ask, "t", Some(("v", pattern)))];
        !met(&rules, "t", arguments).is_empty()
    };
    assert!(meets("true", r#"{"v": true }"#));
    assert!(meets("true", r#"{"v":"true"}"#));
    assert!(meets("null", r#"{"v":null}"#));
    assert!(meets("12", r#"{"v":12}"#));
    assert!(meets(r#"["a",*]"#, r#"{"v":[ "a" , "b" ]}"#));
    assert!(meets(r#"{"a":1,"b":2}"#, r#"{"v":{"b":2,"a":1}}"#));
    assert!(meets(r#"["rm"*"#, r#"{"v":["\u0072m"]}"#));
}

#[test]
fn an_allowance_is_never_met_by_what_cannot_be_read() {
    let rules = [
        rule(RuleVerdict::Allow, "*", None),
        rule(RuleVerdict::Ask, "*", None),
        rule(RuleVerdict::Deny, "*", None),
        rule(RuleVerdict::Allow, "*", Some(("path", "*"))),
    ];
    assert_eq!(met(&rules, "t", "{"), [1, 2]);
    assert_eq!(met(&rules, "t", "[]"), [1, 2]);
    assert_eq!(met(&rules, "t", "{}"), [0, 1, 2]);
    assert_eq!(met(&rules, "t", r#"{"path":"x"}"#), [0, 1, 2, 3]);
}

#[test]
fn an_allowance_must_fit_all_that_is_there_twice() {
    let rules = [rule(RuleVerdict::Allow, "t", Some(("path", "src/*")))];
    assert_eq!(met(&rules, "t", r#"{"path":"src/a","path":"src/b"}"#), [0]);
    let twice = r#"{"path":"src/a","path":"/etc/passwd"}"#;
    assert!(met(&rules, "t", twice).is_empty());
    let twice = r#"{"path":"/etc/passwd","path":"src/a"}"#;
    assert!(met(&rules, "t", twice).is_empty());
}
