//! TLS: a server whose certificate is trusted is spoken to in secret, and another one not at all.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use windlass_core::SessionId;
use windlass_ports::{LogStore, StoreErrorKind};
use windlass_postgres::{PostgresConfig, PostgresStore};

use crate::common::{TestSchema, own};
use crate::run;

#[test]
fn a_certificate_is_checked() {
    let Some(server) = own() else { return };
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = KeyPair::generate().unwrap();
    let root = params.self_signed(&authority).unwrap();
    let issuer = Issuer::new(params, authority);
    let key = KeyPair::generate().unwrap();
    let leaf = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let leaf = leaf.signed_by(&key, &issuer).unwrap();

    let data = server.data();
    let owner = fs::metadata(&data).unwrap().uid();
    for (name, text) in [("server.crt", leaf.pem()), ("server.key", key.serialize_pem())] {
        let path = data.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        chown(&path, Some(owner), None).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let roots = folder.path().join("roots.pem");
    fs::write(&roots, root.pem()).unwrap();

    run(async {
        let place = TestSchema { url: server.url(), schema: "windlass".to_owned(), pooler: None };
        place.run("alter system set ssl = on").await;
        place.run("select pg_reload_conf()").await;
        let port = server.port();
        let url = |host: &str, options: &str| {
            format!("postgres://windlass@{host}:{port}/postgres?patience_ms=0&{options}")
        };
        let trusting = format!("sslmode=require&sslrootcert={}", roots.display());
        let connect =
            async |url: &str| PostgresStore::connect(PostgresConfig::parse(url).unwrap()).await;
        // The server takes TLS up when it comes to it.
        let store = loop {
            match connect(&url("localhost", &trusting)).await {
                Ok(store) => break store,
                Err(error) => assert!(error.to_string().contains("TLS"), "{error}"),
            }
            tokio::task::yield_now().await;
        };
        store.claim(&SessionId::new("s").unwrap()).await.unwrap();
        place
            .run(
                "do $$ begin if not exists (select from pg_stat_ssl join pg_stat_activity \
                  using (pid) where ssl and application_name = 'windlass') \
                  then raise exception 'nobody speaks TLS'; end if; end $$",
            )
            .await;

        for (host, options) in [
            ("localhost", "sslmode=require"),
            ("localhost", "sslmode=prefer"),
            ("127.0.0.1", trusting.as_str()),
        ] {
            let error = connect(&url(host, options)).await.err().unwrap();
            assert_eq!(error.kind, StoreErrorKind::Io, "{host}, {options}: {error}");
            assert!(error.to_string().contains("sslrootcert"), "{error}");
        }
        connect(&url("localhost", "sslmode=disable")).await.unwrap();
        let nothing = format!("sslrootcert={}", folder.path().join("none.pem").display());
        let error = connect(&url("localhost", &nothing)).await.err().unwrap();
        assert_eq!(error.kind, StoreErrorKind::Invalid, "{error}");
    });
}
