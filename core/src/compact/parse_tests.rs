//! Parsing of summaries: every form of the headings, and cuts.

use alloc::format;
use alloc::string::String;

use super::parse::{cut_summary, parse_summary};

const GOOD: &str = "## Goal\nShip it.\n## Done\n- one\n- two\n## Open\nNone.\n## Facts\nsrc/a.rs";

#[test]
fn reads_a_summary_however_it_is_dressed() {
    let dressed = [
        String::from(GOOD),
        format!("Here it is:\n\n{GOOD}\n"),
        format!("```markdown\n{GOOD}\n```\nI hope that helps."),
        format!("```\nnot this\n```\n{GOOD}"),
        GOOD.replace('\n', "\r\n"),
        GOOD.replace("## Goal", "  ## GOAL:  "),
        GOOD.replace("None.", "\u{7}"),
        GOOD.replace("\n##", "\n\n\n##"),
    ];
    for text in dressed {
        assert_eq!(parse_summary(&text).as_deref(), Ok(GOOD), "{text}");
    }
    let open = format!("```\nnot this\n```\n{GOOD}\n```sh\nls\n```\nend");
    assert!(parse_summary(&open).unwrap().ends_with("ls\n```\nend"));
    let fenced = format!("```\n{GOOD}\n```sh\nls\n```\n```\nbye");
    assert_eq!(parse_summary(&fenced), Ok(format!("{GOOD}\n```sh\nls\n```")));
}

#[test]
fn any_form_of_the_headings_counts() {
    let forms: [fn(&str, usize) -> String; 12] = [
        |name, _| format!("# {name}"),
        |name, _| format!("### {name} ###"),
        |name, _| format!("#{name}"),
        |name, n| format!("## {n}. {name}"),
        |name, _| format!("## **{name}**"),
        |name, _| format!("## {name} so far"),
        |name, _| format!("**{name}**"),
        |name, _| format!("**{name}:**"),
        |name, n| format!("{n}. __{name}__:"),
        |name, _| format!("{name}:"),
        |name, n| format!("{n}) {name}"),
        |name, _| String::from(name.trim_end_matches('s')),
    ];
    for form in forms {
        let mut text = String::from("Summary\n\n");
        for (line, n) in GOOD.lines().zip([1, 0, 2, 0, 0, 3, 0, 4, 0]) {
            match line.strip_prefix("## ") {
                Some(name) => text.push_str(&form(name, n)),
                None => text.push_str(line),
            }
            text.push('\n');
        }
        assert_eq!(parse_summary(&text).as_deref(), Ok(GOOD), "{text}");
    }
}

#[test]
fn a_section_may_stand_on_the_line_of_its_heading() {
    let plain = "Goal: Ship it.\nDone:\n- one\n- two\nOpen: None.\nFacts: src/a.rs";
    assert_eq!(parse_summary(plain).as_deref(), Ok(GOOD));
    let bold = "**Goal:** Ship it.\n**Done**\n- one\n- two\n**Open**: None.\n**Facts: src/a.rs**";
    assert_eq!(parse_summary(bold).as_deref(), Ok(GOOD));
}

#[test]
fn sections_may_come_in_another_order_or_language() {
    let turned = "## Facts\nsrc/a.rs\n## Open\n## Goal\nShip it.\n## Done\n- one\n- two";
    assert_eq!(parse_summary(turned).as_deref(), Ok(GOOD));
    let german = "# Zusammenfassung\n## Ziel\nShip it.\n## Erledigt\n- one\n- two\n## Offen\n\
                  ## Fakten\nsrc/a.rs";
    assert_eq!(parse_summary(german).as_deref(), Ok(GOOD));
    let chinese = "目标：\nShip it.\n已完成：\n- one\n- two\n待办：\n事实：\nsrc/a.rs";
    assert_eq!(parse_summary(chinese).as_deref(), Ok(GOOD));
    let bold = "**Ziel**\nShip it.\n**Erledigt**\n- one\n- two\n**Offen**\n**Fakten**\nsrc/a.rs";
    assert_eq!(parse_summary(bold).as_deref(), Ok(GOOD));
}

#[test]
fn text_that_resembles_a_heading_stays_text() {
    let odd = "## Goal\nShip it.\nDone: when the tests pass\n**Open** the file\n### Files\n- a.rs\n\
               ## Done\nyes\n## Open\n- Goal: more\n## Facts\nok\n## Done\nmore";
    assert_eq!(parse_summary(odd).as_deref(), Ok(odd));
}

#[test]
fn a_summary_that_ends_early_has_what_came() {
    assert_eq!(
        parse_summary("## Goal\nwin\n## Done\n- half").as_deref(),
        Ok("## Goal\nwin\n## Done\n- half")
    );
    let long = format!("## Goal\nwin\n## Facts\n{}", "x".repeat(70_000));
    let read = parse_summary(&long).unwrap();
    assert_eq!(read.len(), 64 * 1024);
}

#[test]
fn says_why_a_summary_cannot_be_used() {
    let none = "the model's answer has none of the headings of a summary";
    let goal = "the model's summary names no goal";
    let cases = [
        (String::new(), none),
        (String::from("I cannot do that."), none),
        (String::from("# One\na\n# Two\nb"), none),
        (GOOD.replace("Ship it.", " "), goal),
        (GOOD.replace("## Goal\nShip it.\n", ""), goal),
    ];
    for (text, why) in cases {
        assert_eq!(parse_summary(&text), Err(String::from(why)), "{text}");
    }
}

#[test]
fn a_cut_takes_whole_lines_of_the_longest_section_and_says_so() {
    let facts = "\n- a fact of some length".repeat(20);
    let long = format!("## Goal\nwin\n## Done\nmuch\n## Open\nNone.\n## Facts{facts}");
    assert_eq!(cut_summary(&long, long.len()), long);
    let text = cut_summary(&long, 200);
    let facts = "\n- a fact of some length".repeat(4);
    let mark = "[cut here: the summary was too long]";
    let cut = format!("## Goal\nwin\n## Done\nmuch\n## Open\nNone.\n## Facts{facts}\n{mark}");
    assert_eq!(text, cut);
    for most in 0..600 {
        assert!(cut_summary(&long, most).len() <= most, "{most}");
    }
    let line = format!("## Goal\n{}", "x".repeat(100));
    assert_eq!(cut_summary(&line, 50), format!("## Goal\n{mark}"));
}
