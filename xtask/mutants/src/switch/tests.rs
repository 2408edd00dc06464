//! A switch against the text as cargo-mutants changes it, both built and run.

use std::fs;
use std::process::Command;

use super::*;
use crate::list::Genre;

/// Returns the mutations of `what` in `text`, one for each replacement.
fn of(text: &str, genre: Genre, what: &str, replacements: &[&str]) -> Vec<Mutation> {
    let at = text.find(what).unwrap();
    let place = |at: usize| {
        let before = &text[..at];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap().chars().count() + 1;
        Place { line, column }
    };
    let span = Span { start: place(at), end: place(at + what.len()) };
    let mutation = |replacement: &&str| Mutation {
        name: format!("{what} with {replacement}"),
        file: String::from("core/src/lib.rs"),
        genre,
        replacement: (*replacement).to_owned(),
        span,
    };
    replacements.iter().map(mutation).collect()
}

fn numbered(mutations: &[Mutation]) -> Vec<Numbered<'_>> {
    (1..).zip(mutations).collect()
}

const TEXT: &str = r#"
fn limit() -> u32 {
    7
}

fn told(a: u32, b: u32, more: bool) -> String {
    let mut sum = a;
    sum += b;
    let word = match sum {
        0 => "none",
        1 if !more => "one",
        _ if a < b && more => "more",
        _ => "some",
    };
    let apart = a * 2 != b || b > a;
    format!("{word} {apart} {sum} of {}", limit())
}
"#;

fn all() -> Vec<Mutation> {
    [
        of(TEXT, Genre::FnValue, "7", &["1"]),
        of(TEXT, Genre::BinaryOperator, "+=", &["-=", "*="]),
        of(TEXT, Genre::MatchArm, "0 => \"none\",", &[""]),
        of(TEXT, Genre::UnaryOperator, "!", &[""]),
        of(TEXT, Genre::MatchArmGuard, "!more", &["true", "false"]),
        of(TEXT, Genre::BinaryOperator, "<", &["==", ">", "<="]),
        of(TEXT, Genre::BinaryOperator, "&&", &["||"]),
        of(TEXT, Genre::MatchArm, "_ if a < b && more => \"more\",", &[""]),
        of(TEXT, Genre::BinaryOperator, "*", &["+", "/"]),
        of(TEXT, Genre::BinaryOperator, "!=", &["=="]),
        of(TEXT, Genre::BinaryOperator, "||", &["&&"]),
    ]
    .concat()
}

/// The text as cargo-mutants changes it.
fn changed(mutation: &Mutation) -> String {
    let range = Lines::of(TEXT).named(mutation.span);
    let mut text = TEXT.to_owned();
    text.replace_range(range, &mutation.replacement);
    text
}

/// Program with the given texts as modules. With a mutation switched on, it prints the result of each
/// text for some numbers.
struct Program {
    folder: tempfile::TempDir,
    texts: usize,
}

const CALLS: &str = "
pub fn all() -> String {
    let mut said = String::new();
    for a in 0..3 {
        for b in 0..5 {
            for more in [false, true] {
                let told = std::panic::catch_unwind(|| told(a, b, more));
                said += &told.unwrap_or_default();
                said += \"; \";
            }
        }
    }
    said
}
";

impl Program {
    fn build(texts: &[String]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (mut source, mut main) = (format!("#![allow(warnings)]{READER}"), String::new());
        for (nth, text) in texts.iter().enumerate() {
            source += &format!("mod text_{nth} {{ {text} {CALLS} }}\n");
            main += &format!("println!(\"{{}}\", text_{nth}::all());\n");
        }
        source += &format!("fn main() {{ {main} }}\n");
        fs::write(folder.path().join("main.rs"), &source).unwrap();
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let built = Command::new(rustc)
            .args(["--edition", "2024", "main.rs"])
            .current_dir(folder.path())
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&built.stderr);
        assert!(built.status.success(), "{source}\n{errors}");
        let texts = texts.len();
        Self { folder, texts }
    }

    fn run(&self, mutation: u32) -> Vec<String> {
        let output = Command::new(self.folder.path().join("main"))
            .env(VARIABLE, mutation.to_string())
            .output()
            .unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        let said: Vec<String> = said.lines().map(str::to_owned).collect();
        assert_eq!(said.len(), self.texts);
        said
    }
}

#[test]
fn each_switch_does_what_the_changed_text_does() {
    let mutations = all();
    let switched = switch(TEXT, &numbered(&mutations)).unwrap();
    assert_eq!(switched.numbers.len(), mutations.len());
    let mut texts = vec![switched.text, TEXT.to_owned()];
    texts.extend(mutations.iter().map(changed));
    let program = Program::build(&texts);
    let said = program.run(0);
    assert_eq!(said[0], said[1]);
    for (number, mutation) in numbered(&mutations) {
        let name = &mutation.name;
        let wanted = &said[number as usize + 1];
        assert_ne!(wanted, &said[1], "{name} can be told");
        assert_eq!(&program.run(number)[0], wanted, "{name}");
    }
}

#[test]
fn what_reads_no_switch_has_none() {
    let text = "const A: u32 = 2 * 3;\nconst fn a() -> bool { A > 1 }\n\
                fn b(c: Option<u32>) -> bool { if let Some(c) = c && c == 1 { true } else { false } }\n";
    let mutations = [
        of(text, Genre::BinaryOperator, "*", &["+"]),
        of(text, Genre::BinaryOperator, ">", &["<"]),
        of(text, Genre::BinaryOperator, "&&", &["||"]),
        of(text, Genre::BinaryOperator, "==", &["!="]),
    ]
    .concat();
    let switched = switch(text, &numbered(&mutations)).unwrap();
    assert_eq!(switched.numbers, [4]);
}

#[test]
fn an_error_names_its_mutations_by_their_marks() {
    let mutations = all();
    let switched = switch(TEXT, &numbered(&mutations)).unwrap();
    let found: Vec<u32> = switched.text.lines().flat_map(marks).collect();
    let mut numbers = switched.numbers;
    numbers.sort_unstable();
    let mut sorted = found.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, numbers);
}
