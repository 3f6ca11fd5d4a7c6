//! Fills the placeholders of command templates.

/// Words in templates that stand for what the command line does not say.
const PLACEHOLDERS: [&str; 3] = ["FIELD", "N", "VALUE"];

/// Whether a command contains only what the command line says, and none of these words.
pub fn is_whole(command: &str) -> bool {
    !command.split(|c: char| !c.is_alphanumeric()).any(|word| PLACEHOLDERS.contains(&word))
}

/// Whether it is a command, or else a line of advice.
pub fn is_command(template: &str) -> bool {
    template.starts_with("tatter ") || template.starts_with("duckdb ")
}

/// The template with its placeholders filled. An empty value leaves no extra space.
pub fn placed(template: &str, value: impl Fn(&str) -> Option<String>) -> Option<String> {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, place, after)) = rest.split_once('{').and_then(|(before, rest)| {
        let (place, after) = rest.split_once('}')?;
        Some((before, place, after))
    }) {
        let value = value(place)?;
        let ends_word = after.is_empty() || after.starts_with(' ');
        out.push_str(if value.is_empty() && ends_word { before.strip_suffix(' ').unwrap_or(before) } else { before });
        out.push_str(&value);
        rest = after;
    }
    Some(out + rest)
}
