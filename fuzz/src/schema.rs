//! Arbitrary text as a schema: parsed or rejected; a parsed schema prints as text that parses to the same schema.

use tatter::schema::notation;

pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(schema) = notation::parse(text) {
        let printed = schema.to_string();
        assert_eq!(notation::parse(&printed).expect("what is printed parses"), schema, "{printed}");
    }
}
