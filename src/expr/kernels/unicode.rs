//! Conversion between strings and code points.
//!
//! Semantics: `tf.strings.unicode_decode`, `unicode_encode`. Each maximal ill-formed subpart counts as one
//! error, as Unicode recommends.

use super::code_pages::{CODE_PAGES, CodePage};

/// Encodings of code points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Utf8,
    Utf16(Order),
    Utf32(Order),
    Latin1,
    Ascii,
    /// One byte for each character.
    Page(&'static CodePage),
}

/// The byte order of a code unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Big,
    Little,
    /// Given by a byte order mark, otherwise big-endian.
    Marked,
}

impl Encoding {
    /// Finds an encoding by name, as `input_encoding` of `tf.strings.unicode_decode`. Case, `-` and `_` are ignored.
    pub fn named(name: &str) -> Option<Encoding> {
        let plain: String = name.chars().filter(|c| !matches!(c, '-' | '_' | ' ')).collect::<String>().to_ascii_lowercase();
        Some(match plain.as_str() {
            "utf8" => Encoding::Utf8,
            "utf16" => Encoding::Utf16(Order::Marked),
            "utf16be" => Encoding::Utf16(Order::Big),
            "utf16le" => Encoding::Utf16(Order::Little),
            "utf32" => Encoding::Utf32(Order::Marked),
            "utf32be" => Encoding::Utf32(Order::Big),
            "utf32le" => Encoding::Utf32(Order::Little),
            "latin1" | "iso88591" => Encoding::Latin1,
            "ascii" | "usascii" => Encoding::Ascii,
            other => {
                let name = other.strip_prefix("cp").map_or_else(|| other.to_owned(), |number| format!("windows{number}"));
                return CODE_PAGES.iter().find(|(known, _)| *known == name).map(|(_, page)| Encoding::Page(page));
            }
        })
    }

    /// The encodings that can be written, by TensorFlow's names: `output_encoding` of `tf.strings.unicode_encode`.
    pub fn output(name: &str) -> Option<Encoding> {
        Encoding::named(name).filter(|_| matches!(name, "UTF-8" | "UTF-16-BE" | "UTF-32-BE"))
    }

    /// Calls `visit` with each character (`None` for an ill-formed part) and its start in bytes. O(bytes).
    pub fn decode(self, bytes: &[u8], mut visit: impl FnMut(Option<char>, usize)) {
        match self {
            Encoding::Utf8 => {
                let mut at = 0;
                for chunk in bytes.utf8_chunks() {
                    for (i, c) in chunk.valid().char_indices() {
                        visit(Some(c), at + i);
                    }
                    at += chunk.valid().len();
                    if !chunk.invalid().is_empty() {
                        visit(None, at);
                        at += chunk.invalid().len();
                    }
                }
            }
            Encoding::Utf16(order) => {
                let (little, skipped) = order.of(bytes, 2);
                let units = bytes[skipped..].chunks_exact(2);
                let rest = units.remainder();
                let units =
                    units.filter_map(|u| u.first_chunk()).map(|u| if little { u16::from_le_bytes(*u) } else { u16::from_be_bytes(*u) });
                let (mut at, mut is_cut) = (skipped, false);
                for unit in char::decode_utf16(units) {
                    visit(unit.as_ref().ok().copied(), if at == skipped { 0 } else { at });
                    is_cut = unit.as_ref().is_err_and(|e| e.unpaired_surrogate() < 0xdc00);
                    at += unit.map_or(2, |c| 2 * c.len_utf16());
                }
                // A last byte after the first half of a pair is part of the same error.
                if !rest.is_empty() && !is_cut {
                    visit(None, at);
                }
            }
            Encoding::Utf32(order) => {
                let (little, skipped) = order.of(bytes, 4);
                for (i, unit) in bytes[skipped..].chunks(4).enumerate() {
                    let code = unit.first_chunk().map(|u| if little { u32::from_le_bytes(*u) } else { u32::from_be_bytes(*u) });
                    visit(code.and_then(char::from_u32), if i == 0 { 0 } else { skipped + 4 * i });
                }
            }
            Encoding::Latin1 => bytes.iter().enumerate().for_each(|(i, byte)| visit(Some(char::from(*byte)), i)),
            Encoding::Page(page) => {
                let character = |byte: u8| match byte.checked_sub(0x80) {
                    None => Some(char::from(byte)),
                    Some(i) => char::from_u32(page[usize::from(i)].into()).filter(|c| *c != char::REPLACEMENT_CHARACTER),
                };
                bytes.iter().enumerate().for_each(|(i, byte)| visit(character(*byte), i));
            }
            Encoding::Ascii => bytes.iter().enumerate().for_each(|(i, byte)| visit(Some(char::from(*byte)).filter(char::is_ascii), i)),
        }
    }

    /// Appends a character. Encodings that can only be read are written as UTF-8.
    pub fn encode(self, c: char, out: &mut Vec<u8>) {
        match self {
            Encoding::Utf16(order) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.extend(if order == Order::Little { unit.to_le_bytes() } else { unit.to_be_bytes() });
                }
            }
            Encoding::Utf32(Order::Little) => out.extend(u32::from(c).to_le_bytes()),
            Encoding::Utf32(_) => out.extend(u32::from(c).to_be_bytes()),
            _ => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

impl Order {
    /// Whether units of `width` bytes are little-endian, and the length of the byte order mark.
    fn of(self, bytes: &[u8], width: usize) -> (bool, usize) {
        let mark = |text: &[u8]| bytes.get(..width) == Some(text);
        match self {
            Order::Big => (false, 0),
            Order::Little => (true, 0),
            Order::Marked if mark(&[0xff, 0xfe, 0, 0][..width]) => (true, width),
            Order::Marked if mark(&[0, 0, 0xfe, 0xff][4 - width..]) => (false, width),
            Order::Marked => (false, 0),
        }
    }
}
