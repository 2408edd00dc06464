//! Checks a program before it runs: its names, its tools, and its last expression.

use std::io;
use std::sync::Arc;
use std::thread;

use oxc_allocator::Allocator;
use oxc_ast::ast::{
    AssignmentTarget, BigIntLiteral, BindingIdentifier, BindingPattern, CallExpression,
    ComputedMemberExpression, Expression, IdentifierReference, ImportExpression, ImportMeta,
    ModuleDeclaration, PropertyDefinition, PropertyKey, StaticMemberExpression, VariableDeclarator,
};
use oxc_ast_visit::{Visit, walk};
use oxc_parser::{ParseOptions, Parser};
use oxc_semantic::{Scoping, SemanticBuilder};
use oxc_span::{GetSpan, SourceType, Span};
use windlass_core::ProgramFault;

use crate::fault::{at, hinted};
use crate::instrument::{InstrumentedProgram, instrument};
use crate::weigh::has_generators;

/// The stack of the thread that checks. Only what is used of it is ever taken.
const STACK: usize = 512 << 20;

/// Names that are defined for every program.
pub(crate) const GIVEN: [&str; 6] = ["tools", "data", "memory", "print", "console", "fail"];

/// Those of them that a program may not declare at its top: what it sets on `memory` would not last, and
/// which tools it calls could not be seen.
const KEPT: [&str; 2] = ["tools", "memory"];

/// Methods of `console`.
const CONSOLE: [&str; 5] = ["log", "info", "warn", "error", "debug"];

/// Prefix of the wrapper's own names.
pub(crate) const OWN: &str = "__windlass";

/// The library: what a program finds in the global object.
pub(crate) const LIBRARY: [&str; 39] = [
    "AggregateError",
    "Array",
    "Boolean",
    "Date",
    "Error",
    "EvalError",
    "Infinity",
    "Iterator",
    "JSON",
    "Map",
    "Math",
    "NaN",
    "Number",
    "Object",
    "Promise",
    "RangeError",
    "ReferenceError",
    "Reflect",
    "RegExp",
    "Set",
    "String",
    "Symbol",
    "SyntaxError",
    "TypeError",
    "URIError",
    "WeakMap",
    "WeakSet",
    "decodeURI",
    "decodeURIComponent",
    "encodeURI",
    "encodeURIComponent",
    "escape",
    "isFinite",
    "isNaN",
    "parseFloat",
    "parseInt",
    "queueMicrotask",
    "undefined",
    "unescape",
];

/// Reads a program and looks at its names.
pub(crate) fn check(
    source: &str,
    tools: &[Arc<str>],
    rounds: u32,
) -> Result<InstrumentedProgram, ProgramFault> {
    // In a script these begin comments, in a module they do not: what is checked must be what runs.
    for mark in ["<!--", "-->"] {
        if let Some(byte) = source.find(mark) {
            let fault = hinted(
                "parse_error",
                format!("{mark} may not stand in a program"),
                "In a text, write it in two parts and join them.",
            );
            return Err(at(fault, source, byte));
        }
    }
    match on_deep_stack(|| within(source, tools, rounds)) {
        Ok(Ok(checked)) => checked,
        Ok(Err(_)) => Err(ProgramFault::new(
            "runtime_error",
            "the program could not be checked: its reader broke; write it otherwise",
        )),
        Err(error) => Err(ProgramFault::new(
            "runtime_error",
            format!("no thread to check the program on: {error}; try again"),
        )),
    }
}

/// Returns true if a text is a program that returns at its top. A text that cannot be read is none.
pub(crate) fn returns(source: &str) -> bool {
    let parses = |returns: bool| {
        let allocator = Allocator::default();
        let options =
            ParseOptions { allow_return_outside_function: returns, ..ParseOptions::default() };
        let parser = Parser::new(&allocator, source, SourceType::mjs()).with_options(options);
        parser.parse().diagnostics.iter().next().is_none()
    };
    matches!(on_deep_stack(|| parses(true) && !parses(false)), Ok(Ok(true)))
}

/// Runs on a thread with a large stack: whoever calls may have little left, and what is nested deep
/// takes much.
fn on_deep_stack<T: Send>(read: impl FnOnce() -> T + Send) -> io::Result<thread::Result<T>> {
    thread::scope(|scope| {
        let reading = thread::Builder::new()
            .name("check a program".to_owned())
            .stack_size(STACK)
            .spawn_scoped(scope, read);
        reading.map(thread::ScopedJoinHandle::join)
    })
}

fn within(
    source: &str,
    tools: &[Arc<str>],
    rounds: u32,
) -> Result<InstrumentedProgram, ProgramFault> {
    let allocator = Allocator::default();
    let options = ParseOptions { allow_return_outside_function: true, ..ParseOptions::default() };
    let parsed = Parser::new(&allocator, source, SourceType::mjs()).with_options(options).parse();
    if let Some(wrong) = parsed.diagnostics.iter().next() {
        let place = wrong.labels.iter().next().map(|label| label.offset());
        let fault = hinted(
            "parse_error",
            wrong.message.to_string(),
            "Correct it at that place. Programs are JavaScript, without types.",
        );
        return Err(at(fault, source, place.unwrap_or(0) as usize));
    }
    let semantic = SemanticBuilder::new().build(&parsed.program).semantic;
    let scoping = semantic.scoping();
    let mut names = NameChecker {
        source,
        tools,
        scoping,
        generates: has_generators(&parsed.program),
        wrong: None,
    };
    names.declared();
    names.visit_program(&parsed.program);
    match names.wrong {
        Some((span, fault)) => Err(at(fault, source, span.start as usize)),
        None => Ok(instrument(source, &parsed.program, rounds)),
    }
}

struct NameChecker<'s> {
    source: &'s str,
    tools: &'s [Arc<str>],
    scoping: &'s Scoping,
    /// True if there are functions that make generators.
    generates: bool,
    /// The first thing that is wrong.
    wrong: Option<(Span, ProgramFault)>,
}

impl NameChecker<'_> {
    fn refuse(&mut self, span: Span, fault: impl FnOnce() -> ProgramFault) {
        if self.wrong.as_ref().is_none_or(|(first, _)| span.start < first.start) {
            self.wrong = Some((span, fault()));
        }
    }

    /// Names that a program may not declare at its top.
    fn declared(&mut self) {
        for name in KEPT {
            let found = self.scoping.get_root_binding(name.into());
            if let Some(symbol) = found {
                let span = self.scoping.symbol_span(symbol);
                self.refuse(span, || {
                    let words = format!("{name} is there already and cannot be declared");
                    let hint = match name {
                        "memory" => "Set keys of it, as in memory.seen = 1, or take another name.",
                        _ => "Take another name.",
                    };
                    hinted("parse_error", words, hint)
                });
            }
        }
        if let Some(byte) = self.source.find(OWN) {
            let byte = u32::try_from(byte).unwrap_or_default();
            self.refuse(Span::new(byte, byte), || {
                let words = format!("names that begin with {OWN} are not for programs");
                hinted("unbound_var", words, "Take another name.")
            });
        }
    }

    fn tool(&mut self, name: &str, span: Span) {
        if self.tools.iter().any(|tool| &**tool == name) {
            return;
        }
        let list: Vec<&str> = self.tools.iter().map(|tool| &**tool).collect();
        self.refuse(span, || {
            let hint = if list.is_empty() {
                "No tool can be called in this program: return a result.".to_owned()
            } else {
                format!("The tools are: {}.", list.join(", "))
            };
            hinted("unknown_tool", format!("there is no tool {name}"), &hint)
        });
    }

    /// Returns true if an expression is what the program is given as `tools`.
    fn are_tools(&self, expression: &Expression<'_>) -> bool {
        self.is_given(expression, "tools")
    }

    /// Returns true if an expression is what the program is given by this name.
    fn is_given(&self, expression: &Expression<'_>, given: &str) -> bool {
        if let Expression::Identifier(name) = expression.get_inner_expression() {
            return name.name == given && self.is_global(name);
        }
        false
    }

    fn is_global(&self, name: &IdentifierReference<'_>) -> bool {
        let reference = name.reference_id.get();
        reference.is_none_or(|id| self.scoping.get_reference(id).symbol_id().is_none())
    }

    fn not_there(&mut self, span: Span, what: &str) {
        self.refuse(span, || {
            hinted("parse_error", format!("programs have no {what}"), "Write it without.")
        });
    }
}

impl<'a> Visit<'a> for NameChecker<'_> {
    fn visit_binding_identifier(&mut self, it: &BindingIdentifier<'a>) {
        // It may be written with escapes.
        if it.name.starts_with(OWN) {
            self.not_there(it.span, "names like this one");
        }
    }

    fn visit_assignment_target(&mut self, it: &AssignmentTarget<'a>) {
        // What a generator is made of inherits from this key, and no chain of prototypes is to be long.
        if self.generates
            && let AssignmentTarget::StaticMemberExpression(member) = it
            && member.property.name == "prototype"
        {
            self.not_there(member.property.span, "prototype to set beside generators");
        }
        walk::walk_assignment_target(self, it);
    }

    fn visit_property_definition(&mut self, it: &PropertyDefinition<'a>) {
        if self.generates && it.key.static_name().is_some_and(|name| name == "prototype") {
            self.not_there(it.key.span(), "field of the name prototype beside generators");
        }
        walk::walk_property_definition(self, it);
    }

    fn visit_identifier_reference(&mut self, it: &IdentifierReference<'a>) {
        if !self.is_global(it) {
            return;
        }
        let name = it.name.as_str();
        let reference = it.reference_id.get();
        let written = reference.is_some_and(|id| self.scoping.get_reference(id).is_write());
        if GIVEN.contains(&name) {
            if written {
                self.refuse(it.span, || {
                    let words = format!("{name} cannot be replaced");
                    hinted("parse_error", words, "Set a key of memory, or take another name.")
                });
            }
        } else if written || !(LIBRARY.contains(&name) || name == "arguments") {
            self.refuse(it.span, || {
                let hint = if written {
                    "Declare it with let or const; set a key of memory to keep something."
                } else {
                    "Declare it, or use tools, data, memory, print, fail and the language's library; \
                     there is no timer, network or file."
                };
                hinted("unbound_var", format!("there is no name {name}"), hint)
            });
        }
    }

    fn visit_static_member_expression(&mut self, it: &StaticMemberExpression<'a>) {
        if self.are_tools(&it.object) {
            self.tool(it.property.name.as_str(), it.property.span);
        }
        walk::walk_static_member_expression(self, it);
    }

    fn visit_call_expression(&mut self, it: &CallExpression<'a>) {
        if let Expression::StaticMemberExpression(member) = &it.callee {
            let name = member.property.name.as_str();
            if self.is_given(&member.object, "console") && !CONSOLE.contains(&name) {
                self.refuse(member.property.span, || {
                    hinted(
                        "unbound_var",
                        format!("console has no {name}"),
                        "Print with console.log.",
                    )
                });
            }
        }
        walk::walk_call_expression(self, it);
    }

    fn visit_computed_member_expression(&mut self, it: &ComputedMemberExpression<'a>) {
        if self.are_tools(&it.object)
            && let Expression::StringLiteral(name) = &it.expression
        {
            self.tool(name.value.as_str(), name.span);
        }
        walk::walk_computed_member_expression(self, it);
    }

    fn visit_variable_declarator(&mut self, it: &VariableDeclarator<'a>) {
        if let (Some(init), BindingPattern::ObjectPattern(pattern)) = (&it.init, &it.id)
            && self.are_tools(init)
        {
            for property in &pattern.properties {
                if let PropertyKey::StaticIdentifier(name) = &property.key {
                    self.tool(name.name.as_str(), name.span);
                }
            }
        }
        walk::walk_variable_declarator(self, it);
    }

    fn visit_big_int_literal(&mut self, it: &BigIntLiteral<'a>) {
        self.not_there(it.span, "big integers");
    }

    fn visit_module_declaration(&mut self, it: &ModuleDeclaration<'a>) {
        self.not_there(it.span(), "modules");
    }

    fn visit_import_expression(&mut self, it: &ImportExpression<'a>) {
        self.not_there(it.span, "modules");
    }

    fn visit_import_meta(&mut self, it: &ImportMeta) {
        self.not_there(it.span, "modules");
    }
}
