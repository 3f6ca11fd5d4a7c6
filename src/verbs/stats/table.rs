//! The report as rows of three tables (values, sizes and frequent values), which all output forms show.

use super::chart::{self, Bar, Extent, Run, grouped, short};
use super::sizes::Sizes;
use super::summary::{AxisName, Summary};
use super::top::Label;
use super::values::{Range, ValueSummary};
use crate::schema::DType;
use crate::tensor::text::time_text;

/// Maximum number of characters printed of a value.
const SHOWN: usize = 20;

/// The reported quantiles of values and sizes.
pub const QUANTILES: [f64; 6] = [0.01, 0.1, 0.5, 0.9, 0.99, 0.999];

/// The name of an axis: its number, `entries` or `bytes`.
fn axis_name(name: AxisName) -> String {
    match name {
        AxisName::Number(axis) => axis.to_string(),
        AxisName::Entries => "entries".to_owned(),
    }
}

/// The row sizes of an axis, or the byte lengths of strings.
pub struct AxisSizes<'a> {
    /// The number of the axis, `entries` or `bytes`.
    pub of: String,
    /// Number of null rows.
    pub nulls: u64,
    /// Sizes of the other rows.
    pub sizes: &'a Sizes,
}

/// The reported axes of a field: those whose size varies, and the byte lengths of strings.
pub fn axes(summary: &Summary) -> Vec<AxisSizes<'_>> {
    let own = summary.axes.iter().filter(|a| !a.is_known).map(|a| AxisSizes { of: axis_name(a.name), nulls: a.nulls, sizes: &a.sizes });
    let bytes = summary.values.bytes.iter().map(|sizes| AxisSizes { of: "bytes".to_owned(), nulls: 0, sizes });
    own.chain(bytes).collect()
}

/// A row of a table.
pub struct TableRow {
    /// Its cells.
    pub cells: Vec<String>,
    /// The histogram as one line.
    pub line: String,
    /// Further remarks.
    pub notes: String,
    /// The full histogram, if requested.
    pub histogram: Option<Histogram>,
}

/// The header of the table of values.
pub const VALUES: [&str; 11] = ["values", "type", "count", "null", "zero", "min", "mean", "std", "median", "max", "distinct"];
/// The header of the table of sizes.
pub const SIZES: [&str; 11] = ["sizes", "axis", "rows", "null", "empty", "min", "mean", "median", "90%", "99%", "max"];

/// The row of a field in the table of values.
pub fn value_row(summary: &Summary, with_histogram: bool) -> TableRow {
    let values = &summary.values;
    let (least, greatest) = range_text(summary);
    let spread = Spread::of(values);
    let line = spread.as_ref().map_or(String::new(), |spread| chart::sparkline(&chart::cells(spread.runs.iter().copied(), spread.extent)));
    let four = |x: f64| chart::digits(x, 4);
    let (mean, std) = mean_and_std(values).map_or_else(Default::default, |(mean, std)| (four(mean), four(std)));
    let median = spread.as_ref().filter(|_| !mean.is_empty()).map_or_else(String::new, |spread| four(spread.quantile(0.5)));
    let zeros = if mean.is_empty() { String::new() } else { count(values.bins.zeros()) };
    let counts = [grouped(values.count), count(values.nulls), zeros];
    let numbers = [least, mean, std, median, greatest, distinct_text(values)];
    let cells = [summary.path.to_string(), summary.type_text()].into_iter().chain(counts).chain(numbers);
    TableRow {
        cells: cells.collect(),
        line,
        notes: notes(values).join(", "),
        histogram: if with_histogram { spread.and_then(|spread| value_histogram(summary, spread)) } else { None },
    }
}

/// The mean and standard deviation of finite numbers. Times have none, nor have bools, whose share of `true` is a note.
pub fn mean_and_std(values: &ValueSummary) -> Option<(f64, f64)> {
    if values.are_times() { None } else { values.moments.mean_and_std() }
}

/// The text of a date, time or duration of the field.
pub fn time_of(summary: &Summary, stored: i128) -> String {
    match summary.ty.dtype() {
        Some(DType::Arrow(ty)) => time_text(ty, stored),
        _ => stored.to_string(),
    }
}

/// How the finite numbers of a field are distributed.
pub struct Spread {
    /// The numbers with their counts if all are held, otherwise the bins.
    runs: Vec<Run>,
    extent: Extent,
}

impl Spread {
    /// `None` if there are no numbers.
    pub fn of(values: &ValueSummary) -> Option<Spread> {
        let range = values.range.as_ref().filter(|range| !matches!(range, Range::Bytes(..)))?;
        let runs: Vec<Run> = match values.top.len() > 0 && values.top.is_exact() {
            true => {
                let numbers = values.top.numbers().into_iter().filter(|(value, _)| value.is_finite());
                numbers.map(|(value, count)| (value, value, count)).collect()
            }
            false => values.bins.iter().collect(),
        };
        let extent = match range {
            Range::Bool(a, b) => Extent { least: f64::from(u8::from(*a)), greatest: f64::from(u8::from(*b)), is_whole: true },
            Range::Int(a, b) | Range::Time(a, b) => Extent { least: *a as f64, greatest: *b as f64, is_whole: true },
            // The range without infinities.
            Range::Float(a, b) => Extent { least: a.max(runs.first()?.0), greatest: b.min(runs.last()?.1), is_whole: false },
            Range::Bytes(..) => return None,
        };
        Some(Spread { runs, extent })
    }

    /// A quantile: exact if all numbers are held, otherwise a number in the bin.
    pub fn quantile(&self, share: f64) -> f64 {
        let total: u64 = self.runs.iter().map(|(.., count)| count).sum();
        let wanted = ((share * total as f64).ceil() as u64).clamp(1, total.max(1));
        let mut seen = 0;
        let run = self.runs.iter().find(|(.., count)| {
            seen += count;
            seen >= wanted
        });
        run.map_or(self.extent.greatest, |run| plainest(*run, self.extent))
    }
}

/// The number in the range, near its middle, with the fewest significant digits but at least three.
fn plainest((low, high, _): Run, extent: Extent) -> f64 {
    let (low, high) = match extent.is_whole && low < high {
        true => {
            let (first, end) = chart::whole(low, high, extent);
            (first, end - 1.0)
        }
        false => (low.max(extent.least), high.min(extent.greatest)),
    };
    let middle = f64::midpoint(low, high);
    let rounded = |digits: usize| format!("{middle:.digits$e}").parse::<f64>().unwrap_or(middle);
    let fits = |x: &f64| low <= *x && *x <= high && (!extent.is_whole || x.fract() == 0.0);
    if high <= low { low } else { (2..17).map(rounded).find(fits).unwrap_or(low) }
}

/// The most frequent values of a field with their counts. `None` if no value occurs twice.
pub fn frequent(summary: &Summary, most: usize) -> Vec<(Label, u64)> {
    let mut all = summary.values.top.first(most);
    // Other values may be equally frequent.
    all.retain(|(.., count)| *count > summary.values.top.error());
    if all.first().is_none_or(|(.., count)| *count < 2) {
        return Vec::new();
    }
    all.into_iter().map(|(_, label, count)| (label, count)).collect()
}

/// The most frequent values, each with its share, such as `"a" 66.7%`; `>=` if the count may be too low.
pub fn frequent_texts(summary: &Summary, most: usize) -> Vec<String> {
    let at_least = if summary.values.top.is_exact() { "" } else { ">=" };
    let share = |count: u64| percent(count as f64 / summary.values.count.max(1) as f64);
    frequent(summary, most)
        .into_iter()
        .map(|(label, count)| format!("{} {at_least}{}", label_text(summary, &label), share(count)))
        .collect()
}

/// A value as printed.
pub fn label_text(summary: &Summary, label: &Label) -> String {
    match label {
        Label::Int(n) if summary.values.are_times() => time_of(summary, i128::from(*n)),
        Label::Int(n) => n.to_string(),
        Label::Unsigned(n) => n.to_string(),
        Label::Text(bytes, is_cut) => shown(bytes, *is_cut, summary.ty.dtype() != Some(&DType::Bytes)),
    }
}

/// The rows of a field in the table of sizes.
pub fn size_rows(summary: &Summary, with_histogram: bool) -> Vec<TableRow> {
    let row = |rows: AxisSizes| {
        let sizes = rows.sizes;
        let mut cells = vec![summary.path.to_string(), rows.of.clone(), grouped(sizes.rows), count(rows.nulls), count(sizes.empty())];
        let Some((least, greatest)) = sizes.range() else {
            return TableRow { cells, line: String::new(), notes: String::new(), histogram: None };
        };
        let quantile = |share| sizes.quantile(share).to_string();
        cells.extend([
            least.to_string(),
            chart::digits(sizes.mean(), 4),
            quantile(0.5),
            quantile(0.9),
            quantile(0.99),
            greatest.to_string(),
        ]);
        let line = chart::sparkline(&chart::cells(sizes.iter(), size_extent(sizes)));
        let is_axis = rows.of.starts_with(|c: char| c.is_ascii_digit());
        let what = if is_axis { format!("sizes of axis {}", rows.of) } else { rows.of.clone() };
        let bars = if with_histogram { size_bars(sizes) } else { None };
        let histogram = bars.map(|bars| Histogram { title: format!("{}: {what}", summary.path), bars, is_whole: true });
        TableRow { cells, line, notes: String::new(), histogram }
    };
    axes(summary).into_iter().map(row).collect()
}

/// A number, or `-` for 0.
fn count(n: u64) -> String {
    if n == 0 { "-".to_owned() } else { grouped(n) }
}

/// The smallest and largest value, as printed.
fn range_text(summary: &Summary) -> (String, String) {
    match &summary.values.range {
        None => (String::new(), String::new()),
        Some(Range::Bool(a, b)) => (a.to_string(), b.to_string()),
        Some(Range::Int(a, b)) => (a.to_string(), b.to_string()),
        Some(Range::Time(a, b)) => (time_of(summary, *a), time_of(summary, *b)),
        Some(Range::Float(a, b)) => (short(*a), short(*b)),
        Some(Range::Bytes(a, b)) => {
            let is_text = summary.ty.dtype() != Some(&DType::Bytes);
            (shown(a, false, is_text), shown(b, false, is_text))
        }
    }
}

/// The start of a string, quoted, on one line.
fn shown(bytes: &[u8], is_cut: bool, is_text: bool) -> String {
    let escaped = match is_text {
        // A multibyte character may be cut off.
        true => String::from_utf8_lossy(bytes).trim_end_matches(char::REPLACEMENT_CHARACTER).escape_debug().to_string(),
        false => bytes.escape_ascii().to_string(),
    };
    let mark = if is_text { "" } else { "b" };
    if escaped.chars().count() <= SHOWN && !is_cut {
        return format!("{mark}\"{escaped}\"");
    }
    format!("{mark}\"{}…", escaped.chars().take(SHOWN - 1).collect::<String>())
}

/// The number of distinct values. An estimate is printed with a tilde and three significant digits.
fn distinct_text(values: &ValueSummary) -> String {
    match values.distinct() {
        None => String::new(),
        Some((n, true)) => grouped(n),
        Some((n, false)) => {
            let unit = 10u64.pow(n.max(1).ilog10().saturating_sub(2));
            format!("~{}", grouped((n.saturating_add(unit / 2) / unit * unit).min(values.count)))
        }
    }
}

/// Remarks on values.
fn notes(values: &ValueSummary) -> Vec<String> {
    let mut notes = Vec::new();
    if matches!(values.range, Some(Range::Bool(..))) {
        notes.push(format!("{} true", percent(values.trues as f64 / values.count.max(1) as f64)));
    }
    for (n, what) in [(values.nan, "NaN"), (values.infinite, "infinite")] {
        if n > 0 {
            notes.push(format!("{} {what}", grouped(n)));
        }
    }
    notes
}

/// `12.5%`
pub fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

/// The extent of the histogram of sizes.
fn size_extent(sizes: &Sizes) -> Extent {
    let (least, greatest) = sizes.range().unwrap_or((0, 0));
    Extent { least: least as f64, greatest: greatest as f64, is_whole: true }
}

/// A histogram, as `--histogram` and HTML show it.
pub struct Histogram {
    /// Its title.
    pub title: String,
    /// Its bars.
    pub bars: Vec<Bar>,
    /// Whether its values are integers.
    pub is_whole: bool,
}

/// The histogram of the values of a field, if they are numbers.
pub fn value_histogram(summary: &Summary, Spread { runs, extent }: Spread) -> Option<Histogram> {
    if summary.values.are_times() {
        return None;
    }
    let end = upper(&runs, extent);
    let bars = chart::bars(runs.into_iter(), extent, end);
    Some(Histogram { title: format!("{}: values", summary.path), bars, is_whole: extent.is_whole })
}

/// The bars of sizes, if there are any rows.
pub fn size_bars(sizes: &Sizes) -> Option<Vec<Bar>> {
    sizes.range()?;
    Some(chart::bars(sizes.iter(), size_extent(sizes), sizes.quantile(0.99) as f64))
}

/// The 99th percentile of the values.
fn upper(runs: &[Run], extent: Extent) -> f64 {
    let total: u64 = runs.iter().map(|(.., n)| n).sum();
    let wanted = (total as f64 * 0.99).ceil() as u64;
    let mut seen = 0;
    let end = runs.iter().find(|(.., n)| {
        seen += n;
        seen >= wanted
    });
    end.map_or(extent.greatest, |(_, high, _)| high.min(extent.greatest))
}

/// The label of a bar: `5`, `5-9`, `50 and more`, `0.1 to 0.2`.
pub fn bar_label(bar: &Bar, is_whole: bool) -> String {
    // As many digits as tell the ends apart.
    let many = |x: f64, most: i32| if is_whole && x.abs() < 1e18 { format!("{x:.0}") } else { chart::digits(x, most) };
    let most = (6..17).find(|most| bar.to.is_none_or(|to| to <= bar.from || many(bar.from, *most) != many(to, *most))).unwrap_or(17);
    let short = |x| many(x, most);
    match (bar.to, is_whole) {
        (None, _) => format!("{} and more", short(bar.from)),
        (Some(to), is_whole) if to <= bar.from || (is_whole && to - bar.from <= 1.0) => short(bar.from),
        (Some(to), true) => format!("{}-{}", short(bar.from), short(to - 1.0)),
        (Some(to), false) => format!("{} to {}", short(bar.from), short(to)),
    }
}
