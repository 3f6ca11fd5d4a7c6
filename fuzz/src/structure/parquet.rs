//! Parquet: the footer and the headers of pages, both in Thrift.

use super::thrift::{Input, Value};
use super::{Random, range, u32_at};

const MAGIC: &[u8] = b"PAR1";
/// Field numbers of the footer: row groups, their columns, the metadata of a column.
const ROW_GROUPS: i16 = 4;
const COLUMNS: i16 = 1;
const COLUMN_METADATA: i16 = 3;
/// Field numbers in the metadata of a column: compressed size, offsets of the first data page and of the dictionary.
const SIZE: i16 = 7;
const DATA: i16 = 9;
const DICTIONARY: i16 = 11;

fn columns(footer: &mut Value) -> Vec<&mut Value> {
    let groups = footer.all(ROW_GROUPS).into_iter().flat_map(|groups| groups.all(COLUMNS));
    groups.flat_map(|columns| columns.all(COLUMN_METADATA)).collect()
}

fn int(value: &mut Value, id: i16) -> Option<&mut i64> {
    match value.all(id).into_iter().next()? {
        Value::Int(_, value) => Some(value),
        _ => None,
    }
}

/// Changes the header of a page of one of the columns, or values in the page, and moves what follows.
fn change_page(body: &mut Vec<u8>, footer: &mut Value, random: &mut Random) -> Option<()> {
    let mut all = columns(footer);
    let column = random.below(all.len());
    let id = if random.one_in(2) { DATA } else { DICTIONARY };
    let metadata = all.get_mut(column)?;
    let id = if int(metadata, id).is_some() { id } else { DATA };
    let start = usize::try_from(*int(metadata, id)?).ok()?;
    let mut input = Input { bytes: body, at: start };
    let mut header = input.structure(0)?;
    let end = input.at;
    let mut changed = Vec::new();
    if random.one_in(4) {
        // The levels and values of the page.
        let rest = range(body, end, 64.min(body.len().checked_sub(end)?))?;
        changed.extend_from_slice(rest);
        let at = random.below(changed.len());
        *changed.get_mut(at)? = random.near(0).to_le_bytes()[0];
        body[end..end + changed.len()].copy_from_slice(&changed);
        return Some(());
    }
    header.change(random);
    header.encode(&mut changed);
    let grown = changed.len() as i64 - (end - start) as i64;
    body.splice(start..end, changed);
    for (i, metadata) in all.iter_mut().enumerate() {
        for id in [DATA, DICTIONARY] {
            if let Some(offset) = int(metadata, id).filter(|offset| **offset > start as i64) {
                *offset = offset.wrapping_add(grown);
            }
        }
        if i == column
            && let Some(size) = int(metadata, SIZE)
        {
            *size = size.wrapping_add(grown);
        }
    }
    Some(())
}

/// Changes the footer or a page.
pub fn mutate(bytes: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    let front = bytes.strip_suffix(MAGIC).filter(|front| front.starts_with(MAGIC))?;
    let end = front.len().checked_sub(4)?;
    let start = end.checked_sub(u32_at(front, end)?)?;
    let mut body = front.get(..start)?.to_vec();
    let mut footer = Input { bytes: &front[..end], at: start }.structure(0)?;
    if random.one_in(2) || change_page(&mut body, &mut footer, random).is_none() {
        footer.change(random);
    }
    let before = body.len();
    footer.encode(&mut body);
    let len = u32::try_from(body.len() - before).ok()?;
    body.extend_from_slice(&len.to_le_bytes());
    body.extend_from_slice(MAGIC);
    Some(body)
}
