//! Any text as a schema: parsed or refused; what is parsed prints as text that parses to the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tatter::schema::notation;

fuzz_target!(|text: &str| {
    if let Ok(schema) = notation::parse(text) {
        let printed = schema.to_string();
        assert_eq!(notation::parse(&printed).expect("what is printed parses"), schema, "{printed}");
    }
});
