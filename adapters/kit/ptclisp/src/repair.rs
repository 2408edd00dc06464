//! Finds the surplus one of several closing parentheses.
//!
//! The surplus parenthesis in `(let [a 1] (f a)) (return a))` shows at the end, but it may be the one that
//! closed the `let` early. If a name has no meaning without the last one, and every name has one without an
//! earlier one, the earlier one is the slip.

use std::sync::Arc;

use crate::analyze::{NameScope, analyze};
use crate::code::Proto;
use crate::fault::{Fault, FaultClass, place};
use crate::limits::Limits;
use crate::read::{ParsedText, TextRepair, read};

/// Most earlier parentheses that are tried for a surplus one.
const TRIED: usize = 8;
/// Most surplus parentheses that are repaired.
const SLIPS: u32 = 3;
/// Most texts that are tried in all.
const TEXTS: u32 = 64;

/// The program read with earlier parentheses left out, if that gives the unknown name its meaning.
pub(crate) fn closed_early(
    source: &str,
    text: &ParsedText,
    fault: &Fault,
    scope: &NameScope<'_>,
    limits: &Limits,
) -> Option<(Arc<Proto>, Vec<TextRepair>)> {
    if fault.class != FaultClass::UnboundVar {
        return None;
    }
    let mut search = RepairSearch { scope, limits, texts: TEXTS };
    search.earlier(source, &text.ends, text.surplus?, SLIPS)
}

struct RepairSearch<'a> {
    scope: &'a NameScope<'a>,
    limits: &'a Limits,
    texts: u32,
}

impl RepairSearch<'_> {
    /// Tries each parenthesis that closed a form before the one too many, the nearest first.
    fn earlier(
        &mut self,
        source: &str,
        ends: &[usize],
        surplus: usize,
        slips: u32,
    ) -> Option<(Arc<Proto>, Vec<TextRepair>)> {
        let before = ends.iter().rev().copied().filter(|end| *end <= surplus);
        for end in before.take(TRIED) {
            let at = end.checked_sub(1)?;
            if source.as_bytes().get(at) != Some(&b')') {
                continue;
            }
            self.texts = self.texts.checked_sub(1)?;
            // A blank in its place keeps all other places where they are.
            let mut tried = source.to_owned();
            tried.replace_range(at..end, " ");
            let Ok(text) = read(&tried, self.limits) else {
                continue;
            };
            let found = match (analyze(&text.forms, self.scope), text.surplus) {
                (Ok(proto), _) => Some((proto, text.repairs)),
                (Err(_), Some(next)) if slips > 1 => {
                    self.earlier(&tried, &text.ends, next, slips - 1)
                }
                (Err(_), _) => None,
            };
            if let Some((proto, mut repairs)) = found {
                let position = place(source, at as u32);
                repairs.insert(0, TextRepair { removed: ')', position });
                return Some((proto, repairs));
            }
        }
        None
    }
}
