//! Tells the program which commit and profile it was built from, for `tatter --version -v`.
//!
//! It runs again only where the sources changed, which are compiled again anyway.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=src");
    println!("cargo:rerun-if-changed=Cargo.toml");
    println!("cargo:rerun-if-env-changed=TATTER_COMMIT");
    if let Some(commit) = commit() {
        println!("cargo:rustc-env=TATTER_COMMIT={commit}");
    }
    // target/PROFILE/build/tatter-HASH/out
    let out = std::env::var_os("OUT_DIR").unwrap_or_default();
    if let Some(profile) = Path::new(&out).ancestors().nth(3).and_then(Path::file_name).and_then(|name| name.to_str()) {
        println!("cargo:rustc-env=TATTER_PROFILE={profile}");
    }
}

/// What the environment says, what is noted in a package, or what git says of this directory.
fn commit() -> Option<String> {
    if let Some(given) = std::env::var("TATTER_COMMIT").ok().filter(|given| !given.is_empty()) {
        return Some(given);
    }
    let root = std::env::var_os("CARGO_MANIFEST_DIR")?;
    let root = Path::new(&root);
    if let Ok(noted) = std::fs::read_to_string(root.join(".cargo_vcs_info.json")) {
        let (_, rest) = noted.split_once("\"sha1\": \"")?;
        return rest.get(..12).map(str::to_owned);
    }
    if !root.join(".git").exists() {
        return None;
    }
    let describe = ["--no-optional-locks", "describe", "--always", "--dirty=+", "--abbrev=12", "--exclude=*"];
    let output = Command::new("git").args(describe).current_dir(root).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.trim().to_owned()).filter(|text| output.status.success() && !text.is_empty())
}
