#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| reticent_fuzz::read(bytes, ".parquet"));
