#![no_main]

// libFuzzer ends at each panic, and some decoders of others panic at damaged files: the renderer catches that.
libfuzzer_sys::fuzz_target!(
    init: std::panic::set_hook(Box::new(|panic| eprintln!("{panic}"))),
    |bytes: &[u8]| edgezoom_tiler::renderer::fuzz::picture(bytes)
);
