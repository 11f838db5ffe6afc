//! The command `crf`: trains models on labelled sequences and uses them; `crf --help` lists what it
//! does.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    crf_bench::cli::main()
}
