//! An MCP server that asks for a login, and its authorization server, at one address.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// Authorization of the registered client, c-1:sk-client.
const CLIENT: &str = "Basic Yy0xOnNrLWNsaWVudA==";

/// State that tests change.
#[derive(Default)]
pub(crate) struct Access {
    /// Number of the tokens that are valid; 0 means none.
    valid: u64,
    /// Tokens that were given.
    given: u64,
    scope: String,
    /// Tokens that were revoked.
    pub(crate) revoked: Vec<String>,
    /// False once refresh tokens are refused.
    pub(crate) refuses_renewal: bool,
    /// Fields of the authorization server's description that are replaced.
    pub(crate) metadata: Value,
    /// Life of the next token, in seconds.
    pub(crate) life_s: u64,
    /// Time from the decision about a token to its answer.
    pub(crate) slow: Duration,
}

/// The two servers.
pub(crate) struct LoginServer {
    addr: SocketAddr,
    pub(crate) access: Arc<Mutex<Access>>,
    requests: Arc<Mutex<Vec<Request>>>,
}

/// A request to one of them.
#[derive(Clone, Default)]
struct Request {
    path: String,
    authorization: Option<String>,
    body: Vec<u8>,
}

/// Status and body of an answer, and the challenge in its head.
type Reply = (u16, Value, Option<String>);

impl LoginServer {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let access = Arc::new(Mutex::new(Access { life_s: 3_600, ..Access::default() }));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let server = Self { addr, access: access.clone(), requests: requests.clone() };
        let origin = server.origin();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (access, requests) = (access.clone(), requests.clone());
                let origin = origin.clone();
                std::thread::spawn(move || serve(&stream.unwrap(), &origin, &access, &requests));
            }
        });
        server
    }

    pub(crate) fn origin(&self) -> String {
        format!("http://{}", self.addr)
    }

    pub(crate) fn url(&self) -> String {
        format!("{}/mcp", self.origin())
    }

    /// Does what the user and the browser do: returns the address that the authorization server
    /// redirects to.
    pub(crate) fn authorize(&self, address: &str) -> String {
        let query = fields(address.split_once('?').unwrap().1);
        let get = |name: &str| value(&query, name);
        assert_eq!((get("response_type"), get("code_challenge_method")), ("code", "S256"));
        assert_eq!(get("resource"), self.url());
        self.access.lock().unwrap().scope = get("scope").to_owned();
        let issuer = self.origin().replace(':', "%3A").replace('/', "%2F");
        let redirect = get("redirect_uri");
        // The code is the challenge, so that its proof needs no memory.
        format!("{redirect}?code={}&state={}&iss={issuer}", get("code_challenge"), get("state"))
    }

    /// Ends the validity of all access tokens.
    pub(crate) fn expire(&self) {
        self.access.lock().unwrap().valid = 0;
    }

    /// Returns how many requests for tokens of a kind there were.
    pub(crate) fn token_requests(&self, kind: &str) -> usize {
        let kind = format!("grant_type={kind}");
        self.count(|request| {
            request.path == "/token" && String::from_utf8_lossy(&request.body).contains(&kind)
        })
    }

    /// Returns how many clients asked to be registered.
    pub(crate) fn registrations(&self) -> usize {
        self.count(|request| request.path == "/register")
    }

    fn count(&self, is: impl Fn(&Request) -> bool) -> usize {
        self.requests.lock().unwrap().iter().filter(|request| is(request)).count()
    }
}

/// Answers the requests of one connection.
fn serve(
    mut stream: &TcpStream,
    origin: &str,
    access: &Mutex<Access>,
    requests: &Mutex<Vec<Request>>,
) {
    let mut reader = BufReader::new(stream);
    while let Some(request) = read(&mut reader) {
        requests.lock().unwrap().push(request.clone());
        let (status, body, challenge) = access.lock().unwrap().respond(&request, origin);
        if request.path == "/token" {
            let slow = access.lock().unwrap().slow;
            std::thread::sleep(slow);
        }
        let body = body.to_string();
        let challenge = challenge.map(|value| format!("www-authenticate: {value}\r\n"));
        let answer = format!(
            "HTTP/1.1 {status} x\r\ncontent-type: application/json\r\n{}content-length: {}\r\n\r\n{body}",
            challenge.unwrap_or_default(),
            body.len()
        );
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

/// Reads a request; `None` at the end of the connection.
fn read(reader: &mut BufReader<&TcpStream>) -> Option<Request> {
    let mut request = Request::default();
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        match line.split_once(": ").map(|(name, value)| (name.to_ascii_lowercase(), value)) {
            Some((name, value)) if name == "content-length" => length = value.parse().unwrap(),
            Some((name, value)) if name == "authorization" => {
                request.authorization = Some(value.to_owned());
            }
            Some(_) => {}
            None => request.path = line.split(' ').nth(1)?.to_owned(),
        }
    }
    request.body = vec![0; length];
    reader.read_exact(&mut request.body).ok()?;
    Some(request)
}

impl Access {
    fn respond(&mut self, request: &Request, origin: &str) -> Reply {
        match request.path.as_str() {
            "/mcp" => self.serve(request, origin),
            "/.well-known/oauth-protected-resource/mcp" => {
                let servers = [origin];
                let described =
                    json!({"resource": format!("{origin}/mcp"), "authorization_servers": servers});
                (200, described, None)
            }
            "/.well-known/oauth-authorization-server" => (200, self.described(origin), None),
            "/register" => {
                let asked: Value = serde_json::from_slice(&request.body).unwrap();
                let client = json!({"client_id": "c-1", "client_secret": "sk-client",
                    "redirect_uris": asked["redirect_uris"]});
                (201, client, None)
            }
            "/token" => self.token(request, origin),
            "/revoke" => self.revoke(request),
            _ => (404, Value::Null, None),
        }
    }

    /// Returns the description of the authorization server.
    fn described(&self, origin: &str) -> Value {
        let end = |name: &str| format!("{origin}/{name}");
        let mut described = json!({"issuer": origin, "authorization_endpoint": end("authorize"),
            "token_endpoint": end("token"), "registration_endpoint": end("register"),
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": true,
            "scopes_supported": ["read", "write", "offline_access"]});
        for (name, value) in self.metadata.as_object().into_iter().flatten() {
            described[name] = value.clone();
        }
        described
    }

    /// Revokes a token, as the client that got it asks.
    fn revoke(&mut self, request: &Request) -> Reply {
        let form = fields(&String::from_utf8_lossy(&request.body));
        if request.authorization.as_deref() != Some(CLIENT) {
            return (401, json!({"error": "invalid_client"}), None);
        }
        self.revoked.push(value(&form, "token").to_owned());
        (200, Value::Null, None)
    }

    fn token(&mut self, request: &Request, origin: &str) -> Reply {
        let form = fields(&String::from_utf8_lossy(&request.body));
        let get = |name: &str| value(&form, name);
        let client = request.authorization.as_deref() == Some(CLIENT);
        let proved = match get("grant_type") {
            "authorization_code" => {
                URL_SAFE_NO_PAD.encode(Sha256::digest(get("code_verifier"))) == get("code")
            }
            // A refresh token is good for one time.
            _ => {
                let last = format!("sk-refresh-{}", self.given);
                !self.refuses_renewal && get("refresh_token") == last
            }
        };
        if !client || !proved || get("resource") != format!("{origin}/mcp") {
            return (400, json!({"error": "invalid_grant"}), None);
        }
        self.given += 1;
        self.valid = self.given;
        let number = self.given;
        let tokens = json!({"access_token": format!("sk-access-{number}"),
            "refresh_token": format!("sk-refresh-{number}"), "token_type": "Bearer",
            "id_token": "sk-id",
            "expires_in": self.life_s});
        (200, tokens, None)
    }

    fn serve(&self, request: &Request, origin: &str) -> Reply {
        let metadata = format!("{origin}/.well-known/oauth-protected-resource/mcp");
        let denied = |status, more: &str| {
            let challenge = format!("Bearer resource_metadata=\"{metadata}\", {more}");
            (status, Value::Null, Some(challenge))
        };
        let valid = format!("Bearer sk-access-{}", self.valid);
        if self.valid == 0 || request.authorization.as_deref() != Some(&valid) {
            return denied(401, "scope=\"read\"");
        }
        let Ok(message) = serde_json::from_slice::<Value>(&request.body) else {
            return (405, Value::Null, None);
        };
        let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
        let mut result = match message["method"].as_str().unwrap_or_default() {
            "server/discover" => json!({"supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private"}),
            "tools/list" => json!({"tools": [tool("look"), tool("write")]}),
            _ if message["params"]["name"] == "write" && !self.scope.contains("write") => {
                return denied(403, "error=\"insufficient_scope\", scope=\"write\"");
            }
            _ => json!({"content": [{"type": "text", "text": "here you are"}]}),
        };
        result["resultType"] = json!("complete");
        (200, json!({"jsonrpc": "2.0", "id": message["id"], "result": result}), None)
    }
}

/// Reads the fields of a form. Only the escapes that are met here are undone.
fn fields(form: &str) -> Vec<(String, String)> {
    let plain = |text: &str| {
        text.replace('+', " ").replace("%3A", ":").replace("%2F", "/").replace("%20", " ")
    };
    form.split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(n, v)| (n.into(), plain(v)))
        .collect()
}

fn value<'a>(fields: &'a [(String, String)], name: &str) -> &'a str {
    fields.iter().find(|(named, _)| named == name).map_or("", |(_, value)| value)
}
