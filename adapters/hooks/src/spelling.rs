//! Misspelt keys of a decision. Pure.

use crate::event;

/// Keys whose absence changes what a hook decides.
const DECIDING: [&str; 9] = [
    "behavior",
    "continue",
    "decision",
    "hookEventName",
    "hookSpecificOutput",
    "interrupt",
    "permissionDecision",
    "updatedInput",
    "updatedPrompt",
];

/// Returns the deciding key that an unknown key is meant to be, if it resembles one: another case,
/// another separator, up to two other letters after the first, or the same key in a wrong place.
/// Words such as `revision` differ from `decision` in their first letter.
pub(crate) fn meant(unknown: &str) -> Option<&'static str> {
    let written = plain(unknown);
    let near = |key: &&&str| {
        let key = plain(key);
        written.first() == key.first() && distance(&written, &key) <= 2
    };
    DECIDING.iter().find(near).copied()
}

fn plain(key: &str) -> Vec<char> {
    event::plain(key).chars().take(64).collect()
}

/// Returns the number of letters to insert, remove or replace.
fn distance(from: &[char], to: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (index, letter) in from.iter().enumerate() {
        let mut next = vec![index + 1];
        for ((other, above), corner) in to.iter().zip(row.iter().skip(1)).zip(&row) {
            let left = next.last().copied().unwrap_or(0);
            let replaced = corner + usize::from(letter != other);
            next.push(replaced.min(above + 1).min(left + 1));
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::meant;

    #[test]
    fn a_misspelt_key_of_a_decision_is_found() {
        for (unknown, key) in [
            ("desicion", Some("decision")),
            ("permission_decision", Some("permissionDecision")),
            ("permissionDecision", Some("permissionDecision")),
            ("hookSpecificOutputs", Some("hookSpecificOutput")),
            ("Continue", Some("continue")),
            ("behaviour", Some("behavior")),
            ("updated_input", Some("updatedInput")),
            ("note", None),
            ("revision", None),
            ("precision", None),
            ("decisionId", Some("decision")),
            ("decisionReason", None),
            ("", None),
        ] {
            assert_eq!(meant(unknown), key, "{unknown}");
        }
    }
}
