//! Numbers of records in other tools, which count from 0 or leave out the last, as verbs, which count from 1.

/// A choice of records in the words of another tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Records {
    /// From one position to before another, counted from 0; without an end, to the last.
    Between(u64, Option<u64>),
    /// So many after the first ones.
    After(u64, u64),
    /// The last ones.
    Last(u64),
}

impl Records {
    /// The records that `slice`, `iloc` and `nth` mean.
    pub fn of(name: &str, own: &[String]) -> Option<Records> {
        let number = |names: &[&str]| {
            let at = own.iter().position(|word| names.contains(&word.as_str()))?;
            own.get(at + 1)?.parse::<u64>().ok()
        };
        match (number(&["-i", "--index"]), number(&["-s", "--start"]), number(&["-e", "--end"]), number(&["-l", "--len"])) {
            (Some(index), ..) => return Some(Records::Between(index, Some(index + 1))),
            (_, Some(start), Some(end), _) => return Some(Records::Between(start, Some(end))),
            (_, start, _, Some(length)) => return Some(Records::After(start.unwrap_or(0), length)),
            (_, Some(start), None, None) => return Some(Records::Between(start, None)),
            (_, None, Some(end), None) => return Some(Records::Between(0, Some(end))),
            _ => {}
        }
        if let Some((start, end)) = own.iter().find_map(|word| word.trim_matches(['[', ']']).split_once(':')) {
            return match (start, end) {
                ("", end) => Some(Records::Between(0, Some(end.parse().ok()?))),
                (last, "") if last.starts_with('-') => Some(Records::Last(last[1..].parse().ok()?)),
                (start, "") => Some(Records::Between(start.parse().ok()?, None)),
                (start, end) => Some(Records::Between(start.parse().ok()?, Some(end.parse().ok()?))),
            };
        }
        let numbers: Vec<i64> = own.iter().map_while(|word| word.parse().ok()).collect();
        match (name, numbers.as_slice()) {
            ("slice", &[offset, length]) => Some(Records::After(offset.try_into().ok()?, length.try_into().ok()?)),
            (_, [-1]) => Some(Records::Last(1)),
            ("iloc", &[index]) => Some(Records::Between(index.try_into().ok()?, Some(u64::try_from(index).ok()? + 1))),
            (_, &[number]) => Some(Records::Between(u64::try_from(number).ok()?.checked_sub(1)?, Some(number.try_into().ok()?))),
            ("nth" | "row" | "rows", &[first, last]) => {
                Some(Records::Between(u64::try_from(first).ok()?.checked_sub(1)?, Some(last.try_into().ok()?)))
            }
            _ => None,
        }
    }

    /// The verbs; `None` if there are no such records.
    pub fn verbs(self) -> Option<String> {
        match self {
            Records::Between(0, None) => Some("convert".to_owned()),
            Records::Between(start, None) => Some(format!("skip {start}")),
            Records::Between(start, Some(end)) if end <= start => None,
            Records::Between(start, Some(end)) if end == start + 1 => Some(format!("get {end}")),
            Records::Between(0, Some(end)) | Records::After(0, end) => Some(format!("head {end}")),
            Records::Between(start, Some(end)) => Some(format!("get {}-{end}", start + 1)),
            Records::After(start, length) => Some(format!("skip {start} then head {length}")),
            Records::Last(length) => Some(format!("tail {length}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Records;

    #[test]
    fn records_are_counted_from_1() {
        for (line, expected) in [
            ("slice -i 2", Some("get 3")),
            ("slice -i 0", Some("get 1")),
            ("slice -s 1 -e 3", Some("get 2-3")),
            ("slice -s 1 -l 2", Some("skip 1 then head 2")),
            ("slice -s 1", Some("skip 1")),
            ("slice -e 2", Some("head 2")),
            ("slice 1 3", Some("skip 1 then head 3")),
            ("slice 0 1", Some("head 1")),
            ("slice 1:3", Some("get 2-3")),
            ("iloc 2", Some("get 3")),
            ("iloc 1:3", Some("get 2-3")),
            ("iloc :3", Some("head 3")),
            ("iloc 3:", Some("skip 3")),
            ("iloc -2:", Some("tail 2")),
            ("iloc -1", Some("tail 1")),
            ("iloc 3:1", None),
            ("nth 2", Some("get 2")),
            ("nth 0", None),
            ("rows 2 4", Some("get 2-4")),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let found = Records::of(&words[0], &words[1..]).and_then(Records::verbs);
            assert_eq!(found.as_deref(), expected, "{line}");
        }
    }
}
