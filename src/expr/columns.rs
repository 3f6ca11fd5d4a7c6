//! The fields of a record while statements assign to them.

use crate::schema::Field;
use std::collections::HashMap;

/// Fields in their order, found by name, each with the slot of its values.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    /// `None`: a field that was removed.
    columns: Vec<Option<(Field, usize)>>,
    positions: HashMap<String, usize>,
}

impl Columns {
    /// The fields of a record in slots 0, 1, ...
    pub fn of_fields(fields: &[Field]) -> Columns {
        let columns = fields.iter().cloned().enumerate().map(|(slot, field)| Some((field, slot))).collect();
        let positions = fields.iter().enumerate().map(|(position, field)| (field.name.clone(), position)).collect();
        Columns { columns, positions }
    }

    /// The field of that name, and its slot.
    pub fn find(&self, name: &str) -> Option<(&Field, usize)> {
        let (field, slot) = self.columns.get(*self.positions.get(name)?)?.as_ref()?;
        Some((field, *slot))
    }

    /// The field of that name, to be changed, and its slot.
    pub fn find_mut(&mut self, name: &str) -> Option<(&mut Field, &mut usize)> {
        let (field, slot) = self.columns.get_mut(*self.positions.get(name)?)?.as_mut()?;
        Some((field, slot))
    }

    /// Replaces the field of the same name, or appends the field.
    pub fn put(&mut self, field: Field, slot: usize) {
        match self.positions.get(&field.name) {
            Some(position) => self.columns[*position] = Some((field, slot)),
            None => {
                self.positions.insert(field.name.clone(), self.columns.len());
                self.columns.push(Some((field, slot)));
            }
        }
    }

    /// Removes the field of that name, if there is one.
    pub fn remove(&mut self, name: &str) -> Option<(Field, usize)> {
        let position = self.positions.remove(name)?;
        self.columns[position].take()
    }

    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().flatten().map(|(field, _)| field.name.as_str())
    }

    /// The fields, in order.
    pub fn fields(&self) -> Vec<Field> {
        self.columns.iter().flatten().map(|(field, _)| field.clone()).collect()
    }

    /// The fields in order, and the slot of each.
    pub fn unzip(self) -> (Vec<Field>, Vec<usize>) {
        self.columns.into_iter().flatten().unzip()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{DType, Type};

    #[test]
    fn fields_keep_their_places_and_return_at_the_end() {
        let field = |name: &str| Field::new(name, Type::tensor(DType::Int64, Vec::new()));
        let mut columns = Columns::of_fields(&[field("a"), field("b"), field("c")]);
        let shown = |columns: &Columns| {
            let (fields, slots) = columns.clone().unzip();
            fields.iter().zip(slots).map(|(f, slot)| format!("{}{slot}", f.name)).collect::<Vec<_>>().join(" ")
        };
        columns.put(field("b"), 3);
        assert_eq!(shown(&columns), "a0 b3 c2");
        assert_eq!(columns.remove("a").map(|(_, slot)| slot), Some(0));
        assert!(columns.remove("a").is_none() && columns.find("a").is_none());
        columns.put(field("d"), 4);
        columns.put(field("a"), 5);
        assert_eq!(shown(&columns), "b3 c2 d4 a5");
        assert_eq!(columns.find("d").map(|(_, slot)| slot), Some(4));
        assert_eq!(columns.names().collect::<String>(), "bcda");
    }
}
