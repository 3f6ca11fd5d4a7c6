//! Arrays as NumPy prints them: nested brackets, lines of 75 characters, long axes shortened to three items
//! at each end.
//!
//! Format: `array2string`, `_formatArray` and `array_repr` of NumPy 2, with their defaults;
//! `RaggedTensor.numpy` and `_formatter` of TensorFlow for ragged tensors.

use super::values::FlatValues;
use crate::schema::DType;
use crate::tensor::RowPartition;
use std::ops::Range;

const LINE_WIDTH: usize = 75;
const THRESHOLD: usize = 1000;
const EDGE_ITEMS: usize = 3;

/// The result of TensorFlow's `numpy()`.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    pub shape: Vec<usize>,
    items: Items,
}

#[derive(Clone, Debug, PartialEq)]
enum Items {
    /// Consecutive flat values from this index on.
    Values(usize),
    /// Rows of different lengths, each an array.
    Objects(Vec<Array>),
}

/// An axis after axis 0: its partition, and whether its type is ragged.
pub struct Level<'a> {
    pub partition: &'a RowPartition,
    pub ragged: bool,
    /// The size given by the type, if any; used if there are no rows.
    pub size: Option<usize>,
}

impl Array {
    /// A dense array of these flat values.
    pub fn dense(shape: Vec<usize>, start: usize) -> Array {
        Array { shape, items: Items::Values(start) }
    }

    /// The rows `rows` of the outermost level as axis 0. The levels give the other axes.
    pub fn of(levels: &[Level], rows: Range<usize>) -> Array {
        let Some((level, below)) = levels.split_first() else {
            return Array::dense(vec![rows.len()], rows.start);
        };
        let (start, end) = (level.partition.start(rows.start), level.partition.start(rows.end));
        let child = Array::of(below, start..end);
        let n = rows.len();
        if n == 0 {
            let size = if level.ragged { 0 } else { level.size.unwrap_or(0) };
            let shape = [0, size].into_iter().chain(child.shape[1..].iter().copied()).collect();
            return Array::dense(shape, 0);
        }
        let length = level.partition.row_length(rows.start);
        if rows.clone().all(|row| level.partition.row_length(row) == length) {
            let shape = [n, length].into_iter().chain(child.shape[1..].iter().copied()).collect();
            return Array { shape, items: child.items };
        }
        let items = rows.map(|row| child.rows(level.partition.start(row) - start..level.partition.start(row + 1) - start)).collect();
        Array { shape: vec![n], items: Items::Objects(items) }
    }

    fn rows(&self, rows: Range<usize>) -> Array {
        let width: usize = self.shape[1..].iter().product();
        let items = match &self.items {
            Items::Values(start) => Items::Values(start + rows.start * width),
            Items::Objects(items) => Items::Objects(items[rows.start * width..rows.end * width].to_vec()),
        };
        let shape = std::iter::once(rows.len()).chain(self.shape[1..].iter().copied()).collect();
        Array { shape, items }
    }

    /// The index of the first flat value.
    pub fn first(&self) -> usize {
        if let Items::Values(start) = &self.items { *start } else { 0 }
    }

    /// The number of items.
    pub fn size(&self) -> usize {
        self.shape.iter().product()
    }

    /// The indices of the items printed of a large array.
    fn shown(&self) -> Vec<usize> {
        if self.size() <= THRESHOLD {
            return (0..self.size()).collect();
        }
        self.shape.iter().fold(vec![0], |places, &size| {
            let cut = 2 * EDGE_ITEMS < size;
            let kept: Vec<usize> = (0..size).filter(|i| !cut || *i < EDGE_ITEMS || *i >= size - EDGE_ITEMS).collect();
            places.iter().flat_map(|place| kept.iter().map(move |i| place * size + i)).collect()
        })
    }

    /// `[[1, 2],\n [3]]`: as a ragged tensor prints its values.
    pub fn ragged_text(&self, values: FlatValues) -> String {
        if self.size() == 0 {
            return self.nothing(0);
        }
        match &self.items {
            Items::Values(start) => self.text(", ", 0, LINE_WIDTH, &|place| values.str(start + place)),
            Items::Objects(items) => self.text(", ", 0, LINE_WIDTH, &|place| items[place].ragged_text(values)),
        }
    }

    /// `[[], []]`: an array without items.
    fn nothing(&self, axis: usize) -> String {
        match self.shape.get(axis) {
            Some(size) => format!("[{}]", (0..*size).map(|_| self.nothing(axis + 1)).collect::<Vec<_>>().join(", ")),
            None => String::new(),
        }
    }

    /// `str` of the array: `[1 2 3]`.
    pub fn str(&self, values: FlatValues) -> String {
        self.aligned(values, " ", 0, 0)
    }

    /// `repr` of the array: `array([1, 2, 3], dtype=int32)`.
    pub fn repr(&self, values: FlatValues) -> String {
        let prefix = "array(";
        let list = self.aligned(values, ", ", prefix.len(), 1);
        let mut extras = Vec::new();
        if (self.size() == 0 && self.shape != [0]) || self.size() > THRESHOLD {
            extras.push(format!("shape={}", shape_text(self.shape.iter().map(|n| Some(*n)))));
        }
        if !matches!(values.dtype, DType::Int64 | DType::Float64 | DType::Bool) || self.size() == 0 {
            let name = match values.dtype {
                DType::String | DType::Bytes | DType::Json => "object".to_owned(),
                dtype => dtype.to_string(),
            };
            extras.push(format!("dtype={name}"));
        }
        if extras.is_empty() {
            return format!("{prefix}{list})");
        }
        let (list, extras) = (format!("{prefix}{list},"), extras.join(", ") + ")");
        let last_line = list.chars().rev().take_while(|c| *c != '\n').count();
        let spacer = if last_line + extras.len() + 1 > LINE_WIDTH { format!("\n{}", " ".repeat(prefix.len())) } else { " ".to_owned() };
        format!("{list}{spacer}{extras}")
    }

    fn aligned(&self, values: FlatValues, separator: &str, prefix: usize, suffix: usize) -> String {
        let Items::Values(start) = &self.items else {
            return self.ragged_text(values);
        };
        if self.size() == 0 {
            return "[]".to_owned();
        }
        let shown: Vec<usize> = self.shown().into_iter().map(|place| start + place).collect();
        let format = values.formatter(&shown);
        self.text(separator, prefix, LINE_WIDTH - suffix, &|place| format(start + place))
    }

    fn text(&self, separator: &str, prefix: usize, width: usize, word: &dyn Fn(usize) -> String) -> String {
        let printer = Printer { shape: &self.shape, separator, cut: self.size() > THRESHOLD, word };
        printer.axis(0, 0, prefix + 1, width)
    }
}

/// `(2, None, 3)`: `None` for an axis that has no single size.
pub fn shape_text(sizes: impl Iterator<Item = Option<usize>>) -> String {
    let sizes: Vec<String> = sizes.map(|s| s.map_or_else(|| "None".to_owned(), |n| n.to_string())).collect();
    match sizes.as_slice() {
        [one] => format!("({one},)"),
        more => format!("({})", more.join(", ")),
    }
}

/// `_formatArray`.
struct Printer<'a> {
    shape: &'a [usize],
    separator: &'a str,
    cut: bool,
    word: &'a dyn Fn(usize) -> String,
}

impl Printer<'_> {
    /// The items of `axis` at index `place`, for lines indented by `indent` spaces.
    fn axis(&self, axis: usize, place: usize, indent: usize, width: usize) -> String {
        let Some(&size) = self.shape.get(axis) else {
            return (self.word)(place);
        };
        let inner = |i: usize| self.axis(axis + 1, place * size + i, indent + 1, width.saturating_sub(1));
        let cut = self.cut && 2 * EDGE_ITEMS < size;
        // `None` marks where items are omitted.
        let items = (0..size).filter(|i| !cut || *i < EDGE_ITEMS || *i >= size - EDGE_ITEMS).map(Some);
        let mut items: Vec<Option<usize>> = items.collect();
        if cut {
            items.insert(EDGE_ITEMS, None);
        }
        let last = items.len().saturating_sub(1);
        let axes_left = self.shape.len() - axis;
        if axes_left > 1 {
            let between = format!("{}{}{}", self.separator.trim_end(), "\n".repeat(axes_left - 1), " ".repeat(indent));
            let nested: Vec<String> = items.into_iter().map(|i| i.map_or_else(|| "...".to_owned(), inner)).collect();
            return format!("[{}]", nested.join(&between));
        }
        let mut lines = Lines {
            done: String::new(),
            line: " ".repeat(indent),
            indent,
            width: width.saturating_sub(self.separator.trim_end().len().max(1)),
        };
        for (k, i) in items.into_iter().enumerate() {
            lines.add(&i.map_or_else(|| "...".to_owned(), inner));
            if k < last {
                lines.line.push_str(self.separator);
            }
        }
        let text = lines.done + &lines.line;
        format!("[{}]", text.get(indent..).unwrap_or(""))
    }
}

/// `_extendLine_pretty`: wraps words at a line width. A word may span several lines.
struct Lines {
    done: String,
    line: String,
    indent: usize,
    width: usize,
}

impl Lines {
    fn add(&mut self, word: &str) {
        let words: Vec<&str> = word.lines().collect();
        let longest = words.iter().map(|w| w.chars().count()).max().unwrap_or(0);
        if self.line.chars().count() + longest > self.width && self.line.len() > self.indent {
            self.next_line(self.indent);
        }
        let [first, rest @ ..] = words.as_slice() else { return };
        let indent = self.line.chars().count();
        self.line.push_str(first);
        for word in rest {
            self.next_line(indent);
            self.line.push_str(word);
        }
        if let Some(end) = rest.last() {
            self.line.push_str(&" ".repeat(longest - end.chars().count()));
        }
    }

    fn next_line(&mut self, indent: usize) {
        self.done.push_str(self.line.trim_end());
        self.done.push('\n');
        self.line = " ".repeat(indent);
    }
}
