//! The steps of a run, fused: what stands between two folds is one node of the engine.

use super::encode::Last;
use super::engine::{Node, Serial};
use super::fold::FoldNode;
use super::map::decode_and_map;
use super::router::Router;
use super::sink::Sink;
use super::work::Work;
use crate::schema::Schema;
use crate::verbs::Map;
use std::sync::Arc;

/// The steps between folds, in order, on their way to become nodes.
pub struct Stages {
    input: Arc<Schema>,
    parts: Vec<Stage>,
}

enum Stage {
    Maps(Vec<(Arc<dyn Map>, Arc<Schema>)>, Option<Last>),
    Serial(Box<dyn Serial<Work>>, Option<Arc<Schema>>),
}

impl Stages {
    pub fn new(input: Arc<Schema>) -> Stages {
        Stages { input, parts: vec![Stage::Maps(Vec::new(), None)] }
    }

    pub fn map(&mut self, map: Arc<dyn Map>, schema: Arc<Schema>) {
        if let Some(Stage::Maps(maps, None)) = self.parts.last_mut() {
            maps.push((map, schema));
        } else {
            self.parts.push(Stage::Maps(vec![(map, schema)], None));
        }
    }

    pub fn fold(&mut self, fold: FoldNode, schema: Arc<Schema>) {
        self.parts.push(Stage::Serial(Box::new(fold), Some(schema)));
    }

    /// Records of files of their own are told apart in front of the last map steps, where those keep all of them,
    /// so that mapping and writing are one task. What is in front must have been decoded.
    pub fn router(&mut self, router: Router, early: bool) {
        let node = Stage::Serial(Box::new(router), None);
        let keep = matches!(self.parts.last(), Some(Stage::Maps(maps, None)) if maps.iter().all(|(map, _)| map.keeps_count()));
        let at = if early && keep && self.parts.len() > 1 { self.parts.len() - 1 } else { self.parts.len() };
        self.parts.insert(at, node);
    }

    pub fn last(&mut self, last: Last) {
        match self.parts.last_mut() {
            Some(Stage::Maps(_, slot)) => *slot = Some(last),
            _ => self.parts.push(Stage::Maps(Vec::new(), Some(last))),
        }
    }

    pub fn into_nodes<'a>(self, skip: bool, sink: &'a mut Sink) -> Vec<Node<'a, Work>> {
        let mut nodes = Vec::new();
        let mut schema = self.input;
        for part in self.parts {
            nodes.push(match part {
                Stage::Serial(node, behind) => {
                    schema = behind.unwrap_or(schema);
                    Node::Serial(node)
                }
                Stage::Maps(maps, last) => {
                    let input = schema.clone();
                    if let Some((_, behind)) = maps.last() {
                        schema = behind.clone();
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
        nodes.push(Node::Serial(Box::new(SinkNode(sink))));
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
