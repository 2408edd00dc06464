//! The rules as data: what is on these lists is allowed, what is not is found.

/// What a crate is. It follows from its folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layer {
    Core,
    Ports,
    /// What adapters of one kind have in common, without a technology of its own.
    Kit,
    /// The network that provider adapters are handed; their tests use the real one.
    Transport,
    Adapter,
    Engine,
    /// The crate that embedders add: re-exports behind features.
    Facade,
    /// What clients call over a network: a library that is handed its engines.
    Server,
    App,
    Testkit,
    Xtask,
}

/// What kind of dependency an edge is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Normal,
    Dev,
    Build,
}

/// Which folder holds which layer; `*` is one folder name, and the first match counts.
pub(super) const FOLDERS: &[(&str, Layer)] = &[
    ("core", Layer::Core),
    ("ports", Layer::Ports),
    ("adapters/kit/*", Layer::Kit),
    ("adapters/http", Layer::Transport),
    ("adapters/*", Layer::Adapter),
    ("app/engine", Layer::Engine),
    ("app/windlass", Layer::Facade),
    ("app/server", Layer::Server),
    ("app/*", Layer::App),
    ("testkit", Layer::Testkit),
    ("xtask", Layer::Xtask),
];

/// Which layer may depend on which, by kind of dependency. No row, no edge.
pub(super) const EDGES: &[(Layer, Kind, &[Layer])] = &[
    (Layer::Ports, Kind::Normal, &[Layer::Core]),
    (Layer::Kit, Kind::Normal, &[Layer::Core, Layer::Ports]),
    (
        Layer::Kit,
        Kind::Dev,
        &[Layer::Core, Layer::Ports, Layer::Testkit],
    ),
    (
        Layer::Transport,
        Kind::Normal,
        &[Layer::Core, Layer::Ports, Layer::Kit],
    ),
    (
        Layer::Transport,
        Kind::Dev,
        &[Layer::Core, Layer::Ports, Layer::Testkit],
    ),
    (
        Layer::Adapter,
        Kind::Normal,
        &[Layer::Core, Layer::Ports, Layer::Kit],
    ),
    (
        Layer::Adapter,
        Kind::Dev,
        &[
            Layer::Core,
            Layer::Ports,
            Layer::Kit,
            Layer::Transport,
            Layer::Testkit,
        ],
    ),
    (Layer::Engine, Kind::Normal, &[Layer::Core, Layer::Ports]),
    (
        Layer::Engine,
        Kind::Dev,
        &[Layer::Core, Layer::Ports, Layer::Testkit],
    ),
    (
        Layer::Server,
        Kind::Normal,
        &[Layer::Core, Layer::Ports, Layer::Engine],
    ),
    (
        Layer::Server,
        Kind::Dev,
        &[
            Layer::Core,
            Layer::Ports,
            Layer::Adapter,
            Layer::Engine,
            Layer::Testkit,
        ],
    ),
    (
        Layer::Facade,
        Kind::Normal,
        &[
            Layer::Core,
            Layer::Ports,
            Layer::Transport,
            Layer::Adapter,
            Layer::Engine,
        ],
    ),
    (
        Layer::Facade,
        Kind::Dev,
        &[Layer::Core, Layer::Ports, Layer::Testkit],
    ),
    (Layer::Testkit, Kind::Normal, &[Layer::Core, Layer::Ports]),
    (Layer::Testkit, Kind::Dev, &[Layer::Core, Layer::Ports]),
    (
        Layer::App,
        Kind::Normal,
        &[
            Layer::Core,
            Layer::Ports,
            Layer::Transport,
            Layer::Adapter,
            Layer::Engine,
            Layer::Facade,
            Layer::Server,
        ],
    ),
    (
        Layer::App,
        Kind::Dev,
        &[
            Layer::Core,
            Layer::Ports,
            Layer::Kit,
            Layer::Transport,
            Layer::Adapter,
            Layer::Engine,
            Layer::Facade,
            Layer::Server,
            Layer::Testkit,
        ],
    ),
    (
        Layer::Xtask,
        Kind::Normal,
        &[
            Layer::Core,
            Layer::Ports,
            Layer::Kit,
            Layer::Transport,
            Layer::Adapter,
            Layer::Engine,
            Layer::Facade,
            Layer::Server,
            Layer::App,
            Layer::Testkit,
        ],
    ),
    (
        Layer::Xtask,
        Kind::Dev,
        &[
            Layer::Core,
            Layer::Ports,
            Layer::Kit,
            Layer::Transport,
            Layer::Adapter,
            Layer::Engine,
            Layer::Facade,
            Layer::Server,
            Layer::App,
            Layer::Testkit,
        ],
    ),
];

/// Layers whose foreign dependencies are counted: they may have these and no other.
pub(super) const FOREIGN: &[(Layer, &[&str])] = &[
    (Layer::Core, &["serde", "thiserror"]),
    (
        Layer::Ports,
        &[
            "async-trait",
            "bytes",
            "serde",
            "serde_json",
            "sha2",
            "thiserror",
        ],
    ),
];

/// Technologies with the folders that may depend on each: one, unless a decision record says why two.
pub(super) const HOMES: &[(&str, &[&str])] = &[
    ("async-nats", &["adapters/nats"]),
    ("async-openai", &["adapters/openai"]),
    ("axum", &["app/server"]),
    ("clap", &["app/cli"]),
    ("deadpool-postgres", &["adapters/postgres"]),
    ("http-body-util", &["adapters/demo"]),
    ("hyper", &["adapters/demo", "app/server"]),
    ("hyper-util", &["adapters/demo", "app/server"]),
    ("jsonschema", &["app/engine"]),
    ("oxc_allocator", &["adapters/javascript"]),
    ("oxc_ast", &["adapters/javascript"]),
    ("oxc_ast_visit", &["adapters/javascript"]),
    ("oxc_parser", &["adapters/javascript"]),
    ("oxc_semantic", &["adapters/javascript"]),
    ("oxc_span", &["adapters/javascript"]),
    ("reqwest", &["adapters/http"]),
    ("rquickjs", &["adapters/javascript"]),
    ("rusqlite", &["adapters/sqlite"]),
    ("sled", &["adapters/sled"]),
    ("tokio-postgres", &["adapters/postgres"]),
    ("tokio-tungstenite", &["adapters/http"]),
    ("tracing-subscriber", &["app/cli"]),
    ("utoipa", &["app/server"]),
    ("utoipa-axum", &["app/server"]),
];

/// Plain libraries: no technology of their own, so any number of crates may use them.
///
/// `rustls` is one of them: a protocol over TCP other than HTTP brings its own connections, and TLS is
/// how each of them is made secret, not what any of them is.
pub(super) const SHARED: &[&str] = &[
    "anyhow",
    "async-trait",
    "base64",
    "bytes",
    "crc32c",
    "futures-util",
    "getrandom",
    "memchr",
    "num-bigint",
    "num-traits",
    "regex",
    "regex-automata",
    "rustix",
    "rustls",
    "serde",
    "serde_json",
    "sha2",
    "thiserror",
    "tokio",
    "toml",
    "tracing",
    "ulid",
    "unicode-segmentation",
    "url",
];

/// The licence that every crate states.
pub(super) const LICENSE: &str = "MIT OR Apache-2.0";

/// Files that every checkout has.
pub(super) const PRESENT: &[&str] = &["LICENSE-APACHE", "LICENSE-MIT", "README.md"];

/// The most lines of a source file.
pub(super) const LINES: usize = 500;

/// Source files that may be longer, each with the reason.
pub(super) const LONG: &[(&str, &str)] = &[];

/// What may come before a text that is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Before {
    Anything,
    /// Not a letter, a digit or `_`.
    NoWord,
    /// As `NoWord`, and no quotation mark: who quotes a mark speaks about it.
    NoQuote,
    /// Not a part of a longer path.
    NoPath,
}

/// A text that no file may hold.
#[derive(Debug)]
pub(super) struct Forbidden {
    pub(super) text: &'static str,
    pub(super) before: Before,
    /// Endings of the names of the files that are looked through.
    pub(super) files: &'static [&'static str],
    pub(super) remedy: &'static str,
}

const SOURCES: &[&str] = &[".rs"];
const TEXTS: &[&str] = &[".rs", ".toml", ".md", ".sh", ".ci/run"];

const UNFINISHED: &str = "finish it, or leave it out and say so in docs/";
const FOREIGN_PATH: &str = "the text must hold on every machine: use a relative or temporary path";
const DASH: &str = "use a comma, a colon, parentheses or a new sentence";

/// Texts that no file may hold. They are put together here so that this file does not hold them.
pub(super) const FORBIDDEN: &[Forbidden] = &[
    forbidden(concat!("to", "do!"), Before::NoWord, SOURCES, UNFINISHED),
    forbidden(
        concat!("unimple", "mented!"),
        Before::NoWord,
        SOURCES,
        UNFINISHED,
    ),
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
    Forbidden {
        text,
        before,
        files,
        remedy,
    }
}

/// The layer of the crate in this folder.
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
        assert_eq!(layer("core"), Some(Layer::Core));
        assert_eq!(layer("adapters/new"), Some(Layer::Adapter));
        assert_eq!(layer("app/engine"), Some(Layer::Engine));
        assert_eq!(layer("app/server"), Some(Layer::Server));
        assert_eq!(layer("app/windlass"), Some(Layer::Facade));
        assert_eq!(layer("app/cli"), Some(Layer::App));
        assert_eq!(layer("adapters/kit/log"), Some(Layer::Kit));
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
