//! Help and the errors of the command line, in languages that clap does not speak.

use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Command};

use crate::out;
use crate::words::Words;

/// The command with its help in that language; as it is in English.
pub(crate) fn translated(command: Command, words: &Words) -> Command {
    if words.help("heading-usage", []).is_none() {
        return command;
    }
    command.mut_subcommand("vcr", |vcr| {
        let names: Vec<String> = vcr
            .get_subcommands()
            .map(|one| one.get_name().to_owned())
            .collect();
        names.iter().fold(one(vcr, words), |vcr, name| {
            vcr.mut_subcommand(name, |command| one(command, words))
        })
    })
}

fn one(command: Command, words: &Words) -> Command {
    let name = command.get_name().to_owned();
    let text = |id: &str| words.help(id, []).unwrap_or_default();
    let heading = text("heading-usage");
    let has_version = command.get_version().is_some();
    let mut command = command
        .help_template(format!(
            "{{before-help}}{{about-with-newline}}\n{heading} {{usage}}\n\n{{all-args}}{{after-help}}"
        ))
        .subcommand_help_heading(text("heading-commands"))
        // The built-in ones speak English.
        .disable_help_flag(true)
        .arg(Arg::new("help").short('h').long("help").action(ArgAction::Help));
    if has_version {
        let version = Arg::new("version").short('V').long("version");
        command = command
            .disable_version_flag(true)
            .arg(version.action(ArgAction::Version));
    }
    if let Some(about) = words.help(&format!("help-{name}"), []) {
        command = command.about(about);
    }
    if let Some(about) = words.help(&format!("help-{name}-long"), []) {
        command = command.long_about(about);
    }
    command.mut_args(|argument| {
        let heading = if argument.is_positional() {
            text("heading-arguments")
        } else {
            text("heading-options")
        };
        let help = of_argument(&name, &argument, words);
        let argument = argument.help_heading(heading);
        match help {
            Some(help) => argument.help(help),
            None => argument,
        }
    })
}

fn of_argument(command: &str, argument: &Arg, words: &Words) -> Option<String> {
    let id = argument.get_id().as_str();
    let own = words.help(&format!("help-{command}-{id}"), []);
    own.or_else(|| words.help(&format!("help-{id}"), []))
}

/// Prints what clap has to say instead of running anything, and the code to leave with.
pub(crate) fn conclude(error: &clap::Error, words: &Words) -> ExitCode {
    match what(error, words).and_then(|what| words.help("usage-error", [("what", what.into())])) {
        Some(line) => {
            let more = [
                why(error, words),
                words.help("usage-hint", [("option", "--help".into())]),
            ];
            out::fault(&line);
            more.into_iter().flatten().for_each(|line| out::fault(&line));
        }
        // Help, versions, and what only clap can say.
        None => drop(error.print()),
    }
    u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
}

/// What would be right, or what the value's own reader says of it.
fn why(error: &clap::Error, words: &Words) -> Option<String> {
    let known = text(error, ContextKind::ValidValue).filter(|known| !known.is_empty());
    match known {
        Some(values) => words.help("usage-possible", [("values", values.into())]),
        None => {
            let cause = std::error::Error::source(error)?.to_string();
            words.help("usage-cause", [("cause", cause.into())])
        }
    }
}

fn text(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) => Some(texts.join(", ")),
        _ => None,
    }
}

fn what(error: &clap::Error, words: &Words) -> Option<String> {
    let (id, of) = match error.kind() {
        ErrorKind::UnknownArgument => ("usage-unknown-argument", ContextKind::InvalidArg),
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            ("usage-invalid-value", ContextKind::InvalidArg)
        }
        ErrorKind::MissingRequiredArgument => ("usage-missing-argument", ContextKind::InvalidArg),
        ErrorKind::InvalidSubcommand => ("usage-unknown-command", ContextKind::InvalidSubcommand),
        _ => return None,
    };
    let value = text(error, ContextKind::InvalidValue).unwrap_or_default();
    words.help(
        id,
        [("argument", text(error, of)?.into()), ("value", value.into())],
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory as _;

    use super::*;
    use crate::args::Cargo;

    /// The ids of every help text that the command line has in English.
    fn asked() -> BTreeSet<String> {
        let command = Cargo::command();
        let vcr = command.find_subcommand("vcr").unwrap();
        let mut ids = BTreeSet::from(["help-help".to_owned(), "help-version".to_owned()]);
        for command in std::iter::once(vcr).chain(vcr.get_subcommands()) {
            let name = command.get_name();
            ids.insert(format!("help-{name}"));
            if command.get_long_about().is_some() {
                ids.insert(format!("help-{name}-long"));
            }
            let arguments = command.get_arguments();
            ids.extend(arguments.map(|argument| format!("help-{name}-{}", argument.get_id())));
        }
        ids
    }

    #[test]
    fn german_has_the_help_of_every_command_and_argument_and_no_other() {
        let file = include_str!("../i18n/de.help.ftl");
        let keys = file.lines().filter_map(|line| line.split_once(" ="));
        let help: BTreeSet<String> = keys
            .map(|(key, _)| key.to_owned())
            .filter(|key| key.starts_with("help-"))
            .collect();
        assert_eq!(help, asked());
    }

    #[test]
    fn the_translated_command_is_sound_and_all_of_its_help_is_german() {
        let words = Words::of(Some("de"));
        translated(Cargo::command(), &words).debug_assert();
        for name in ["serve", "verify", "freeze"] {
            let error = translated(Cargo::command(), &words)
                .try_get_matches_from(["cargo", "vcr", name, "--help"])
                .unwrap_err();
            let help = error.to_string();
            for word in ["Aufruf:", "Optionen", "Diese Hilfe"] {
                assert!(help.contains(word), "{word}: {help}");
            }
            for word in ["Usage", "Options", "Arguments", "Print"] {
                assert!(!help.contains(word), "{word}: {help}");
            }
        }
    }
}
