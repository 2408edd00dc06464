//! `for` and `doseq`: loops within the function that they stand in, so that a tool may be called in
//! any of them.

use crate::analyze::forms::pairs;
use crate::analyze::{AnalyzeResult, Analyzer, invalid, shape};
use crate::code::Op;
use crate::fault::Fault;
use crate::form::Form;
use crate::value::Value;

/// Use that a `for` makes of its body's values.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LoopResult {
    Into(u32),
    Nothing,
}

impl Analyzer<'_> {
    pub(super) fn for_form(&mut self, at: u32, rest: &[Form]) -> AnalyzeResult {
        let Some((bindings, body)) = rest.split_first() else {
            return shape(at, "(for [bindings] body)");
        };
        if body.is_empty() {
            return shape(at, "(for [bindings] body): for requires at least one body expression");
        }
        let bindings = each_pairs("for", at, bindings)?;
        self.scoped(|this| {
            let results = this.slot();
            this.emit(Op::Vec(0), at);
            this.emit(Op::Store(results), at);
            this.rounds(at, bindings, body, LoopResult::Into(results))?;
            this.load_slot(results, at);
            Ok(())
        })
    }

    pub(super) fn doseq_form(&mut self, at: u32, rest: &[Form]) -> AnalyzeResult {
        let Some((bindings, body)) = rest.split_first() else {
            return shape(at, "(doseq [bindings] body ...)");
        };
        if body.is_empty() {
            return shape(
                at,
                "(doseq [bindings] body ...): doseq requires at least one body expression",
            );
        }
        let bindings = each_pairs("doseq", at, bindings)?;
        self.scoped(|this| {
            this.rounds(at, bindings, body, LoopResult::Nothing)?;
            this.emit_nil(at);
            Ok(())
        })
    }

    /// One level of bindings with its modifiers, and all levels within.
    fn rounds(
        &mut self,
        at: u32,
        bindings: &[Form],
        body: &[Form],
        keep: LoopResult,
    ) -> AnalyzeResult {
        let [pattern, items, inner @ ..] = bindings else {
            // `recur` does not reach out of here: the body is no tail.
            self.body(at, body, false)?;
            match keep {
                LoopResult::Into(results) => self.emit(Op::Append(results), at),
                LoopResult::Nothing => self.emit(Op::Pop, at),
            };
            return Ok(());
        };
        self.scoped(|this| {
            this.expr(items, false)?;
            let slot = this.slot();
            let _index = this.slot();
            this.emit(Op::Store(slot), items.at);
            let name = pattern.as_sym().unwrap_or("pattern").to_owned();
            let name = this.constant(Value::text(&name));
            this.emit(Op::Items(slot, name), items.at);
            let start = this.here();
            let end = this.emit(Op::Each(slot, 0), pattern.at);
            this.bind_top(pattern)?;
            let (mut nexts, mut stops) = (Vec::new(), vec![end]);
            let mut rest = inner;
            while let [modifier, form, after @ ..] = rest
                && let Some(word) = modifier.as_kw()
            {
                rest = after;
                match word {
                    "let" => this.each_let(form)?,
                    "when" => {
                        this.expr(form, false)?;
                        nexts.push(this.emit(Op::IfFalse(0), form.at));
                    }
                    "while" => {
                        this.expr(form, false)?;
                        stops.push(this.emit(Op::IfFalse(0), form.at));
                    }
                    _ => {
                        let message = format!(
                            "unknown modifier :{word} in for/doseq. Known: :when, :let, :while"
                        );
                        return invalid(modifier.at, message);
                    }
                }
            }
            this.rounds(at, rest, body, keep)?;
            nexts.into_iter().for_each(|next| this.land(next));
            // Back by a plain jump: the items are what bounds the rounds.
            this.emit(Op::Jump(start), at);
            stops.into_iter().for_each(|stop| this.land(stop));
            Ok(())
        })
    }

    fn each_let(&mut self, form: &Form) -> AnalyzeResult {
        let Some(pairs) = form.as_vec() else {
            let message =
                format!(":let modifier requires a vector of bindings, got: {}", form.described());
            return invalid(form.at, message);
        };
        if pairs.len() % 2 == 1 {
            return invalid(form.at, ":let modifier requires pairs");
        }
        for pair in pairs.chunks(2) {
            if let [pattern, value] = pair {
                self.expr(value, false)?;
                self.bind_top(pattern)?;
            }
        }
        Ok(())
    }
}

/// The pairs of a `for`, which begin with a binding.
fn each_pairs<'a>(form: &'static str, at: u32, bindings: &'a Form) -> Result<&'a [Form], Fault> {
    if bindings.as_vec().is_none() {
        return shape(bindings.at, &format!("({form} [bindings] body ...)"));
    }
    let forms = pairs(form, at, Some(bindings))?;
    match forms.first() {
        None => invalid(bindings.at, format!("{form} needs at least one binding")),
        Some(first) if first.as_kw().is_some() => {
            invalid(first.at, format!("{form} must begin with a binding, not a modifier"))
        }
        Some(_) => Ok(forms),
    }
}
