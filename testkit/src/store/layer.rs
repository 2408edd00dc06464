//! Stores over other stores: a macro for the methods that a layer forwards unchanged.

/// Implements methods of `LogStore` that call the store in a field, inside an implementation with
/// `#[async_trait]`.
///
/// ```text
/// windlass_testkit::forward!(inner: claim, release, sessions);
/// ```
#[macro_export]
macro_rules! forward {
    ($inner:ident: $($method:ident),+) => { $($crate::forward!(@$method $inner);)+ };
    (@capabilities $inner:ident) => {
        fn capabilities(&self) -> $crate::store::layer::StoreCapabilities {
            self.$inner.capabilities()
        }
    };
    (@claim $inner:ident) => {
        $crate::forward!(@@ $inner claim<'s>(session: &'s SessionId) -> SessionClaim);
    };
    (@release $inner:ident) => {
        $crate::forward!(@@ $inner release<'s>(session: &'s SessionId, epoch: Epoch) -> Unit);
    };
    (@append $inner:ident) => {
        $crate::forward!(@@ $inner append<'s, 'f>(
            session: &'s SessionId, epoch: Epoch, after: Seq, facts: &'f Facts
        ) -> Unit);
    };
    (@read $inner:ident) => {
        $crate::forward!(@@ $inner read<'s>(
            session: &'s SessionId, after: Seq, limit: Count
        ) -> Page);
    };
    (@sessions $inner:ident) => {
        $crate::forward!(@@ $inner sessions<'f, 's>(
            filter: &'f SessionFilter, after: Option<&'s SessionId>, limit: Count
        ) -> Heads);
    };
    (@verify $inner:ident) => {
        $crate::forward!(@@ $inner verify<'s>(session: &'s SessionId) -> LogVerification);
    };
    (@tail $inner:ident) => {
        $crate::forward!(@@ $inner tail<'s>(
            session: &'s SessionId, after: Seq, patience: Duration
        ) -> Seq);
    };
    (@erase $inner:ident) => {
        $crate::forward!(@@ $inner erase<'s>(session: &'s SessionId, epoch: Epoch) -> Unit);
    };
    (@write_checkpoint $inner:ident) => {
        $crate::forward!(@@ $inner write_checkpoint<'s, 'k>(
            session: &'s SessionId, checkpoint: &'k StoredCheckpoint
        ) -> Unit);
    };
    (@read_checkpoint $inner:ident) => {
        $crate::forward!(@@ $inner read_checkpoint<'s, 'v>(
            session: &'s SessionId, version: &'v Version
        ) -> FoundCheckpoint);
    };
    (@probe $inner:ident) => {
        fn probe<'this, 'async_trait>(
            &'this self,
        ) -> $crate::store::layer::Answer<'async_trait, $crate::store::layer::Unit>
        where
            'this: 'async_trait,
            Self: 'async_trait,
        {
            self.$inner.probe()
        }
    };
    // A method as `async_trait` writes it.
    (@@ $inner:ident $method:ident<$($life:lifetime),+>(
        $($name:ident: $(& $ref:lifetime)? $kind:ident $(<&$opt:lifetime $of:ident>)?),+
    ) -> $out:ident) => {
        fn $method<'this, $($life,)+ 'async_trait>(
            &'this self,
            $($name: $(&$ref)? $crate::store::layer::$kind
                $(<&$opt $crate::store::layer::$of>)?),+
        ) -> $crate::store::layer::Answer<'async_trait, $crate::store::layer::$out>
        where
            'this: 'async_trait,
            $($life: 'async_trait,)+
            Self: 'async_trait,
        {
            self.$inner.$method($($name),+)
        }
    };
}

pub use std::option::Option;
pub use std::time::Duration;
pub use windlass_core::{Epoch, Seq, SessionId};
pub use windlass_ports::{
    LogVerification, SessionClaim, SessionFilter, StoreCapabilities, StoredCheckpoint,
};

/// Future of a store's answer.
pub type Answer<'a, T> =
    std::pin::Pin<Box<dyn Future<Output = Result<T, windlass_ports::StoreError>> + Send + 'a>>;
/// Facts that an append takes.
pub type Facts = [std::sync::Arc<windlass_core::RecordedFact>];
/// Facts that were read.
pub type Page = Vec<windlass_core::RecordedFact>;
/// Heads of sessions of a page.
pub type Heads = Vec<windlass_ports::SessionListing>;
/// A checkpoint, if the store has one.
pub type FoundCheckpoint = Option<StoredCheckpoint>;
/// Number of facts or heads.
pub type Count = usize;
/// Version of a checkpoint's layout.
pub type Version = str;
/// Answer that is nothing but success.
pub type Unit = ();
