//! `tatter-mutate TARGET SECONDS SEED DIR...`: runs a fuzz target over random changes of the files in the directories until
//! the time is over, and prints the number of executions. Each execution is determined by SEED and its number, so that it
//! can be repeated: `tatter-mutate TARGET =NUMBER SEED DIR...`. Instead of SECONDS, `seeds` runs it over the files as they are.
//!
//! It knows nothing about coverage, unlike the fuzzer of `run.sh`, but is ten times as fast and runs on a stable toolchain.

#[allow(dead_code)]
#[path = "../../src/lib.rs"]
mod targets;

use fastrand::Rng;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Longer inputs are cut. An ArrayRecord consists of whole blocks of 64 KiB.
const MAX_LEN: usize = 16 << 10;
const MAX_ARRAY_RECORD: usize = 128 << 10;
/// An execution that takes longer is a failure.
const HANG: Duration = Duration::from_secs(20);
/// Values at which sizes, offsets and counts tend to break.
const EDGES: [u64; 13] = [0, 1, 7, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, i32::MAX as u64, 1 << 31, i64::MAX as u64, u64::MAX];

fn max_len(target: &str) -> usize {
    if target == "array_record" { MAX_ARRAY_RECORD } else { MAX_LEN }
}

/// The files of the directories, sorted by name so that numbers mean the same inputs in every run.
fn seeds(dirs: impl Iterator<Item = String>, max_len: usize) -> Vec<Vec<u8>> {
    let mut paths: Vec<PathBuf> = dirs
        .filter_map(|dir| std::fs::read_dir(dir).ok())
        .flat_map(|entries| entries.filter_map(|entry| entry.ok()).map(|entry| entry.path()))
        .collect();
    paths.sort();
    paths.iter().filter_map(|path| std::fs::read(path).ok()).filter(|bytes| bytes.len() <= max_len).collect()
}

/// The input of execution `number`: half of those of containers change what is inside.
fn input(target: &str, seeds: &[Vec<u8>], seed: u64, number: u64) -> Vec<u8> {
    let mut rng = Rng::with_seed(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut bytes = rng.choice(seeds).cloned().unwrap_or_default();
    if rng.bool()
        && let Some(changed) = targets::structure::mutate(target, &bytes, &mut targets::structure::Random::new(rng.u64(..)))
    {
        return changed;
    }
    for _ in 0..=rng.u8(0..5) {
        mutate(&mut bytes, seeds, &mut rng);
    }
    bytes.truncate(max_len(target));
    bytes
}

/// Makes one change: of a bit, a byte, a number, or a range.
fn mutate(bytes: &mut Vec<u8>, seeds: &[Vec<u8>], rng: &mut Rng) {
    let at = rng.usize(0..=bytes.len());
    let len = (1 << rng.u8(0..7)).min(bytes.len() - at);
    match rng.u8(0..10) {
        0 if len > 0 => bytes[at] ^= 1 << rng.u8(0..8),
        1 if len > 0 => bytes[at] = rng.u8(..),
        2 if len > 0 => bytes[at] = bytes[at].wrapping_add(rng.u8(0..9).wrapping_sub(4)),
        3 => {
            let (edge, width) = (*rng.choice(&EDGES).unwrap_or(&0), 1 << rng.u8(0..4));
            let edge = if rng.bool() { edge } else { edge.wrapping_add(u64::from(rng.u8(0..5))).wrapping_sub(2) };
            let number = if rng.bool() { edge.to_le_bytes()[..width].to_vec() } else { edge.to_string().into_bytes() };
            let end = (at + number.len()).min(bytes.len());
            bytes.splice(at..end, number);
        }
        4 => drop(bytes.drain(at..at + len)),
        5 => {
            let range = bytes[at..at + len].to_vec();
            let to = rng.usize(0..=bytes.len());
            bytes.splice(to..to, range);
        }
        6 => {
            let random: Vec<u8> = (0..rng.u8(1..9)).map(|_| rng.u8(..)).collect();
            bytes.splice(at..at, random);
        }
        7 => bytes.truncate(at),
        // Parts of other inputs, in place of a part or between.
        8 | 9 => {
            let Some(other) = rng.choice(seeds).filter(|other| !other.is_empty()) else { return };
            let start = rng.usize(0..other.len());
            let end = (start + (1 << rng.u8(0..9))).min(other.len());
            let to = if rng.bool() { at } else { at + len };
            bytes.splice(at..to, other[start..end].iter().copied());
        }
        _ => {}
    }
}

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let (Some(name), Some(until), Some(seed)) = (args.next(), args.next(), args.next()) else {
        eprintln!("usage: tatter-mutate TARGET SECONDS|=NUMBER|seeds SEED DIR...");
        return ExitCode::from(2);
    };
    let Some((_, run)) = targets::TARGETS.into_iter().find(|(known, _)| *known == name) else {
        eprintln!("no target {name}");
        return ExitCode::from(2);
    };
    let (seed, seeds): (u64, _) = (seed.parse().unwrap_or(0), seeds(args, max_len(&name)));
    let fails = |bytes: &[u8]| catch_unwind(AssertUnwindSafe(|| run(bytes))).is_err();
    if let Some(number) = until.strip_prefix('=') {
        let bytes = input(&name, &seeds, seed, number.parse().unwrap_or(0));
        println!("{}", bytes.escape_ascii());
        return if fails(&bytes) { ExitCode::FAILURE } else { ExitCode::SUCCESS };
    }
    if until == "seeds" {
        let failures = seeds.iter().filter(|bytes| fails(bytes)).count();
        println!("{name}: {} seeds, {failures} failures", seeds.len());
        return if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let end = Instant::now() + Duration::from_secs(until.parse().unwrap_or(10));
    let current = Arc::new(AtomicU64::new(0));
    let watched = Arc::clone(&current);
    let watcher = name.clone();
    // Also tells where a run was that ended without unwinding.
    std::thread::spawn(move || {
        let mut last = (u64::MAX, Instant::now());
        loop {
            std::thread::sleep(Duration::from_secs(2));
            let now = watched.load(Relaxed);
            if now != last.0 {
                last = (now, Instant::now());
            } else if last.1.elapsed() > HANG {
                eprintln!("{watcher}: execution {now} of seed {seed} hangs");
                std::process::exit(1);
            }
        }
    });
    let (mut number, mut failures) = (0, 0);
    while Instant::now() < end && failures < 5 {
        current.store(number, Relaxed);
        let bytes = input(&name, &seeds, seed, number);
        if fails(&bytes) {
            eprintln!("{name}: execution {number} of seed {seed} panics on b\"{}\"", bytes.escape_ascii());
            failures += 1;
        }
        number += 1;
    }
    println!("{name}: {number} executions, {failures} failures");
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
