//! The state of outputs after a run is interrupted or the disk is full.

use crate::tatter::{BINARY, shell};
use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Names in a directory, including hidden ones.
fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A run that has started writing and waits for more input.
fn waiting(directory: &Path, output: &str) -> Child {
    let mut child = Command::new(BINARY)
        .args(["convert", "--from", "text", "-o", output])
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines: String = (0..5_000).map(|i| format!("{i}\n")).collect();
    child.stdin.as_mut().unwrap().write_all(lines.as_bytes()).unwrap();
    let started = Instant::now();
    while names(directory).is_empty() {
        assert!(started.elapsed() < Duration::from_secs(30), "nothing is written");
        std::thread::sleep(Duration::from_millis(5));
    }
    child
}

fn signal(child: &mut Child, name: &str) -> ExitStatus {
    let sent = Command::new("kill").arg(format!("-{name}")).arg(child.id().to_string()).status().unwrap();
    assert!(sent.success());
    child.wait().unwrap()
}

/// Whether the parent process of the tests ignores hang-ups, as `nohup` does; runs inherit that and continue.
fn hang_ups_are_ignored() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & 1 == 1)
}

#[test]
fn signals_leave_nothing() {
    for output in ["out.jsonl", "out@3.jsonl", "out-######.jsonl"] {
        for (name, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
            let directory = tempfile::tempdir().unwrap();
            let status = signal(&mut waiting(directory.path(), output), name);
            if name == "HUP" && hang_ups_are_ignored() {
                assert_eq!(status.code(), Some(0), "{output} {name}");
                continue;
            }
            assert_eq!(status.code(), Some(code), "{output} {name}");
            assert_eq!(names(directory.path()), [""; 0], "{output} {name}");
        }
    }
}

#[test]
fn a_killed_run_leaves_nothing_under_the_name() {
    let directory = tempfile::tempdir().unwrap();
    let status = signal(&mut waiting(directory.path(), "out.jsonl"), "KILL");
    assert_eq!(status.signal(), Some(9));
    assert!(names(directory.path()).iter().all(|name| name.starts_with('.')));
}

#[test]
fn a_full_disk_is_told_and_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mount = |command: &str, arguments: &[&str]| {
        Command::new(command).args(arguments).arg(directory.path()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    };
    if !mount("mount", &["-t", "tmpfs", "-o", "size=256k", "tmpfs"]) {
        println!("skipped: no file system can be mounted here");
        return;
    }
    let lines: String = (0..200_000).map(|i| format!("{i}\n")).collect();
    for output in ["out.jsonl", "out@2.jsonl", "out.jsonl.gz", "out-######.jsonl"] {
        let path = directory.path().join(output).display().to_string();
        let outcome = crate::tatter::tatter(&["convert", "--from", "text", "-o", &path], lines.as_bytes());
        assert_eq!(outcome.status, 3, "{output}: {}", outcome.stderr);
        assert!(outcome.stderr.contains("cannot write: no space left on device"), "{output}: {}", outcome.stderr);
        assert_eq!(names(directory.path()), [""; 0], "{output}");
    }
    assert!(mount("umount", &[]));
}

#[test]
fn pipes_pass_records_on_as_they_come() {
    use std::io::{BufRead, BufReader};
    // More data than is held back from standard output, then one record at a time.
    let mut child = Command::new(BINARY)
        .args(["convert", "--from", "text", "--to", "text"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let first = "x".repeat(100_000);
    let mut line = String::new();
    for text in [first.as_str(), "second", "third"] {
        writeln!(input, "{text}").unwrap();
        line.clear();
        output.read_line(&mut line).unwrap();
        assert_eq!(line.trim_end(), text);
    }
    drop(input);
    assert!(child.wait().unwrap().success());
}

/// The last record determines the types, after more output than is held back: output to a regular file is undone, but
/// not what was there before.
#[test]
fn a_late_record_widens_what_is_on_standard_output() {
    let directory = tempfile::tempdir().unwrap();
    let mut records: String = (0..400_000).map(|i| format!("{{\"x\": {i}, \"text\": \"{}\"}}\n", "t".repeat(20))).collect();
    records.push_str("{\"x\": 0.5, \"text\": \"last\"}\n");
    fs::write(directory.path().join("in.jsonl"), records).unwrap();
    let script = "tatter convert in.jsonl -o file.jsonl && tatter convert in.jsonl > redirected.jsonl \
                  && tatter convert in.jsonl | cat > piped.jsonl && cmp file.jsonl redirected.jsonl && cmp file.jsonl piped.jsonl \
                  && (echo before; tatter convert in.jsonl; echo after) > several.txt && echo before >> appended.txt \
                  && tatter convert in.jsonl >> appended.txt && echo after >> appended.txt && cmp several.txt appended.txt \
                  && head -n 1 several.txt && tail -n 2 several.txt && wc -l < several.txt \
                  && cp several.txt within.txt && tatter convert in.jsonl 1<> within.txt && tail -n 1 within.txt";
    let outcome = shell(script, directory.path(), b"");
    assert_eq!(outcome.stderr, "");
    assert_eq!(outcome.text(), "before\n{\"x\":0.5,\"text\":\"last\"}\nafter\n400003\nafter\n");
}
