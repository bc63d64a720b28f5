//! docs/reference/program.md.

use clap::{Arg, Command};

use super::{sections, subcommands};

const MADE: &str = "<!-- made by `turnstile pages --reference`; run: make reference -->";

pub fn page(command: &Command) -> String {
    let mut text = format!("# The program `turnstile`\n\n{MADE}\n\n");
    text.push_str("[program.md](../program.md) is the page to begin with. `turnstile help` prints what is below, and `man turnstile`, too.\n\n");
    describe(command, &mut text);
    for subcommand in subcommands::of(command) {
        text.push_str(&format!("## turnstile {}\n\n", subcommand.get_name()));
        describe(subcommand, &mut text);
    }
    text
}

fn describe(command: &Command, text: &mut String) {
    let mut usage = command.clone();
    text.push_str(&format!(
        "```\n{}\n```\n\n",
        usage
            .render_usage()
            .to_string()
            .trim_start_matches("Usage: ")
    ));
    if let Some(about) = command.get_long_about().or_else(|| command.get_about()) {
        text.push_str(&format!("{about}\n\n"));
    }
    let arguments: Vec<String> = command
        .get_arguments()
        .filter(|argument| is_its_own(command, argument))
        .map(item)
        .collect();
    if !arguments.is_empty() {
        text.push_str(&format!("{}\n\n", arguments.join("\n")));
    }
    for section in sections::of(command) {
        let title = section.title;
        text.push_str(&format!(
            "{title}:\n\n```\n{}\n```\n\n",
            section.lines.join("\n")
        ));
    }
}

/// What all subcommands take stands with the program itself.
fn is_its_own(command: &Command, argument: &Arg) -> bool {
    let is_help = matches!(argument.get_id().as_str(), "help" | "version");
    let is_inherited = argument.is_global_set() && command.get_subcommands().next().is_none();
    !(is_help || is_inherited || argument.is_hide_set())
}

fn item(argument: &Arg) -> String {
    let short = argument
        .get_short()
        .map(|short| format!("`-{short}`, "))
        .unwrap_or_default();
    let help = argument.get_long_help().or_else(|| argument.get_help());
    let help = help.map(ToString::to_string).unwrap_or_default();
    let help = help.replace("\n\n", ". ");
    format!(
        "* {short}`{argument}`: {}.{}",
        help.trim_end_matches('.'),
        values(argument)
    )
}

fn values(argument: &Arg) -> String {
    let mut text = String::new();
    let possible: Vec<String> = argument
        .get_possible_values()
        .iter()
        .filter(|value| !value.is_hide_set())
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    if argument.get_action().takes_values() {
        if !possible.is_empty() {
            text.push_str(&format!(" One of {}.", possible.join(", ")));
        }
        let defaults: Vec<String> = argument
            .get_default_values()
            .iter()
            .map(|value| format!("`{}`", value.to_string_lossy()))
            .filter(|value| value != "``")
            .collect();
        if !defaults.is_empty() {
            text.push_str(&format!(" Default: {}.", defaults.join(", ")));
        }
    }
    text
}
