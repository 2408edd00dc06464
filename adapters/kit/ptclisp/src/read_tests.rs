//! What the reader makes of texts.

use super::*;

fn forms(source: &str) -> ParsedText {
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
        [TextRepair { removed: ')', position: Position { line: 1, column: 8 } }]
    );
}

#[test]
fn a_surplus_parenthesis_within_a_vector_is_left_out_too() {
    let text = forms("(let [x (inc 1)) y 2] x)");
    assert_eq!(text.forms.len(), 1);
    assert_eq!(text.repairs.len(), 1);
    let fault = fault("(let [x (inc 1) x)");
    assert!(fault.message.starts_with("expected ']' but found ')'"), "{fault}");
    assert_eq!(fault.position, Some(Position { line: 1, column: 18 }));
}

#[test]
fn a_parenthesis_before_any_form_is_a_fault() {
    assert_eq!(fault(")").class, FaultClass::Parse);
}

#[test]
fn an_open_list_is_told_with_its_beginning() {
    let fault = fault("1 (+ 1");
    assert_eq!(fault.message, "'(+' is not closed");
    assert_eq!(fault.position, Some(Position { line: 1, column: 3 }));
}

#[test]
fn nesting_is_bounded() {
    assert_eq!(fault(&"(".repeat(60_000)).class, FaultClass::Depth);
    assert_eq!(fault(&"'".repeat(60_000)).class, FaultClass::Depth);
    assert_eq!(fault(&"#_ ".repeat(20_000)).class, FaultClass::Depth);
}

#[test]
fn a_number_that_is_not_written_so_is_told_with_how_to_write_it() {
    for (source, word, column, instead) in [
        ("(inc .5)", ".5", 6, "Write 0.5."),
        ("[-.25]", "-.25", 2, "Write -0.25."),
        ("(inc 1.)", "1.", 6, "Write 1.0."),
        ("{:a 0x1F}", "0x1F", 5, "Write 31."),
        ("(let [n -1_000] n)", "-1_000", 9, "Write -1000."),
        ("1_000.5", "1_000.5", 1, "Write 1000.5."),
        ("[1/2]", "1/2", 2, "Write (/ 1 2)."),
        ("(f 1N)", "1N", 4, "Write 1."),
        ("(f 1.5M)", "1.5M", 4, "Write 1.5."),
        ("1.2.3", "1.2.3", 1, "Write an integer as 1000 and any other number as 0.5 or 1e3."),
        ("5kg", "5kg", 1, "Write an integer as 1000 and any other number as 0.5 or 1e3."),
    ] {
        let fault = fault(source);
        assert_eq!(fault.class, FaultClass::UnboundVar, "{source}");
        assert_eq!(fault.message, format!("{word} is not how a number is written"));
        assert_eq!(fault.hint.as_deref(), Some(instead), "{source}");
        assert_eq!(fault.position, Some(Position { line: 1, column }), "{source}");
    }
}

#[test]
fn what_only_looks_like_such_a_number_is_read() {
    for (source, forms_there) in [
        ("1 -1 +1 1.5 -1.5e3 1E-2", 6),
        ("[1[2]3] 1\"a\" {1:a}", 4),
        (". .. .length -. a.5 x1 ... .-", 8),
    ] {
        assert_eq!(forms(source).forms.len(), forms_there, "{source}");
    }
}

#[test]
fn characters_have_names() {
    for (source, text) in [("\\a", "a"), ("\\newline", "\n"), ("\\u0041", "A"), ("\\(", "(")] {
        let read = forms(source);
        assert!(matches!(&read.forms[0].kind, FormKind::Str(s) if **s == *text), "{source}");
    }
}
