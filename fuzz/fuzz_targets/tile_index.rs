#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| edgezoom_content::fuzz::tile_index(bytes));
