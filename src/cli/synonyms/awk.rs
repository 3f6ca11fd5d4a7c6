//! Short programs of awk and sed as verbs.

use crate::cli::patterns::containing;
use crate::cli::records::Records;
use crate::expr::names_used;
use crate::path::{in_expression, quoted};
use crate::printable::shell_word;
use crate::schema::Schema;

/// The lines that a program of these tools reads.
pub struct Lines<'a> {
    /// The columns, which awk numbers from 1.
    pub schema: Option<&'a Schema>,
    /// Whether the first line names the columns, and is no record.
    pub has_header: bool,
}

/// The options of awk and sed that take a value.
const VALUED: &[&str] = &["-F", "-v", "-f", "-e"];

/// The program, and the words after it.
pub fn program(own: &[String]) -> Option<(&String, &[String])> {
    let mut at = 0;
    while own.get(at).is_some_and(|word| word.starts_with('-') && word.len() > 1) {
        at += if VALUED.contains(&own[at].as_str()) && own[at] != "-e" { 2 } else { 1 };
    }
    Some((own.get(at)?, &own[at + 1..]))
}

impl Lines<'_> {
    /// The verbs for a program of awk.
    pub fn of_awk(&self, program: &str) -> Option<String> {
        let program = program.trim();
        let compact: String = program.chars().filter(|c| !c.is_whitespace()).collect();
        if compact == "END{printNR}" {
            return Some("count".to_owned());
        }
        if let Some(key) = compact.strip_prefix('!').and_then(|rest| rest.strip_suffix("]++")).and_then(|rest| rest.split_once('[')) {
            return match key.1 {
                "$0" => Some("unique".to_owned()),
                column => Some(format!("unique --by {}", shell_word(&self.column(column)?))),
            };
        }
        if let Some((sum, "END{prints}" | "END{prints/NR}")) = compact.split_once('}') {
            let column = sum.strip_prefix("{s+=")?.trim_end_matches(';');
            return Some(format!("stats -f {} --as json", shell_word(&self.column(column)?)));
        }
        let (pattern, action) = program.split_once('{').unwrap_or((program, "print}"));
        let printed = action.trim().strip_suffix('}')?.trim().strip_prefix("print")?.trim();
        let select = match printed {
            "" | "$0" => None,
            columns => {
                let names: Vec<String> = columns.split(',').map(|column| self.column(column.trim())).collect::<Option<_>>()?;
                Some(format!("select {}", shell_word(&names.join(","))))
            }
        };
        let chosen = match pattern.trim() {
            "" => None,
            pattern => Some(self.numbered(pattern).or_else(|| self.condition(pattern))?),
        };
        match (chosen, select) {
            (None, None) => Some("convert".to_owned()),
            (Some(chosen), Some(select)) if chosen == "convert" => Some(select),
            (chosen, select) => Some(chosen.into_iter().chain(select).collect::<Vec<_>>().join(" then ")),
        }
    }

    /// The verbs for a program of sed that chooses lines by number. `prints`: only those that it names.
    pub fn of_sed(&self, program: &str, prints: bool) -> Option<String> {
        let (lines, command) = program.split_at_checked(program.len().checked_sub(1)?)?;
        let (first, last) = lines.split_once(',').unwrap_or((lines, lines));
        let number = |text: &str| text.parse::<u64>().ok();
        match (command, prints, first, last) {
            ("p", true, "$", "$") => Records::Last(1).verbs(),
            ("p", true, first, "$") => self.records(number(first)?, None),
            ("p", true, first, last) => self.records(number(first)?, Some(number(last)?)),
            ("d", false, "1", last) => self.records(number(last)? + 1, None),
            ("q", false, first, _) => self.records(1, Some(number(first)?)),
            _ => None,
        }
    }

    /// The records on lines from a number to another, counted from 1.
    fn records(&self, first: u64, last: Option<u64>) -> Option<String> {
        let header = u64::from(self.has_header);
        Records::Between(first.checked_sub(1)?.saturating_sub(header), last.map(|last| last.saturating_sub(header))).verbs()
    }

    /// The verbs for `NR > 1` and the like.
    fn numbered(&self, pattern: &str) -> Option<String> {
        let rest = pattern.strip_prefix("NR")?.trim_start();
        let end = rest.find(|c: char| !"<>=".contains(c))?;
        let number: u64 = rest[end..].trim().parse().ok()?;
        match &rest[..end] {
            "==" => self.records(number, Some(number)),
            ">" => self.records(number + 1, None),
            ">=" => self.records(number, None),
            "<" => self.records(1, Some(number.checked_sub(1)?)),
            "<=" => self.records(1, Some(number)),
            _ => None,
        }
    }

    /// The verb for a condition on columns.
    fn condition(&self, pattern: &str) -> Option<String> {
        let test = match pattern.split_once('~') {
            Some((column, regex)) => {
                let regex = regex.trim().strip_prefix('/')?.strip_suffix('/')?;
                let regex = containing(regex, "").replace('\\', "\\\\").replace('"', "\\\"");
                let (not, column) = column.trim().strip_suffix('!').map_or(("", column), |column| ("not ", column));
                format!("{not}strings.regex_full_match({}, \"{regex}\")", self.value(column.trim())?)
            }
            None => self.with_names(&pattern.replace("&&", " and ").replace("||", " or "))?,
        };
        names_used(&test, false)?;
        Some(format!("filter {}", shell_word(&test)))
    }

    /// The text with the names of columns for their numbers.
    fn with_names(&self, text: &str) -> Option<String> {
        let mut parts = text.split('$');
        let mut out = parts.next()?.to_owned();
        for part in parts {
            let end = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
            out.push_str(&self.value(&format!("${}", &part[..end]))?);
            out.push_str(&part[end..]);
        }
        Some(out.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    fn name(&self, column: &str) -> Option<&str> {
        let fields = &self.schema?.fields;
        // The words of a line have no names.
        let number: usize = column.strip_prefix('$')?.parse().ok().filter(|_| fields.len() > 1)?;
        fields.get(number.checked_sub(1)?).map(|field| field.name.as_str())
    }

    /// A column in a list of fields.
    fn column(&self, column: &str) -> Option<String> {
        self.name(column).map(quoted)
    }

    /// A column in an expression.
    fn value(&self, column: &str) -> Option<String> {
        self.name(column).map(in_expression)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Field, Type};

    #[test]
    fn programs_become_verbs() {
        let schema = Schema::new(["id", "name", "dept", "my pay"].map(|name| Field::new(name.to_owned(), Type::NULL)).into());
        let lines = Lines { schema: Some(&schema), has_header: true };
        for (program, expected) in [
            ("{print $1}", Some("select id")),
            ("{ print $1, $4 }", Some("select 'id,`my pay`'")),
            ("$3==\"eng\"", Some("filter 'dept==\"eng\"'")),
            ("$4 > 5 && $1 < 3 {print $2}", Some("filter '`my pay` > 5 and id < 3' then select name")),
            ("$2 ~ /A|B/", Some("filter 'strings.regex_full_match(name, \"(?s).*(?:A|B).*\")'")),
            ("NR>1", Some("convert")),
            ("NR > 1 {print $2}", Some("select name")),
            ("NR==3", Some("get 2")),
            ("{s+=$4} END {print s}", Some("stats -f '`my pay`' --as json")),
            ("END {print NR}", Some("count")),
            ("!seen[$3]++", Some("unique --by dept")),
            ("{print $9}", None),
            ("{print NF}", None),
        ] {
            assert_eq!(lines.of_awk(program).as_deref(), expected, "{program}");
        }
        let lines = Lines { schema: None, has_header: false };
        for (program, prints, expected) in [
            ("2,3p", true, Some("get 2-3")),
            ("$p", true, Some("tail 1")),
            ("2,$p", true, Some("skip 1")),
            ("1d", false, Some("skip 1")),
            ("5q", false, Some("head 5")),
            ("2d", false, None),
            ("2,3p", false, None),
            ("s/a/b/", false, None),
        ] {
            assert_eq!(lines.of_sed(program, prints).as_deref(), expected, "{program}");
        }
    }
}
