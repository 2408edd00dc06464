//! Limits of a server.

use serde::Deserialize;

/// Limits of a server. Times are milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerLimits {
    /// Concurrent connections; further ones wait to be accepted.
    pub connections: usize,
    /// Concurrent connections from one address.
    pub connections_per_address: usize,
    /// Time from a connection's start, or a later request's first byte, to the end of its headers.
    pub header_ms: u64,
    /// Time from the end of the headers to the end of the body.
    pub body_ms: u64,
    /// Longest idle time of a connection between requests.
    pub idle_ms: u64,
    /// Longest time for which a client may read nothing of a response.
    pub stall_ms: u64,
    /// Bytes of all headers of a request.
    pub header_bytes: usize,
    /// Headers of a request.
    pub headers: usize,
    /// Bytes of a request's body, if its tenant has no limit of its own.
    pub body_bytes: usize,
    /// Bytes of the bodies of all requests that are being received or answered.
    pub bodies_bytes: usize,
    /// Bytes of a WebSocket message from a client.
    pub frame_bytes: usize,
    /// Deepest nesting of JSON in a body.
    pub json_depth: usize,
    /// Bytes that a fork may copy, of facts, outputs and images.
    pub fork_bytes: u64,
    /// Interval of a stream's heartbeats.
    pub heartbeat_ms: u64,
    /// Life of a ticket.
    pub ticket_ms: u64,
    /// Valid tickets of all tenants together.
    pub tickets: usize,
    /// Entries of a listing.
    pub page: usize,
    /// Time for which a session's absence from a scope is cached.
    pub unknown_ms: u64,
    /// Time for running steps to end when the server is stopped.
    pub drain_ms: u64,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            connections: 16_384,
            connections_per_address: 16_384,
            header_ms: 10_000,
            body_ms: 30_000,
            idle_ms: 75_000,
            stall_ms: 30_000,
            header_bytes: 32 * 1024,
            headers: 100,
            body_bytes: 8 * 1024 * 1024,
            bodies_bytes: 256 * 1024 * 1024,
            frame_bytes: 4 * 1024,
            json_depth: 64,
            fork_bytes: 16 * 1024 * 1024,
            heartbeat_ms: 15_000,
            ticket_ms: 30_000,
            tickets: 10_000,
            page: 1_000,
            unknown_ms: 25,
            drain_ms: 10_000,
        }
    }
}

impl ServerLimits {
    /// Returns the name of a limit that leaves no room for anything, if there is one.
    #[must_use]
    pub fn zero_limit(&self) -> Option<&'static str> {
        let counts = [
            ("connections", self.connections),
            ("connections_per_address", self.connections_per_address),
            ("headers", self.headers),
            ("body_bytes", self.body_bytes),
            ("bodies_bytes", self.bodies_bytes / 1024),
            ("frame_bytes", self.frame_bytes),
            ("json_depth", self.json_depth),
            ("tickets", self.tickets),
            ("page", self.page),
        ];
        let times = [
            ("header_ms", self.header_ms),
            ("body_ms", self.body_ms),
            ("idle_ms", self.idle_ms),
            ("stall_ms", self.stall_ms),
            ("heartbeat_ms", self.heartbeat_ms),
            ("ticket_ms", self.ticket_ms),
        ];
        let count = counts.iter().find(|(_, bound)| *bound == 0);
        let time = times.iter().find(|(_, bound)| *bound == 0);
        // Minimum of hyper to read a request line.
        let small = (self.header_bytes < 8 * 1024).then_some("header_bytes");
        let count = count.map(|(name, _)| *name);
        count.or(time.map(|(name, _)| *name)).or(small)
    }
}
