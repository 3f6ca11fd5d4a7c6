//! Structures of Thrift in the compact protocol, without their definition.

use super::Random;

#[derive(Clone)]
pub enum Value {
    Bool(bool),
    Byte(u8),
    /// An i16, i32 or i64, by its type number.
    Int(u8, i64),
    Double([u8; 8]),
    Binary(Vec<u8>),
    /// A list or set, by its type number.
    List(List),
    Struct(Vec<(i16, Value)>),
}

#[derive(Clone)]
pub struct List {
    kind: u8,
    item_kind: u8,
    items: Vec<Value>,
    /// A number of items that is claimed instead of the real one.
    claimed: Option<u64>,
}

/// More nesting is left alone.
const MAX_DEPTH: usize = 24;

/// A position in encoded bytes.
pub struct Input<'a> {
    pub bytes: &'a [u8],
    pub at: usize,
}

impl Input<'_> {
    fn byte(&mut self) -> Option<u8> {
        self.at += 1;
        self.bytes.get(self.at - 1).copied()
    }

    fn take(&mut self, len: usize) -> Option<&[u8]> {
        let start = self.at;
        self.at = start.checked_add(len)?;
        self.bytes.get(start..self.at)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn int(&mut self) -> Option<i64> {
        let n = self.varint()?;
        Some((n >> 1).cast_signed() ^ -(n & 1).cast_signed())
    }

    /// A structure, with its fields.
    pub fn structure(&mut self, depth: usize) -> Option<Value> {
        let (mut fields, mut last) = (Vec::new(), 0_i16);
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Some(Value::Struct(fields));
            }
            last = match head >> 4 {
                0 => i16::try_from(self.int()?).ok()?,
                step => last.checked_add(step.into())?,
            };
            let value = match head & 15 {
                kind @ (1 | 2) => Value::Bool(kind == 1),
                kind => self.value(kind, depth + 1)?,
            };
            fields.push((last, value));
        }
    }

    fn value(&mut self, kind: u8, depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        Some(match kind {
            // In a list.
            1 | 2 => Value::Bool(self.byte()? == 1),
            3 => Value::Byte(self.byte()?),
            4..=6 => Value::Int(kind, self.int()?),
            7 => Value::Double(self.take(8)?.try_into().ok()?),
            8 => {
                let len = usize::try_from(self.varint()?).ok()?;
                Value::Binary(self.take(len)?.to_vec())
            }
            9 | 10 => {
                let head = self.byte()?;
                let len = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
                let items = (0..len).map(|_| self.value(head & 15, depth + 1)).collect::<Option<_>>()?;
                Value::List(List { kind, item_kind: head & 15, items, claimed: None })
            }
            12 => self.structure(depth)?,
            _ => return None,
        })
    }
}

fn put_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}

fn put_int(value: i64, out: &mut Vec<u8>) {
    put_varint((value << 1 ^ value >> 63).cast_unsigned(), out);
}

impl Value {
    fn kind(&self) -> u8 {
        match self {
            Value::Bool(value) => 2 - u8::from(*value),
            Value::Byte(_) => 3,
            Value::Int(kind, _) => *kind,
            Value::Double(_) => 7,
            Value::Binary(_) => 8,
            Value::List(list) => list.kind,
            Value::Struct(_) => 12,
        }
    }

    /// Appends the encoded value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Value::Bool(value) => out.push(2 - u8::from(*value)),
            Value::Byte(byte) => out.push(*byte),
            Value::Int(_, value) => put_int(*value, out),
            Value::Double(bytes) => out.extend_from_slice(bytes),
            Value::Binary(bytes) => {
                put_varint(bytes.len() as u64, out);
                out.extend_from_slice(bytes);
            }
            Value::List(list) => {
                match list.claimed.unwrap_or(list.items.len() as u64) {
                    len @ 0..15 => out.push(len.to_le_bytes()[0] << 4 | list.item_kind),
                    len => {
                        out.push(15 << 4 | list.item_kind);
                        put_varint(len, out);
                    }
                }
                list.items.iter().for_each(|item| item.encode(out));
            }
            Value::Struct(fields) => {
                let mut last = 0;
                for (id, value) in fields {
                    match u8::try_from(i32::from(*id) - last) {
                        Ok(step @ 1..16) => out.push(step << 4 | value.kind()),
                        _ => {
                            out.push(value.kind());
                            put_int((*id).into(), out);
                        }
                    }
                    last = (*id).into();
                    if !matches!(value, Value::Bool(_)) {
                        value.encode(out);
                    }
                }
                out.push(0);
            }
        }
    }

    /// The items of a list, or the values of the fields of a structure with this number.
    pub fn all(&mut self, id: i16) -> Vec<&mut Value> {
        match self {
            Value::List(list) => list.items.iter_mut().flat_map(|item| item.all(id)).collect(),
            Value::Struct(fields) => fields.iter_mut().filter(|(known, _)| *known == id).map(|(_, value)| value).collect(),
            _ => Vec::new(),
        }
    }

    /// Makes one change in the value or in those inside it.
    pub fn change(&mut self, random: &mut Random) {
        match self {
            Value::Bool(value) => *value = !*value,
            Value::Byte(byte) => *byte = random.near((*byte).into()).to_le_bytes()[0],
            // Small numbers are those of enumerations.
            Value::Int(kind, value) => match random.below(6) {
                0 => *kind = 4 + random.number().to_le_bytes()[0] % 3,
                1 | 2 => *value = random.below(24) as i64 - 2,
                _ => *value = random.near(value.cast_unsigned()).cast_signed(),
            },
            Value::Double(bytes) => *bytes = random.number().to_le_bytes(),
            Value::Binary(bytes) => random.scramble(bytes),
            Value::List(list) => {
                let at = random.below(list.items.len());
                match random.below(12) {
                    0 => list.claimed = Some(random.near(list.items.len() as u64)),
                    1 => list.item_kind = random.number().to_le_bytes()[0] % 13,
                    2 => random.rearrange(&mut list.items),
                    _ => match list.items.get_mut(at) {
                        Some(item) => item.change(random),
                        None => list.claimed = Some(random.near(0)),
                    },
                }
            }
            Value::Struct(fields) => {
                let at = random.below(fields.len());
                match random.below(16) {
                    0 => random.rearrange(fields),
                    1 if at < fields.len() => fields[at].0 = i16::try_from(random.below(20)).unwrap_or(0),
                    2 if at < fields.len() => fields[at].1 = Value::Int(5, random.near(0).cast_signed()),
                    3 => drop((at < fields.len()).then(|| fields.remove(at))),
                    _ => match fields.get_mut(at) {
                        Some((_, value)) => value.change(random),
                        None => fields.push((1, Value::Int(6, random.near(0).cast_signed()))),
                    },
                }
            }
        }
    }
}
