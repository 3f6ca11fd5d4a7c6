//! Validates the structure of a footer before it is decoded.
//!
//! The decoder of the parquet crate allocates memory for as many list elements as the footer claims, and walks the
//! schema tree recursively. Both are safe only if these claims are valid. Sources: the Thrift compact protocol, and
//! `parquet.thrift` of the Parquet format for field numbers.

use crate::error::{Error, Result};
use crate::wire::split_varint;
use std::collections::BTreeSet;
use std::ops::Range;

/// Maximum nesting depth of structures in the footer.
const MAX_DEPTH: usize = 32;
/// Maximum nesting depth of columns; a list takes two levels.
const MAX_SCHEMA_DEPTH: usize = 2 * 128 + 2;

/// The wire types of lists and structures.
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// The first and the last bytes of a file.
pub const MAGIC: &[u8] = b"PAR1";
/// The same, if the footer is encrypted.
pub const ENCRYPTED_MAGIC: &[u8] = b"PARE";

/// The physical types, by their numbers.
const TYPES: [&str; 8] = ["BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"];

/// What the decoder does not determine.
pub struct Checked {
    /// The index of each leaf that is encrypted, in a footer that is not.
    pub encrypted: BTreeSet<usize>,
    /// The bytes of fields that the decoder would misread, in order.
    foreign: Vec<Range<usize>>,
    /// The headers of empty lists of structures that name another type, as fastparquet writes them.
    untyped: Vec<usize>,
}

impl Checked {
    /// The footer in the form that the decoder expects.
    pub fn decodable(&self, mut footer: Vec<u8>) -> Vec<u8> {
        for header in &self.untyped {
            footer[*header] = STRUCT;
        }
        if self.foreign.is_empty() {
            return footer;
        }
        let starts = [0].into_iter().chain(self.foreign.iter().map(|range| range.end));
        let ends = self.foreign.iter().map(|range| range.start).chain([footer.len()]);
        starts.zip(ends).flat_map(|(start, end)| &footer[start..end]).copied().collect()
    }
}

/// Checks that lengths and lists end inside the footer, that nesting is bounded, and that columns are stored with the
/// physical type that the schema declares, which the decoder takes for granted.
///
/// # Errors
/// A length exceeds the footer, nesting is too deep, or a column has another type.
pub fn check(footer: &[u8]) -> Result<Checked> {
    let mut walk = Walk::over(footer);
    walk.structure(0, Context::File)
        .ok_or_else(|| Error::data(format!("the Parquet footer is damaged at byte {} of the footer", walk.at)))?;
    if let Some((column, stored, declared)) = walk.mismatch {
        let name =
            |ty: i64| usize::try_from(ty).ok().and_then(|ty| TYPES.get(ty)).map_or_else(|| format!("type {ty}"), |s| (*s).to_owned());
        let (stored, declared) = (name(stored), name(declared));
        return Err(Error::data(format!("the Parquet footer is damaged: column {} is {declared}, but stored as {stored}", column + 1)));
    }
    let mut open: Vec<u64> = Vec::new();
    for children in &walk.children {
        let children = *children;
        if let Some(left) = open.last_mut() {
            *left = left.saturating_sub(1);
        }
        if children > 0 {
            open.push(children);
        }
        while open.last() == Some(&0) {
            open.pop();
        }
        if open.len() > MAX_SCHEMA_DEPTH {
            return Err(Error::data(format!("columns are nested more than {} levels deep", MAX_SCHEMA_DEPTH / 2)));
        }
    }
    Ok(Checked { encrypted: walk.encrypted, foreign: walk.foreign, untyped: walk.untyped })
}

/// A page header. Sizes are in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct PageHeader {
    /// Of the header itself.
    pub length: u64,
    pub uncompressed: u64,
    pub compressed: u64,
    /// Number of values of a data page, nulls included.
    pub nvalues: u64,
    /// Number of records of a data page, if its header has it.
    pub nrows: Option<u64>,
    /// Number of entries of a dictionary.
    pub nentries: u64,
    /// The encoding of the values of a data page, as its number in the format.
    pub encoding: Option<i64>,
}

/// Reads a page header; `None` if the bytes do not hold a whole one with its sizes.
pub fn page_header(bytes: &[u8]) -> Option<PageHeader> {
    let mut walk = Walk::over(bytes);
    let mut header = PageHeader::default();
    let (mut field, mut uncompressed, mut compressed) = (0i16, None, None);
    while let Some((number, kind)) = walk.field(field)? {
        field = number;
        match (field, kind) {
            // `uncompressed_page_size` and `compressed_page_size`, both required.
            (2, 5) => uncompressed = Some(walk.size()?),
            (3, 5) => compressed = Some(walk.size()?),
            // `data_page_header`, `data_page_header_v2`: `num_values` comes first, then `encoding` at different positions.
            (5, STRUCT) => walk.data_page(2, &mut header)?,
            (8, STRUCT) => walk.data_page(4, &mut header)?,
            // `dictionary_page_header` begins like that of a data page.
            (7, STRUCT) => {
                let mut dictionary = PageHeader::default();
                walk.data_page(2, &mut dictionary)?;
                header.nentries = dictionary.nvalues;
            }
            (_, kind) => walk.value(kind, 0, Context::Other, true)?,
        }
    }
    Some(PageHeader { length: walk.at as u64, uncompressed: uncompressed?, compressed: compressed?, ..header })
}

impl PageHeader {
    /// Whether the values of a data page are indices into a dictionary: `PLAIN_DICTIONARY` or `RLE_DICTIONARY`.
    pub fn has_indices(&self) -> bool {
        matches!(self.encoding, Some(2 | 8))
    }
}

/// The kind of the current structure, or of the structures in a list, as far as it matters.
#[derive(Clone, Copy, PartialEq)]
enum Context {
    File,
    SchemaElement,
    RowGroup,
    ColumnChunk,
    ColumnMetaData,
    Other,
}

impl Context {
    /// The kind of the structures in a field, by its number.
    fn of_field(self, field: i16) -> Context {
        match (self, field) {
            (Context::File, 2) => Context::SchemaElement,
            (Context::File, 4) => Context::RowGroup,
            (Context::RowGroup, 1) => Context::ColumnChunk,
            (Context::ColumnChunk, 3) => Context::ColumnMetaData,
            _ => Context::Other,
        }
    }
}

struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
    /// `num_children` of each schema element, 0 for leaves.
    children: Vec<u64>,
    /// The physical types of the leaves of the schema.
    types: Vec<i64>,
    /// Number of columns of the current row group so far.
    columns: usize,
    /// The first column whose type is not that of the schema: its index, its type and that of the schema.
    mismatch: Option<(usize, i64, i64)>,
    /// The columns of a row group that are encrypted.
    encrypted: BTreeSet<usize>,
    foreign: Vec<Range<usize>>,
    untyped: Vec<usize>,
}

impl Walk<'_> {
    fn over(bytes: &[u8]) -> Walk<'_> {
        Walk {
            bytes,
            at: 0,
            children: Vec::new(),
            types: Vec::new(),
            columns: 0,
            mismatch: None,
            encrypted: BTreeSet::new(),
            foreign: Vec::new(),
            untyped: Vec::new(),
        }
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn varint(&mut self) -> Option<u64> {
        let (value, rest) = split_varint(self.bytes.get(self.at..)?)?;
        self.at = self.bytes.len() - rest.len();
        Some(value)
    }

    fn zigzag(&mut self) -> Option<i64> {
        let n = self.varint()?;
        Some((n >> 1) as i64 ^ -((n & 1) as i64))
    }

    /// The number and the type of the next field of a structure; `None` at its end.
    fn field(&mut self, last: i16) -> Option<Option<(i16, u8)>> {
        let header = self.byte()?;
        if header == 0 {
            return Some(None);
        }
        let number = match header >> 4 {
            0 => i16::try_from(self.zigzag()?).ok()?,
            delta => last.checked_add(i16::from(delta))?,
        };
        Some(Some((number, header & 0x0f)))
    }

    fn size(&mut self) -> Option<u64> {
        u64::try_from(self.zigzag()?).ok()
    }

    /// The header of a data page whose encoding is the field `encoding`.
    fn data_page(&mut self, encoding: i16, header: &mut PageHeader) -> Option<()> {
        let mut field = 0i16;
        while let Some((number, kind)) = self.field(field)? {
            field = number;
            match (field, kind) {
                (1, 5) => header.nvalues = self.size()?,
                (3, 5) if encoding == 4 => header.nrows = Some(self.size()?),
                (_, 5) if field == encoding => header.encoding = Some(self.zigzag()?),
                (_, kind) => self.value(kind, 1, Context::Other, true)?,
            }
        }
        Some(())
    }

    fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    fn skip(&mut self, nbytes: u64) -> Option<()> {
        let nbytes = usize::try_from(nbytes).ok().filter(|n| *n <= self.left())?;
        self.at += nbytes;
        Some(())
    }

    fn structure(&mut self, depth: usize, context: Context) -> Option<()> {
        let mut field = 0i16;
        let element = self.children.len();
        match context {
            Context::SchemaElement => self.children.push(0),
            Context::RowGroup => self.columns = 0,
            _ => {}
        }
        let mut ty = None;
        loop {
            let start = self.at;
            let Some((number, kind)) = self.field(field)? else { break };
            field = number;
            match (context, field, kind) {
                // `type` and `num_children`.
                (Context::SchemaElement | Context::ColumnMetaData, 1, 5) => ty = Some(self.zigzag()?),
                (Context::SchemaElement, 5, 5) => *self.children.get_mut(element)? = self.size()?,
                // `crypto_metadata`.
                (Context::ColumnChunk, 8, STRUCT) => {
                    self.encrypted.insert(self.columns);
                    self.structure(depth + 1, Context::Other)?;
                }
                // `row_groups`, `key_value_metadata`, and `columns` of a row group.
                (Context::File, 4 | 5, LIST) | (Context::RowGroup, 1, LIST)
                    if self.bytes.get(self.at).is_some_and(|list| list >> 4 == 0) =>
                {
                    self.untyped.push(self.at);
                    self.at += 1;
                }
                // `bloom_filter_length`, an i32. Dremio used its number for a list before. The last field can be cut without
                // renumbering others.
                (Context::ColumnMetaData, 15, kind) if kind != 5 => {
                    self.value(kind, depth, Context::Other, true)?;
                    if self.bytes.get(self.at) == Some(&0) {
                        self.foreign.push(start..self.at);
                    }
                }
                (_, _, kind) => self.value(kind, depth, context.of_field(field), true)?,
            }
        }
        match context {
            // Some writers give groups a type as well.
            Context::SchemaElement if self.children[element] == 0 => self.types.extend(ty),
            Context::ColumnMetaData => {
                if let (Some(stored), Some(declared), None) = (ty, self.types.get(self.columns), self.mismatch)
                    && stored != *declared
                {
                    self.mismatch = Some((self.columns, stored, *declared));
                }
            }
            Context::ColumnChunk => self.columns += 1,
            _ => {}
        }
        Some(())
    }

    /// Skips a value of a wire type; boolean fields are stored in the type itself.
    fn value(&mut self, kind: u8, depth: usize, context: Context, is_field: bool) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        match kind {
            1 | 2 if is_field => Some(()),
            1..=3 => self.skip(1),
            4..=6 => self.varint().map(|_| ()),
            7 => self.skip(8),
            8 => {
                let length = self.varint()?;
                self.skip(length)
            }
            LIST | 10 => {
                let header = self.byte()?;
                let (count, kind) = match header >> 4 {
                    15 => (self.varint()?, header & 0x0f),
                    count => (u64::from(count), header & 0x0f),
                };
                // Every element takes at least one byte.
                if usize::try_from(count).ok()? > self.left() {
                    return None;
                }
                (0..count).try_for_each(|_| self.value(kind, depth + 1, context, false))
            }
            11 => {
                let count = self.varint()?;
                if count == 0 {
                    return Some(());
                }
                let kinds = self.byte()?;
                if usize::try_from(count).ok()? > self.left() {
                    return None;
                }
                (0..count).try_for_each(|_| {
                    self.value(kinds >> 4, depth + 1, Context::Other, false)?;
                    self.value(kinds & 0x0f, depth + 1, Context::Other, false)
                })
            }
            STRUCT => self.structure(depth + 1, context),
            13 => self.skip(16),
            _ => None,
        }
    }
}
