#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| edgezoom_tiler::browser::fuzz::html(bytes));
