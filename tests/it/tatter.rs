//! Runs the program like a shell.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The program under test.
pub const BINARY: &str = env!("CARGO_BIN_EXE_tatter");

/// The root of the package.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The result of a run.
#[derive(Debug)]
pub struct Outcome {
    pub status: i32,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl Outcome {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// The records printed by a run that must succeed.
    pub fn records(&self) -> Vec<Value> {
        assert_eq!(self.status, 0, "{}", self.stderr);
        self.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// Runs `sh -c line` in a directory, with `tatter` on PATH and `$FIXTURES` set.
pub fn shell(line: &str, directory: &Path, stdin: &[u8]) -> Outcome {
    let mut path = std::ffi::OsString::from(Path::new(BINARY).parent().unwrap());
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let mut command = Command::new("sh");
    command.arg("-c").arg(line).current_dir(directory).env("PATH", path).env("FIXTURES", root().join("fixtures"));
    run(command, stdin)
}

/// Runs the program with arguments.
pub fn tatter<S: AsRef<std::ffi::OsStr>>(arguments: &[S], stdin: &[u8]) -> Outcome {
    let mut command = Command::new(BINARY);
    command.args(arguments);
    run(command, stdin)
}

/// Runs verbs on records of a schema.
pub fn on_records(verbs: &[&str], schema: &str, records: &[Value]) -> Outcome {
    let input: Vec<u8> = records.iter().flat_map(|r| format!("{r}\n").into_bytes()).collect();
    tatter(&[verbs, &["--from", "jsonl", "--schema", schema]].concat(), &input)
}

/// A run that takes longer is killed, because it hangs.
const PATIENCE: Duration = Duration::from_secs(60);

fn run(command: Command, stdin: &[u8]) -> Outcome {
    let mut command = assert_cmd::Command::from_std(command);
    let output = command.env("LC_ALL", "C").timeout(PATIENCE).write_stdin(stdin).output().unwrap();
    let mut stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.code().is_none() {
        stderr.push_str("killed: a signal, or it ran for too long\n");
    }
    Outcome { status: output.status.code().unwrap_or(-1), stdout: output.stdout, stderr }
}

/// Calls `work` for every item, on two threads. Returns the results in order.
pub fn parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<R>>> = items.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(i) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|i| *i < items.len()) {
                    *results[i].lock().unwrap() = Some(work(&items[i]));
                }
            });
        }
    });
    results.into_iter().map(|r| r.into_inner().unwrap().unwrap()).collect()
}

/// All files with this extension below a directory, sorted.
pub fn files(directory: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|e| e == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}
