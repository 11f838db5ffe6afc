//! The bar and the log, which share the terminal.

use std::io::{self, IsTerminal, Write};
use std::sync::LazyLock;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

static BARS: LazyLock<MultiProgress> = LazyLock::new(MultiProgress::new);

/// A bar on standard error with the time left; hidden where standard error is no terminal.
pub fn bar(title: &str, length: usize) -> ProgressBar {
    let bar = BARS.add(ProgressBar::new(length as u64));
    let template = "{msg} {wide_bar} {pos}/{len}, {eta} left";
    bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_message(title.to_owned());
    bar.enable_steady_tick(std::time::Duration::from_millis(200));
    bar
}

/// A line on standard error for work without a known end; hidden where standard error is no terminal.
pub fn line(message: &str) -> ProgressBar {
    let line = BARS.add(ProgressBar::new_spinner());
    line.set_style(
        ProgressStyle::with_template("{msg}").unwrap_or_else(|_| ProgressStyle::default_spinner()),
    );
    line.set_message(message.to_owned());
    line
}

/// Sends logs to standard error: warnings, with one `-v` what is done, with two every iteration, or as
/// RUST_LOG says.
pub fn log(verbosity: u8) {
    let level = ["warn", "info", "debug"][usize::from(verbosity.min(2))];
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(io::stderr().is_terminal());
    // A second call, as tests make it, changes nothing.
    let _ = log.with_writer(AboveBars).without_time().with_target(false).try_init();
}

/// Writes each log line while the bars are out of the way.
struct AboveBars;

impl Write for AboveBars {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        BARS.suspend(|| io::stderr().write_all(line)).map(|()| line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

impl MakeWriter<'_> for AboveBars {
    type Writer = AboveBars;

    fn make_writer(&self) -> AboveBars {
        AboveBars
    }
}
