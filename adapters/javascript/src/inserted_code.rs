//! Code that is inserted into a program, and its places.
//!
//! The engine asks whether it is to go on only once in ten thousand steps of its own, and each of them
//! may be long. So each round of a loop and each call of a function counts itself, by how much stands in it.
//! Texts that are joined, compared, made numbers or used as keys, and lists and objects that are spread, are
//! paid for by their size where they are used. What is caught is looked at, so that no program goes on where
//! memory or stack has run out.

use oxc_ast::AstKind;
use oxc_ast::ast::{
    ArrowFunctionBody, ArrowFunctionExpression, AssignmentExpression, AssignmentOperator,
    AssignmentTarget, AssignmentTargetPropertyProperty, BinaryExpression, BinaryOperator,
    BindingPattern, BindingProperty, CatchClause, Class, ComputedMemberExpression,
    DoWhileStatement, ForInStatement, ForOfStatement, ForStatement, Function, LabeledStatement,
    MethodDefinition, ObjectProperty, PropertyDefinition, PropertyKind, SimpleAssignmentTarget,
    SpreadElement, Statement, SwitchCase, TaggedTemplateExpression, TemplateLiteral, TryStatement,
    UnaryExpression, UnaryOperator, UpdateExpression, VariableDeclarator, WhileStatement,
};
use oxc_ast_visit::{Visit, walk};
use oxc_semantic::ScopeFlags;
use oxc_span::GetSpan;

use crate::insertions::Insertions;
use crate::weigh::{begin_of, expression, is_sum, small, statement, takes_rest, weight};

const CAUGHT: &str =
    "__windlass_e){__windlass_n+=30;__windlass.caught(__windlass_e);try{throw __windlass_e}catch(";

const SPREAD: &str = "__windlass.spread(";

const RETHROWN: &str = "catch(__windlass_e){__windlass_n+=30;__windlass.caught(__windlass_e);throw \
                        __windlass_e}";

impl<'a> Visit<'a> for Insertions {
    fn enter_node(&mut self, kind: AstKind<'a>) {
        self.add(weight(&kind));
    }

    fn visit_statements(&mut self, it: &oxc_allocator::Vec<'a, Statement<'a>>) {
        for statement in it {
            // What is put in may begin with a bracket, before which no statement ends by itself.
            if let Statement::ExpressionStatement(inner) = statement
                && self.last.is_none_or(|last| last.start != inner.expression.span().start)
            {
                self.begin(inner.span.start, ";");
            }
            self.visit_statement(statement);
        }
    }

    fn visit_for_statement(&mut self, it: &ForStatement<'a>) {
        self.round(it.span, &it.body, |put| walk::walk_for_statement(put, it));
    }

    fn visit_for_in_statement(&mut self, it: &ForInStatement<'a>) {
        self.round(it.span, &it.body, |put| {
            put.visit_for_statement_left(&it.left);
            put.pass_to(it.right.span(), SPREAD, |put| put.visit_expression(&it.right));
            put.visit_statement(&it.body);
        });
    }

    fn visit_for_of_statement(&mut self, it: &ForOfStatement<'a>) {
        self.round(it.span, &it.body, |put| walk::walk_for_of_statement(put, it));
    }

    fn visit_while_statement(&mut self, it: &WhileStatement<'a>) {
        self.round(it.span, &it.body, |put| walk::walk_while_statement(put, it));
    }

    fn visit_do_while_statement(&mut self, it: &DoWhileStatement<'a>) {
        self.round(it.span, &it.body, |put| walk::walk_do_while_statement(put, it));
    }

    fn visit_labeled_statement(&mut self, it: &LabeledStatement<'a>) {
        // A loop behind labels must stay behind them: what bounds it stands before the first one.
        let mut body = &it.body;
        while let Statement::LabeledStatement(inner) = body {
            body = &inner.body;
        }
        let labelled = std::mem::take(&mut self.labelled);
        let bounds = self.rounds > 0 && !labelled && body.is_iteration_statement();
        if bounds {
            self.begin(it.span.start, "{let __windlass_r=0;");
        }
        self.labelled = labelled || bounds;
        walk::walk_labeled_statement(self, it);
        self.labelled = false;
        if bounds {
            self.end(it.span.end, "}");
        }
    }

    fn visit_try_statement(&mut self, it: &TryStatement<'a>) {
        if it.finalizer.is_none() {
            walk::walk_try_statement(self, it);
            return;
        }
        // A `finally` may go on whatever was thrown.
        if it.handler.is_some() {
            self.begin(it.span.start, "try{");
        }
        walk::walk_try_statement(self, it);
        match &it.handler {
            Some(handler) => self.end(handler.span.end, format!("}}{RETHROWN}")),
            None => self.end(it.block.span.end, RETHROWN),
        }
    }

    fn visit_catch_clause(&mut self, it: &CatchClause<'a>) {
        let body = it.body.span;
        let pattern = it.param.as_ref().map(|param| &param.pattern);
        let name = match pattern {
            None => {
                self.begin(body.start, "(__windlass_e)");
                "__windlass_e"
            }
            Some(BindingPattern::BindingIdentifier(name)) => name.name.as_str(),
            Some(
                BindingPattern::ObjectPattern(_)
                | BindingPattern::ArrayPattern(_)
                | BindingPattern::AssignmentPattern(_),
            ) => {
                let start = pattern.map_or(body.start, |pattern| pattern.span().start);
                self.begin(start, CAUGHT);
                self.weighed(body.start + 1, statement, |put| {
                    walk::walk_catch_clause(put, it);
                });
                self.end(it.span.end, "}");
                return;
            }
        };
        let look = format!("__windlass_n+=30;__windlass.caught({name});");
        self.weighed(
            body.start + 1,
            |steps| look + &statement(steps),
            |put| walk::walk_catch_clause(put, it),
        );
    }

    fn visit_function(&mut self, it: &Function<'a>, flags: ScopeFlags) {
        let Some(body) = &it.body else {
            walk::walk_function(self, it, flags);
            return;
        };
        // One that makes objects of its own may have them inherit from anything.
        let makes = !it.generator && !it.r#async;
        let made = if makes { "new.target&&__windlass.made(this);" } else { "" };
        let at = begin_of(body);
        let is_method = flags.intersects(
            ScopeFlags::Constructor | ScopeFlags::GetAccessor | ScopeFlags::SetAccessor,
        );
        self.weighed(
            at,
            |steps| {
                if is_method { statement(steps) } else { made.to_owned() + &statement(steps) }
            },
            |put| walk::walk_function(put, it, flags),
        );
    }

    fn visit_arrow_function_expression(&mut self, it: &ArrowFunctionExpression<'a>) {
        if let ArrowFunctionBody::FunctionBody(body) = &it.body {
            self.weighed(begin_of(body), statement, |put| {
                walk::walk_arrow_function_expression(put, it);
            });
            return;
        }
        let span = it.body.span();
        self.weighed(span.start, expression, |put| {
            walk::walk_arrow_function_expression(put, it);
        });
        self.end(span.end, ")");
    }

    fn visit_class(&mut self, it: &Class<'a>) {
        let above = it.heritage.as_ref().map(|above| above.expression.span());
        if let Some(span) = above {
            self.begin(span.start, "(__windlass.base(");
        }
        walk::walk_class(self, it);
        if let Some(span) = above {
            self.end(span.end, "))");
        }
    }

    fn visit_property_definition(&mut self, it: &PropertyDefinition<'a>) {
        self.named(it.computed, &it.key, |put| {
            let Some(value) = &it.value else {
                walk::walk_property_definition(put, it);
                return;
            };
            // It is run for each object that is made.
            let span = value.span();
            put.weighed(span.start, expression, |put| walk::walk_property_definition(put, it));
            put.end(span.end, ")");
        });
    }

    fn visit_method_definition(&mut self, it: &MethodDefinition<'a>) {
        self.named(it.computed, &it.key, |put| walk::walk_method_definition(put, it));
    }

    fn visit_object_property(&mut self, it: &ObjectProperty<'a>) {
        let sets = !it.computed && !it.shorthand && !it.method && it.kind == PropertyKind::Init;
        if sets && it.key.static_name().is_some_and(|name| name == "__proto__") {
            self.pass_to(it.value.span(), "__windlass.proto(", |put| {
                walk::walk_object_property(put, it);
            });
        } else {
            self.named(it.computed, &it.key, |put| walk::walk_object_property(put, it));
        }
    }

    fn visit_binding_property(&mut self, it: &BindingProperty<'a>) {
        self.named(it.computed, &it.key, |put| walk::walk_binding_property(put, it));
    }

    fn visit_assignment_target_property_property(
        &mut self,
        it: &AssignmentTargetPropertyProperty<'a>,
    ) {
        self.named(it.computed, &it.name, |put| {
            walk::walk_assignment_target_property_property(put, it);
        });
    }

    fn visit_computed_member_expression(&mut self, it: &ComputedMemberExpression<'a>) {
        self.add(1);
        self.visit_expression(&it.object);
        let by = self.key;
        self.operand(&it.expression, by);
    }

    fn visit_variable_declarator(&mut self, it: &VariableDeclarator<'a>) {
        match &it.init {
            Some(init) if takes_rest(&it.id) => {
                self.visit_binding_pattern(&it.id);
                self.pass_to(init.span(), SPREAD, |put| put.visit_expression(init));
            }
            _ => walk::walk_variable_declarator(self, it),
        }
    }

    fn visit_spread_element(&mut self, it: &SpreadElement<'a>) {
        self.pass_to(it.argument.span(), SPREAD, |put| walk::walk_spread_element(put, it));
    }

    fn visit_template_literal(&mut self, it: &TemplateLiteral<'a>) {
        if !it.expressions.is_empty() {
            self.pass_to(it.span, "__windlass.sized(", |put| walk::walk_template_literal(put, it));
        }
    }

    fn visit_tagged_template_expression(&mut self, it: &TaggedTemplateExpression<'a>) {
        self.visit_expression(&it.tag);
        for expression in &it.quasi.expressions {
            self.visit_expression(expression);
        }
    }

    fn visit_assignment_expression(&mut self, it: &AssignmentExpression<'a>) {
        if it.operator == AssignmentOperator::Addition {
            let span = it.span;
            self.guarded(span, "sized", None, |put| walk::walk_assignment_expression(put, it));
        } else if it.operator.is_arithmetic() || it.operator.is_bitwise() {
            self.visit_assignment_target(&it.left);
            self.operand(&it.right, "number");
        } else if let AssignmentTarget::ArrayAssignmentTarget(_)
        | AssignmentTarget::ObjectAssignmentTarget(_) = &it.left
        {
            self.visit_assignment_target(&it.left);
            self.pass_to(it.right.span(), SPREAD, |put| put.visit_expression(&it.right));
        } else {
            walk::walk_assignment_expression(self, it);
        }
    }

    fn visit_switch_case(&mut self, it: &SwitchCase<'a>) {
        if let Some(test) = &it.test {
            self.operand(test, "sized");
        }
        self.add(2);
        self.visit_statements(&it.consequent);
    }

    fn visit_unary_expression(&mut self, it: &UnaryExpression<'a>) {
        let turns =
            [UnaryOperator::UnaryPlus, UnaryOperator::UnaryNegation, UnaryOperator::BitwiseNot];
        if turns.contains(&it.operator) {
            self.operand(&it.argument, "number");
        } else {
            walk::walk_unary_expression(self, it);
        }
    }

    fn visit_update_expression(&mut self, it: &UpdateExpression<'a>) {
        if let SimpleAssignmentTarget::AssignmentTargetIdentifier(name) = &it.argument {
            self.begin(
                it.span.start,
                format!("(typeof {0}!==\"number\"&&__windlass.number({0}),", name.name),
            );
            self.end(it.span.end, ")");
            return;
        }
        walk::walk_update_expression(self, it);
    }

    fn visit_binary_expression(&mut self, it: &BinaryExpression<'a>) {
        let beginning = std::mem::take(&mut self.sum);
        let adds = it.operator == BinaryOperator::Addition;
        let compares = it.operator.is_equality() || it.operator.is_compare();
        let exact = matches!(
            it.operator,
            BinaryOperator::StrictEquality | BinaryOperator::StrictInequality
        );
        let turns = it.operator.is_arithmetic() || it.operator.is_bitwise();
        let small = [&it.left, &it.right].map(small);
        if adds {
            let both = |put: &mut Self| {
                put.sum = is_sum(&it.left);
                put.visit_expression(&it.left);
                put.sum = false;
                put.visit_expression(&it.right);
            };
            if beginning || small == [true, true] {
                both(self);
            } else {
                self.guarded(it.span, "sized", None, both);
            }
        } else if it.operator == BinaryOperator::In {
            let by = self.key;
            self.operand(&it.left, by);
            self.visit_expression(&it.right);
        } else if turns {
            self.operand(&it.left, "number");
            self.operand(&it.right, "number");
        } else if exact && small == [false, false] {
            self.operand(&it.left, "sized");
            self.visit_expression(&it.right);
        } else if compares && !exact {
            self.operand(&it.left, "sized");
            self.operand(&it.right, "sized");
        } else {
            self.visit_expression(&it.left);
            self.visit_expression(&it.right);
        }
        self.add(1);
    }
}
