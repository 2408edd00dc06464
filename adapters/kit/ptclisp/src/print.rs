//! Forms as text: what the reader makes the same forms of again, but for their places.

use std::fmt::Write;

use crate::form::{Form, FormKind};
use crate::show;

/// Writes a form as text.
pub(crate) fn form(out: &mut String, form: &Form) {
    match &form.kind {
        FormKind::Nil => out.push_str("nil"),
        FormKind::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        FormKind::Int(n) => {
            let _ = write!(out, "{n}");
        }
        FormKind::Float(n) => out.push_str(&show::float(*n)),
        FormKind::Str(text) => show::quoted(out, text),
        FormKind::Kw(name) => {
            // Of two colons the reader drops one.
            out.push_str(if name.starts_with(':') { "::" } else { ":" });
            out.push_str(name);
        }
        FormKind::Sym(name) => out.push_str(name),
        FormKind::Regex(source) => {
            out.push_str("#\"");
            out.push_str(&source.replace('"', "\\\""));
            out.push('"');
        }
        FormKind::List(parts) => within(out, "(", parts, ')'),
        FormKind::Vec(parts) => within(out, "[", parts, ']'),
        FormKind::Map(parts) => within(out, "{", parts, '}'),
        FormKind::Set(parts) => within(out, "#{", parts, '}'),
        FormKind::Short(parts) => within(out, "#(", parts, ')'),
        FormKind::Quote(quoted) => {
            out.push('\'');
            self::form(out, quoted);
        }
        FormKind::Var(name) => {
            out.push_str("#'");
            self::form(out, name);
        }
    }
}

/// Writes forms one after the other.
pub(crate) fn forms(out: &mut String, parts: &[Form]) {
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            out.push(' ');
        }
        form(out, part);
    }
}

fn within(out: &mut String, open: &str, parts: &[Form], close: char) {
    out.push_str(open);
    forms(out, parts);
    out.push(close);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;
    use crate::read::read;

    #[test]
    fn what_is_written_reads_back_as_it_was() {
        let source = r##"(f [1 -2 123456789012345678901234567890 1.5 -0.0 1e300 ##Inf ##-Inf]
            "a \"b\" \\ \n \t \u0001 é" :k ::k :::k #"a\"b\d+\\[\t]" {:a {1 2}} #{1 "x"} #(+ % %2 %&)
            'sym '(1 [2]) ''x #'name \a \newline nil true false a/b ->x %)"##;
        let first = read(source, &Limits::default()).expect("reads").forms;
        let mut text = String::new();
        forms(&mut text, &first);
        let second = read(&text, &Limits::default()).expect(&text).forms;
        let mut again = String::new();
        forms(&mut again, &second);
        assert_eq!(text, again);
        // Short functions and expressions are alike to nothing, so that parts are compared.
        let parts = |forms: &[Form]| match &forms[0].kind {
            FormKind::List(parts) => parts.clone(),
            other => panic!("{other:?}"),
        };
        let mut compared = 0;
        for (a, b) in parts(&first).iter().zip(&parts(&second)) {
            if !matches!(a.kind, FormKind::Regex(_) | FormKind::Short(_)) {
                assert!(a.alike(b), "{a:?} {b:?}");
                compared += 1;
            }
        }
        assert_eq!(compared, 20);
    }
}
