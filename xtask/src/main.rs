//! The workspace's own commands; `cargo xtask --help` lists them.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    crf_bench::cli::main()
}
