//! Tests of the spellings of command lines, of patterns, and of hostile lines.

use super::{Certainty, CommandLine, CommandPattern, parse_at};

/// Spellings with the expected verdicts.
const SPELLINGS: &str = include_str!("spellings.txt");

fn unescaped(text: &str) -> String {
    let mut line = String::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match (c, c == '\\') {
            (_, true) => match rest.next() {
                Some('n') => line.push('\n'),
                Some('t') => line.push('\t'),
                Some('\\') => line.push('\\'),
                other => panic!("the escape {other:?} in {text}"),
            },
            (c, false) => line.push(c),
        }
    }
    line
}

fn allowed(patterns: &[&str], line: &str) -> bool {
    let patterns: Vec<CommandPattern> =
        patterns.iter().map(|pattern| CommandPattern::new(pattern)).collect();
    !CommandLine::new(line).allowed_by(&patterns).is_empty()
}

fn denied(pattern: &str, line: &str) -> Certainty {
    CommandLine::new(line).matches(&CommandPattern::new(pattern))
}

#[test]
fn spellings_are_read_as_a_shell_reads_them() {
    let mut wrong = String::new();
    let mut count = 0;
    for row in SPELLINGS.lines().filter(|row| !row.is_empty() && !row.starts_with('#')) {
        let [allow, deny, text] = row.splitn(3, ' ').collect::<Vec<_>>()[..] else {
            panic!("the row {row}");
        };
        let line = unescaped(text);
        let runs = if allowed(&["git log *"], &line) { "runs" } else { "asks" };
        let denial = match denied("rm *", &line) {
            Certainty::No => "passes",
            Certainty::Possible => "asks",
            Certainty::Certain => "denies",
        };
        if (runs, denial) != (allow, deny) {
            wrong.push_str(&format!("{runs} {denial}, not {allow} {deny}: {text}\n"));
        }
        count += 1;
    }
    assert!(wrong.is_empty(), "\n{wrong}");
    assert!(count > 150, "{count}");
}

#[test]
fn several_patterns_may_allow_the_parts_of_a_line() {
    let patterns = ["git log *", "head*", "make"];
    assert!(allowed(&patterns, "git log -1 | head -3"));
    assert!(allowed(&patterns, "make && git log -- $(make) | head"));
    assert!(!allowed(&patterns, "git log -1 | head -3 | tee x"));
    let rules: Vec<CommandPattern> =
        patterns.iter().map(|text| CommandPattern::new(text)).collect();
    assert_eq!(CommandLine::new("make | head").allowed_by(&rules), [1, 2]);
}

#[test]
fn a_pattern_says_what_its_stars_may_not_reach() {
    assert!(allowed(&["git log * > *"], "git log -1 > x"));
    assert!(allowed(&["git log *", "git log *>x"], "git log -1 >x"));
    assert!(!allowed(&["git log * > x"], "git log -1 > y"));
    assert!(!allowed(&["*"], "git log > x"));
    assert!(!allowed(&["find *"], "find . -exec rm {} ;"));
    assert!(allowed(&["find *", "rm *"], "find . -exec rm {} \\;"));
    assert!(allowed(&["find * -exec grep *"], "find . -exec grep x {} +"));
    assert!(allowed(&["sudo apt *"], "sudo apt update"));
    assert!(!allowed(&["sudo *"], "sudo apt update"));
    assert!(allowed(&["sh -c 'make test'"], "sh -c 'make test'"));
    assert!(!allowed(&["sh -c *"], "sh -c 'make test'"));
    assert!(allowed(&["FOO=* make"], "FOO=1 make"));
    assert!(!allowed(&["*"], "$X"));
    assert!(!allowed(&["*"], "'"));
    // The exact line, as a person saw it.
    assert!(allowed(&["git log -1 | tee x"], "git log -1 | tee x"));
}

#[test]
fn words_of_patterns_and_lines_are_compared_without_their_quotes() {
    assert!(allowed(&["git commit -m 'a b'"], "git commit -m \"a b\""));
    assert!(!allowed(&["git commit -m a b"], "git commit -m 'a b'"));
    assert!(allowed(&["echo *"], "echo 'a  b'"));
    assert!(allowed(&["echo \\*"], "echo '*'"));
    assert!(!allowed(&["echo \\*"], "echo x"));
}

#[test]
fn a_denial_sees_what_it_saw_as_text() {
    assert_eq!(denied("*secret*", "cat secret/x"), Certainty::Certain);
    assert_eq!(denied("*secret*", "cat < se''cret"), Certainty::Certain);
    assert_eq!(denied("*secret*", "cat s$X"), Certainty::Possible);
    assert_eq!(denied("ls; *", "ls; x"), Certainty::Certain);
    assert_eq!(denied("git push *", "git -C .. -c a=b --no-pager push origin"), Certainty::Certain);
    assert_eq!(denied("rm *", "git -c alias.x='!rm y' x"), Certainty::Possible);
    assert_eq!(denied("*> x", "ls>x"), Certainty::Certain);
}

#[test]
fn hostile_lines_end_soon() {
    for open in [
        "(",
        "( ",
        "{ ",
        "$(",
        "${x:-",
        "`",
        "if ",
        "case x in ",
        "\"$(",
        "$((",
        "<(",
        "[[ (",
        "sudo ",
        "eval ",
        "<<E ",
        "x=",
        "' ",
    ] {
        for count in [20, 1_000, 8_000] {
            let line = open.repeat(count);
            let _ = denied("rm *", &line);
            let _ = allowed(&["git log *"], &line);
        }
    }
    assert!(parse_at(&"x".repeat(100_000), 0).is_err());
}
