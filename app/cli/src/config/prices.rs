//! Prices of models at their vendors, as data with the dates at which they were read.

use std::sync::LazyLock;

use serde::Deserialize;
use windlass_engine::core::Price;
use windlass_engine::ports::glob;

use crate::args::{amount, price};

/// Built-in price list.
const LIST: &str = include_str!("prices.toml");

static ROWS: LazyLock<Vec<PriceRow>> = LazyLock::new(|| parse().unwrap_or_default());

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceFile {
    price: Vec<PriceFields>,
}

/// Row as the list writes it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceFields {
    /// Names of providers, each at its own address.
    providers: Vec<String>,
    /// Names of models, in which `*` matches any text.
    models: Vec<String>,
    /// As `--price`.
    price: String,
    /// Price of a million tokens that are written into the provider's cache.
    cache_write: Option<String>,
    as_of: String,
}

#[derive(Debug)]
struct PriceRow {
    providers: Vec<String>,
    models: Vec<String>,
    price: Price,
    as_of: String,
}

/// Returns the list price of a model with its date, if the provider is asked at its own address.
pub(crate) fn list_price(
    provider: &str,
    base_url: Option<&str>,
    model: &str,
) -> Option<(Price, &'static str)> {
    let of = |row: &&PriceRow| {
        row.providers.iter().any(|name| name == provider)
            && row.models.iter().any(|name| glob(name, model))
    };
    let row = ROWS.iter().find(of).filter(|_| base_url.is_none())?;
    Some((row.price, &row.as_of))
}

fn parse() -> Result<Vec<PriceRow>, String> {
    let file: PriceFile = toml::from_str(LIST).map_err(|error| error.to_string())?;
    let rows = file.price.into_iter().map(|fields| {
        let cache_write_micros = fields.cache_write.as_deref().map(amount).transpose()?;
        let price = Price { cache_write_micros, ..price(&fields.price)? };
        let PriceFields { providers, models, as_of, .. } = fields;
        Ok(PriceRow { providers, models, price, as_of })
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_of_the_list_can_be_met_and_has_its_date() {
        let rows = parse().unwrap();
        for (at, row) in rows.iter().enumerate() {
            for (provider, model) in row
                .providers
                .iter()
                .flat_map(|one| row.models.iter().map(move |model| (one, model)))
            {
                let met = rows.iter().position(|other| {
                    other.providers.contains(provider)
                        && other.models.iter().any(|name| glob(name, &model.replace('*', "x")))
                });
                assert_eq!(met, Some(at), "{provider} {model}");
            }
            let date: Vec<u32> = row.as_of.split('-').map(|part| part.parse().unwrap()).collect();
            assert!(date.len() == 3 && (2025..2100).contains(&date[0]), "{}", row.as_of);
            let price = &row.price;
            assert!(price.cached_input_micros < price.input_micros, "{:?}", row.models);
            assert!(price.input_micros < price.output_micros, "{:?}", row.models);
        }
    }

    #[test]
    fn a_price_is_of_the_vendors_own_address_alone() {
        let (price, as_of) = list_price("openai", None, "gpt-5-2025-08-07").unwrap();
        assert_eq!((price.input_micros, price.output_micros), (1_250_000, 10_000_000));
        assert!(as_of.starts_with("20"));
        assert!(list_price("openai", Some("http://gateway/v1"), "gpt-5").is_none());
        assert!(list_price("azure", None, "gpt-5").is_none());
        assert!(list_price("openai", None, "gpt-5-pro").is_none());
        let (price, _) = list_price("anthropic", None, "claude-opus-4-8").unwrap();
        assert_eq!(price.cache_write_micros, Some(6_250_000));
    }
}
