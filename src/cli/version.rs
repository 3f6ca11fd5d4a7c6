//! The output of `--version`, also with `-v`.

use crate::formats::FORMATS;
use std::fmt::Write;

/// `tatter 1.2.3`. With details: the commit it was built from (with `+` if the sources were modified), the profile, the
/// target, the formats, and the CPU features in use.
pub fn text(is_verbose: bool) -> String {
    let mut text = format!("tatter {}\n", env!("CARGO_PKG_VERSION"));
    if is_verbose {
        let profile = option_env!("TATTER_PROFILE").unwrap_or(if cfg!(debug_assertions) { "dev" } else { "release" });
        let _ = writeln!(text, "commit: {}", option_env!("TATTER_COMMIT").unwrap_or("unknown"));
        let _ = writeln!(text, "profile: {profile}");
        let _ = writeln!(text, "target: {}-{}", std::env::consts::ARCH, std::env::consts::OS);
        let formats: Vec<&str> = FORMATS.iter().map(|format| format.name()).collect();
        let _ = writeln!(text, "formats: {}", formats.join(" "));
        let _ = writeln!(text, "cpu: {}", processor().join(" "));
    }
    text
}

#[cfg(target_arch = "x86_64")]
fn processor() -> Vec<&'static str> {
    let found = [
        ("sse4.2", std::is_x86_feature_detected!("sse4.2")),
        ("pclmulqdq", std::is_x86_feature_detected!("pclmulqdq")),
        ("avx2", std::is_x86_feature_detected!("avx2")),
        ("avx512f", std::is_x86_feature_detected!("avx512f")),
    ];
    found.into_iter().filter(|(_, is_there)| *is_there).map(|(name, _)| name).collect()
}

#[cfg(not(target_arch = "x86_64"))]
fn processor() -> Vec<&'static str> {
    vec!["none detected"]
}
