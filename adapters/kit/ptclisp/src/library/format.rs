//! `format`: the directives `%s %d %f %e %x %o` with width, left alignment, zeros and precision.

use std::iter::Peekable;
use std::str::Chars;

use crate::callable::NativeFunction;
use crate::context::Context;
use crate::fault::{Halt, misfit, runtime};
use crate::library::arith::{float, is_number};
use crate::library::{ANY, pure};
use crate::show;
use crate::value::Value;

/// The widest field and the most digits.
const WIDEST: usize = 1000;

struct Directive {
    left: bool,
    zeros: bool,
    width: usize,
    precision: Option<usize>,
    kind: char,
}

fn format(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    if args.is_empty() {
        return runtime("format needs a text");
    }
    let Some(pattern) = args[0].as_str() else {
        return misfit("format", args);
    };
    let mut values = args[1..].iter();
    let mut out = String::new();
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        if chars.next_if_eq(&'%').is_some() {
            out.push('%');
            continue;
        }
        let Some(directive) = directive(&mut chars) else {
            return runtime(format!("unsupported format specifier in: {pattern}"));
        };
        let Some(value) = values.next() else {
            return runtime(format!("format has fewer arguments than directives: {pattern}"));
        };
        ctx.writes(value)?;
        let text = one(&directive, value)?;
        out.push_str(&padded(&directive, text));
        ctx.room(out.len() / size_of::<Value>())?;
    }
    ctx.text(out)
}

fn directive(chars: &mut Peekable<Chars<'_>>) -> Option<Directive> {
    let mut directive =
        Directive { left: false, zeros: false, width: 0, precision: None, kind: ' ' };
    loop {
        match chars.peek() {
            Some('-') => directive.left = true,
            Some('0') => directive.zeros = true,
            _ => break,
        }
        chars.next();
    }
    directive.width = number(chars);
    if chars.next_if_eq(&'.').is_some() {
        directive.precision = Some(number(chars));
    }
    directive.kind = chars.next()?;
    let known = matches!(directive.kind, 's' | 'd' | 'f' | 'e' | 'x' | 'o');
    known.then_some(directive)
}

fn number(chars: &mut Peekable<Chars<'_>>) -> usize {
    let mut number = 0;
    while let Some(digit) = chars.peek().and_then(|c| c.to_digit(10)) {
        number = (number * 10 + digit as usize).min(WIDEST);
        chars.next();
    }
    number
}

fn one(directive: &Directive, value: &Value) -> Result<String, Halt> {
    match directive.kind {
        's' => {
            let text = show::plain(value);
            Ok(match directive.precision {
                Some(most) => text.chars().take(most).collect(),
                None => text,
            })
        }
        'd' | 'x' | 'o' => integer(directive, value),
        _ => fraction(directive, value),
    }
}

fn integer(directive: &Directive, value: &Value) -> Result<String, Halt> {
    let kind = directive.kind;
    match value {
        Value::Int(n) => Ok(match kind {
            'x' => signed(*n, format!("{:x}", n.unsigned_abs())),
            'o' => signed(*n, format!("{:o}", n.unsigned_abs())),
            _ => n.to_string(),
        }),
        Value::Big(n) => Ok(match kind {
            'x' => n.to_str_radix(16),
            'o' => n.to_str_radix(8),
            _ => n.to_string(),
        }),
        Value::Float(n) if kind == 'd' && n.is_finite() && n.fract() == 0.0 => {
            Ok(format!("{n:.0}"))
        }
        other => runtime(format!("%{kind} expects an integer, got: {}", show::brief(other))),
    }
}

fn signed(n: i64, digits: String) -> String {
    if n < 0 { format!("-{digits}") } else { digits }
}

fn fraction(directive: &Directive, value: &Value) -> Result<String, Halt> {
    if !is_number(value) {
        let (kind, got) = (directive.kind, show::brief(value));
        return runtime(format!("%{kind} expects a number, got: {got}"));
    }
    let number = float(value);
    if !number.is_finite() {
        return Ok(show::special(number).to_owned());
    }
    let precision = directive.precision.unwrap_or(6);
    if directive.kind == 'f' {
        return Ok(format!("{number:.precision$}"));
    }
    let text = format!("{number:.precision$e}");
    Ok(match text.split_once('e') {
        Some((digits, exponent)) => {
            let (sign, exponent) = match exponent.strip_prefix('-') {
                Some(exponent) => ('-', exponent),
                None => ('+', exponent),
            };
            format!("{digits}e{sign}{exponent:0>2}")
        }
        None => text,
    })
}

fn padded(directive: &Directive, text: String) -> String {
    let missing = directive.width.saturating_sub(text.chars().count());
    if missing == 0 {
        return text;
    }
    if directive.left {
        return text + &" ".repeat(missing);
    }
    let numeric = directive.kind != 's' && text.ends_with(|c: char| c.is_ascii_hexdigit());
    if directive.zeros && numeric {
        return match text.strip_prefix('-') {
            Some(digits) => format!("-{}{digits}", "0".repeat(missing)),
            None => "0".repeat(missing) + &text,
        };
    }
    " ".repeat(missing) + &text
}

pub(super) const NATIVES: &[NativeFunction] = &[pure("format", 0, ANY, format)];
