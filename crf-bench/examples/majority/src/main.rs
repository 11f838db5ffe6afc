//! The toolkit's commands with one learner more: `cargo run --release -- experiment majority.toml`.
#![forbid(unsafe_code)]

mod majority;

fn main() -> std::process::ExitCode {
    crf_bench::cli::main()
}
