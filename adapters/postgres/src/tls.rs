//! TLS: the server's certificate is always checked, against the system's authorities or named ones.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;
use windlass_ports::{StoreError, StoreErrorKind};

use crate::config::PostgresConfig;

/// Returns the TLS connector.
///
/// # Errors
/// `Invalid` when the file of certificates does not read or holds none.
pub(crate) fn connector(config: &PostgresConfig) -> Result<MakeRustlsConnect, StoreError> {
    let mut roots = RootCertStore::empty();
    if let Some(path) = &config.root_cert {
        let wrong = |what: String| {
            let context = format!(
                "reading the certificates in {} for {}: {what}; name a PEM file of the \
                 authorities to trust with sslrootcert",
                path.display(),
                config.location()
            );
            StoreError::new(StoreErrorKind::Invalid, context)
        };
        let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
        let read: Vec<CertificateDer<'static>> = read.map_err(|error| wrong(error.to_string()))?;
        let (taken, _) = roots.add_parsable_certificates(read);
        if taken == 0 {
            return Err(wrong("it holds no certificate".to_owned()));
        }
    } else if !config.plain() {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| {
        let context = format!("making TLS ready for {}: {error}", config.location());
        StoreError::new(StoreErrorKind::Io, context)
    })?;
    let tls = builder.with_root_certificates(roots).with_no_client_auth();
    Ok(MakeRustlsConnect::new(tls))
}
