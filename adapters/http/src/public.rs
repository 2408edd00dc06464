//! Wire for requests that a model makes: it reaches public addresses, or listed hosts, and nothing
//! else. The address is checked after the name is resolved, and the connection uses that address.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use async_trait::async_trait;
use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use windlass_kit_hosts::{allows, is_public};
use windlass_ports::{NetworkAccess, Wire, WireError, WireRequest, WireResponse};

use crate::{HttpConfig, builder, built, invalid, wire_of};

/// Creates a wire to the hosts of a profile: with `All` every public address, with `Hosts` the listed
/// names that lead to public addresses, and listed addresses. It uses no proxy, since a proxy
/// would resolve the names again.
///
/// Refused are loopback, private, link-local and metadata addresses, in any notation, and a name
/// that leads to one, unless the address itself is listed.
///
/// # Errors
/// [`WireError`] of kind `Invalid` when the profile has no network, or root certificates are missing.
pub fn public_wire(network: &NetworkAccess) -> Result<Arc<dyn Wire>, WireError> {
    let rule = Arc::new(match network {
        NetworkAccess::Off => return Err(invalid("the profile has no network")),
        NetworkAccess::All => HostRule(None),
        NetworkAccess::Hosts(hosts) => HostRule(Some(hosts.clone())),
    });
    let any = Url::parse("https://any.invalid").map_err(|_| invalid("the URL is none"))?;
    let client = builder(&HttpConfig::default(), &any)?.no_proxy();
    let client = built(client.dns_resolver(Arc::new(PublicResolver(rule.clone()))))?;
    Ok(Arc::new(PublicWire { rule, inner: wire_of(client) }))
}

/// Listed hosts; `None` for all that are public.
struct HostRule(Option<Vec<String>>);

impl HostRule {
    fn lists(&self, address: IpAddr) -> bool {
        self.0.iter().flatten().any(|entry| entry.parse() == Ok(address))
    }

    /// Checks the host of a URL, before a name is resolved.
    fn check(&self, url: &Url) -> Result<(), WireError> {
        let host = url.host_str().unwrap_or_default();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let Some(listed) = &self.0 else {
            return match bare.parse() {
                Ok(address) => self.check_address(host, address).map_err(invalid),
                Err(_) => Ok(()),
            };
        };
        let by_name = listed.iter().any(|entry| allows(entry, host));
        let by_address = bare.parse().is_ok_and(|address| self.lists(address));
        match by_name || by_address {
            true => Ok(()),
            false => Err(invalid(format!("the sandbox profile does not list the host {host}"))),
        }
    }

    fn check_address(&self, host: &str, address: IpAddr) -> Result<(), String> {
        match is_public(address) || self.lists(address) {
            true => Ok(()),
            false => Err(format!("{host} leads to {address}, which is not a public address")),
        }
    }
}

struct PublicResolver(Arc<HostRule>);

impl Resolve for PublicResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let rule = self.0.clone();
        Box::pin(async move {
            let host = name.as_str();
            let (mut usable, mut refusal) = (Vec::new(), format!("{host} has no address"));
            for found in tokio::net::lookup_host((host, 0)).await? {
                match rule.check_address(host, found.ip()) {
                    Ok(()) => usable.push(found),
                    Err(why) => refusal = why,
                }
            }
            if usable.is_empty() {
                return Err(refusal.into());
            }
            let addresses: Addrs = Box::new(usable.into_iter().map(|at: SocketAddr| at));
            Ok(addresses)
        })
    }
}

struct PublicWire {
    rule: Arc<HostRule>,
    inner: Arc<dyn Wire>,
}

#[async_trait]
impl Wire for PublicWire {
    async fn send(&self, request: WireRequest) -> Result<WireResponse, WireError> {
        let url = Url::parse(&request.url).map_err(|_| invalid("the URL is none"))?;
        self.rule.check(&url)?;
        self.inner.send(request).await
    }
}
