//! Web search by the provider, as flags and as fields of the server's configuration file.

use clap::Args as ClapArgs;
use serde::Deserialize;
use windlass_engine::core::WebSearch;

/// Web search of the provider. The session keeps it.
#[derive(Debug, Clone, Default, PartialEq, Eq, ClapArgs)]
pub(crate) struct WebSearchArgs {
    /// Let the provider search the web. Its queries leave for the provider and its search engine.
    ///
    /// The model writes the queries from all that the conversation holds, and the provider's own servers
    /// run them: no approval and no sandbox stands between. Off by default.
    #[arg(long)]
    pub(crate) web_search: bool,
    /// Most web searches of one sample, if the provider takes a bound.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) web_search_max: Option<u32>,
    /// Search this domain and its subdomains only. Can be repeated.
    #[arg(long, value_name = "DOMAIN", value_parser = domain)]
    pub(crate) web_search_allow: Vec<String>,
    /// Leave this domain and its subdomains out of searches. Can be repeated.
    #[arg(long, value_name = "DOMAIN", value_parser = domain)]
    pub(crate) web_search_block: Vec<String>,
    /// Stop the session's web searches.
    #[arg(long, conflicts_with_all = ["web_search", "web_search_max", "web_search_allow", "web_search_block"])]
    pub(crate) no_web_search: bool,
}

impl WebSearchArgs {
    /// Changes the web search of a session.
    ///
    /// # Errors
    /// The reason why the flags do not go together.
    pub(crate) fn set(&self, search: &mut Option<WebSearch>) -> Result<(), String> {
        if self.no_web_search {
            *search = None;
        }
        if self.web_search && search.is_none() {
            *search = Some(WebSearch::default());
        }
        let limits = self.web_search_max.is_some()
            || !self.web_search_allow.is_empty()
            || !self.web_search_block.is_empty();
        match search {
            None if limits => {
                Err("--web-search-max, --web-search-allow and --web-search-block need \
                                   a web search: add --web-search"
                    .to_owned())
            }
            None => Ok(()),
            Some(search) => {
                search.max_searches = self.web_search_max.or(search.max_searches);
                if !self.web_search_allow.is_empty() {
                    search.allowed_domains.clone_from(&self.web_search_allow);
                }
                if !self.web_search_block.is_empty() {
                    search.blocked_domains.clone_from(&self.web_search_block);
                }
                Ok(())
            }
        }
    }
}

/// The same in the server's configuration file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WebSearchFields {
    /// Same as the flag `--web-search-max`.
    max: Option<u32>,
    /// Same as the flag `--web-search-allow`.
    #[serde(default)]
    allow: Vec<String>,
    /// Same as the flag `--web-search-block`.
    #[serde(default)]
    block: Vec<String>,
}

impl WebSearchFields {
    /// Converts into the flags.
    ///
    /// # Errors
    /// The field that is wrong, and the reason.
    pub(crate) fn args(&self) -> Result<WebSearchArgs, String> {
        let domains = |field: &str, list: &[String]| -> Result<Vec<String>, String> {
            let read: Result<_, String> = list.iter().map(|name| domain(name)).collect();
            read.map_err(|why| format!("web_search.{field}: {why}"))
        };
        if self.max == Some(0) {
            return Err("web_search.max is at least 1".to_owned());
        }
        Ok(WebSearchArgs {
            web_search: true,
            web_search_max: self.max,
            web_search_allow: domains("allow", &self.allow)?,
            web_search_block: domains("block", &self.block)?,
            no_web_search: false,
        })
    }
}

/// Parses the name of a domain.
fn domain(text: &str) -> Result<String, String> {
    let name = text.trim().trim_end_matches('.').to_lowercase();
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '-' | '.');
    match name.contains('.')
        && !name.starts_with('.')
        && name.len() <= 253
        && name.chars().all(fits)
    {
        true => Ok(name),
        false => Err("not a domain such as example.org, without a scheme and a path".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_need_a_search_and_change_the_one_of_the_session() {
        let allow = |name: &str| WebSearchArgs {
            web_search_allow: vec![name.to_owned()],
            ..WebSearchArgs::default()
        };
        let mut search = None;
        assert!(allow("a.example").set(&mut search).is_err());
        let on = WebSearchArgs { web_search: true, web_search_max: Some(3), ..allow("a.example") };
        on.set(&mut search).unwrap();
        allow("b.example").set(&mut search).unwrap();
        let set = search.clone().unwrap();
        assert_eq!(
            (set.max_searches, set.allowed_domains),
            (Some(3), vec!["b.example".to_owned()])
        );
        WebSearchArgs { no_web_search: true, ..WebSearchArgs::default() }.set(&mut search).unwrap();
        assert_eq!(search, None);
    }

    #[test]
    fn a_domain_is_a_name_alone() {
        assert_eq!(domain("Example.ORG.").unwrap(), "example.org");
        for wrong in ["", "example", "https://example.org", "example.org/x", "a b.c", ".org"] {
            assert!(domain(wrong).is_err(), "{wrong}");
        }
    }
}
