//! What the reader makes of texts.

use super::*;

fn forms(source: &str) -> Text {
    read(source, &Limits::default()).expect("reads")
}

fn fault(source: &str) -> Fault {
    read(source, &Limits::default()).expect_err("faults")
}

#[test]
fn a_surplus_parenthesis_is_left_out_and_recorded() {
    let text = forms("(+ 1 2))\n(inc 1)");
    assert_eq!(text.forms.len(), 2);
    assert_eq!(
        text.repairs,
        [Repair {
            removed: ')',
            position: Position { line: 1, column: 8 }
        }]
    );
}

#[test]
fn a_surplus_parenthesis_within_a_vector_is_left_out_too() {
    let text = forms("(let [x (inc 1)) y 2] x)");
    assert_eq!(text.forms.len(), 1);
    assert_eq!(text.repairs.len(), 1);
    let fault = fault("(let [x (inc 1) x)");
    assert!(
        fault.message.starts_with("expected ']' but found ')'"),
        "{fault}"
    );
    assert_eq!(
        fault.position,
        Some(Position {
            line: 1,
            column: 18
        })
    );
}

#[test]
fn a_parenthesis_before_any_form_is_a_fault() {
    assert_eq!(fault(")").class, Class::Parse);
}

#[test]
fn an_open_list_is_told_with_its_end() {
    let fault = fault("(+ 1");
    assert_eq!(fault.message, "unclosed list");
    assert_eq!(fault.position, Some(Position { line: 1, column: 5 }));
}

#[test]
fn nesting_is_bounded() {
    assert_eq!(fault(&"(".repeat(60_000)).class, Class::Depth);
    assert_eq!(fault(&"'".repeat(60_000)).class, Class::Depth);
    assert_eq!(fault(&"#_ ".repeat(20_000)).class, Class::Depth);
}

#[test]
fn a_ratio_is_a_number_and_a_symbol() {
    let text = forms("1/2");
    assert_eq!(text.forms.len(), 2);
    assert_eq!(text.forms[1].as_sym(), Some("/2"));
}

#[test]
fn characters_have_names() {
    for (source, text) in [
        ("\\a", "a"),
        ("\\newline", "\n"),
        ("\\u0041", "A"),
        ("\\(", "("),
    ] {
        let read = forms(source);
        assert!(
            matches!(&read.forms[0].kind, FormKind::Str(s) if **s == *text),
            "{source}"
        );
    }
}
