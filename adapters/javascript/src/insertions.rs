//! Finds the places at which code is inserted into a program, and their nesting.

use std::borrow::Cow;

use oxc_ast::ast::{Expression, Program, PropertyKey, Statement};
use oxc_ast_visit::Visit;
use oxc_span::{GetSpan, Span};

use crate::weigh::{has_generators, small, statement};

/// Pieces of code to insert.
pub(crate) struct Insertions {
    /// Position, whether a construct starts there, and text of each piece.
    pub(crate) all: Vec<(u32, bool, Cow<'static, str>)>,
    /// Weights of the loops and functions that enclose the current node.
    pub(crate) weights: Vec<u32>,
    /// True if what is visited next is the beginning of a longer sum, which is paid for as a whole.
    pub(crate) sum: bool,
    /// True if what is visited next is a loop behind a label, whose rounds are bounded already.
    pub(crate) labelled: bool,
    /// Most rounds of a loop; 0 for no limit.
    pub(crate) rounds: u32,
    /// The function that looks at keys.
    pub(crate) key: &'static str,
    /// The last expression of the program.
    pub(crate) last: Option<Span>,
}

impl Insertions {
    pub(crate) fn new(program: &Program<'_>, rounds: u32, last: Option<Span>) -> Self {
        let strict = has_generators(program);
        Self {
            all: Vec::new(),
            weights: vec![0],
            sum: false,
            labelled: false,
            rounds,
            key: if strict { "strictKey" } else { "key" },
            last,
        }
    }

    pub(crate) fn into_all(self) -> Vec<(u32, bool, Cow<'static, str>)> {
        self.all
    }

    pub(crate) fn begin(&mut self, at: u32, text: impl Into<Cow<'static, str>>) {
        self.all.push((at, true, text.into()));
    }

    pub(crate) fn end(&mut self, at: u32, text: impl Into<Cow<'static, str>>) {
        self.all.push((at, false, text.into()));
    }

    /// Has what an expression comes to looked at, unless it is a number.
    pub(crate) fn guarded(
        &mut self,
        span: Span,
        by: &str,
        name: Option<&str>,
        walk: impl FnOnce(&mut Self),
    ) {
        // A large number as a key is looked at, too.
        let large = |name: &str| match by == self.key {
            true => format!("||{name}>>>0!=={name}||{name}>1048575"),
            false => String::new(),
        };
        if let Some(name) = name {
            let large = large(name);
            self.begin(
                span.start,
                format!("(typeof {name}!==\"number\"{large}?__windlass.{by}({name}):"),
            );
            walk(self);
            self.end(span.end, ")");
            return;
        }
        let large = large("__windlass_k");
        self.begin(span.start, "(typeof(__windlass_k=(");
        walk(self);
        let ends = format!("))!==\"number\"{large}?__windlass.{by}(__windlass_k):__windlass_k)");
        self.end(span.end, ends);
    }

    /// An operand that is looked at, unless it is small.
    pub(crate) fn operand<'a>(&mut self, operand: &Expression<'a>, by: &str) {
        if small(operand) {
            self.visit_expression(operand);
            return;
        }
        let name = if let Expression::Identifier(name) = operand {
            Some(name.name.as_str())
        } else {
            None
        };
        self.guarded(operand.span(), by, name, |put| put.visit_expression(operand));
    }

    /// Has the name of what `walk` goes through looked at, where it is computed.
    pub(crate) fn named(
        &mut self,
        computed: bool,
        key: &PropertyKey<'_>,
        walk: impl FnOnce(&mut Self),
    ) {
        let span = key.span();
        if computed {
            self.begin(span.start, format!("__windlass.{}(", self.key));
            walk(self);
            self.end(span.end, ")");
        } else {
            walk(self);
        }
    }

    /// Has what an expression comes to given to a function.
    pub(crate) fn pass_to(&mut self, span: Span, to: &'static str, walk: impl FnOnce(&mut Self)) {
        self.begin(span.start, to);
        walk(self);
        self.end(span.end, ")");
    }

    /// Inserts the counter of a loop or function that `walk` visits; `text` renders it for a number
    /// of steps.
    pub(crate) fn weighed(
        &mut self,
        at: u32,
        text: impl FnOnce(u32) -> String,
        walk: impl FnOnce(&mut Self),
    ) {
        let place = self.all.len();
        self.begin(at, "");
        self.weights.push(0);
        walk(self);
        let weight = self.weights.pop().unwrap_or_default();
        if let Some(put) = self.all.get_mut(place) {
            put.2 = text(1 + weight / 16).into();
        }
    }

    pub(crate) fn add(&mut self, weight: u32) {
        if let Some(weighs) = self.weights.last_mut() {
            *weighs = weighs.saturating_add(weight);
        }
    }

    /// Counts the rounds of a loop, which `walk` goes through.
    pub(crate) fn round(
        &mut self,
        around: Span,
        body: &Statement<'_>,
        walk: impl FnOnce(&mut Self),
    ) {
        let labelled = std::mem::take(&mut self.labelled);
        let bound = self.rounds;
        let round = if bound == 0 {
            String::new()
        } else {
            format!("if(++__windlass_r>{bound})__windlass.rounds();")
        };
        if bound > 0 && !labelled {
            self.begin(around.start, "{let __windlass_r=0;");
        }
        let Span { start, end, .. } = body.span();
        if let Statement::BlockStatement(_) = body {
            self.weighed(start + 1, |steps| round + &statement(steps), walk);
        } else {
            self.weighed(start, |steps| format!("{{{round}{}", statement(steps)), walk);
            self.end(end, "}");
        }
        if bound > 0 && !labelled {
            self.end(around.end, "}");
        }
    }
}
