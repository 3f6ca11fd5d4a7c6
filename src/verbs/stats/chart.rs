//! Histograms drawn with characters, and their labels.

/// A range of values: lower end, upper end, count.
pub type Run = (f64, f64, u64);

/// Maximum number of cells of a sparkline.
const CELLS: usize = 16;
/// Maximum number of bars of a histogram.
const BARS: usize = 12;

/// A bar of a histogram.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// Its lower end.
    pub from: f64,
    /// Its upper end, where the next one starts; `None` if it has none.
    pub to: Option<f64>,
    /// Number of values.
    pub count: u64,
}

/// The extent of a histogram.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// The smallest value.
    pub least: f64,
    /// The largest value.
    pub greatest: f64,
    /// Whether all values are integers.
    pub is_whole: bool,
}

impl Extent {
    fn span(self) -> f64 {
        self.greatest - self.least
    }

    /// A border between two bars, rounded up for integers.
    fn border(self, at: f64) -> f64 {
        if self.is_whole { at.ceil() } else { at }
    }
}

/// The number of values between the borders. A range that a border splits is divided in proportion, as if its values
/// were spread evenly. Both the ranges and the borders ascend, and the ranges are disjoint. O(ranges + borders).
fn between(runs: impl Iterator<Item = Run>, extent: Extent, borders: &[f64]) -> Vec<u64> {
    let clipped = |(low, high, count): Run| match extent.is_whole {
        true => (whole(low, high, extent), count),
        false => ((low.max(extent.least), high.min(extent.greatest)), count),
    };
    let mut runs = runs.map(clipped).peekable();
    // The last range that starts below the border, and the number of values before it.
    let (mut last, mut before) = (None, 0);
    let below = |border: &f64| {
        while let Some(run) = runs.next_if(|((low, _), _)| low < border) {
            before += last.replace(run).map_or(0, |(_, count)| count);
        }
        let Some(((low, high), count)) = last else { return 0 };
        let (count, border) = (count as f64, *border);
        let share = if high <= border || low >= high { count } else { count * (border - low) / (high - low) };
        (before as f64 + share).round() as u64
    };
    let counts: Vec<u64> = borders.iter().map(below).collect();
    counts.windows(2).map(|w| w[1].saturating_sub(w[0])).collect()
}

/// The integers of a range, with an exclusive upper end; in the range itself, the end farther from 0 is exclusive, unless it
/// is a single number.
pub fn whole(low: f64, high: f64, extent: Extent) -> (f64, f64) {
    let (first, end) = if low == high {
        (low, low + 1.0)
    } else if low < 0.0 {
        (low.floor() + 1.0, high.floor() + 1.0)
    } else {
        (low.ceil(), high.ceil().max(low.ceil() + 1.0))
    };
    (first.max(extent.least), end.min(extent.greatest + 1.0))
}

/// The number of values in each of some cells of equal width, from the smallest value to the largest.
pub fn cells(runs: impl Iterator<Item = Run>, extent: Extent) -> Vec<u64> {
    let span = extent.span() + if extent.is_whole { 1.0 } else { 0.0 };
    let n = if extent.is_whole && span < CELLS as f64 { span as usize } else { CELLS };
    if span <= 0.0 {
        return vec![runs.map(|(.., count)| count).sum()];
    }
    let inner = (1..n).map(|i| extent.border(extent.least + span * i as f64 / n as f64));
    let borders: Vec<f64> = [f64::NEG_INFINITY].into_iter().chain(inner).chain([f64::INFINITY]).collect();
    between(runs, extent, &borders)
}

/// One character per count, its height proportional to the largest count; a space for 0.
pub fn sparkline(counts: &[u64]) -> String {
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let block = |n: &u64| match n {
        0 => ' ',
        n => char::from_u32(0x2580 + (8 * n).div_ceil(most) as u32).unwrap_or(' '),
    };
    counts.iter().map(block).collect::<String>().trim_end().to_owned()
}

/// A bar of at most `width` characters, in eighths; empty only if the count is 0.
pub fn bar(count: u64, most: u64, width: usize) -> String {
    let eighths = if count == 0 { 0 } else { ((count as f64 / most.max(1) as f64 * (8 * width) as f64).round() as usize).max(1) };
    let rest = match eighths % 8 {
        0 => None,
        n => char::from_u32(0x2590 - n as u32),
    };
    "█".repeat(eighths / 8).chars().chain(rest).collect()
}

/// Bars with round numbers as borders. Values far above `most_end`, the 99th percentile, share one bar.
pub fn bars(runs: impl Iterator<Item = Run>, extent: Extent, most_end: f64) -> Vec<Bar> {
    let Extent { least, greatest, is_whole } = extent;
    let runs: Vec<Run> = runs.collect();
    if extent.span() <= 0.0 {
        let to = if is_whole { least + 1.0 } else { least };
        return vec![Bar { from: least, to: Some(to), count: runs.iter().map(|(.., count)| count).sum() }];
    }
    let is_open = most_end > least && extent.span() > 3.0 * (most_end - least);
    let end = if is_open { most_end } else { greatest };
    // The difference of the greatest floats is no float.
    let width = round_up(end / BARS as f64 - least / BARS as f64).max(if is_whole { 1.0 } else { 0.0 });
    let first = (least / width).floor();
    let n = ((end / width).floor() - first) as usize + 1;
    let mut starts: Vec<f64> = (0..=n).map(|i| ((first + i as f64) * width).clamp(f64::MIN, f64::MAX)).collect();
    if !is_open && !is_whole && n > 1 && starts[n - 1] >= greatest {
        // The largest value is on a border and does not get a separate bar.
        starts.truncate(n);
    }
    let mut borders = starts.clone();
    borders[0] = f64::NEG_INFINITY;
    if is_open {
        borders.push(f64::INFINITY);
    } else if let Some(last) = borders.last_mut() {
        *last = f64::INFINITY;
    }
    let counts = between(runs.into_iter(), extent, &borders);
    let bar = |(i, count): (usize, u64)| Bar { from: starts[i], to: starts.get(i + 1).copied(), count };
    counts.into_iter().enumerate().map(bar).collect()
}

/// The next number in 1, 2, 5, 10, 20, 50 ... or 0.1, 0.2 ...
fn round_up(x: f64) -> f64 {
    if !(x > 0.0 && x.is_finite()) {
        return 0.0;
    }
    let power = 10f64.powi(x.log10().floor() as i32);
    [1.0, 2.0, 5.0, 10.0].iter().map(|n| n * power).find(|n| *n >= x * (1.0 - 1e-9)).unwrap_or(x)
}

/// `1,234,567`
pub fn grouped(n: impl ToString) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with at most six significant digits: `0.1`, `128.25`, `1.5e-9`.
pub fn short(x: f64) -> String {
    digits(x, 6)
}

/// A number with at most `most` significant digits; integers keep all digits.
pub fn digits(x: f64, most: i32) -> String {
    if x == 0.0 || !x.is_finite() {
        return if x == 0.0 { "0".to_owned() } else { x.to_string().replace("inf", "Infinity") };
    }
    let trimmed = |text: String| if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text };
    let exponent = x.abs().log10().floor() as i32;
    if (-5..15).contains(&exponent) {
        return trimmed(format!("{x:.*}", (most - 1 - exponent).max(0) as usize));
    }
    let text = format!("{x:.*e}", (most - 1) as usize);
    match text.split_once('e') {
        Some((digits, exponent)) => format!("{}e{exponent}", trimmed(digits.to_owned())),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(least: f64, greatest: f64) -> Extent {
        Extent { least, greatest, is_whole: true }
    }

    #[test]
    fn blocks_and_bars() {
        let runs = [(0.0, 0.0, 1), (3.0, 3.0, 8)];
        assert_eq!(cells(runs.into_iter(), numbers(0.0, 3.0)), [1, 0, 0, 8]);
        assert_eq!(sparkline(&[1, 0, 4, 8, 0]), "▁ ▄█");
        assert_eq!([bar(8, 8, 2), bar(5, 8, 2), bar(1, 1000, 2), bar(0, 8, 2)], ["██", "█▎", "▏", ""]);
        let every = |n: u64| (0..n).map(|i| (i as f64, i as f64, 1));
        assert_eq!(cells(every(160), numbers(0.0, 159.0)), [10; 16]);
        let drawn = bars(every(100), numbers(0.0, 99.0), 98.0);
        assert_eq!((drawn.len(), drawn[0].to, drawn[9].count), (10, Some(10.0), 10));
        let drawn = bars(every(50).chain([(1000.0, 1000.0, 1)]), numbers(0.0, 1000.0), 49.0);
        assert_eq!(drawn.last(), Some(&Bar { from: 50.0, to: None, count: 1 }));
        assert_eq!(drawn.iter().map(|b| b.count).sum::<u64>(), 51);
        // -3, -2 twice, -1 and 0, in bins with inclusive upper ends.
        let below = [(-3.5, -3.0, 1), (-2.25, -2.0, 2), (-1.1, -1.0, 1), (0.0, 0.0, 1)];
        assert_eq!(cells(below.into_iter(), numbers(-3.0, 0.0)), [1, 2, 1, 1]);
        let one = Extent { least: 0.5, greatest: 0.5, is_whole: false };
        let floats = Extent { least: 0.0, greatest: 1.0, is_whole: false };
        let drawn = bars([(0.0, 0.0, 1), (0.5, 0.9, 40), (1.0, 1.1, 1)].into_iter(), floats, 0.99);
        assert_eq!(drawn.iter().map(|b| b.count).collect::<Vec<_>>(), [1, 0, 0, 0, 0, 10, 10, 10, 10, 1]);
        assert_eq!(bars([(0.5, 0.51, 3)].into_iter(), one, 0.5).iter().map(|b| b.count).sum::<u64>(), 3);
        assert_eq!(cells([(0.5, 0.51, 3)].into_iter(), one).iter().sum::<u64>(), 3);
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([10.0 / 3.0, 12345.6, 0.0].map(|x| digits(x, 4)), ["3.333", "12346", "0"]);
        assert_eq!([1u64, 999, 1000, 1234567].map(grouped), ["1", "999", "1,000", "1,234,567"]);
        let found = [0.1, f64::from(0.1f32), 128.25, -3.0, 1e-9, 1.5e300, 123456789.0, 0.0, f64::NEG_INFINITY].map(short);
        assert_eq!(found, ["0.1", "0.1", "128.25", "-3", "1e-9", "1.5e300", "123456789", "0", "-Infinity"]);
    }
}
