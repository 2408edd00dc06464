//! `try`, `catch` and `finally`: where a fault is caught, and what is done then.

use crate::analyze::{AnalyzeResult, Analyzer, invalid, shape};
use crate::code::{CaughtFaults, Handler, Op};
use crate::fault::{Fault, FaultClass};
use crate::form::{Form, FormKind};

const EXPECTED: &str = "(try body ... (catch Exception e body ...) (finally body ...))";

/// One `catch` of a `try`.
struct CatchClause<'a> {
    faults: CaughtFaults,
    name: &'a str,
    body: &'a [Form],
    at: u32,
}

/// The parts of a `try`.
struct TryParts<'a> {
    body: &'a [Form],
    catches: Vec<CatchClause<'a>>,
    last: Option<&'a [Form]>,
}

impl Analyzer<'_> {
    pub(super) fn try_form(&mut self, at: u32, rest: &[Form]) -> AnalyzeResult {
        let parts = self.try_parts(rest)?;
        self.scoped(|this| {
            let height = this.slot();
            this.emit(Op::Enter(height), at);
            let start = this.here();
            this.body(at, parts.body, false)?;
            let end = this.here();
            let mut dones = vec![this.emit(Op::Jump(0), at)];
            for clause in &parts.catches {
                this.handler(start, end, height, clause.faults);
                this.scoped(|this| {
                    let slot = this.slot();
                    this.emit(Op::Store(slot), clause.at);
                    this.name_slot(clause.name, slot);
                    this.body(clause.at, clause.body, false)
                })?;
                dones.push(this.emit(Op::Jump(0), clause.at));
            }
            dones.into_iter().for_each(|done| this.land(done));
            match parts.last {
                Some(last) => this.finally(at, start, height, last),
                None => Ok(()),
            }
        })
    }

    /// Compiles the `finally` body for the normal end and for a passing fault. The value of the `try` is on the
    /// stack.
    fn finally(&mut self, at: u32, start: u32, height: u32, last: &[Form]) -> AnalyzeResult {
        let end = self.here();
        self.scoped(|this| {
            let passing = this.slot();
            this.emit_nil(at);
            this.emit(Op::Store(passing), at);
            let normal = this.emit(Op::Jump(0), at);
            this.handler(start, end, height, CaughtFaults::Passing);
            this.emit(Op::Store(passing), at);
            // The stack is as high as at a normal end.
            this.emit_nil(at);
            this.land(normal);
            this.body(at, last, false)?;
            this.emit(Op::Pop, at);
            this.emit(Op::Rethrow(passing), at);
            Ok(())
        })
    }

    /// Notes that faults between two operations are handled from here on.
    fn handler(&mut self, start: u32, end: u32, height: u32, faults: CaughtFaults) {
        let goal = self.here();
        self.top().proto.handlers.push(Handler { start, end, goal, height, faults });
    }

    fn try_parts<'a>(&mut self, rest: &'a [Form]) -> Result<TryParts<'a>, Fault> {
        let is_part = |form: &Form| matches!(head(form), Some("catch" | "finally"));
        let split = rest.iter().position(is_part).unwrap_or(rest.len());
        let (body, parts) = rest.split_at(split);
        let (mut catches, mut last) = (Vec::new(), None);
        for part in parts {
            let FormKind::List(forms) = &part.kind else {
                return shape(part.at, EXPECTED);
            };
            match (forms.as_slice(), head(part)) {
                _ if last.is_some() => return shape(part.at, EXPECTED),
                ([_, class, name, body @ ..], Some("catch")) => {
                    let Some(name) = name.as_sym().filter(|name| !name.contains('/')) else {
                        return shape(name.at, "(catch Exception e body ...)");
                    };
                    let faults = caught(class)?;
                    catches.push(CatchClause { faults, name, body, at: part.at });
                }
                ([_, body @ ..], Some("finally")) => last = Some(body),
                _ => return shape(part.at, "(catch Exception e body ...)"),
            }
        }
        Ok(TryParts { body, catches, last })
    }
}

/// The name that a list begins with.
fn head(form: &Form) -> Option<&str> {
    match &form.kind {
        FormKind::List(forms) => forms.first()?.as_sym(),
        _ => None,
    }
}

/// The faults of a class as it is written: a class of Java's, or the keyword of a class of faults.
fn caught(class: &Form) -> Result<CaughtFaults, Fault> {
    if let Some(word) = class.as_kw() {
        if word == "default" {
            return Ok(CaughtFaults::All);
        }
        return match FaultClass::of_name(&word.replace('-', "_")) {
            Some(class) if !class.is_limit() => Ok(CaughtFaults::Class(class)),
            Some(_) => invalid(class.at, format!("a fault of the class :{word} cannot be caught")),
            None => invalid(class.at, format!("there is no class of faults :{word}")),
        };
    }
    let name = class.as_sym().unwrap_or_default();
    match name.rsplit('.').next().unwrap_or_default() {
        "Exception" | "Throwable" | "Error" | "Object" | "RuntimeException" => {
            Ok(CaughtFaults::All)
        }
        "ExceptionInfo" | "IllegalArgumentException" => Ok(CaughtFaults::Class(FaultClass::Thrown)),
        "ArithmeticException" => Ok(CaughtFaults::Class(FaultClass::Arithmetic)),
        _ => {
            let message = format!("(catch {} ...) names no known class", class.described());
            let hint = "Write (catch Exception e ...), or the class that a fault begins with, as in \
                        (catch :tool_error e ...).";
            Err(Fault::new(FaultClass::InvalidForm, message).hint(hint).at(class.at))
        }
    }
}
