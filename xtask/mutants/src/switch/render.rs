//! Writing the text with the switches.

use std::ops::Range;

use super::mark;
use super::sites::{Change, Shape, Site};

/// The number that is switched on, where the switches are.
const NUMBER: &str = "crate::mutation()";

/// Writes `text` with a switch at each of the sites, the outer ones of which come first.
pub(super) fn render(text: &str, sites: &[Site]) -> String {
    Text { text }.between(0..text.len(), sites)
}

struct Text<'a> {
    text: &'a str,
}

impl Text<'_> {
    fn plain(&self, range: Range<usize>) -> &str {
        self.text.get(range).unwrap_or_default()
    }

    /// A part of the text; `sites` are those in it.
    fn between(&self, range: Range<usize>, mut sites: &[Site]) -> String {
        let (mut out, mut at) = (String::new(), range.start);
        while let Some((site, rest)) = sites.split_first() {
            let inner = rest.iter().take_while(|one| one.range.start < site.range.end);
            let (inner, next) = rest.split_at(inner.count());
            out.push_str(self.plain(at..site.range.start));
            out.push_str(&self.site(site, inner));
            (at, sites) = (site.range.end, next);
        }
        out + self.plain(at..range.end)
    }

    fn site(&self, site: &Site, inner: &[Site]) -> String {
        let changes = site.changes.as_slice();
        match &site.shape {
            Shape::Body => {
                let mut out = format!("match {NUMBER} {{");
                for Change { number, replacement } in changes {
                    let mark = mark(*number);
                    // One a line: most of what does not build is of this kind.
                    out += &format!("\n{mark} {number} => return {replacement},");
                }
                out + "\n_ => {} }\n"
            }
            Shape::Guard => {
                let guard = self.between(site.range.clone(), inner);
                switched(changes, str::to_owned, &format!("{{ {guard} }}"))
            }
            Shape::Pattern => format!(" if {} ", all_but(changes)),
            Shape::BeforeGuard => format!("{} && ", all_but(changes)),
            Shape::Prefix(operand) => {
                let operator = self.plain(site.range.start..operand.start).to_owned();
                let operand = self.between(operand.clone(), inner);
                let whole = format!("{operator} operand");
                let switched = switched(changes, |_| "operand".to_owned(), &whole);
                format!("(match {operand} {{ operand => {switched} }})")
            }
            Shape::Infix { left, operator, right } => {
                let within = |range: &Range<usize>| {
                    let (start, end) = (range.start, range.end);
                    let from = inner.partition_point(|one| one.range.start < start);
                    let to = inner.partition_point(|one| one.range.start < end);
                    self.between(range.clone(), inner.get(from..to).unwrap_or_default())
                };
                let operator = self.plain(operator.clone());
                // What is assigned to is written as it is: it stands in more than one arm.
                let place = self.plain(left.clone());
                infix(changes, operator, place, &within(left), &within(right))
            }
        }
    }
}

/// No operand is written twice, or deep nesting would grow exponentially.
fn infix(changes: &[Change], operator: &str, place: &str, left: &str, right: &str) -> String {
    match operator {
        // `a && b` is `a` where `a` is false, and `a || b` is `a` where `a` is true; else `b`.
        "&&" | "||" => {
            let (ends, swapped) = match operator {
                "&&" => ("!left", "left"),
                _ => ("left", "!left"),
            };
            let ends = switched(changes, |_| swapped.to_owned(), ends);
            format!("(match ({left}) {{ left => if {ends} {{ left }} else {{ {right} }} }})")
        }
        "==" | "!=" | "<" | "<=" | ">" | ">=" => {
            let with = |operator: &str| format!("*left {operator} *right");
            let switched = switched(changes, with, &with(operator));
            format!("(match (&({left}), &({right})) {{ (left, right) => {switched} }})")
        }
        _ if operator.ends_with('=') => {
            let with = |operator: &str| format!("{{ {place} {operator} right; }}");
            let switched = switched(changes, with, &with(operator));
            format!("match ({right}) {{ right => {switched} }}")
        }
        _ => {
            let with = |operator: &str| format!("left {operator} right");
            let switched = switched(changes, with, &with(operator));
            format!("(match (({left}), ({right})) {{ (left, right) => {switched} }})")
        }
    }
}

/// Renders the choice between the changes by the active number.
fn switched(changes: &[Change], with: impl Fn(&str) -> String, without: &str) -> String {
    let mut out = format!("(match {NUMBER} {{ ");
    for Change { number, replacement } in changes {
        out += &format!("{} {number} => {}, ", mark(*number), with(replacement));
    }
    out + &format!("_ => {without} }})")
}

/// True while none of the changes is switched on.
fn all_but(changes: &[Change]) -> String {
    let each = changes.iter().map(|change| {
        let number = change.number;
        format!("{} {NUMBER} != {number}", mark(number))
    });
    each.collect::<Vec<_>>().join(" && ")
}
