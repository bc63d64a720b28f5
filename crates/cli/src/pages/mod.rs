//! `turnstile pages`: manual pages, completions for shells, and the page of the reference, all made of what the help is made of.

mod man;
mod markdown;
mod sections;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Command, CommandFactory};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::error::Error;
use crate::output;

#[derive(clap::Args)]
pub struct Args {
    /// Where to write manual pages and completions: a folder such as /usr/local/share
    #[arg(required_unless_present_any = ["reference", "routes"])]
    folder: Option<PathBuf>,
    /// Print the page of the reference instead
    #[arg(long, conflicts_with = "folder")]
    reference: bool,
    /// Print what the dashboard answers instead, as JSON
    #[arg(long, conflicts_with_all = ["folder", "reference"])]
    routes: bool,
}

const COMPLETIONS: [(Shell, &str); 3] = [
    (Shell::Bash, "bash-completion/completions/turnstile"),
    (Shell::Zsh, "zsh/site-functions/_turnstile"),
    (Shell::Fish, "fish/vendor_completions.d/turnstile.fish"),
];

pub fn run(args: &Args) -> Result<ExitCode, Error> {
    if args.routes {
        output::line(&crate::serve::dashboard::routes::listed())?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut command = described();
    match &args.folder {
        Some(folder) => write(&mut command, folder)?,
        None => output::line(&markdown::page(&command).trim_end())?,
    }
    Ok(ExitCode::SUCCESS)
}

/// With all that is inherited in its place.
fn described() -> Command {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    command
}

fn subcommands(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|each| !each.is_hide_set())
}

fn write(command: &mut Command, share: &Path) -> Result<(), Error> {
    let manual = share.join("man/man1");
    fs::create_dir_all(&manual)?;
    man::write(command, &manual)?;
    for subcommand in subcommands(command) {
        man::write(subcommand, &manual)?;
    }
    for (shell, place) in COMPLETIONS {
        let place = share.join(place);
        if let Some(folder) = place.parent() {
            fs::create_dir_all(folder)?;
        }
        clap_complete::generate(shell, command, "turnstile", &mut File::create(place)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_subcommand_tells_how_it_is_used() {
        for subcommand in subcommands(&described()) {
            let name = subcommand.get_name();
            let titles: Vec<String> = sections::of(subcommand)
                .into_iter()
                .map(|section| section.title)
                .collect();
            for title in ["Examples", "Exit status", "Environment"] {
                assert!(titles.iter().any(|each| each == title), "{name}: {title}");
            }
            assert!(subcommand.get_long_about().is_some(), "{name}");
            for argument in subcommand.get_arguments() {
                assert!(argument.get_help().is_some(), "{name} {argument}");
            }
        }
    }
}
