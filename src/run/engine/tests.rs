use super::*;
use crate::error::Kind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

impl WorkPiece for u64 {}

struct Collect<'a>(&'a mut Vec<u64>, usize);
impl Serial<u64> for Collect<'_> {
    fn push(&mut self, work: u64, _: &mut Vec<u64>) -> bool {
        self.0.push(work);
        self.0.len() < self.1
    }
}

/// Emits the sum of each pair, and the odd one out at the end.
struct Pairs(Option<u64>);
impl Serial<u64> for Pairs {
    fn push(&mut self, work: u64, out: &mut Vec<u64>) -> bool {
        match self.0.take() {
            Some(first) => out.push(first + work),
            None => self.0 = Some(work),
        }
        true
    }
    fn finish(&mut self, out: &mut Vec<u64>) -> bool {
        out.extend(self.0.take());
        false
    }
}

fn numbers<'a>(n: u64) -> Source<'a, u64> {
    let mut next = 0;
    Box::new(move || {
        next += 1;
        (next <= n).then_some(next - 1)
    })
}

fn line<'a>(source: Source<'a, u64>, nodes: Vec<Node<'a, u64>>) -> Line<'a, u64> {
    Line { origin: Origin::Source(source), nodes }
}

fn slow(x: u64) -> u64 {
    std::thread::sleep(Duration::from_micros(x * 7919 % 50));
    x * 10
}

#[test]
fn order_is_kept_by_any_number_of_workers() {
    for threads in [1, 2, 8] {
        let mut seen = Vec::new();
        let nodes = vec![
            Node::Parallel(Arc::new(slow)),
            Node::Serial(Box::new(Pairs(None))),
            Node::Parallel(Arc::new(slow)),
            Node::Serial(Box::new(Collect(&mut seen, usize::MAX))),
        ];
        run(line(numbers(101), nodes), threads).unwrap();
        let mut expected: Vec<u64> = (0..50).map(|i| (20 * i + (20 * i + 10)) * 10).collect();
        expected.push(10_000);
        assert_eq!(seen, expected);
    }
}

#[test]
fn enough_stops_an_endless_source() {
    for threads in [1, 4] {
        let mut seen = Vec::new();
        let nodes = vec![Node::Parallel(Arc::new(slow)), Node::Serial(Box::new(Collect(&mut seen, 5)))];
        run(line(numbers(u64::MAX), nodes), threads).unwrap();
        assert_eq!(seen, [0, 10, 20, 30, 40]);
    }
}

/// Gives each piece a hundred times: all at once, or one by one.
struct Hundredfold {
    piece: u64,
    left: usize,
    one_by_one: bool,
}
impl Serial<u64> for Hundredfold {
    fn push(&mut self, work: u64, out: &mut Vec<u64>) -> bool {
        (self.piece, self.left) = (work, 100);
        self.resume(out);
        true
    }
    fn has_more(&self) -> bool {
        self.left > 0
    }
    fn resume(&mut self, out: &mut Vec<u64>) {
        let n = if self.one_by_one { 1 } else { self.left };
        self.left -= n;
        out.extend(std::iter::repeat_n(self.piece, n));
    }
}

/// Counts the pieces that have left the node before it.
struct Slow<'a>(Collect<'a>, &'a AtomicUsize);
impl Serial<u64> for Slow<'_> {
    fn push(&mut self, work: u64, out: &mut Vec<u64>) -> bool {
        std::thread::sleep(Duration::from_micros(200));
        self.1.fetch_sub(1, Ordering::Relaxed);
        self.0.push(work, out)
    }
}

#[test]
fn many_pieces_at_once_wait_for_a_slow_node() {
    for threads in [1, 2, 4] {
        for one_by_one in [false, true] {
            let (in_work, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let mut seen = Vec::new();
            let begin = |work: u64| {
                most.fetch_max(in_work.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
                work
            };
            let nodes = vec![
                Node::Serial(Box::new(Hundredfold { piece: 0, left: 0, one_by_one })),
                Node::Parallel(Arc::new(begin)),
                Node::Serial(Box::new(Slow(Collect(&mut seen, 250), &in_work))),
            ];
            run(line(numbers(u64::MAX), nodes), threads).unwrap();
            assert_eq!(seen, [[0; 100].as_slice(), &[1; 100], &[2; 50]].concat());
            let most = most.into_inner();
            assert!(most <= threads + 3, "{threads} workers: {most} pieces in work");
        }
    }
}

/// Emits its piece while asked for the rest, after the next node has ended.
struct Late(mpsc::Sender<()>, mpsc::Receiver<()>);
impl Serial<u64> for Late {
    fn push(&mut self, work: u64, out: &mut Vec<u64>) -> bool {
        out.push(work);
        true
    }
    fn finish(&mut self, out: &mut Vec<u64>) -> bool {
        self.0.send(()).unwrap();
        self.1.recv().unwrap();
        std::thread::sleep(Duration::from_millis(20));
        out.push(1);
        false
    }
}

struct First<'a>(&'a mut Vec<u64>, mpsc::Sender<()>, mpsc::Receiver<()>);
impl Serial<u64> for First<'_> {
    fn push(&mut self, work: u64, _: &mut Vec<u64>) -> bool {
        self.0.push(work);
        self.2.recv().unwrap();
        self.1.send(()).unwrap();
        false
    }
}

#[test]
fn a_node_that_has_enough_gets_no_more() {
    let ((to_first, from_late), (to_late, from_first)) = (mpsc::channel(), mpsc::channel());
    let mut seen = Vec::new();
    let late = Late(to_first, from_first);
    let first = First(&mut seen, to_late, from_late);
    run(line(numbers(1), vec![Node::Serial(Box::new(late)), Node::Serial(Box::new(first))]), 2).unwrap();
    assert_eq!(seen, [0]);
}

#[test]
fn a_panic_is_an_error() {
    let mut seen = Vec::new();
    let broken = |x: u64| if x == 3 { panic!("broken") } else { x };
    let nodes = vec![Node::Parallel(Arc::new(broken)), Node::Serial(Box::new(Collect(&mut seen, 100)))];
    let error = run(line(numbers(10), nodes), 2).unwrap_err();
    assert_eq!((error.kind(), error.message()), (Kind::Internal, "broken"));
}

/// Takes one piece from each line in turn. A line that has ended is replaced the given number of times.
struct Turns {
    lines: usize,
    turn: usize,
    ended: usize,
    again: usize,
}

impl<'a> Merge<'a, u64> for Turns {
    fn next(&mut self, lines: &mut Lines<'_, 'a, u64>) -> Option<u64> {
        while self.ended < self.lines {
            let line = self.turn % self.lines;
            self.turn += 1;
            if let Some(piece) = lines.pull(line) {
                self.ended = 0;
                return Some(piece);
            }
            if self.again > 0 {
                self.again -= 1;
                lines.replace(line, merged(1, 3, 0));
            } else {
                self.ended += 1;
            }
        }
        None
    }
}

/// Lines with that many pieces each, merged in turn.
fn merged<'a>(lines: usize, pieces: u64, again: usize) -> Line<'a, u64> {
    let sources = (0..lines).map(|_| line(numbers(pieces), vec![Node::Parallel(Arc::new(slow)), Node::Serial(Box::new(Pairs(None)))]));
    let turns = Turns { lines, turn: 0, ended: 0, again };
    Line { origin: Origin::Merge(Box::new(turns), sources.collect()), nodes: vec![Node::Parallel(Arc::new(|x| x + 1))] }
}

#[test]
fn lines_are_merged_in_order_by_any_number_of_workers() {
    for threads in [1, 2, 8] {
        for _ in 0..20 {
            let mut seen = Vec::new();
            let inner = merged(2, 6, 2);
            let other = line(numbers(3), vec![Node::Parallel(Arc::new(slow))]);
            let turns = Turns { lines: 3, turn: 0, ended: 0, again: 1 };
            let origin = Origin::Merge(Box::new(turns), vec![inner, other, line(numbers(0), Vec::new())]);
            run(Line { origin, nodes: vec![Node::Serial(Box::new(Collect(&mut seen, usize::MAX)))] }, threads).unwrap();
            // The empty line is replaced first; inside it, both lines are replaced once.
            assert_eq!(seen, [11, 0, 11, 10, 11, 51, 20, 21, 51, 91, 91, 12, 12, 22, 22], "{threads}");
        }
    }
}

#[test]
fn enough_stops_the_lines_of_a_merge() {
    for threads in [1, 4] {
        for enough in [0, 1, 7] {
            let mut seen = Vec::new();
            let inner = merged(3, u64::MAX, 0);
            let turns = Turns { lines: 1, turn: 0, ended: 0, again: 0 };
            let nodes = vec![Node::Serial(Box::new(Collect(&mut seen, enough)))];
            run(Line { origin: Origin::Merge(Box::new(turns), vec![inner]), nodes }, threads).unwrap();
            assert_eq!(seen.len(), enough.max(1));
        }
    }
}
