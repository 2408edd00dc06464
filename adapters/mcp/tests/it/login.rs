//! Logins at servers over HTTP.

use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use windlass_core::ObservationStatus;
use windlass_http::http_wire;
use windlass_mcp::{
    LoginFlow, LoginSettings, LoginStatus, LoopbackRedirect, McpError, McpOptions, McpServer,
    McpTools, McpTransport, Revocation, ServerName, ServerState, logout,
};

use super::bench::{call, eventually, said, state};
use super::login_server::LoginServer;

const REDIRECT: &str = "http://127.0.0.1:1/callback";

/// A server that asks for a login, and the folder of its user.
struct Site {
    http: LoginServer,
    folder: TempDir,
    settings: LoginSettings,
}

impl Site {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        Self { http: LoginServer::start(), folder, settings: LoginSettings::default() }
    }

    async fn logged_in() -> Self {
        let site = Self::new();
        site.login().await.unwrap();
        site
    }

    fn name() -> ServerName {
        ServerName::new("s").unwrap()
    }

    fn server(&self) -> McpServer {
        let (url, headers) = (self.http.url(), Default::default());
        let server = McpServer::new(McpTransport::Http { url, headers, token: None });
        McpServer { trusted: true, oauth: self.settings.clone(), ..server }
    }

    fn options(&self) -> McpOptions {
        McpOptions::new(std::env::temp_dir())
            .with_logins(self.folder.path().join("mcp"))
            .with_wire(|url| http_wire(url).map_err(|error| McpError::new(error.to_string())))
    }

    async fn tools(&self) -> McpTools {
        McpTools::start([(Self::name(), self.server())], self.options()).await.unwrap()
    }

    async fn begin(&self, redirect: &str) -> Result<LoginFlow, McpError> {
        LoginFlow::begin(&Self::name(), &self.server(), &self.options(), redirect).await
    }

    async fn login(&self) -> Result<LoginStatus, McpError> {
        let flow = self.begin(REDIRECT).await?;
        let redirected = self.http.authorize(flow.address());
        flow.finish(&redirected).await
    }

    async fn logout(&self) -> Option<Revocation> {
        logout(&Self::name(), &self.server(), &self.options()).await.unwrap()
    }

    /// Fails to call a tool, and returns the words.
    async fn refused(&self, tools: &McpTools, tool: &str) -> String {
        let error = call(tools, tool, json!({})).await.unwrap_err();
        assert!(!error.started(), "{error}");
        error.to_string()
    }
}

fn login(tools: &McpTools) -> Option<LoginStatus> {
    tools.reports()[0].login
}

#[tokio::test]
async fn a_login_is_asked_for_made_used_and_forgotten() {
    let site = Site::new();
    let tools = site.tools().await;
    let ServerState::Failed { reason } = state(&tools) else { panic!("{:?}", state(&tools)) };
    assert_eq!(reason, "it asks for a login; run: windlass mcp login s");
    assert_eq!(login(&tools), Some(LoginStatus::Needed));
    site.login().await.unwrap();
    let tools = site.tools().await;
    assert_eq!(said(&tools, "look").await, "here you are");
    let Some(LoginStatus::LoggedIn { until: Some(_) }) = login(&tools) else {
        panic!("{:?}", login(&tools))
    };
    let shown = format!("{:?} {:?}", tools.reports(), site.server());
    assert!(!shown.contains("sk-"), "{shown}");
    let mut files = std::fs::read_dir(site.folder.path().join("mcp")).unwrap().flatten();
    assert!(files.all(|file| file.metadata().unwrap().permissions().mode() & 0o777 == 0o600));
    for was in [Some(Revocation::Unsupported), None] {
        assert_eq!(site.logout().await, was);
    }
    assert!(site.refused(&tools, "look").await.contains("run: windlass mcp login s"));
}

#[tokio::test]
async fn a_logout_revokes_the_tokens_where_that_is_offered_and_removes_them_anyway() {
    let site = Site::logged_in().await;
    let offer = |end: String| {
        let origin = site.http.origin();
        let end = if end.starts_with('/') { format!("{origin}{end}") } else { end };
        site.http.access.lock().unwrap().metadata = json!({ "revocation_endpoint": end });
    };
    offer("/revoke".to_owned());
    assert_eq!(site.logout().await, Some(Revocation::Revoked));
    let revoked = site.http.access.lock().unwrap().revoked.clone();
    assert_eq!(revoked, ["sk-refresh-1", "sk-access-1"], "the one that renews first");
    for (end, words) in [
        ("/gone", "it answers 404 for the refresh_token"),
        ("http://10.0.0.1/revoke", "is neither https nor on this machine"),
    ] {
        site.login().await.unwrap();
        offer(end.to_owned());
        let Some(Revocation::Failed(reason)) = site.logout().await else { panic!("{end}") };
        assert!(reason.contains(words) && !reason.contains("sk-"), "{reason}");
        assert_eq!(site.logout().await, None, "it is removed all the same");
    }
    assert_eq!(site.http.access.lock().unwrap().revoked.len(), 2);
}

#[tokio::test]
async fn a_token_is_renewed_once_for_all_who_use_it() {
    let site = Site::logged_in().await;
    // As two processes: they share nothing but the folder.
    let (one, other) = (site.tools().await, site.tools().await);
    for round in 1..=3 {
        site.http.expire();
        let (a, b) = tokio::join!(said(&one, "look"), said(&other, "look"));
        assert_eq!((a.as_str(), b.as_str()), ("here you are", "here you are"));
        assert_eq!(site.http.token_requests("refresh_token"), round);
    }
}

#[tokio::test]
async fn a_renewal_ends_though_nobody_waits_for_it() {
    let site = Site::logged_in().await;
    let tools = site.tools().await;
    site.http.access.lock().unwrap().slow = Duration::from_millis(300);
    site.http.expire();
    let calling = async {
        call(&tools, "look", json!({})).await.unwrap();
    };
    let renewing = eventually("the renewal", || site.http.token_requests("refresh_token") == 1);
    tokio::select! {
        () = calling => panic!("the authorization server is slow"),
        () = renewing => {}
    }
    drop(tools);
    assert_eq!(said(&site.tools().await, "look").await, "here you are");
    assert_eq!(site.http.token_requests("refresh_token"), 1);
}

#[tokio::test]
async fn a_token_is_renewed_before_it_expires() {
    let site = Site::new();
    site.http.access.lock().unwrap().life_s = 0;
    site.login().await.unwrap();
    site.http.access.lock().unwrap().life_s = 3_600;
    let tools = site.tools().await;
    assert_eq!(said(&tools, "look").await, "here you are");
    assert_eq!(site.http.token_requests("refresh_token"), 1);
}

#[tokio::test]
async fn a_renewal_that_is_refused_is_not_repeated() {
    let site = Site::logged_in().await;
    let tools = site.tools().await;
    site.http.access.lock().unwrap().refuses_renewal = true;
    site.http.expire();
    for _ in 0..3 {
        let words = site.refused(&tools, "look").await;
        assert!(words.contains("it asks for a login; run: windlass mcp login s"), "{words}");
    }
    assert_eq!(site.http.token_requests("refresh_token"), 1);
    assert_eq!(login(&tools), Some(LoginStatus::Needed));
    site.login().await.unwrap();
    assert_eq!(said(&tools, "look").await, "here you are");
}

#[tokio::test]
async fn another_authorization_server_gets_no_refresh_token() {
    let site = Site::logged_in().await;
    let tools = site.tools().await;
    // The library accepts an issuer with a slash at its end as the same place.
    let issuer = format!("{}/", site.http.origin());
    site.http.access.lock().unwrap().metadata = json!({"issuer": issuer});
    site.http.expire();
    let words = site.refused(&tools, "look").await;
    assert!(words.contains("run: windlass mcp login s"), "{words}");
    assert_eq!(site.http.token_requests("refresh_token"), 0);
}

#[tokio::test]
async fn a_call_that_needs_more_scopes_says_so_and_the_next_login_has_them() {
    let site = Site::logged_in().await;
    let tools = site.tools().await;
    let words = site.refused(&tools, "write").await;
    let wanted = "it asks for a login with more scopes (write); run: windlass mcp login s";
    assert!(words.contains(wanted), "{words}");
    assert_eq!(said(&tools, "look").await, "here you are", "the login is as good as it was");
    let flow = site.begin(REDIRECT).await.unwrap();
    assert!(flow.address().contains("scope=read+offline_access+write"), "{}", flow.address());
    let redirected = site.http.authorize(flow.address());
    flow.finish(&redirected).await.unwrap();
    assert_eq!(said(&tools, "write").await, "here you are");
    let ended = call(&tools, "look", json!({})).await.unwrap();
    assert_eq!(ended.status, ObservationStatus::Done);
}

#[tokio::test]
async fn the_users_scopes_and_client_outrank_what_is_found() {
    let mut site = Site::new();
    site.settings.scopes = vec!["mine".into()];
    site.settings.client_id = Some("c-own".into());
    let flow = site.begin(REDIRECT).await.unwrap();
    for part in ["scope=mine+offline_access", "client_id=c-own"] {
        assert!(flow.address().contains(part), "{}", flow.address());
    }
    assert_eq!(site.http.registrations(), 0);
}

#[tokio::test]
async fn a_redirect_of_somebody_else_ends_no_login() {
    let site = Site::new();
    let listener = LoopbackRedirect::bind(0).await.unwrap();
    let flow = site.begin(&listener.address()).await.unwrap();
    let redirected = site.http.authorize(flow.address());
    assert!(flow.is_redirect(&redirected));
    let forged = redirected.replace("state=", "state=x");
    let elsewhere = redirected.replace("/callback", "/other");
    assert!(!flow.is_redirect(&forged) && !flow.is_redirect(&elsewhere));
    let get = |address: String| async move {
        let rest = address.strip_prefix("http://").unwrap();
        let (host, path) = rest.split_once('/').unwrap();
        let mut stream = TcpStream::connect(host).await.unwrap();
        let request = format!("GET /{path} HTTP/1.1\r\nhost: {host}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer.lines().next().unwrap().to_owned()
    };
    let browser = async {
        assert_eq!(get(forged).await, "HTTP/1.1 404 Not Found");
        assert_eq!(get(elsewhere).await, "HTTP/1.1 404 Not Found");
        assert_eq!(get(redirected.clone()).await, "HTTP/1.1 200 OK");
    };
    let (received, ()) = tokio::join!(listener.receive(&flow), browser);
    assert_eq!(received, redirected);
    flow.finish(&received).await.unwrap();
}

#[tokio::test]
async fn an_answer_that_is_refused_or_of_another_issuer_gives_no_token() {
    let site = Site::new();
    for (change, words) in [
        ("&iss=http%3A%2F%2Fevil", "mismatch"),
        ("", "missing required issuer"),
        ("&error=access_denied&error_description=no", "refused: access_denied no"),
    ] {
        let flow = site.begin(REDIRECT).await.unwrap();
        let redirected = site.http.authorize(flow.address());
        let (kept, _) = redirected.split_once("&iss=").unwrap();
        let error = flow.finish(&format!("{kept}{change}")).await.unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    assert_eq!(site.http.token_requests("authorization_code"), 0);
}

#[tokio::test]
async fn an_authorization_server_that_others_can_read_is_not_used() {
    let site = Site::new();
    for (metadata, words) in [
        (json!({"token_endpoint": "http://h.test/token"}), "http://h.test is neither https"),
        (json!({"issuer": "https://h.test"}), "mismatch"),
        (json!({"code_challenge_methods_supported": ["plain"]}), "S256"),
        (json!({"code_challenge_methods_supported": null}), "does not say that it has PKCE"),
        (json!({"registration_endpoint": null}), "set oauth.client_id"),
    ] {
        site.http.access.lock().unwrap().metadata = metadata;
        let error = site.begin(REDIRECT).await.err().unwrap().to_string();
        assert!(error.contains(words), "{error}");
    }
    site.http.access.lock().unwrap().metadata = json!({});
    let error = site.begin("http://10.1.2.3/callback").await.err().unwrap().to_string();
    assert!(error.contains("neither https nor on this machine"), "{error}");
}
