//! The report for a terminal.

use super::chart::{bar, grouped};
use super::padding::{PaddingCosts, commands, shown_buckets};
use super::report::{Group, Shown, drift_cells, records};
use super::summary::Summary;
use super::table::{Histogram, SIZES, TableRow, VALUES, bar_label, frequent_texts, percent, size_rows, value_row};
use crate::path::quoted;
use crate::printable::{one_line, printable};
use crate::screen;
use std::borrow::Cow;
use std::fmt::Write;

/// Width of the longest bar, in characters.
const BAR: usize = 40;
/// A first column wider than this shifts only its own row.
const WIDEST: usize = 36;

/// Keeps numbers up to a million whole.
const LEAST_NUMBER: usize = 7;
/// Keeps the beginning of a value, and its share.
const LEAST_VALUE: usize = 18;

/// Number of most frequent values in a row.
const FREQUENT: usize = 5;

/// The whole report.
pub fn text(shown: &Shown, histograms: bool, columns: Option<usize>) -> String {
    let mut text = format!("{}\n", shown.title());
    // With --by, the second column is the group.
    let shift = usize::from(shown.by.is_some());
    let shifted = |of: &[usize]| of.iter().map(|column| column + shift).chain((shift > 0).then_some(1)).collect::<Vec<_>>();
    let fit = |dispensable: &[usize]| columns.map(|columns| (columns, dispensable.iter().map(|column| column + shift).collect::<Vec<_>>()));
    if let Some(by) = &shown.by {
        let row = |group: &Group| vec![group.key.as_ref().map_or(String::new(), |(text, _)| text.clone()), grouped(group.records)];
        section(&mut text, &[by, "records"], &[], shown.groups.iter().map(row).collect(), None);
    }
    let values = shown.rows(|s| vec![value_row(s, histograms)]);
    let sizes = shown.rows(|s| size_rows(s, histograms));
    section(&mut text, &shown.head(&VALUES), &shifted(&[1, 11]), values.iter().map(cells).collect(), fit(&[3, 4, 7, 10, 8, 11, 1]));
    section(&mut text, &shown.head(&SIZES), &shifted(&[1, 11]), sizes.iter().map(cells).collect(), fit(&[9, 3, 11, 4, 7, 2]));
    frequent_values(&mut text, shown, columns);
    if let Some((batch, reports)) = shown.padding {
        let rows = reports.iter().flat_map(|r| padding_rows(r, batch)).collect();
        section(&mut text, &["batches", "", "padding", "", "command"], &[1, 4], rows, None);
    }
    if histograms {
        values.iter().chain(&sizes).filter_map(|row| row.histogram.as_ref()).for_each(|h| drawn(&mut text, h));
    }
    if let Some(drift) = shown.drift {
        let _ = write!(text, "\nagainst {}: {}", one_line(&drift.name), records(drift.records));
        text.push('\n');
        let rows = drift.rows.iter().map(|row| drift_cells(row, drift.max)).collect();
        section(&mut text, &["drift", "of", "JS", "L-inf", ""], &[1, 4], rows, None);
    }
    printable(&text).into_owned()
}

/// The head of the table of the most frequent values.
const FREQUENT_VALUES: &str = "top";

/// A value and its share, such as `"abc" 66.7%`, with the value truncated so that the share remains.
fn cut_before_share(cell: &str, columns: usize) -> Cow<'_, str> {
    let Some((value, share)) = cell.rsplit_once(' ').filter(|_| cell.ends_with('%')) else { return screen::cut(cell, columns) };
    match columns.checked_sub(screen::width(share) + 1) {
        Some(room) if room > 2 && screen::width(cell) > columns => Cow::Owned(format!("{} {share}", screen::cut(value, room))),
        _ => screen::cut(cell, columns),
    }
}

/// The table of the most frequent values.
fn frequent_values(text: &mut String, shown: &Shown, columns: Option<usize>) {
    let row = |s: &Summary| {
        let frequent = frequent_texts(s, FREQUENT);
        let cells = std::iter::once(s.path.to_string()).chain(frequent.iter().cloned()).collect();
        (!frequent.is_empty()).then_some(TableRow { cells, line: String::new(), notes: String::new(), histogram: None })
    };
    let rows: Vec<Vec<String>> = shown.rows(|s| row(s).into_iter().collect()).into_iter().map(|row| row.cells).collect();
    let most = rows.iter().map(Vec::len).max().unwrap_or(0);
    let head: Vec<&str> = shown.head(&[FREQUENT_VALUES]).into_iter().chain(std::iter::repeat("")).take(most).collect();
    let dispensable: Vec<usize> = (2..most).rev().collect();
    let all: Vec<usize> = (1..most).collect();
    section(text, &head, &all, rows, columns.map(|columns| (columns, dispensable)));
}

/// The cells of a row; the last cell holds the histogram and the notes.
fn cells(row: &TableRow) -> Vec<String> {
    let end = if row.notes.is_empty() { row.line.clone() } else { format!("{:16}  {}", row.line, row.notes) };
    row.cells.iter().cloned().chain([end]).collect()
}

/// A table with its header, preceded by an empty line; nothing if there are no rows. The first column and those in
/// `left` are left-aligned, all others right-aligned. To fit the screen width, first the widest cells are truncated,
/// then columns are omitted, in the order given.
fn section(text: &mut String, head: &[&str], left: &[usize], rows: Vec<Vec<String>>, fit: Option<(usize, Vec<usize>)>) {
    if rows.is_empty() {
        return;
    }
    let names = head;
    let head = head.iter().map(|h| (*h).to_owned()).collect();
    let on_one_line = |row: Vec<String>| row.iter().map(|cell| one_line(cell).into_owned()).collect();
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(rows).map(on_one_line).collect();
    let ncolumns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widest = |column: usize| {
        let cells = rows.iter().filter_map(|r| r.get(column)).map(|c| screen::width(c));
        cells.filter(|n| fit.is_some() || column > 1 || *n <= WIDEST).max().unwrap_or(0)
    };
    let mut widths: Vec<Option<usize>> = (0..ncolumns).map(|column| Some(widest(column))).collect();
    if let Some((columns, dispensable)) = &fit {
        // Values need more room than numbers.
        let least = if names.first() == Some(&FREQUENT_VALUES) { LEAST_VALUE } else { LEAST_NUMBER };
        narrow(&mut widths, *columns, dispensable, least);
    }
    text.push('\n');
    for row in &rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let Some(width) = widths[column] else { continue };
            let cell = match (&fit, column) {
                (None, _) => cell.into(),
                // Names often differ only at the end.
                (Some(_), 0) => screen::cut_start(cell, width),
                (Some(_), _) if names.first() == Some(&FREQUENT_VALUES) => cut_before_share(cell, width),
                (Some(_), _) => screen::cut(cell, width),
            };
            let is_left = column == 0 || left.contains(&column);
            line.push_str(if column == 0 { "" } else { "  " });
            line.push_str(&screen::padded(&cell, width, !is_left));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    let hidden = names.iter().zip(&widths).filter(|(name, width)| width.is_none() && !name.is_empty());
    let hidden: Vec<&str> = hidden.map(|(name, _)| *name).collect();
    if let (Some((columns, _)), false) = (fit, hidden.is_empty()) {
        let note = format!("(hidden at this width: {})", hidden.join(", "));
        let _ = writeln!(text, "{}", screen::wrapped(&note, columns));
    }
}

/// Narrows the widest columns until the table fits, then omits columns.
fn narrow(widths: &mut [Option<usize>], columns: usize, dispensable: &[usize], least: usize) {
    const LEAST_NAME: usize = 14;
    let total = |widths: &[Option<usize>]| widths.iter().flatten().map(|width| width + 2).sum::<usize>().saturating_sub(2);
    let least = |column: usize| if column == 0 { LEAST_NAME } else { least };
    let mut dispensable = dispensable.iter();
    while total(widths) > columns {
        let shrinking = widths.iter_mut().enumerate().filter_map(|(column, width)| width.as_mut().filter(|width| **width > least(column)));
        match shrinking.max() {
            Some(widest) => *widest -= 1,
            None => match dispensable.next() {
                Some(column) => widths[*column] = None,
                None => match widths.iter_mut().flatten().max() {
                    Some(widest) if *widest > 3 => *widest -= 1,
                    _ => return,
                },
            },
        }
    }
}

fn padding_rows(report: &PaddingCosts, batch: usize) -> Vec<Vec<String>> {
    let name = quoted(report.name);
    let [as_they_come, in_buckets, packed] = commands(report, batch);
    let bar = |waste: f64| bar((waste * 1000.0) as u64, 1000, 10);
    let row = |name: &str, how: &str, waste: f64, command: String| {
        vec![name.to_owned(), how.to_owned(), percent(waste), format!("{:10}", bar(waste)), command]
    };
    let mut rows = vec![
        row(&name, "in input order", report.as_they_come.waste(), as_they_come),
        row("", "in buckets", report.in_buckets.waste(), shown_buckets(report, in_buckets)),
    ];
    if let Some((_, cost)) = report.packed {
        rows.push(row("", "packed", cost.waste(), packed));
    }
    rows
}

/// A histogram, one line per bar.
fn drawn(text: &mut String, histogram: &Histogram) {
    let labels: Vec<String> = histogram.bars.iter().map(|b| bar_label(b, histogram.is_whole)).collect();
    let width = labels.iter().map(|l| screen::width(l)).max().unwrap_or(0);
    let most = histogram.bars.iter().map(|b| b.count).max().unwrap_or(0);
    let _ = writeln!(text, "\n{}", one_line(&histogram.title));
    for (label, one) in labels.iter().zip(&histogram.bars) {
        let line = format!("  {label:>width$}  {} {}", bar(one.count, most, BAR), grouped(one.count));
        let _ = writeln!(text, "{}", line.trim_end());
    }
}
