//! Progress bars and the log, which share the terminal.

use std::io::{self, IsTerminal, Write};
use std::sync::LazyLock;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

static BARS: LazyLock<MultiProgress> = LazyLock::new(MultiProgress::new);

/// A progress bar on standard error with the time left; hidden unless standard error is a terminal.
pub fn bar(title: &str, length: usize) -> ProgressBar {
    let bar = BARS.add(ProgressBar::new(length as u64));
    let template = "{msg} {wide_bar} {pos}/{len}, {eta} left";
    bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_message(title.to_owned());
    bar.enable_steady_tick(std::time::Duration::from_millis(200));
    bar
}

/// A status line on standard error for work of unknown length; hidden unless standard error is a
/// terminal.
pub fn line(message: &str) -> ProgressBar {
    let line = BARS.add(ProgressBar::new_spinner());
    line.set_style(
        ProgressStyle::with_template("{msg}").unwrap_or_else(|_| ProgressStyle::default_spinner()),
    );
    line.set_message(message.to_owned());
    line
}

/// Sends logs to standard error: warnings, with `-v` each step, with `-vv` each iteration, or as
/// RUST_LOG selects.
pub fn log(verbosity: u8) {
    let level = ["warn", "info", "debug"][usize::from(verbosity.min(2))];
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(io::stderr().is_terminal());
    // A second call, as in tests, has no effect.
    let _ = log.with_writer(AboveBars).without_time().with_target(false).try_init();
}

/// Writes each log line while the bars are hidden.
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
