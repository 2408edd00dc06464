//! `windlass init`: writes a first configuration, and checks its provider.

use crate::approver::Terminal;
use crate::args::{InitArgs, SettingsArgs};
use crate::config::{self, KeyPlace};
use crate::exit::{ExitKind, Failure};
use crate::present::{print_error, print_notice, visible};
use crate::secrets;
use crate::wiring::{self, Adapters, ProviderTransport};

pub(super) async fn init(args: InitArgs, adapters: &Adapters) -> Result<ExitKind, Failure> {
    let path = config::path()?;
    if path.exists() && !args.force {
        return Err(Failure::usage(format!(
            "{} exists: change it there, or replace it with --force",
            path.display()
        )));
    }
    let answers = match args.provider {
        Some(_) => args,
        None => ask(args, adapters).await?,
    };
    let provider = answers.provider.clone().unwrap_or_default();
    let names = adapters.provider_names();
    if !names.contains(&provider) {
        let known = names.join(", ");
        let words = format!("there is no provider {provider:?}; there are: {known}");
        return Err(Failure::usage(words));
    }
    let pairs = [
        ("provider", answers.provider.as_ref()),
        ("model", answers.model.as_ref()),
        ("base_url", answers.base_url.as_ref()),
    ];
    let pairs = pairs.into_iter().filter_map(|(key, value)| Some((key, value?.as_str())));
    let variable = key_variable(&answers, &provider, adapters)?;
    if let Some(variable) = &variable {
        config::store_key(variable)?;
        secrets::place(&[(variable.clone(), KeyPlace::Keyring)].into());
    }
    config::write_first(&path, pairs, variable.as_deref())?;
    print_notice(&format!("{} is written; windlass config shows it", path.display()));
    check(&answers, &provider, adapters).await
}

/// Returns the variable of the key that goes into the keyring, if one does.
fn key_variable(
    args: &InitArgs,
    provider: &str,
    adapters: &Adapters,
) -> Result<Option<String>, Failure> {
    if !args.keyring {
        return Ok(None);
    }
    let variable = adapters.key_variable(provider);
    let none =
        || Failure::usage(format!("the provider {provider} takes no key: leave --keyring out"));
    variable.map(Some).ok_or_else(none)
}

/// Asks the person at the terminal for the provider, the model and the address.
async fn ask(args: InitArgs, adapters: &Adapters) -> Result<InitArgs, Failure> {
    let names = adapters.provider_names().join(", ");
    let Ok(mut terminal) = Terminal::open() else {
        return Err(Failure::usage(format!(
            "there is no terminal to ask at: name a provider with --provider; there are: {names}"
        )));
    };
    let usual = adapters.usual_provider(&SettingsArgs::default());
    let question = format!("Providers: {names}\nProvider [{usual}]: ");
    let provider = answer(&mut terminal, question).await?.unwrap_or(usual);
    let base_url = match args.base_url {
        Some(url) => Some(url),
        None => answer(&mut terminal, "Base URL [the provider's own]: ".to_owned()).await?,
    };
    let model = match args.model {
        Some(model) => Some(model),
        None => {
            let own = adapters.usual_model(&provider).filter(|_| base_url.is_none());
            let question = own.map_or("Model: ".to_owned(), |own| format!("Model [{own}]: "));
            answer(&mut terminal, question).await?
        }
    };
    Ok(InitArgs { provider: Some(provider), model, base_url, ..args })
}

/// Returns the typed line; `None` for an empty one.
async fn answer(terminal: &mut Terminal, question: String) -> Result<Option<String>, Failure> {
    let typed = terminal.ask(visible(&question)).await.map_err(|error| {
        Failure::usage(format!("cannot ask at the terminal: {error}; use --provider"))
    })?;
    Ok(Some(typed.trim().to_owned()).filter(|typed| !typed.is_empty()))
}

/// Asks the provider for its models, as `doctor` does. Without a key it says how to give one.
async fn check(args: &InitArgs, provider: &str, adapters: &Adapters) -> Result<ExitKind, Failure> {
    let shape = SettingsArgs {
        provider: args.provider.clone(),
        model: args.model.clone(),
        base_url: args.base_url.clone(),
        ..SettingsArgs::default()
    };
    let chosen = match adapters.choose_provider(&shape, &ProviderTransport::Network, None) {
        Ok(chosen) => chosen,
        Err(failure) if !adapters.has_key(provider) => {
            print_notice(&format!("{}; then windlass doctor checks it", failure.message));
            return Ok(ExitKind::Completed);
        }
        Err(failure) => return Err(failure),
    };
    let reached = wiring::list_models(&chosen).await;
    match reached.into_iter().find(|(name, _)| name == provider) {
        Some((_, Some(Ok(models)))) => {
            print_notice(&format!("{provider} is reached; models: {models}"));
        }
        Some((_, Some(Err(failure)))) => {
            print_error(&format!("{}; the configuration is kept", failure.message));
            return Ok(failure.exit);
        }
        Some((_, None)) | None => {
            print_notice(&format!("{provider} lists no models, so it was not asked"));
        }
    }
    Ok(ExitKind::Completed)
}
