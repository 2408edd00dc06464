//! The rules as data: entries of these lists are allowed, everything else is a finding.

use self::Kind::{Dev, Normal};
use self::Layer::{
    Adapter, App, Core, Engine, Facade, Kit, Ports, Server, Terminal, Testkit, Transport, Xtask,
};

/// Layer of a crate. It follows from the crate's folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layer {
    Core,
    Ports,
    /// Code that adapters of one kind share, without a technology of its own.
    Kit,
    /// Network that provider adapters receive; their tests use the real one.
    Transport,
    Adapter,
    Engine,
    /// Crate that embedders add: the engine with its parts by name, behind features.
    Facade,
    /// Network interface for clients: a library that receives its engines.
    Server,
    /// Text and keys at a terminal; no crate of the workspace below it.
    Terminal,
    App,
    Testkit,
    Xtask,
}

/// Kind of dependency that an edge is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Normal,
    Dev,
    Build,
}

/// Layers by folder; `*` is one folder name, and the first match counts.
pub(super) const FOLDERS: &[(&str, Layer)] = &[
    ("core", Core),
    ("ports", Ports),
    ("adapters/kit/*", Kit),
    ("adapters/http", Transport),
    ("adapters/*", Adapter),
    ("app/engine", Engine),
    ("app/windlass", Facade),
    ("app/server", Server),
    ("app/terminal", Terminal),
    ("app/*", App),
    ("testkit", Testkit),
    ("xtask", Xtask),
    ("xtask/*", Xtask),
];

/// Allowed dependencies between layers, by kind. No row, no edge.
pub(super) const EDGES: &[(Layer, Kind, &[Layer])] = &[
    (Ports, Normal, &[Core]),
    (Kit, Normal, &[Core, Ports]),
    (Kit, Dev, &[Core, Ports, Testkit]),
    (Transport, Normal, &[Core, Ports, Kit]),
    (Transport, Dev, &[Core, Ports, Testkit]),
    (Adapter, Normal, &[Core, Ports, Kit]),
    (Adapter, Dev, &[Core, Ports, Kit, Transport, Testkit]),
    (Engine, Normal, &[Core, Ports]),
    (Engine, Dev, &[Core, Ports, Testkit]),
    (Server, Normal, &[Core, Ports, Engine]),
    (Server, Dev, &[Core, Ports, Adapter, Engine, Testkit]),
    (Facade, Normal, &[Core, Ports, Transport, Adapter, Engine]),
    (Facade, Dev, &[Core, Ports, Testkit]),
    (Testkit, Normal, &[Core, Ports]),
    (Testkit, Dev, &[Core, Ports]),
    (App, Normal, &[Core, Ports, Transport, Adapter, Engine, Facade, Server, Terminal]),
    (App, Dev, &[Core, Ports, Kit, Transport, Adapter, Engine, Facade, Server, Terminal, Testkit]),
    (
        Xtask,
        Normal,
        &[
            Core, Ports, Kit, Transport, Adapter, Engine, Facade, Server, Terminal, App, Testkit,
            Xtask,
        ],
    ),
    (
        Xtask,
        Dev,
        &[
            Core, Ports, Kit, Transport, Adapter, Engine, Facade, Server, Terminal, App, Testkit,
            Xtask,
        ],
    ),
];

/// Layers with a closed list of foreign dependencies.
pub(super) const FOREIGN: &[(Layer, &[&str])] = &[
    (Core, &["serde", "thiserror"]),
    (Ports, &["async-trait", "bytes", "serde", "serde_json", "sha2", "similar", "thiserror"]),
];

/// Technologies with the folders that may depend on each: one, unless a decision record says why two.
pub(super) const HOMES: &[(&str, &[&str])] = &[
    ("async-nats", &["adapters/nats"]),
    ("async-openai", &["adapters/openai"]),
    ("axum", &["app/server"]),
    ("chacha20poly1305", &["adapters/encrypted"]),
    ("clap", &["app/cli"]),
    ("clap_complete", &["app/cli"]),
    ("clap_mangen", &["app/cli"]),
    ("deadpool-postgres", &["adapters/postgres"]),
    ("http-body-util", &["adapters/demo"]),
    ("hyper", &["adapters/demo", "app/server"]),
    ("hyper-util", &["adapters/demo", "app/server"]),
    ("jsonschema-regex", &["app/engine"]),
    ("landlock", &["adapters/sandbox"]),
    ("mimalloc", &["app/cli"]),
    ("oxc_allocator", &["adapters/javascript"]),
    ("oxc_ast", &["adapters/javascript"]),
    ("oxc_ast_visit", &["adapters/javascript"]),
    ("oxc_parser", &["adapters/javascript"]),
    ("oxc_semantic", &["adapters/javascript"]),
    ("oxc_span", &["adapters/javascript"]),
    ("pulldown-cmark", &["app/terminal"]),
    ("reqwest", &["adapters/http"]),
    ("rmcp", &["adapters/mcp", "app/server"]),
    ("rquickjs", &["adapters/javascript"]),
    ("rusqlite", &["adapters/sqlite"]),
    ("sled", &["adapters/sled"]),
    ("sse-stream", &["adapters/mcp"]),
    ("syntect", &["app/terminal"]),
    ("tokio-postgres", &["adapters/postgres"]),
    ("tokio-tungstenite", &["adapters/http"]),
    ("tracing-subscriber", &["app/cli"]),
    ("utoipa", &["app/server"]),
    ("utoipa-axum", &["app/server"]),
    ("vt100", &["app/terminal"]),
];

/// Plain libraries: no technology of their own, so any number of crates may use them.
///
/// `rustls` is one of them: each protocol over TCP makes its own connections, and all of them need
/// TLS.
pub(super) const SHARED: &[&str] = &[
    "anyhow",
    "async-trait",
    "base64",
    "bytes",
    "crc32c",
    "futures-util",
    "getrandom",
    "http",
    "ignore",
    "memchr",
    "nix",
    "num-bigint",
    "num-traits",
    "regex",
    "regex-automata",
    "rustix",
    "rustls",
    "schemars",
    "serde",
    "serde_json",
    "sha2",
    "similar",
    "thiserror",
    "tokio",
    "toml",
    "tracing",
    "ulid",
    "unicode-segmentation",
    "unicode-width",
    "url",
];

/// Licence that every crate states.
pub(super) const LICENSE: &str = "MIT OR Apache-2.0";

/// Licences that a foreign crate may be used under, as SPDX names them.
pub(super) const LICENCES: &[&str] = &[
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Source that foreign crates come from.
pub(super) const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Foreign crates that must not be used, with the reason.
pub(super) const BANNED: &[(&str, &str)] = &[
    ("native-tls", "TLS is rustls, which needs no library of the system"),
    ("openssl-sys", "TLS is rustls, which needs no library of the system"),
];

/// Files that every checkout has.
pub(super) const PRESENT: &[&str] =
    &["CHANGELOG.md", "CONTRIBUTING.md", "LICENSE-APACHE", "LICENSE-MIT", "README.md"];

/// Maximum number of lines of a source file.
pub(super) const LINES: usize = 500;

/// Source files that may be longer, each with the reason.
pub(super) const LONG: &[(&str, &str)] = &[];

/// Condition on the text before a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Before {
    Anything,
    /// Not a letter, a digit or `_`.
    NoWord,
    /// As `NoWord`, and no quotation mark: a quoted mark is only mentioned.
    NoQuote,
    /// Not a part of a longer path.
    NoPath,
}

/// Text that no file may contain.
#[derive(Debug)]
pub(super) struct Forbidden {
    pub(super) text: &'static str,
    pub(super) before: Before,
    /// Name endings of the files to search.
    pub(super) files: &'static [&'static str],
    pub(super) remedy: &'static str,
}

const SOURCES: &[&str] = &[".rs"];
const TEXTS: &[&str] = &[".rs", ".toml", ".md", ".sh", ".ci/run"];

const UNFINISHED: &str = "finish it, or leave it out and say so in docs/";
const FOREIGN_PATH: &str = "the text must hold on every machine: use a relative or temporary path";
const DASH: &str = "use a comma, a colon, parentheses or a new sentence";

/// Texts that no file may contain. They are concatenated here so that this file does not contain them.
pub(super) const FORBIDDEN: &[Forbidden] = &[
    forbidden(concat!("to", "do!"), Before::NoWord, SOURCES, UNFINISHED),
    forbidden(concat!("unimple", "mented!"), Before::NoWord, SOURCES, UNFINISHED),
    forbidden(
        concat!("#[ig", "nore"),
        Before::Anything,
        SOURCES,
        "a test that does not run proves nothing: make it run or remove it",
    ),
    forbidden(concat!("TO", "DO"), Before::NoQuote, TEXTS, UNFINISHED),
    forbidden(concat!("FIX", "ME"), Before::NoQuote, TEXTS, UNFINISHED),
    forbidden(concat!("/wo", "rk/"), Before::NoPath, TEXTS, FOREIGN_PATH),
    forbidden(concat!("/ro", "ot/"), Before::NoPath, TEXTS, FOREIGN_PATH),
    forbidden(concat!("/tm", "p/"), Before::NoPath, TEXTS, FOREIGN_PATH),
    forbidden("\u{2013}", Before::Anything, TEXTS, DASH),
    forbidden("\u{2014}", Before::Anything, TEXTS, DASH),
];

const fn forbidden(
    text: &'static str,
    before: Before,
    files: &'static [&'static str],
    remedy: &'static str,
) -> Forbidden {
    Forbidden { text, before, files, remedy }
}

/// Returns the layer of the crate in this folder.
pub(super) fn layer(folder: &str) -> Option<Layer> {
    let fits = |pattern: &str| match pattern.strip_suffix("/*") {
        None => pattern == folder,
        Some(above) => folder
            .strip_prefix(above)
            .and_then(|rest| rest.strip_prefix('/'))
            .is_some_and(|name| !name.is_empty() && !name.contains('/')),
    };
    let row = FOLDERS.iter().find(|(pattern, _)| fits(pattern))?;
    Some(row.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_one_layer() {
        assert_eq!(layer("core"), Some(Core));
        assert_eq!(layer("adapters/new"), Some(Adapter));
        assert_eq!(layer("app/engine"), Some(Engine));
        assert_eq!(layer("app/server"), Some(Server));
        assert_eq!(layer("app/windlass"), Some(Facade));
        assert_eq!(layer("app/cli"), Some(App));
        assert_eq!(layer("adapters/kit/log"), Some(Kit));
        assert_eq!(layer("xtask/bench"), Some(Xtask));
        assert_eq!(layer("adapters/a/b"), None);
        assert_eq!(layer("adapters"), None);
        assert_eq!(layer("tools"), None);
    }

    #[test]
    fn lists_are_sorted_and_no_technology_is_shared() {
        assert!(HOMES.is_sorted());
        assert!(SHARED.is_sorted());
        for (technology, _) in HOMES {
            assert!(!SHARED.contains(technology), "{technology}");
        }
    }
}
