//! What a driver did, as the laws need to know it.

use windlass_core::{EffectClass, EffectKey, Seq};

/// An effect that a driver began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Begun {
    /// Which process, counted from 0.
    pub life: u32,
    /// Which run of which effect.
    pub key: EffectKey,
    /// What it does to the world. Kept here because a position, and so a call's id, that was
    /// lost in a crash comes back as something else.
    pub class: EffectClass,
    /// How far the log was durable then.
    pub durable: Seq,
}

/// The death of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loss {
    /// Which process.
    pub life: u32,
    /// The last fact that outlived it.
    pub kept: Seq,
}
