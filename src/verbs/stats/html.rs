//! The report as a self-contained web page.

use super::chart::{Bar, grouped};
use super::drift::DriftRow;
use super::padding::{Cost, PaddingCosts, commands, shown_buckets};
use super::report::{Group, Shown, drift_cells, records};
use super::table::{Histogram, SIZES, TableRow, VALUES, bar_label, frequent_texts, percent, size_rows, value_row};
use crate::printable::printable;
use std::fmt::Write;

const STYLE: &str = "\
:root{color-scheme:light dark}\
body{font:14px/1.5 system-ui,sans-serif;margin:2rem}\
.wide{overflow-x:auto}\
table{border-collapse:collapse;margin:0 0 2rem}\
caption{font-size:1.3rem;font-weight:600;text-align:left;padding:.3rem .7rem}\
th,td{padding:.2rem .7rem;text-align:right;border-bottom:1px solid #8888;white-space:nowrap}\
th{font-weight:600}\
th[scope=row]{font-weight:400}\
th:first-child,.left{text-align:left}\
code,th[scope=row]{font-family:ui-monospace,monospace}\
.above{background:#e0883a44}\
svg{display:block}rect{fill:#3b7dd8}rect:hover{fill:#e0883a}\
@media print{@page{size:landscape;margin:1cm}body{margin:0;font-size:8pt}.wide{overflow:visible}tr{break-inside:avoid}rect{print-color-adjust:exact}}";

/// Number of most frequent values per field.
const FREQUENT: usize = 10;

/// Height and width of a histogram, and of one bar, in pixels.
const HEIGHT: f64 = 28.0;
const BAR: usize = 12;

/// A table of the page: its caption, the column names, and which columns are left-aligned.
struct Head<'a> {
    caption: &'a str,
    names: Vec<&'a str>,
    left: Vec<usize>,
}

/// The whole report.
pub fn text(shown: &Shown) -> String {
    let title = shown.title();
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n"
    );
    let shift = usize::from(shown.by.is_some());
    if let Some(by) = &shown.by {
        let row = |group: &Group| vec![escaped(group.key.as_ref().map_or("", |(text, _)| text)), grouped(group.records)];
        let head = Head { caption: "Groups", names: vec![by, "records"], left: Vec::new() };
        table(&mut page, &head, shown.groups.iter().map(|group| (row(group), "")).collect());
    }
    let fields = |caption, names: &[&'static str], rows: Vec<TableRow>, page: &mut String| {
        let names = ["field"].into_iter().chain(names[1..].iter().copied()).collect::<Vec<_>>();
        let mut names: Vec<&str> = shown.head(&names);
        let ncells = names.len();
        let left = [1, 1 + shift, ncells, ncells + 1].into();
        let has_notes = rows.iter().any(|row| !row.notes.is_empty());
        names.extend(["histogram"].into_iter().chain(has_notes.then_some("notes")));
        let row = |row: TableRow| {
            let mut cells: Vec<String> = row.cells.iter().map(|cell| escaped(cell)).collect();
            cells.resize(ncells, String::new());
            cells.push(row.histogram.as_ref().map_or(String::new(), svg));
            cells.extend(has_notes.then(|| escaped(&row.notes)));
            (cells, "")
        };
        let rows = rows.into_iter().map(row).collect();
        table(page, &Head { caption, names, left }, rows);
    };
    fields("Values", &VALUES, shown.rows(|s| vec![value_row(s, true)]), &mut page);
    fields("Sizes", &SIZES, shown.rows(|s| size_rows(s, true)), &mut page);
    let frequent = shown.rows(|s| {
        let texts = frequent_texts(s, FREQUENT);
        let cells = vec![s.path.to_string(), texts.join(", ")];
        if texts.is_empty() { Vec::new() } else { vec![TableRow { cells, line: String::new(), notes: String::new(), histogram: None }] }
    });
    let head = Head { caption: "Frequent values", names: shown.head(&["field", "values and their shares"]), left: vec![1, 1 + shift] };
    table(&mut page, &head, frequent.into_iter().map(|row| (row.cells.iter().map(|cell| escaped(cell)).collect(), "")).collect());
    if let Some((batch, reports)) = shown.padding {
        let caption = format!("Padding in batches of {batch}");
        let head = Head { caption: &caption, names: vec!["field", "batches", "padding", "by"], left: vec![1, 3] };
        table(&mut page, &head, reports.iter().flat_map(|report| padding_rows(report, batch)).map(|row| (row, "")).collect());
    }
    if let Some(drift) = shown.drift {
        let caption = format!("Drift against {}: {}", escaped(&drift.name), records(drift.records));
        let head = Head { caption: &caption, names: vec!["field", "of", "Jensen-Shannon", "L-infinity", "remarks"], left: vec![1, 4] };
        let class = |row: &DriftRow| if drift.max.is_some_and(|max| row.distance() > max) { "above" } else { "" };
        let row = |row: &DriftRow| (drift_cells(row, drift.max).iter().map(|cell| escaped(cell)).collect(), class(row));
        table(&mut page, &head, drift.rows.iter().map(row).collect());
    }
    page.push_str("</main>\n</body>\n</html>\n");
    page
}

fn padding_rows(report: &PaddingCosts, batch: usize) -> Vec<Vec<String>> {
    let [as_they_come, in_buckets, packed] = commands(report, batch);
    let packing = report.packed.map(|(_, cost)| ("packed", cost, packed));
    let in_buckets = shown_buckets(report, in_buckets);
    let ways = [("in input order", report.as_they_come, as_they_come), ("in buckets", report.in_buckets, in_buckets)];
    let row = |(how, cost, command): (&str, Cost, String)| {
        vec![escaped(report.name), how.to_owned(), percent(cost.waste()), format!("<code>{}</code>", escaped(&command))]
    };
    ways.into_iter().chain(packing).map(row).collect()
}

/// A table. Cells are markup, and the first cell of a row is its header. Each row has a CSS class.
fn table(page: &mut String, head: &Head, rows: Vec<(Vec<String>, &str)>) {
    if rows.is_empty() {
        return;
    }
    let left = |column: usize| if head.left.contains(&column) { " class=\"left\"" } else { "" };
    let name = |(column, name): (usize, &&str)| format!("<th scope=\"col\"{}>{}</th>", left(column), escaped(name));
    let names: String = head.names.iter().enumerate().map(name).collect();
    let _ = writeln!(
        page,
        "<div class=\"wide\" role=\"region\" aria-label=\"{0}\" tabindex=\"0\">\n<table>\n<caption>{0}</caption>\n<thead><tr>{names}</tr></thead>\n<tbody>",
        head.caption
    );
    for (row, class) in rows {
        let cell = |(column, cell): (usize, &String)| match column {
            0 => format!("<th scope=\"row\">{cell}</th>"),
            _ => format!("<td{}>{cell}</td>", left(column)),
        };
        let cells: String = row.iter().enumerate().map(cell).collect();
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        let _ = writeln!(page, "<tr{class}>{cells}</tr>");
    }
    page.push_str("</tbody>\n</table>\n</div>\n");
}

fn svg(histogram: &Histogram) -> String {
    let most = histogram.bars.iter().map(|b| b.count).max().unwrap_or(0).max(1) as f64;
    let one = |(number, bar): (usize, &Bar)| {
        let height = if bar.count == 0 { 0.0 } else { (bar.count as f64 / most * HEIGHT).max(1.0) };
        format!(
            "<rect x=\"{}\" y=\"{:.1}\" width=\"{}\" height=\"{height:.1}\"><title>{}: {}</title></rect>",
            number * BAR,
            HEIGHT - height,
            BAR - 1,
            escaped(&bar_label(bar, histogram.is_whole)),
            grouped(bar.count)
        )
    };
    let bars: String = histogram.bars.iter().enumerate().map(one).collect();
    let width = histogram.bars.len() * BAR;
    format!("<svg width=\"{width}\" height=\"{HEIGHT}\" role=\"img\" aria-label=\"{}\">{bars}</svg>", escaped(&histogram.title))
}

/// Text with HTML escapes.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in printable(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_or_value_is_markup() {
        assert_eq!(escaped("<script>\"a\" & 'b'"), "&lt;script&gt;&quot;a&quot; &amp; &#39;b&#39;");
    }
}
