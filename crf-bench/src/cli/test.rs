use std::io::Write;
use std::process::{Command, ExitCode, Stdio};

use super::terminal;
use crate::error::{Error, Result};

/// Runs every check, cheapest first, until one fails.
pub(crate) fn run(out: &mut dyn Write) -> Result<ExitCode> {
    let with_data = std::env::var_os("CRF_DATA").is_some();
    let tests: &[&str] = if with_data {
        &["test", "--workspace", "--", "--include-ignored"]
    } else {
        &["test", "--workspace"]
    };
    step(out, &["fmt", "--all", "--check"], &[])?;
    if has_deny() {
        step(out, &["deny", "check", "licenses", "bans", "sources"], &[])?;
    } else {
        writeln!(out, "cargo-deny is not installed: licenses, bans and sources were not checked")
            .map_err(terminal)?;
    }
    step(out, &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"], &[])?;
    step(out, tests, &[])?;
    step(out, &["doc", "--workspace", "--no-deps"], &[("RUSTDOCFLAGS", "-D warnings")])?;
    Ok(ExitCode::SUCCESS)
}

fn step(out: &mut dyn Write, args: &[&str], variables: &[(&str, &str)]) -> Result<()> {
    let text = format!("cargo {}", args.join(" "));
    writeln!(out, "▶ {text}").and_then(|()| out.flush()).map_err(terminal)?;
    let status = cargo().args(args).envs(variables.iter().copied()).status().map_err(Error::io("cargo"))?;
    if status.success() { Ok(()) } else { Err(Error::Command(text)) }
}

fn has_deny() -> bool {
    let quiet = cargo().args(["deny", "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    quiet.is_ok_and(|status| status.success())
}

/// The cargo that runs us, or the one in the path.
fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}
