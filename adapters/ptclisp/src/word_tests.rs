//! What the port says and reads: the guide, and programs in answers.

use windlass_core::ToolSpec;
use windlass_ports::{ProgramGuide, ProgramRuntime};

use crate::PtcLisp;

#[test]
fn an_answer_has_a_program_none_or_one_that_was_meant() {
    let found = |answer: &str| PtcLisp.extract(answer);
    for plain in ["", "It is 42.", "Use this:\n```json\n{}\n```", "See\n```\n[1]\n```", "a < b > c"]
    {
        assert_eq!(found(plain), None, "{plain}");
    }
    for (meant, class) in [
        ("```clojure\n(a)\n```\n```clojure\n(b)\n```", "multiple_code_blocks"),
        ("So:\n```clojure\n(a)", "no_code"),
        ("So:\n```\n (a)", "no_code"),
        ("Run ```clojure (a) ``` now", "no_code"),
        ("```Clojure\n; only\n```", "no_code"),
        ("<lisp>tea</lisp>", "no_code"),
        ("Use this:\n```json\n{}\n```\nand\n```python\nprint(1)\n```", "no_code"),
        ("See\n```python\nprint(1)", "no_code"),
    ] {
        let Some(Err(told)) = found(meant) else { panic!("{meant}: {:?}", found(meant)) };
        assert_eq!(told.class, class, "{meant}");
        assert!(told.hint.is_some() && !told.message.contains("Write"), "{told}");
    }
    for answer in ["(+ 1 2)", "I add.\n```clojure\n(+ 1 2)\n```", "```\n(+ 1 2)\n```\nDone."] {
        assert_eq!(found(answer), Some(Ok("(+ 1 2)".to_owned())), "{answer}");
    }
}

fn guide(tools: &[ToolSpec]) -> String {
    PtcLisp.guide(&ProgramGuide { tools: tools.to_vec(), ..ProgramGuide::default() })
}

fn tool(name: &str, description: &str, parameters: &str) -> ToolSpec {
    windlass_testkit::tool_spec(name, description, parameters)
}

#[test]
fn the_guide_shows_each_tool_as_it_is_called_and_within_bounds() {
    let search = tool(
        "find",
        "Finds   pages.\nGives their titles.",
        r#"{"type":"object","required":["query"],"properties":{"limit":{"type":"integer"},
           "query":{"type":"string"},"sort":{"enum":["new","old"]},"max-age":{"type":["number","null"]},
           "where":{"type":"object","properties":{"tag":{"type":"array","items":{"type":"string"}}}}}}"#,
    );
    let text = guide(&[search.clone(), tool("ping", "", "{}")]);
    let line = "(tool/find {:query string :limit? int \"max-age\"? number|nil :sort? \"new\"|\"old\" \
                :where? {:tag? [string]}})  ; Finds pages. Gives their titles.\n(tool/ping)\n";
    assert!(text.ends_with(line), "{text}");
    assert_eq!(text, guide(&[search, tool("ping", "", "{}")]));
    let bare = guide(&[]);
    assert!(bare.len() < 6500, "{}", bare.len());
    let many: Vec<String> =
        (0..500).map(|n| format!("\"name{n}\":{{\"type\":\"object\"}}")).collect();
    let huge = format!("{{\"properties\":{{{}}}}}", many.join(","));
    let text = guide(&[tool("big", &"A very long text. ".repeat(100), &huge)]);
    assert!(text.len() < bare.len() + 1500, "{}", text.len());
}
