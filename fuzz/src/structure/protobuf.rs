//! Messages of protocol buffers without their schema.

use super::Random;

#[derive(Clone)]
enum Value {
    Varint(u64),
    Fixed64([u8; 8]),
    Fixed32([u8; 4]),
    Bytes(Vec<u8>),
    Message(Vec<Field>),
    /// Between the deprecated start and end tags.
    Group(Vec<Field>),
    /// A length that is not that of the bytes.
    Misfit(u64, Vec<u8>),
    /// Any wire type, including those that do not exist.
    Wire(u8, Vec<u8>),
}

#[derive(Clone)]
struct Field {
    number: u64,
    value: Value,
    /// Zero bytes that lengthen the tag.
    padding: usize,
}

/// More nesting is left alone.
const MAX_DEPTH: usize = 8;

fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (front, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*front)
}

/// The fields of a message, if the bytes are one.
fn decode(mut bytes: &[u8], depth: usize) -> Option<Vec<Field>> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let tag = take_varint(&mut bytes)?;
        let value = match tag & 7 {
            0 => Value::Varint(take_varint(&mut bytes)?),
            1 => Value::Fixed64(take(&mut bytes)?),
            2 => {
                let len = usize::try_from(take_varint(&mut bytes)?).ok()?;
                let (content, rest) = bytes.split_at_checked(len)?;
                bytes = rest;
                let message = if depth < MAX_DEPTH && !content.is_empty() { decode(content, depth + 1) } else { None };
                message.map_or_else(|| Value::Bytes(content.to_vec()), Value::Message)
            }
            5 => Value::Fixed32(take(&mut bytes)?),
            _ => return None,
        };
        if tag >> 3 == 0 {
            return None;
        }
        fields.push(Field { number: tag >> 3, value, padding: 0 });
    }
    Some(fields)
}

fn put_varint(mut value: u64, padding: usize, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    match padding {
        0 => out.push(value.to_le_bytes()[0]),
        _ => {
            out.push(value.to_le_bytes()[0] | 0x80);
            out.resize(out.len() + padding - 1, 0x80);
            out.push(0);
        }
    }
}

fn put_bytes(len: u64, bytes: &[u8], out: &mut Vec<u8>) {
    put_varint(len, 0, out);
    out.extend_from_slice(bytes);
}

fn encode(fields: &[Field]) -> Vec<u8> {
    let mut out = Vec::new();
    for Field { number, value, padding } in fields {
        let wire = match value {
            Value::Varint(_) => 0,
            Value::Fixed64(_) => 1,
            Value::Bytes(_) | Value::Message(_) | Value::Misfit(..) => 2,
            Value::Group(_) => 3,
            Value::Fixed32(_) => 5,
            Value::Wire(wire, _) => u64::from(*wire),
        };
        put_varint(number << 3 | wire, *padding, &mut out);
        match value {
            Value::Varint(value) => put_varint(*value, *padding, &mut out),
            Value::Fixed64(bytes) => out.extend_from_slice(bytes),
            Value::Fixed32(bytes) => out.extend_from_slice(bytes),
            Value::Bytes(bytes) => put_bytes(bytes.len() as u64, bytes, &mut out),
            Value::Message(fields) => {
                let bytes = encode(fields);
                put_bytes(bytes.len() as u64, &bytes, &mut out);
            }
            Value::Group(fields) => {
                out.extend_from_slice(&encode(fields));
                put_varint(number << 3 | 4, 0, &mut out);
            }
            Value::Misfit(len, bytes) => put_bytes(*len, bytes, &mut out),
            Value::Wire(_, bytes) => out.extend_from_slice(bytes),
        }
    }
    out
}

/// Another way to write a value, which means the same or something else.
fn rewritten(value: &Value, random: &mut Random) -> Value {
    let bytes = match value {
        Value::Varint(n) => match random.below(4) {
            0 => return Value::Varint(random.near(*n)),
            1 => return Value::Fixed64(n.to_le_bytes()),
            2 => return Value::Fixed32(random.near(*n).to_le_bytes()[..4].try_into().unwrap_or_default()),
            // Packed.
            _ => {
                let mut packed = Vec::new();
                (0..random.below(4)).for_each(|i| put_varint(n.wrapping_add(i as u64), random.below(3), &mut packed));
                return Value::Bytes(packed);
            }
        },
        Value::Fixed64(bytes) => bytes.to_vec(),
        Value::Fixed32(bytes) => bytes.to_vec(),
        Value::Message(fields) | Value::Group(fields) => match random.below(4) {
            0 => return Value::Group(fields.clone()),
            1 => return Value::Message([fields.as_slice(), fields].concat()),
            _ => encode(fields),
        },
        Value::Bytes(bytes) | Value::Misfit(_, bytes) | Value::Wire(_, bytes) => bytes.clone(),
    };
    match random.below(6) {
        0 => Value::Misfit(random.near(bytes.len() as u64), bytes),
        1 => Value::Wire([3, 4, 6, 7][random.below(4)], bytes),
        2 => Value::Varint(bytes.first().copied().unwrap_or(0).into()),
        // An empty value.
        3 => Value::Bytes(Vec::new()),
        _ => {
            let mut changed = bytes;
            random.scramble(&mut changed);
            Value::Bytes(changed)
        }
    }
}

/// Unpacked values, each with its own tag, from a packed one.
fn unpacked(field: &Field, random: &mut Random) -> Option<Vec<Field>> {
    let Value::Bytes(bytes) = &field.value else { return None };
    let single = |value| Field { value, ..field.clone() };
    let (fours, rest) = bytes.as_chunks::<4>();
    if rest.is_empty() && random.one_in(2) {
        return Some(fours.iter().map(|four| single(Value::Fixed32(*four))).collect());
    }
    let (mut left, mut fields) = (bytes.as_slice(), Vec::new());
    while !left.is_empty() {
        fields.push(single(Value::Varint(take_varint(&mut left)?)));
    }
    Some(fields)
}

/// Makes one change in these fields or in the messages inside them.
fn change(fields: &mut Vec<Field>, random: &mut Random) {
    let at = random.below(fields.len());
    if let Some(Field { value: Value::Message(inner) | Value::Group(inner), .. }) = fields.get_mut(at)
        && !random.one_in(4)
    {
        return change(inner, random);
    }
    let Some(field) = fields.get_mut(at) else {
        return fields.push(Field { number: 1 + random.below(4) as u64, value: Value::Varint(random.near(0)), padding: 0 });
    };
    match random.below(7) {
        0 => field.number = if random.one_in(3) { random.near(field.number) >> 3 } else { 1 + random.below(4) as u64 },
        1 => field.padding = random.below(11),
        2 | 3 => field.value = rewritten(&field.value, random),
        4 => {
            if let Some(single) = unpacked(field, random) {
                fields.splice(at..=at, single);
            }
        }
        // A message in two parts, which a parser merges.
        5 => {
            if let Value::Message(inner) = &mut field.value {
                let rest = inner.split_off(random.below(inner.len() + 1));
                let second = Field { value: Value::Message(rest), ..field.clone() };
                fields.insert(at + 1, second);
            } else {
                random.rearrange(fields);
            }
        }
        _ => random.rearrange(fields),
    }
}

/// Changes a message; None if the bytes are none.
pub fn mutate(bytes: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    let mut fields = decode(bytes, 0)?;
    change(&mut fields, random);
    Some(encode(&fields))
}
