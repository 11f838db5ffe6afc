#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| crf_fuzz::run("setting", bytes));
