#![doc = include_str!("../README.md")]

pub use windlass_engine::*;

#[cfg(feature = "anthropic")]
pub use windlass_anthropic as anthropic;
#[cfg(feature = "clock")]
pub use windlass_clock as clock;
#[cfg(feature = "demo")]
pub use windlass_demo as demo;
#[cfg(feature = "file")]
pub use windlass_file as file;
#[cfg(feature = "hooks")]
pub use windlass_hooks as hooks;
#[cfg(feature = "http")]
pub use windlass_http as http;
#[cfg(feature = "javascript")]
pub use windlass_javascript as javascript;
#[cfg(feature = "localfs")]
pub use windlass_localfs as localfs;
#[cfg(feature = "memory")]
pub use windlass_memory as memory;
#[cfg(feature = "nats")]
pub use windlass_nats as nats;
#[cfg(feature = "openai")]
pub use windlass_openai as openai;
#[cfg(feature = "postgres")]
pub use windlass_postgres as postgres;
#[cfg(feature = "ptclisp")]
pub use windlass_ptclisp as ptclisp;
#[cfg(feature = "replay")]
pub use windlass_replay as replay;
#[cfg(feature = "route")]
pub use windlass_route as route;
#[cfg(feature = "sled")]
pub use windlass_sled as sled;
