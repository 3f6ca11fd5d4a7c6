//! A function applied to the items of axis 0 one after the other, each time with what it returned for the item before.
//!
//! ```text
//! foldl(lambda a, x: a * 10 + x, [[1, 2, 3], [4], []], 0)
//! step 0   a = [0 0]    x = [1 4]      the records that have an item
//! step 1   a = [1]      x = [2]
//! step 2   a = [12]     x = [3]        [123, 4, 0]
//! ```
//!
//! A step is evaluated once for all records of the chunk that have such an item. Records that have ended stay in the columns,
//! with the arguments of their last step, until they are half of them, so that the columns are not copied in every step.
//!
//! Semantics: `tf.scan`, `tf.foldl`, `tf.foldr`.

use super::eval::{Frame, Node, Param, Recurrence, Value, depends_on_records, items_of, key_of_item, slots_of};
use crate::error::{Error, Result};
use crate::tensor::{RowPartition, Tensor};
use arrow_array::UInt64Array;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use std::sync::Arc;

/// A function applied step by step.
#[derive(Debug)]
pub struct Steps {
    over: Vec<Node>,
    /// The values before the first step; without them, it starts with the first items.
    initial: Vec<Node>,
    /// The parameters for the values of the previous step, then those for the items.
    params: Vec<Param>,
    /// The values of a step, as many as those of the previous one.
    results: Vec<Node>,
    order: Order,
    /// The slots that the results use.
    slots: Vec<usize>,
    constant: bool,
}

/// The order of the steps, and which of their values are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// From the last item to the first.
    pub from_end: bool,
    /// The values of all steps, in the order of the items, instead of those of the last step.
    pub all: bool,
}

impl Steps {
    pub fn new(over: Vec<Node>, initial: Vec<Node>, params: Vec<Param>, results: Vec<Node>, order: Order) -> Steps {
        let slots = slots_of(&results);
        let is_constant = over.iter().chain(&initial).all(Node::is_constant);
        let constant = slots.is_empty() && is_constant && !depends_on_records(&results, &params);
        Steps { over, initial, params, results, order, slots, constant }
    }

    /// The number of items that are no steps, but the values before the first one.
    fn skipped(&self) -> usize {
        usize::from(self.initial.is_empty())
    }

    fn frame_of(&self, frame: &Frame, live: &[usize]) -> Result<Frame> {
        frame.gathered(live, &self.slots, None)
    }
}

impl Recurrence for Steps {
    fn is_constant(&self) -> bool {
        self.constant
    }

    fn params(&self) -> &[Param] {
        &self.params
    }

    fn nodes(&self) -> Vec<&Node> {
        self.over.iter().chain(&self.initial).chain(&self.results).collect()
    }

    /// O(items), for columns of scalars.
    fn eval(&self, frame: &Frame, which: usize) -> Result<Value> {
        let nrows = if self.constant { 1 } else { frame.nrows };
        let (rows, items) = items_of(&self.over, frame, nrows)?;
        let initial = match self.initial.is_empty() {
            true => first_items(&rows, &items, self.order)?,
            false => self.initial.iter().map(|node| Ok(node.eval(frame)?.full(nrows)?.into_owned())).collect::<Result<Vec<_>>>()?,
        };
        let mut kept = Kept::new(&rows, &initial, which, self)?;
        // The records with items, and what their next step is given.
        let mut live: Vec<usize> = (0..nrows).filter(|record| rows.row_length(*record) > self.skipped()).collect();
        let mut given = initial.iter().map(|tensor| tensor.gather(&live)).collect::<Result<Vec<_>>>()?;
        let mut inner = self.frame_of(frame, &live)?;
        let outer = inner.params.len();
        for step in self.skipped().. {
            let going = live.iter().filter(|record| rows.row_length(**record) > step).count();
            if going == 0 {
                break;
            }
            if going * 2 < live.len() {
                let places: Vec<usize> = (0..live.len()).filter(|at| rows.row_length(live[*at]) > step).collect();
                given = given.iter().map(|tensor| tensor.gather(&places)).collect::<Result<_>>()?;
                live = places.into_iter().map(|at| live[at]).collect();
                inner = self.frame_of(frame, &live)?;
            }
            let places: Vec<usize> = live.iter().map(|record| self.order.place(&rows, *record, step)).collect();
            let own = items.iter().map(|items| items.gather(&places)).collect::<Result<Vec<_>>>()?;
            inner.params.truncate(outer);
            inner.params.extend(self.params.iter().cloned().zip(given.iter().cloned().chain(own).map(Value::column)));
            inner.keys = frame.keys.as_ref().map(|keys| keys_at(keys, nrows, &live, step)).transpose()?;
            let values = self.results.iter().map(|result| Ok(result.eval(&inner)?.full(live.len())?.into_owned()));
            let values = values.collect::<Result<Vec<Tensor>>>().map_err(|e| {
                let row = e.location().row.and_then(|row| live.get(row)).copied();
                e.locate(|at| at.row = row)
            })?;
            kept.keep(&live, step, &values, &rows);
            given = next(given, values, &live, step, &rows)?;
        }
        Ok(Value { tensor: kept.finish(rows)?, constant: self.constant })
    }
}

impl Order {
    /// The item of a step; of its last step for a record that has ended.
    fn place(self, rows: &RowPartition, record: usize, step: usize) -> usize {
        let range = rows.range(record);
        let step = step.min(range.len().saturating_sub(1));
        if self.from_end { range.end - 1 - step } else { range.start + step }
    }
}

/// The values that are given to the step after this one. A record that has ended keeps those of its last step.
fn next(given: Vec<Tensor>, values: Vec<Tensor>, live: &[usize], step: usize, rows: &RowPartition) -> Result<Vec<Tensor>> {
    let goes_on = |record: &usize| rows.row_length(*record) > step + 1;
    if live.iter().all(goes_on) {
        return Ok(values);
    }
    let places: Vec<usize> = live.iter().enumerate().map(|(at, record)| at + if goes_on(record) { live.len() } else { 0 }).collect();
    given.iter().zip(&values).map(|(given, value)| Tensor::concat(&[given, value])?.gather(&places)).collect()
}

/// The first items of every record, in the order of the steps.
fn first_items(rows: &RowPartition, items: &[Tensor], order: Order) -> Result<Vec<Tensor>> {
    if let Some(record) = (0..rows.nrows()).find(|record| rows.row_length(*record) == 0) {
        return Err(Error::data("there are no items to start with").at_row(record).help("add an initial value: initializer=0"));
    }
    let places: Vec<usize> = (0..rows.nrows()).map(|record| order.place(rows, record, 0)).collect();
    items.iter().map(|items| items.gather(&places)).collect()
}

/// The keys of the records' items of a step.
fn keys_at(keys: &Value, nrows: usize, live: &[usize], step: usize) -> Result<Value> {
    let keys = keys.full(nrows)?;
    let keys = keys.as_leaf()?.as_primitive_opt::<UInt64Type>().ok_or_else(|| Error::internal("keys of another type"))?;
    let own = live.iter().map(|record| key_of_item(keys.value(*record), step));
    Ok(Value::column(Tensor::Leaf(Arc::new(UInt64Array::from_iter_values(own)))))
}

/// The values of a result that are kept, step by step.
struct Kept {
    which: usize,
    order: Order,
    parts: Vec<Tensor>,
    nvalues: usize,
    /// The place among the parts of the value of each item, or of each record.
    places: Vec<usize>,
}

impl Kept {
    fn new(rows: &RowPartition, initial: &[Tensor], which: usize, steps: &Steps) -> Result<Kept> {
        let initial = initial.get(which).ok_or_else(|| Error::internal("a function without that result"))?;
        let mut places: Vec<usize> = (0..rows.nrows()).collect();
        if steps.order.all {
            places = vec![0; rows.nvals()];
            if steps.initial.is_empty() {
                (0..rows.nrows()).for_each(|record| places[steps.order.place(rows, record, 0)] = record);
            }
        }
        Ok(Kept { which, order: steps.order, nvalues: initial.nrows(), parts: vec![initial.clone()], places })
    }

    fn keep(&mut self, live: &[usize], step: usize, values: &[Tensor], rows: &RowPartition) {
        let mut is_kept = false;
        for (at, record) in live.iter().enumerate() {
            let length = rows.row_length(*record);
            let place = match self.order.all {
                true if length > step => self.order.place(rows, *record, step),
                false if length == step + 1 => *record,
                _ => continue,
            };
            self.places[place] = self.nvalues + at;
            is_kept = true;
        }
        if let (true, Some(values)) = (is_kept, values.get(self.which)) {
            self.nvalues += values.nrows();
            self.parts.push(values.clone());
        }
    }

    fn finish(self, rows: RowPartition) -> Result<Tensor> {
        let values = Tensor::concat(&self.parts.iter().collect::<Vec<_>>())?.gather(&self.places)?;
        if self.order.all { Tensor::list(rows, values, None) } else { Ok(values) }
    }
}
