//! Threading: `->`, `->>`, `as->`, `some->`, `cond->` and their like, step by step through one slot.

use crate::analyze::{AnalyzeResult, Analyzer};
use crate::code::Op;
use crate::fault::{Fault, FaultClass};
use crate::form::{Form, FormKind};

impl Analyzer<'_> {
    pub(super) fn thread_form(&mut self, name: &str, at: u32, rest: &[Form]) -> AnalyzeResult {
        let Some((first, steps)) = rest.split_first() else {
            return thread(at, &format!("expected ({name} expr step ...)"));
        };
        let last = name.ends_with(">>");
        let guarded = name.starts_with("some");
        self.scoped(|this| {
            this.expr(first, false)?;
            let slot = this.slot();
            let hidden = this.hidden_name();
            this.name_slot(&hidden, slot);
            this.emit(Op::Store(slot), first.at);
            let mut ends = Vec::new();
            for step in steps {
                if guarded {
                    ends.push(this.emit(Op::IfNil(slot, 0), step.at));
                }
                let call = this.threaded(step, &hidden, last)?;
                this.expr(&call, false)?;
                this.emit(Op::Store(slot), step.at);
            }
            ends.into_iter().for_each(|end| this.land(end));
            this.load_slot(slot, at);
            Ok(())
        })
    }

    pub(super) fn cond_thread_form(&mut self, name: &str, at: u32, rest: &[Form]) -> AnalyzeResult {
        let Some((first, clauses)) = rest.split_first() else {
            return thread(at, &format!("expected ({name} expr test step ...)"));
        };
        if clauses.len() % 2 == 1 {
            return thread(at, &format!("{name} needs a step for each test"));
        }
        let last = name.ends_with(">>");
        self.scoped(|this| {
            this.expr(first, false)?;
            let slot = this.slot();
            let hidden = this.hidden_name();
            this.name_slot(&hidden, slot);
            this.emit(Op::Store(slot), first.at);
            for clause in clauses.chunks(2) {
                let [test, step] = clause else { continue };
                this.expr(test, false)?;
                let next = this.emit(Op::IfFalse(0), test.at);
                let call = this.threaded(step, &hidden, last)?;
                this.expr(&call, false)?;
                this.emit(Op::Store(slot), step.at);
                this.land(next);
            }
            this.load_slot(slot, at);
            Ok(())
        })
    }

    pub(super) fn as_thread_form(&mut self, at: u32, rest: &[Form]) -> AnalyzeResult {
        let [first, name, steps @ ..] = rest else {
            return thread(at, "expected (as-> expr name step ...)");
        };
        let Some(name) = name.as_sym() else {
            return thread(name.at, "as-> needs a name for the value");
        };
        self.scoped(|this| {
            this.expr(first, false)?;
            let slot = this.slot();
            this.emit(Op::Store(slot), first.at);
            this.name_slot(name, slot);
            for step in steps {
                this.expr(step, false)?;
                this.emit(Op::Store(slot), step.at);
            }
            this.load_slot(slot, at);
            Ok(())
        })
    }

    /// A step as a call with the value as its first or last argument.
    fn threaded(&mut self, step: &Form, hidden: &str, last: bool) -> Result<Form, Fault> {
        let mut forms = match &step.kind {
            FormKind::List(forms) if !forms.is_empty() => forms.clone(),
            _ => vec![step.clone()],
        };
        let place = if last { forms.len() } else { 1 };
        if let Some(head) = forms[0].as_sym()
            && !self.is_local(head)
            && let Some((why, instead)) = no_step(head, place - 1)
        {
            let fault = Fault::new(FaultClass::InvalidThread, why);
            return Err(fault.hint(instead).at(step.at));
        }
        forms.insert(place, Form::symbol(step.at, hidden));
        Ok(Form::new(step.at, FormKind::List(forms)))
    }
}

/// The fault of a threading form that is not whole.
fn thread(at: u32, message: &str) -> AnalyzeResult {
    Err(Fault::new(FaultClass::InvalidThread, message).at(at))
}

/// Explains a form of this name that makes no step with so many forms before the value, with a remedy. After
/// its parameters the value is a function's body, and after its name a definition's value.
fn no_step(name: &str, before: usize) -> Option<(&'static str, &'static str)> {
    let name = name.strip_prefix("clojure.core/").unwrap_or(name);
    match name.strip_prefix("core/").unwrap_or(name) {
        "fn" if before != 1 => Some((
            "fn as a step makes a function and does not call it",
            "Put it into parentheses of its own, so that it is called: ((fn [x] ...)).",
        )),
        "quote" => {
            Some(("quote as a step takes the name of the value, not the value", "Leave it out."))
        }
        "def" | "defonce" | "defn" | "defn-" if before == 0 => Some((
            "a definition as a step has no name: the value stands in its place",
            "Define the whole: (def name (-> ...)).",
        )),
        _ => None,
    }
}
