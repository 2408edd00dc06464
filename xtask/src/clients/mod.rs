//! `cargo xtask clients`: generates the types of the Python and TypeScript clients from the
//! server's OpenAPI document, which is `app/clients/openapi.json`. A test of the server compares
//! that file with the served document.

mod python;
mod schema;
mod typescript;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use clap::Args;

use xtask::say::say;
use xtask::step::root;

use schema::Schemas;

/// Options of the command.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Compare the generated types with the files and change nothing
    #[arg(long)]
    check: bool,
}

/// Writes the generated files, or compares them.
///
/// # Errors
/// When the document cannot be read, or a file differs or cannot be written.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    for (path, text) in generated(&root())? {
        let shown = path.display();
        match options.check {
            true => ensure!(
                is_same(&path, &text),
                "{shown} differs from the OpenAPI document: run `cargo xtask clients`"
            ),
            false => {
                fs::write(&path, text).with_context(|| format!("writing {shown}"))?;
                say(format_args!("clients: {shown} is written"));
            }
        }
    }
    Ok(())
}

/// Returns the paths and the texts of the generated files.
fn generated(root: &Path) -> anyhow::Result<[(PathBuf, String); 2]> {
    let clients = root.join("app/clients");
    let document = clients.join("openapi.json");
    let text = fs::read_to_string(&document);
    let text = text.with_context(|| format!("reading {}", document.display()))?;
    let schemas = Schemas::read(&text)?;
    Ok([
        (clients.join("python/src/windlass_client/types.py"), python::types(&schemas)),
        (clients.join("typescript/src/types.ts"), typescript::types(&schemas)),
    ])
}

fn is_same(path: &Path, text: &str) -> bool {
    fs::read_to_string(path).is_ok_and(|there| there == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_types_of_the_clients_are_those_of_the_document() {
        run(&Options { check: true }).unwrap();
    }

    #[test]
    fn every_form_of_schema_has_a_type_in_both_languages() {
        let document = r##"{"components": {"schemas": {
            "Kind": {"type": "string", "enum": ["a_b", "c"], "description": "The kind."},
            "Origin": {"type": "object", "required": ["from"], "properties": {
                "from": {"type": "string"}, "at": {"type": "integer"}}},
            "Thing": {"type": "object", "required": ["kind", "note"], "properties": {
                "kind": {"$ref": "#/components/schemas/Kind"},
                "note": {"type": ["string", "null"], "description": "Note about */ it."},
                "size": {"type": "integer"},
                "ratio": {"type": "number"},
                "parts": {"type": "array", "items": {"oneOf": [
                    {"$ref": "#/components/schemas/Thing"}, {"type": "null"}]}},
                "extra": {"type": "object"},
                "names": {"type": "object", "additionalProperties": {"type": "boolean"}},
                "any": {}
            }}
        }}}"##;
        let schemas = Schemas::read(document).unwrap();
        let python = python::types(&schemas);
        for line in [
            "Kind = Literal[\"a_b\", \"c\"]",
            "Origin = TypedDict(",
            "        \"from\": \"str\",",
            "        \"at\": \"NotRequired[int]\",",
            "class Thing(TypedDict):",
            "    kind: Kind",
            "    note: str | None",
            "    size: NotRequired[int]",
            "    ratio: NotRequired[float]",
            "    parts: NotRequired[list[Thing | None]]",
            "    extra: NotRequired[dict[str, Any]]",
            "    names: NotRequired[dict[str, bool]]",
            "    any: NotRequired[Any]",
        ] {
            assert!(python.lines().any(|there| there == line), "{line}\n{python}");
        }
        let typescript = typescript::types(&schemas);
        for line in [
            "export type Kind = \"a_b\" | \"c\";",
            "export interface Thing {",
            "  kind: Kind;",
            "  /** Note about *\u{200b}/ it. */",
            "  note: string | null;",
            "  size?: number;",
            "  parts?: (Thing | null)[];",
            "  extra?: Record<string, unknown>;",
            "  names?: Record<string, boolean>;",
            "  any?: unknown;",
        ] {
            assert!(typescript.lines().any(|there| there == line), "{line}\n{typescript}");
        }
    }

    #[test]
    fn an_unknown_form_is_refused() {
        let document = r#"{"components": {"schemas": {"A": {"allOf": []}}}}"#;
        let error = Schemas::read(document).unwrap_err();
        assert!(format!("{error:#}").contains("schema A"), "{error:#}");
    }
}
