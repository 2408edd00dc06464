//! Storage of the keys of sessions, and of the names of their blobs.

use std::io;

use async_trait::async_trait;
use windlass_core::SessionId;

/// Stores small records beside encrypted logs. A record that was written is durable.
#[async_trait]
pub trait KeyStorage: Send + Sync + 'static {
    /// Returns the name of the place for error messages.
    fn place(&self) -> String;

    /// Reads the key of a session.
    ///
    /// # Errors
    /// Those of the operating system.
    async fn key(&self, session: &SessionId) -> io::Result<Option<Vec<u8>>>;

    /// Stores the key of a session that has none. Returns false if it has one.
    ///
    /// # Errors
    /// Those of the operating system.
    async fn create_key(&self, session: &SessionId, record: &[u8]) -> io::Result<bool>;

    /// Replaces the key of a session.
    ///
    /// # Errors
    /// Those of the operating system.
    async fn replace_key(&self, session: &SessionId, record: &[u8]) -> io::Result<()>;

    /// Hides the key of a session whose log is about to be erased. Changes nothing if there is none.
    ///
    /// # Errors
    /// Those of the operating system.
    async fn hide_key(&self, session: &SessionId) -> io::Result<()>;

    /// Restores a hidden key, unless the session has a key.
    ///
    /// # Errors
    /// Those of the operating system.
    async fn restore_key(&self, session: &SessionId) -> io::Result<()>;

    /// Destroys a hidden key.
    ///
    /// # Errors
    /// Those of the operating system.
    async fn destroy_hidden_key(&self, session: &SessionId) -> io::Result<()>;

    /// Returns the sessions with a key, in the order of their ids.
    ///
    /// # Errors
    /// Those of the operating system.
    async fn sessions(&self) -> io::Result<Vec<SessionId>>;

    /// Returns the sessions with a hidden key.
    ///
    /// # Errors
    /// Those of the operating system.
    async fn hidden(&self) -> io::Result<Vec<SessionId>>;

    /// Reads the record of a blob. Its name has 64 hexadecimal digits.
    ///
    /// # Errors
    /// Those of the operating system.
    async fn blob(&self, session: &SessionId, name: &str) -> io::Result<Option<Vec<u8>>>;

    /// Stores the record of a blob that has none. Returns false if it has one.
    ///
    /// # Errors
    /// Those of the operating system.
    async fn create_blob(&self, session: &SessionId, name: &str, record: &[u8])
    -> io::Result<bool>;

    /// Removes the records of all blobs of a session.
    ///
    /// # Errors
    /// Those of the operating system.
    async fn remove_blobs(&self, session: &SessionId) -> io::Result<()>;
}
