#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| edgezoom_edge::fuzz::object_key(bytes));
