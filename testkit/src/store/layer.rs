//! Stores over other stores: a macro for the methods that a layer passes on unchanged.

/// Implements methods of `LogStore` that call the store in a field, inside an implementation with
/// `#[async_trait]`.
///
/// ```text
/// windlass_testkit::pass_on!(inner: claim, release, sessions);
/// ```
#[macro_export]
macro_rules! pass_on {
    ($inner:ident: $($method:ident),+) => { $($crate::pass_on!(@$method $inner);)+ };
    (@capabilities $inner:ident) => {
        fn capabilities(&self) -> $crate::store::layer::StoreCapabilities {
            self.$inner.capabilities()
        }
    };
    (@claim $inner:ident) => {
        $crate::pass_on!(@@ $inner claim<'s>(session: &'s SessionId) -> Claimed);
    };
    (@release $inner:ident) => {
        $crate::pass_on!(@@ $inner release<'s>(session: &'s SessionId, epoch: Epoch) -> Unit);
    };
    (@append $inner:ident) => {
        $crate::pass_on!(@@ $inner append<'s, 'f>(
            session: &'s SessionId, epoch: Epoch, after: Seq, facts: &'f Facts
        ) -> Unit);
    };
    (@read $inner:ident) => {
        $crate::pass_on!(@@ $inner read<'s>(
            session: &'s SessionId, after: Seq, limit: Count
        ) -> Page);
    };
    (@sessions $inner:ident) => {
        $crate::pass_on!(@@ $inner sessions<'f, 's>(
            filter: &'f SessionFilter, after: Option<&'s SessionId>, limit: Count
        ) -> Heads);
    };
    (@verify $inner:ident) => {
        $crate::pass_on!(@@ $inner verify<'s>(session: &'s SessionId) -> Verified);
    };
    (@tail $inner:ident) => {
        $crate::pass_on!(@@ $inner tail<'s>(
            session: &'s SessionId, after: Seq, patience: Duration
        ) -> Seq);
    };
    (@erase $inner:ident) => {
        $crate::pass_on!(@@ $inner erase<'s>(session: &'s SessionId, epoch: Epoch) -> Unit);
    };
    (@keep_snapshot $inner:ident) => {
        $crate::pass_on!(@@ $inner keep_snapshot<'s, 'k>(
            session: &'s SessionId, snapshot: &'k Snapshot
        ) -> Unit);
    };
    (@snapshot $inner:ident) => {
        $crate::pass_on!(@@ $inner snapshot<'s, 'v>(
            session: &'s SessionId, version: &'v Version
        ) -> Kept);
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
pub use windlass_ports::{Claimed, SessionFilter, Snapshot, StoreCapabilities, Verified};

/// Future of a store's answer.
pub type Answer<'a, T> =
    std::pin::Pin<Box<dyn Future<Output = Result<T, windlass_ports::StoreError>> + Send + 'a>>;
/// Facts that an append takes.
pub type Facts = [std::sync::Arc<windlass_core::Recorded>];
/// Facts that were read.
pub type Page = Vec<windlass_core::Recorded>;
/// Heads of sessions of a page.
pub type Heads = Vec<windlass_ports::SessionHead>;
/// A snapshot, if one is kept.
pub type Kept = Option<Snapshot>;
/// Number of facts or heads.
pub type Count = usize;
/// Name of a snapshot's layout.
pub type Version = str;
/// Answer that is nothing but success.
pub type Unit = ();
