//! Positions of the mutations in a file, with the syntax around them.

use std::ops::Range;

use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{Arm, Block, Expr, ExprBinary, ExprUnary, ImplItemFn, ItemFn};

use super::{Lines, Numbered};
use crate::list::Genre;

/// A place with its mutations.
#[derive(Debug)]
pub(super) struct Site {
    /// Range to replace; empty for a pure insertion.
    pub(super) range: Range<usize>,
    pub(super) shape: Shape,
    pub(super) changes: Vec<Change>,
}

/// One of the mutations of a site.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) number: u32,
    pub(super) replacement: String,
}

#[derive(Debug)]
pub(super) enum Shape {
    /// The first statement of a function, which may return something else at once.
    Body,
    /// The guard of an arm.
    Guard,
    /// Behind the pattern of an arm without a guard, which may be passed over.
    Pattern,
    /// Before the guard of an arm, which may be passed over.
    BeforeGuard,
    /// An operator before its operand, which may go.
    Prefix(Range<usize>),
    /// An operator between two operands.
    Infix { left: Range<usize>, operator: Range<usize>, right: Range<usize> },
}

/// The sites of a file, the outer ones before those in them.
pub(super) fn find(file: &syn::File, lines: &Lines<'_>, mutations: &[Numbered<'_>]) -> Vec<Site> {
    let mut finder = Finder { lines, mutations, sites: Vec::new() };
    finder.visit_file(file);
    let mut sites = finder.sites;
    // What is only added at a place stands before what begins there.
    sites.sort_by_key(|site| {
        let Range { start, end } = site.range;
        (start, end > start, std::cmp::Reverse(end))
    });
    sites
}

struct Finder<'a> {
    lines: &'a Lines<'a>,
    mutations: &'a [Numbered<'a>],
    sites: Vec<Site>,
}

impl Finder<'_> {
    fn changes(&self, genre: Genre, fits: impl Fn(Range<usize>) -> bool) -> Vec<Change> {
        let these = self.mutations.iter().filter(|(_, mutation)| {
            mutation.genre == genre && fits(self.lines.named(mutation.span))
        });
        let changes = these.map(|(number, mutation)| Change {
            number: *number,
            replacement: mutation.replacement.clone(),
        });
        changes.collect()
    }

    fn add(&mut self, range: Range<usize>, shape: Shape, changes: Vec<Change>) {
        if !changes.is_empty() {
            self.sites.push(Site { range, shape, changes });
        }
    }

    fn body(&mut self, block: &Block) {
        let (Some(first), Some(last)) = (block.stmts.first(), block.stmts.last()) else {
            return;
        };
        let start = self.lines.parsed(first.span()).start;
        let all = start..self.lines.parsed(last.span()).end;
        let changes = self.changes(Genre::FnValue, |span| span == all);
        self.add(start..start, Shape::Body, changes);
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        if function.sig.constness.is_none() {
            self.body(&function.block);
            visit::visit_item_fn(self, function);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        if function.sig.constness.is_none() {
            self.body(&function.block);
            visit::visit_impl_item_fn(self, function);
        }
    }

    // A constant reads no switch.
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}

    fn visit_expr_binary(&mut self, binary: &'ast ExprBinary) {
        let operator = self.lines.parsed(binary.op.span());
        if !binds(&binary.left) && !binds(&binary.right) {
            let changes = self.changes(Genre::BinaryOperator, |span| span == operator);
            let left = self.lines.parsed(binary.left.span());
            let right = self.lines.parsed(binary.right.span());
            let shape = Shape::Infix { left: left.clone(), operator, right: right.clone() };
            self.add(left.start..right.end, shape, changes);
        }
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_unary(&mut self, unary: &'ast ExprUnary) {
        let operator = self.lines.parsed(unary.op.span());
        let changes = self.changes(Genre::UnaryOperator, |span| span == operator);
        let operand = self.lines.parsed(unary.expr.span());
        let shape = Shape::Prefix(operand.clone());
        self.add(operator.start..operand.end, shape, changes);
        visit::visit_expr_unary(self, unary);
    }

    fn visit_arm(&mut self, arm: &'ast Arm) {
        let start = self.lines.parsed(arm.span()).start;
        let gone = self.changes(Genre::MatchArm, |span| span.start == start);
        match &arm.guard {
            Some((_, guard)) if !binds(guard) => {
                let range = self.lines.parsed(guard.span());
                let changes = self.changes(Genre::MatchArmGuard, |span| span == range);
                self.add(range.start..range.start, Shape::BeforeGuard, gone);
                self.add(range, Shape::Guard, changes);
            }
            Some(_) => {}
            None => {
                let end = self.lines.parsed(arm.pat.span()).end;
                self.add(end..end, Shape::Pattern, gone);
            }
        }
        visit::visit_arm(self, arm);
    }
}

/// Returns true when a condition binds names, which a switch around it would hide.
fn binds(condition: &Expr) -> bool {
    if let Expr::Binary(binary) = condition {
        return binds(&binary.left) || binds(&binary.right);
    }
    matches!(condition, Expr::Let(_))
}
