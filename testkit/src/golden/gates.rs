//! Gates, as canonical text: which hooks are asked, and what they have said.

use windlass_core::{CombinedVerdict, FinishedRound, HookRound, HookRounds, PendingHook};

use super::canon::Lines;
use super::state;

/// The gates of a session, a turn or a call.
pub(super) fn lines(lines: &mut Lines, name: &str, gates: &HookRounds) {
    let HookRounds { open, finished: passed } = gates;
    if let Some(gate) = open {
        let HookRound { at, pending: out, answered: heard, verdict: said, contexts, all } = gate;
        let name = format!("{name}.open");
        lines.put(&format!("{name}.at"), at);
        lines.flag(&format!("{name}.all"), *all);
        for asking in out {
            let PendingHook { hook, asked, attempt, since } = asking;
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
    // The log says which replies gave context.
    for (index, FinishedRound { at, verdict: said, contexts: _ }) in passed.iter().enumerate() {
        let name = format!("{name}.passed.{index}");
        lines.put(&format!("{name}.at"), at);
        word(lines, &name, said);
    }
}

fn word(lines: &mut Lines, name: &str, word: &CombinedVerdict) {
    let name = format!("{name}.word");
    match word {
        CombinedVerdict::Pass => lines.put(&name, &"pass"),
        CombinedVerdict::Allow => lines.put(&name, &"allow"),
        CombinedVerdict::Ask => lines.put(&name, &"ask"),
        CombinedVerdict::Deny { decided, reason } => lines.put(&name, &("deny", decided, reason)),
    }
}
