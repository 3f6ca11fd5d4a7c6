//! The report as a self-contained web page.

use super::chart::{Bar, grouped};
use super::padding::{PaddingCosts, commands};
use super::summary::Summary;
use super::table::{Histogram, SIZES, TableRow, VALUES, bar_label, percent, size_rows, value_row};
use std::fmt::Write;

const STYLE: &str = "\
:root{color-scheme:light dark}\
body{font:14px/1.5 system-ui,sans-serif;margin:2rem;max-width:80rem}\
table{border-collapse:collapse;margin:0 0 2rem}\
th,td{padding:.2rem .7rem;text-align:right;border-bottom:1px solid #8884;white-space:nowrap}\
th{font-weight:600;text-align:right}\
td:first-child,th:first-child,.left{text-align:left}\
code,td:first-child{font-family:ui-monospace,monospace}\
svg{display:block}rect{fill:#3b7dd8}rect:hover{fill:#e0883a}";

/// Height and width of a histogram, and of a bar of it, in pixels.
const HEIGHT: f64 = 28.0;
const BAR: usize = 12;

/// The whole report.
pub fn text(records: u64, fields: &[&Summary], padding: Option<(usize, &[PaddingCosts])>) -> String {
    let title = format!("{} {}", grouped(records), if records == 1 { "record" } else { "records" });
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
    );
    table(&mut page, "ValueSummary", &VALUES, fields.iter().map(|s| value_row(s, true)).collect());
    table(&mut page, "Sizes", &SIZES, fields.iter().flat_map(|s| size_rows(s, true)).collect());
    if let Some((batch, reports)) = padding {
        let _ = writeln!(page, "<h2>Filling in batches of {batch}</h2>\n<table>");
        let _ = writeln!(page, "<tr><th>field</th><th class=\"left\">padded</th><th>filling</th><th class=\"left\">by</th></tr>");
        for report in reports {
            let [as_they_come, in_buckets, packed] = commands(report, batch);
            let packing = report.packed.map(|(_, cost)| ("packed", cost, packed));
            let ways = [("as they come", report.as_they_come, as_they_come), ("in buckets", report.in_buckets, in_buckets)];
            for (how, cost, command) in ways.into_iter().chain(packing) {
                let _ = writeln!(
                    page,
                    "<tr><td>{}</td><td class=\"left\">{how}</td><td>{}</td><td class=\"left\"><code>{}</code></td></tr>",
                    escaped(report.name),
                    percent(cost.waste()),
                    escaped(&command)
                );
            }
        }
        page.push_str("</table>\n");
    }
    page.push_str("</body>\n</html>\n");
    page
}

/// A table whose last columns are a histogram and notes.
fn table(page: &mut String, title: &str, head: &[&str], rows: Vec<TableRow>) {
    if rows.is_empty() {
        return;
    }
    let class = |column: usize| if column == 1 { " class=\"left\"" } else { "" };
    let names = ["field"].into_iter().chain(head[1..].iter().copied());
    let names: String = names.enumerate().map(|(column, name)| format!("<th{}>{name}</th>", class(column))).collect();
    let _ = writeln!(page, "<h2>{title}</h2>\n<table>\n<tr>{names}<th></th><th></th></tr>");
    for row in rows {
        let cell = |column: usize| escaped(row.cells.get(column).map_or("", String::as_str));
        let cells: String = (0..head.len()).map(|column| format!("<td{}>{}</td>", class(column), cell(column))).collect();
        let drawn = row.histogram.as_ref().map_or(String::new(), svg);
        let _ = writeln!(page, "<tr>{cells}<td>{drawn}</td><td class=\"left\">{}</td></tr>", escaped(&row.notes));
    }
    page.push_str("</table>\n");
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

/// Text with markup escaped.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
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
