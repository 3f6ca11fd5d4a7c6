//! Repeats sequences according to the sequence lengths of another tensor.

use super::shared::Sequences;
use crate::error::{Error, Result};
use crate::expr::call::{Call, Function};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::kernels::level::{from_lengths, merged, wrap};
use crate::expr::operand::OperandKind;
use crate::expr::types::last_ragged;
use crate::printable::counted;
use crate::schema::Dim;
use crate::tensor::limits::check_count;
use crate::tensor::{RowPartition, Tensor};

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["sequence_expand"],
        "x, y, ref_level=-1",
        "Repeat each sequence of x (each row if x has no LoD) once for each item of the corresponding sequence of y.",
        [
            ("sequence_expand([[1, 2], [3]], [[0, 0], [0, 0, 0]])", "[[1, 2], [1, 2], [3], [3], [3]]"),
            ("sequence_expand([1, 2, 3], [[0, 0], [], [0]])", "[1, 1, 3]")
        ],
        expand
    ),
    function!(
        ["sequence_expand_as"],
        "x, y",
        "Repeat each row of x once for each step of the corresponding sequence of y; the resulting sequences have the same lengths as in y.",
        [("sequence_expand_as([1, 2, 3], [[0, 0], [], [0]])", "[[1, 1], [], [3]]")],
        expand_as
    ),
];

/// The repeated rows of all records: row indices, and the number of rows in each record.
struct Repeats {
    numbers: Vec<usize>,
    lengths: Vec<usize>,
}

/// Repeats row k of a record as often as `times` gives for item k of that record. `sizes` has the values of each row.
fn repeats(rows: &RowPartition, sizes: &RowPartition, items: &RowPartition, times: &RowPartition, what: &str) -> Result<Repeats> {
    let mut out = Repeats { numbers: Vec::with_capacity(times.nvals()), lengths: Vec::with_capacity(rows.nrows()) };
    let mut nvals = 0usize;
    for record in 0..rows.nrows() {
        let (own, of) = (rows.range(record), items.range(record));
        if own.len() != of.len() {
            return Err(Error::data(format!(
                "x has {}, but y has {}",
                counted(own.len() as u64, what),
                counted(of.len() as u64, "sequence")
            ))
            .at_row(record));
        }
        let before = out.numbers.len();
        for (row, item) in own.zip(of) {
            let n = times.row_length(item);
            nvals = check_count(sizes.row_length(row).checked_mul(n).and_then(|more| more.checked_add(nvals)), record)?;
            out.numbers.extend(std::iter::repeat_n(row, n));
        }
        out.lengths.push(out.numbers.len() - before);
    }
    Ok(out)
}

fn expand(call: &mut Call) -> ExprResult<OperandKind> {
    let x = call.kept(0)?;
    if x.rank() == 0 {
        return Err(ExprError::at(x.span.clone(), "sequence_expand repeats sequences or rows; this is a scalar"));
    }
    let has_lod = match last_ragged(&x.ty.dims) {
        Some(1) => true,
        None => false,
        Some(_) => {
            return Err(ExprError::at(x.span.clone(), format!("sequence_expand expects an x with one LoD level, found {}", x.ty))
                .help("to merge the outer levels: merge_dims(x, 0, 1); to remove one: x.values"));
        }
    };
    let y = Sequences::of(call, 1)?;
    let levels = y.axis as i64;
    let level = match call.optional_int(2)?.unwrap_or(-1) {
        -1 => levels - 1,
        level if (0..levels).contains(&level) => level,
        level => {
            let place = call.operand(2)?.span.clone();
            return Err(ExprError::at(
                place,
                format!("ref_level is {level}; y has the LoD levels 0 to {}, and -1 means the last", levels - 1),
            ));
        }
    };
    let mut dims = x.ty.dims.clone();
    dims[0] = Dim::UNIFORM;
    let what = if has_lod { "sequence" } else { "row" };
    // Level l of a LoD is axis l + 1.
    let axis = level as usize + 1;
    call.one(crate::schema::Type { dims, ..x.ty.clone() }, move |args| {
        let (tensor, by) = (x.of(args)?, y.arg.of(args)?);
        let (_, below) = by.levels(axis)?;
        let list = tensor.as_list()?;
        let sizes = merged(list.values(), 0, x.rank() - 1)?;
        let all = repeats(list.partition(), &sizes, &merged(&by, 0, axis)?, below.as_list()?.partition(), what)?;
        Tensor::list(from_lengths(all.lengths)?, list.values().gather(&all.numbers)?, None)
    })
}

fn expand_as(call: &mut Call) -> ExprResult<OperandKind> {
    let x = call.kept(0)?;
    if x.rank() == 0 {
        return Err(ExprError::at(x.span.clone(), "sequence_expand_as repeats rows; this is a scalar"));
    }
    let y = Sequences::of(call, 1)?;
    // The sequences of x do not matter.
    let levels = last_ragged(&x.ty.dims).unwrap_or(0) + 1;
    let mut dims = y.arg.ty.dims[..=y.axis].to_vec();
    dims.extend_from_slice(&x.ty.dims[levels..]);
    call.one(crate::schema::Type { dims, ..x.ty.clone() }, move |args| {
        let (tensor, by) = (x.of(args)?, y.arg.of(args)?);
        let cut = y.cut(&by)?;
        let (_, rows) = tensor.levels(levels)?;
        let sizes = merged(rows, 0, x.rank() - levels)?;
        let all = repeats(&merged(&tensor, 0, levels)?, &sizes, &cut.records, cut.list.partition(), "row")?;
        let sequences = std::iter::once(cut.list.partition().clone());
        cut.around(wrap(sequences, rows.gather(&all.numbers)?)?)
    })
}
