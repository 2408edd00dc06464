//! Gates, as canonical text: which hooks are asked, and what they have said.

use windlass_core::{Asking, Gate, Gates, Passed, Word};

use super::canon::Lines;
use super::state;

/// The gates of a session, a turn or a call.
pub(super) fn lines(lines: &mut Lines, name: &str, gates: &Gates) {
    let Gates { open, passed } = gates;
    if let Some(gate) = open {
        let Gate {
            at,
            out,
            heard,
            word: said,
            contexts,
        } = gate;
        let name = format!("{name}.open");
        lines.put(&format!("{name}.at"), at);
        for asking in out {
            let Asking {
                hook,
                asked,
                attempt,
                since,
            } = asking;
            lines.put(&format!("{name}.out"), &(hook, asked, attempt, since));
        }
        for hook in heard {
            lines.put(&format!("{name}.heard"), hook);
        }
        word(lines, &name, said);
        for (hook, pending) in contexts {
            let name = format!("{name}.context.{hook}");
            state::pending(lines, &name, std::iter::once(pending));
        }
    }
    for (index, Passed { at, word: said }) in passed.iter().enumerate() {
        let name = format!("{name}.passed.{index}");
        lines.put(&format!("{name}.at"), at);
        word(lines, &name, said);
    }
}

fn word(lines: &mut Lines, name: &str, word: &Word) {
    let name = format!("{name}.word");
    match word {
        Word::Pass => lines.put(&name, &"pass"),
        Word::Allow => lines.put(&name, &"allow"),
        Word::Ask => lines.put(&name, &"ask"),
        Word::Deny { decided, reason } => lines.put(&name, &("deny", decided, reason)),
    }
}
