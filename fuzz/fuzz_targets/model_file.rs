#![no_main]

use reticent_tables::ModelFile;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(model) = ModelFile::from_bytes(bytes) {
        let again = model.to_bytes().and_then(|bytes| ModelFile::from_bytes(&bytes)).expect("it was just read");
        assert_eq!(again.header, model.header);
    }
});
