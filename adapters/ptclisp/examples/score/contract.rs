//! Compares what is found in a model's answer, and what a signature says of a value, with what was
//! recorded.

use serde_json::{Value as Json, json};
use windlass_kit_ptclisp::Signature;
use windlass_kit_ptclisp::signature::PathSegment;
use windlass_ptclisp::{ExtractError, extract, without_prose};

use crate::judge::Board;

/// One answer. Strict: also what the history keeps of it.
pub(crate) fn answer(row: &Json, board: &mut Board) {
    let text = row["response"].as_str().unwrap_or_default();
    let actual = match extract(text) {
        Ok(found) => json!({"ok": found.program}),
        Err(ExtractError::Several { count }) => {
            json!({"error": "multiple_code_blocks", "count": count})
        }
        Err(error) => json!({"error": error.name()}),
    };
    let kept = json!(without_prose(text));
    let loose = actual == row["expect"];
    let strict = loose && kept == row["history_text"];
    let expected = format!("{} {}", row["expect"], row["history_text"]);
    tell(board, "extract", row, (strict, loose), &expected, &format!("{actual} {kept}"));
}

/// One signature and a value. The words of a text that is refused are not compared.
pub(crate) fn signature(row: &Json, board: &mut Board) {
    let mut expected = row["expect"].clone();
    if let Some(words) = expected.get_mut("parse_error") {
        *words = Json::Bool(true);
    }
    let actual = match Signature::parse(row["signature"].as_str().unwrap_or_default()) {
        Err(_) => json!({"parse_error": true}),
        Ok(signature) => match signature.output().check(&row["value"]) {
            Ok(()) => json!({"ok": true, "rendered": signature.rendered()}),
            Err(wrong) => {
                let errors = wrong.listed.iter().map(|mismatch| {
                    let path = mismatch.path.iter().map(|segment| match segment {
                        PathSegment::Field(name) => json!(**name),
                        PathSegment::Item(at) => json!(at),
                    });
                    json!({"path": path.collect::<Vec<_>>(), "message": mismatch.message()})
                });
                json!({"ok": false, "errors": errors.collect::<Vec<_>>()})
            }
        },
    };
    let loose = actual["ok"] == expected["ok"] && actual["parse_error"] == expected["parse_error"];
    let strict = actual == expected;
    tell(board, "signatures", row, (strict, loose), &expected.to_string(), &actual.to_string());
}

fn tell(
    board: &mut Board,
    group: &str,
    row: &Json,
    (strict, loose): (bool, bool),
    expected: &str,
    actual: &str,
) {
    board.add(group, strict, loose);
    if !strict {
        let mark = if loose { "strict" } else { "LOOSE" };
        let how = format!("{mark} {row}\n  expected {expected}\n  actual   {actual}");
        board.failing.push((group.to_owned(), how));
    }
}
