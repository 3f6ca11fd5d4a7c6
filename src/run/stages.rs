//! The stages of a run. All stateless steps between two folds are fused into one node of the engine.

use super::divide::{Divide, Wider};
use super::encode::Last;
use super::engine::{Node, Serial};
use super::fold::FoldNode;
use super::map::{Step, decode_and_map};
use super::router::Router;
use super::sink::Sink;
use super::work::Work;
use crate::schema::Schema;
use crate::schema::leaves::leaves;
use crate::verbs::{Fold, Map};
use std::sync::Arc;

/// The stages, in order, before they become nodes.
pub struct Stages {
    input: Arc<Schema>,
    stages: Vec<Stage>,
    /// The number of leaf fields of a chunk where its size was last decided: by the reader or by a division.
    nleaves: usize,
}

/// Whether chunks are divided before a verb whose output has that many leaves, given those of its input.
pub fn is_much_wider(nleaves: usize, after: usize) -> bool {
    after > 4 * nleaves
}

struct Stage {
    /// A description for `--explain-time`.
    does: Vec<&'static str>,
    kind: StageKind,
}

enum StageKind {
    Maps(Vec<Step>, Option<Last>),
    Fold(&'static str, Box<dyn Fold>, Arc<Schema>),
    Serial(Box<dyn Serial<Work>>),
}

impl Stage {
    fn is_serial(&self) -> bool {
        !matches!(self.kind, StageKind::Maps(..))
    }
}

impl Stages {
    /// Starts without stages, for records of this schema.
    pub fn new(input: Arc<Schema>) -> Stages {
        let nleaves = leaves(&input).len().max(1);
        Stages { input, stages: vec![Stage { does: vec!["decode"], kind: StageKind::Maps(Vec::new(), None) }], nleaves }
    }

    /// Adds the map of a verb, whose output has this schema.
    pub fn map(&mut self, verb: &'static str, map: Arc<dyn Map>, schema: Arc<Schema>) {
        let after = leaves(&schema).len();
        let divide = match is_much_wider(self.nleaves, after) {
            _ if map.grows() => Some(Divide::new(map.clone())),
            true => Some(Divide::new(Arc::new(Wider { from: self.nleaves, to: after }))),
            false => None,
        };
        if let Some(divide) = divide {
            self.stages.push(Stage { does: vec!["divide"], kind: StageKind::Serial(Box::new(divide)) });
            self.nleaves = self.nleaves.max(after);
        }
        if let Some(Stage { does, kind: StageKind::Maps(maps, None) }) = self.stages.last_mut() {
            maps.push(Step { verb, map, schema });
            does.push(verb);
        } else {
            self.stages.push(Stage { does: vec![verb], kind: StageKind::Maps(vec![Step { verb, map, schema }], None) });
        }
    }

    /// Adds the fold of a verb, whose output has this schema.
    pub fn fold(&mut self, verb: &'static str, fold: Box<dyn Fold>, schema: Arc<Schema>) {
        if let Some((map, schema)) = fold.before() {
            self.map(verb, map, schema);
        }
        self.stages.push(Stage { does: vec![verb], kind: StageKind::Fold(verb, fold, schema) });
    }

    /// Separates records that become individual files before the last maps, if those keep all records, so that mapping
    /// and writing are one task. Earlier stages must have decoded the records.
    pub fn router(&mut self, router: Router, early: bool) {
        let is_last_serial = self.stages.last().is_some_and(Stage::is_serial);
        if is_last_serial {
            // Chunks deferred by the fold are built here, in parallel.
            self.stages.push(Stage { does: vec!["gather"], kind: StageKind::Maps(Vec::new(), None) });
        }
        let keeps = |stage: &Stage| matches!(&stage.kind, StageKind::Maps(maps, None) if maps.iter().all(|step| step.map.keeps_count()));
        let keep = self.stages.last().is_some_and(keeps);
        let early = early && keep && !is_last_serial && self.stages.len() > 1;
        let at = if early { self.stages.len() - 1 } else { self.stages.len() };
        self.stages.insert(at, Stage { does: vec!["distribute"], kind: StageKind::Serial(Box::new(router)) });
    }

    /// Adds the encoding or digestion of the results.
    pub fn last(&mut self, does: &'static str, last: Last) {
        match self.stages.last_mut() {
            Some(Stage { does: all, kind: StageKind::Maps(_, slot) }) => {
                *slot = Some(last);
                all.push(does);
            }
            _ => self.stages.push(Stage { does: vec![does], kind: StageKind::Maps(Vec::new(), Some(last)) }),
        }
    }

    /// The description of each stage, and whether it is serial.
    pub fn outline(&self) -> Vec<(String, bool)> {
        self.stages.iter().map(|stage| (stage.does.join(", "), stage.is_serial())).collect()
    }

    /// The nodes that the engine runs: one for each stage, and the sink.
    pub fn into_nodes_to<'a>(self, skip: bool, sink: &'a mut Sink) -> Vec<Node<'a, Work>> {
        let mut nodes = self.into_nodes(skip);
        nodes.push(Node::Serial(Box::new(SinkNode(sink))));
        nodes
    }

    /// The nodes that the engine runs: one for each stage.
    pub fn into_nodes<'a>(self, skip: bool) -> Vec<Node<'a, Work>> {
        let mut nodes = Vec::new();
        let mut schema = self.input;
        for stage in self.stages {
            nodes.push(match stage.kind {
                StageKind::Serial(node) => Node::Serial(node),
                StageKind::Fold(verb, fold, after) => {
                    schema = after.clone();
                    Node::Serial(Box::new(FoldNode::new(verb, fold, after, skip)))
                }
                StageKind::Maps(maps, last) => {
                    let input = schema.clone();
                    if let Some(last) = maps.last() {
                        schema = last.schema.clone();
                    }
                    Node::Parallel(Arc::new(move |work| {
                        let work = decode_and_map(work, &maps, &input, skip);
                        match &last {
                            Some(last) => last.apply(work),
                            None => work,
                        }
                    }))
                }
            });
        }
        nodes
    }
}

/// The sink outlives the run, which only borrows it.
struct SinkNode<'a, 'b>(&'a mut Sink<'b>);

impl Serial<Work> for SinkNode<'_, '_> {
    fn push(&mut self, work: Work, out: &mut Vec<Work>) -> bool {
        self.0.push(work, out)
    }
    fn finish(&mut self, out: &mut Vec<Work>) -> bool {
        self.0.finish(out)
    }
}
