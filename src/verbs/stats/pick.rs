//! Divides the fields of a record into shares, splitting structures between shares if needed.

use super::summary::Summary;
use crate::error::Result;
use crate::tensor::Tensor;
use std::ops::Range;

/// A field, or some of the fields inside it.
#[derive(Clone, Debug, PartialEq)]
pub struct Pick {
    /// The position in the record or the enclosing structure.
    position: usize,
    /// For a structure that is split, the selected fields; otherwise `None`.
    fields: Option<Vec<Pick>>,
}

/// Divides the fields, in order, into about that many shares with equal numbers of leaf fields.
pub fn shares_of(fields: &[Summary], shares: usize) -> Vec<Vec<Pick>> {
    let nleaves: usize = fields.iter().map(Summary::nleaves).sum();
    let len = nleaves.div_ceil(shares.max(1)).max(1);
    (0..nleaves).step_by(len).map(|start| picks(fields, &(start..start + len), &mut 0)).collect()
}

/// The leaf fields in the range of numbers; the first leaf of `fields` has number `at`.
fn picks(fields: &[Summary], range: &Range<usize>, at: &mut usize) -> Vec<Pick> {
    let mut found = Vec::new();
    for (position, field) in fields.iter().enumerate() {
        let own = *at..*at + field.nleaves();
        if own.end <= range.start || range.end <= own.start {
            *at = own.end;
        } else if range.start <= own.start && own.end <= range.end {
            *at = own.end;
            found.push(Pick { position, fields: None });
        } else {
            found.push(Pick { position, fields: Some(picks(&field.fields, range, at)) });
        }
    }
    found
}

/// The summaries of picked fields.
pub fn picked_fields(fields: &[Summary], picks: &[Pick]) -> Vec<Summary> {
    let one = |pick: &Pick| {
        let field = fields.get(pick.position)?;
        Some(match &pick.fields {
            None => field.clone(),
            Some(picks) => Summary { fields: picked_fields(&field.fields, picks), ..field.clone() },
        })
    };
    picks.iter().filter_map(one).collect()
}

/// The columns of picked fields.
///
/// # Errors
/// A column whose type does not match, which is a bug.
pub fn picked_columns(columns: &[Tensor], picks: &[Pick]) -> Result<Vec<Tensor>> {
    let one = |pick: &Pick| {
        let column = columns.get(pick.position)?;
        Some(match &pick.fields {
            None => Ok(column.clone()),
            Some(picks) => picked(column, picks),
        })
    };
    picks.iter().filter_map(one).collect()
}

/// Structures with only the picked fields.
fn picked(tensor: &Tensor, picks: &[Pick]) -> Result<Tensor> {
    match tensor {
        Tensor::List(list) => Ok(Tensor::List(list.with_values(picked(list.values(), picks)?)?)),
        Tensor::Struct(s) => Tensor::structure(tensor.nrows(), picked_columns(s.fields(), picks)?, s.validity().cloned()),
        other => Ok(other.clone()),
    }
}

/// Appends the summaries of the next share. Each part of a split structure has counted its rows; the counts of the
/// first part are kept.
pub fn joined(all: &mut Vec<Summary>, more: Vec<Summary>) {
    for field in more {
        match all.last_mut().filter(|last| last.path == field.path) {
            Some(last) => joined(&mut last.fields, field.fields),
            None => all.push(field),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::top::Top;
    use super::*;
    use crate::schema::notation;

    #[test]
    fn every_field_is_in_one_share() {
        let schema = notation::parse("a: int64; s: {x: int64, t: {y: int64[?], z: string}[?], w: int64}; b: int64").unwrap();
        let fields: Vec<Summary> = schema.fields.iter().map(|f| Summary::new(f, None, 0, &Top::new(16), &|_| true)).collect();
        let paths = |fields: &[Summary]| {
            let mut found = Vec::new();
            fields.iter().for_each(|field| field.wanted(&mut found));
            found.iter().map(|field| field.path.to_string()).collect::<Vec<_>>()
        };
        for shares in 1..9 {
            let shares: Vec<Vec<Summary>> = shares_of(&fields, shares).iter().map(|picks| picked_fields(&fields, picks)).collect();
            let sizes: Vec<usize> = shares.iter().map(|share| share.iter().map(Summary::nleaves).sum()).collect();
            assert_eq!(sizes.iter().sum::<usize>(), 6);
            assert!(sizes.iter().all(|size| *size <= sizes[0]), "{sizes:?}");
            let mut all = Vec::new();
            shares.into_iter().for_each(|share| joined(&mut all, share));
            assert_eq!(paths(&all), paths(&fields));
        }
    }
}
