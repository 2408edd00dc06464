//! Revocation: the authorization server ends the validity of the tokens of a login (RFC 7009).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use rmcp::transport::auth::AuthorizationMetadata;
use serde_json::Value;
use url::{Url, form_urlencoded};
use windlass_kit_http::Secret;

use super::exchange::{Found, Site, checked, private};
use super::store::{StoredLogin, Tokens};
use crate::excerpt::clipped;

/// Longest code of an error that is shown, in bytes.
const MAX_CODE: usize = 100;

/// Result of the request to revoke the tokens of a login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Revocation {
    /// The tokens are not valid any more.
    Revoked,
    /// The login had no tokens.
    NoTokens,
    /// The authorization server lists no endpoint for it: the tokens are valid until they expire.
    Unsupported,
    /// The tokens may be valid until they expire, for this reason.
    Failed(String),
}

impl Site {
    /// Asks the authorization server of a login to revoke its tokens. Another one gets nothing.
    pub(super) async fn revoke(&self, stored: &StoredLogin, tokens: &Tokens) -> Revocation {
        match private(self.revoke_now(stored, tokens)).await.flatten() {
            Ok(true) => Revocation::Revoked,
            Ok(false) => Revocation::Unsupported,
            Err(words) => Revocation::Failed(words),
        }
    }

    /// Returns false if the authorization server has no endpoint for it.
    async fn revoke_now(&self, stored: &StoredLogin, tokens: &Tokens) -> Result<bool, String> {
        let Found { metadata, .. } = self.discover(None).await?;
        if metadata.issuer != stored.issuer {
            return Err("the server names another authorization server than the login's".into());
        }
        let Some(end) = metadata.additional_fields.get("revocation_endpoint") else {
            return Ok(false);
        };
        let end = end.as_str().and_then(|end| Url::parse(end).ok());
        let end = end.ok_or("its revocation endpoint is no address")?;
        checked(&end)?;
        let client = self.client(stored, &metadata);
        // The refresh token first: without it, nothing renews the other one.
        let refresh = tokens.refresh.as_deref().map(|token| ("refresh_token", token));
        for (kind, token) in refresh.into_iter().chain([("access_token", &*tokens.access)]) {
            self.revoke_token(&end, &client, kind, token).await?;
        }
        Ok(true)
    }

    fn client(&self, stored: &StoredLogin, metadata: &AuthorizationMetadata) -> Client {
        let own = self.settings.client_secret.as_ref().map(Secret::expose);
        let methods = metadata.additional_fields.get("revocation_endpoint_auth_methods_supported");
        let has = |name: &str| {
            let listed = methods.and_then(Value::as_array);
            listed.is_some_and(|listed| listed.iter().any(|method| method == name))
        };
        Client {
            id: stored.client_id.clone(),
            secret: own.or(stored.client_secret.as_deref()).map(str::to_owned),
            in_form: has("client_secret_post") && !has("client_secret_basic"),
        }
    }

    async fn revoke_token(
        &self,
        end: &Url,
        client: &Client,
        kind: &str,
        token: &str,
    ) -> Result<(), String> {
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("token", token).append_pair("token_type_hint", kind);
        let request = http::Request::post(end.as_str())
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        let request = match (&client.secret, client.in_form) {
            (Some(secret), false) => request.header(AUTHORIZATION, basic(&client.id, secret)),
            (secret, _) => {
                form.append_pair("client_id", &client.id);
                secret.iter().for_each(|secret| {
                    form.append_pair("client_secret", secret);
                });
                request
            }
        };
        let request =
            request.body(form.finish().into_bytes()).map_err(|error| error.to_string())?;
        let answer = self.send(request).await;
        let answer = answer.map_err(|error| error.to_string())?;
        if answer.status().is_success() {
            return Ok(());
        }
        let body: Value = serde_json::from_slice(answer.body()).unwrap_or_default();
        let code = body["error"].as_str().map(|code| format!(", {}", clipped(code, MAX_CODE)));
        let code = code.unwrap_or_default();
        Err(format!("it answers {}{code} for the {kind}", answer.status().as_u16()))
    }
}

/// Client of a login, and the way in which it proves itself.
struct Client {
    id: String,
    secret: Option<String>,
    /// True if the secret goes into the form, and not into the header.
    in_form: bool,
}

fn basic(id: &str, secret: &str) -> String {
    let escaped = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    format!("Basic {}", STANDARD.encode(format!("{}:{}", escaped(id), escaped(secret))))
}
