//! A program as it is run: with what counts its steps, and what keeps its last value, put into it.

use std::borrow::Cow;

use oxc_ast::ast::{Expression, MemberExpression, Program, Statement};
use oxc_ast_visit::Visit;
use oxc_span::GetSpan;

use crate::insertions::Insertions;

const LAST: &str = "__windlass_last=(";

/// A program as it is run.
#[derive(Debug)]
pub(crate) struct InstrumentedProgram {
    pub(crate) source: String,
    /// True if its last expression sets a key of `memory`: a definition, which is no result.
    pub(crate) defines: bool,
    /// Inserted pieces by their position in the original: line and column from 1, and length in
    /// characters.
    put: Vec<(u32, u32, u32)>,
}

impl InstrumentedProgram {
    /// The column in the source as it was written.
    pub(crate) fn column(&self, line: u32, column: u32) -> u32 {
        let mut before = 0;
        for (_, at, letters) in self.put.iter().filter(|(other, ..)| *other == line) {
            let begin = at.saturating_add(before);
            if column <= begin {
                break;
            }
            before += (*letters).min(column - begin);
        }
        column.saturating_sub(before).max(1)
    }
}

/// The program with what counts it. A loop may go round so many times, where that is not 0.
pub(crate) fn instrument(source: &str, program: &Program<'_>, rounds: u32) -> InstrumentedProgram {
    let last = match program.body.last() {
        Some(Statement::ExpressionStatement(statement)) => Some(statement.expression.span()),
        Some(_) => None,
        None => program.directives.last().map(|text| text.expression.span),
    };
    let defines = match program.body.last() {
        Some(Statement::ExpressionStatement(statement)) => sets_memory(&statement.expression),
        Some(_) | None => false,
    };
    let mut put = Insertions::new(program, rounds, last);
    if let Some(last) = last {
        put.begin(last.start, LAST);
    }
    put.visit_program(program);
    if let Some(last) = last {
        put.end(last.end, ")");
    }
    let mut all: Vec<(u32, bool, Cow<'static, str>)> = put.into_all();
    all.sort_by_key(|(at, begins, _)| (*at, *begins));
    let mut told = InstrumentedProgram {
        source: String::with_capacity(source.len() * 2),
        defines,
        put: Vec::with_capacity(all.len()),
    };
    let (mut from, mut line, mut column) = (0, 1_u32, 1_u32);
    for (at, _, text) in all {
        let at = at as usize;
        let piece = source.get(from..at).unwrap_or_default();
        for letter in piece.chars() {
            (line, column) = if letter == '\n' { (line + 1, 1) } else { (line, column + 1) };
        }
        told.source.push_str(piece);
        told.source.push_str(&text);
        told.put.push((line, column, u32::try_from(text.len()).unwrap_or_default()));
        from = at;
    }
    told.source.push_str(source.get(from..).unwrap_or_default());
    told
}

/// Returns true if an expression assigns to a key of `memory`, at any depth.
fn sets_memory(expression: &Expression<'_>) -> bool {
    let Expression::AssignmentExpression(assigned) = expression.without_parentheses() else {
        return false;
    };
    let mut object = assigned.left.as_member_expression().map(MemberExpression::object);
    while let Some(of) = object {
        let of = of.without_parentheses();
        if let Expression::Identifier(name) = of {
            return name.name == "memory";
        }
        object = of.as_member_expression().map(MemberExpression::object);
    }
    false
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn run(source: &str, rounds: u32) -> InstrumentedProgram {
        crate::check::check(source, &[Arc::from("look")], rounds)
            .unwrap_or_else(|fault| panic!("{source}: {fault}"))
    }

    #[test]
    fn columns_are_those_of_the_source() {
        let told = run("for (;;) x => y => [...z];\nvar z, y, u; u.a;", 0);
        let line = told.source.lines().nth(1).unwrap();
        let at = u32::try_from(line.find("u.a").unwrap()).unwrap() + 1;
        assert_eq!(told.column(2, at), 14);
        let line = told.source.lines().next().unwrap();
        let at = u32::try_from(line.find("z)]").unwrap()).unwrap() + 1;
        assert_eq!(told.column(1, at), 24);
        assert_eq!(told.column(1, 1), 1);
    }

    #[test]
    fn what_begins_and_ends_at_one_place_is_nested() {
        for source in [
            "for (;;) for (;;) for (;;) x => y => x;",
            "while (1) while (0) ; do do ; while (0); while (0)",
            "(x => ({ ...x }));",
            "() => {}",
            "'use strict'",
            "for (const a of [...[1], ...'b']) for (const b in a) { b; }",
            "try { 1; } catch { 2; } finally { 3; }",
            "try { 1; } catch (e) { 2; }\ntry { 1; } finally { 3; }",
            "try { 1; } catch ({ message, ...more }) { 2; } finally { 3; }",
            "try { try { 1; } finally { 2; } } catch ([e]) { try { 3; } catch {} }",
            "if (1) for (;;) break; else while (0) continue;",
            "a: for (;;) b: while (1) continue a;",
            "a: b: for (const x of []) { c: for (;;) continue b; }",
            "async () => await tools.look({ ...{} })",
            "class A { static { for (;;) break; } a = () => 1; get b() { return 2; } c; static d = 1; }",
            "class A extends Array { ['x' + 1] = 2; static ['y'] = 3; #p = 1; m() { return this.#p in {}; } }",
            "1 // a remark",
            "let a = 'b'; a += a + a + a; a === a + a; a <= a; `${a}${`${a + a}`}`; String.raw`${a}`;",
            "const f = (x, y = x + x) => x + y + f(x + 1, ...[y]); f(1) == f(2)",
            "let i = 1\n++i\ni - i\ni[i] = i ** i\n-i\n+i\ni--\n;[i] = [i]",
            "let i = 1, o = {}\nif (i) i++\nelse --i\nfor (i++; i < i; i++) o[i]++, o[i] -= i\ndo i++\nwhile (i < 3)",
            "const { a, ...b } = {}, [c, ...d] = [], f = ({ x, ...y }, { z, ...w } = {}) => y;\nfor (const { p, ...q } of []) ;",
            "let a, b; ({ a, ...b } = {}); [a, ...b] = [];",
            "const k = 'a', o = { [k]: 1, [k + 1]() {}, get [k]() { return 1; }, __proto__: null, async *[k]() {} };\nconst { [k]: v } = o; delete o[k]; k in o; o?.[k]?.[k]",
            "switch (i) { case i + i: i++\n default: i - 1 } var i",
            "function F(a, { b } = {}) { 'use strict2'; this.a = a; } new F(1, { b: 2 }); new F",
            "function* g() { const x = yield 1; yield* g(); } async function* h() { for await (const x of h()) yield x; }",
            "(-1) ** 2; (a => a)(1)[0]; !(1, 2); void 0; typeof a; var a; a ??= 1; a ||= a; a &&= a; a **= a",
            "label: { break label; }",
        ] {
            for rounds in [0, 10] {
                let told = run(source, rounds);
                crate::engine::compiles(&told.source)
                    .unwrap_or_else(|fault| panic!("{source}: {fault} in {}", told.source));
            }
        }
    }
}
