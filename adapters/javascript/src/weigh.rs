//! Weighs the parts of a program, and finds their counters' places.

use oxc_ast::AstKind;
use oxc_ast::ast::{
    BinaryOperator, BindingPattern, BindingRestElement, Expression, FunctionBody, Program,
};
use oxc_ast_visit::Visit;

/// True if there are functions that make generators, which inherit from a key of theirs.
#[derive(Default)]
struct GeneratorFinder(bool);

impl<'a> Visit<'a> for GeneratorFinder {
    fn enter_node(&mut self, kind: AstKind<'a>) {
        if let AstKind::Function(function) = kind {
            self.0 |= function.generator;
        }
    }
}

/// Returns true if the program has functions that make generators.
pub(crate) fn has_generators(program: &Program<'_>) -> bool {
    let mut generators = GeneratorFinder::default();
    generators.visit_program(program);
    generators.0
}

/// Returns the weight that a node adds to its parent: about its time, in sixteenths of a step.
pub(crate) fn weight(kind: &AstKind<'_>) -> u32 {
    if let AstKind::Class(_) = kind {
        return 80;
    }
    if let AstKind::NewExpression(_) | AstKind::RegExpLiteral(_) = kind {
        return 16;
    }
    if let AstKind::Function(_)
    | AstKind::ArrowFunctionExpression(_)
    | AstKind::ObjectExpression(_)
    | AstKind::ArrayExpression(_)
    | AstKind::AwaitExpression(_)
    | AstKind::TryStatement(_) = kind
    {
        return 8;
    }
    if let AstKind::CallExpression(_) | AstKind::TemplateLiteral(_) = kind {
        return 4;
    }
    1
}

/// Returns true if an operand is of a size that is known to be small.
pub(crate) fn small(operand: &Expression<'_>) -> bool {
    if let Expression::StringLiteral(text) = operand {
        return text.value.len() < 100;
    }
    if let Expression::StaticMemberExpression(member) = operand {
        return member.property.name == "length";
    }
    if let Expression::BinaryExpression(inner) = operand {
        return inner.operator.is_arithmetic() && inner.operator != BinaryOperator::Addition
            || inner.operator.is_bitwise()
            || inner.operator.is_compare()
            || inner.operator.is_equality();
    }
    if let Expression::ParenthesizedExpression(inner) = operand {
        return small(&inner.expression);
    }
    if let Expression::UnaryExpression(_) = operand {
        return true;
    }
    matches!(
        operand,
        Expression::NumericLiteral(_)
            | Expression::NullLiteral(_)
            | Expression::BooleanLiteral(_)
            | Expression::UpdateExpression(_)
    )
}

/// Returns true if an expression is a sum.
pub(crate) fn is_sum(expression: &Expression<'_>) -> bool {
    if let Expression::BinaryExpression(inner) = expression {
        return inner.operator == BinaryOperator::Addition;
    }
    false
}

/// Counts steps, as a statement.
pub(crate) fn statement(steps: u32) -> String {
    format!("if((__windlass_n+={steps})>99)__windlass_n=__windlass.tick(__windlass_n);")
}

/// Counts steps before an expression.
pub(crate) fn expression(steps: u32) -> String {
    format!("((__windlass_n+={steps})>99&&(__windlass_n=__windlass.tick(__windlass_n)),")
}

/// True if a pattern takes the rest of an object.
#[derive(Default)]
struct RestPatternFinder(bool);

impl<'a> Visit<'a> for RestPatternFinder {
    fn visit_binding_rest_element(&mut self, _: &BindingRestElement<'a>) {
        self.0 = true;
    }

    fn visit_expression(&mut self, _: &Expression<'a>) {}
}

pub(crate) fn takes_rest(pattern: &BindingPattern<'_>) -> bool {
    let mut rests = RestPatternFinder::default();
    rests.visit_binding_pattern(pattern);
    rests.0
}

/// Returns the position of a function's counter.
pub(crate) fn begin_of(body: &FunctionBody<'_>) -> u32 {
    body.span.start + 1
}
