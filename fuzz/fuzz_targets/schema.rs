#![no_main]

use reticent_tables::Schema;

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(schema) = Schema::parse(text) {
        assert_eq!(Schema::parse(&schema.to_toml()).as_ref(), Ok(&schema));
    }
});
