//! Strict forms of tools' schemas, for providers that constrain a model to a schema, and the way back
//! from arguments of that form. Pure: no I/O.

mod arguments;
mod calls;
mod form;
mod json;

#[cfg(test)]
mod tests;

pub use calls::StrictCalls;
pub use form::strict_form;
