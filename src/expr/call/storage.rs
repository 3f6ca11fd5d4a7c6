//! How files store the values of fields that an expression passes on unchanged; see [`Storage`].

use crate::expr::eval::{Node, NodeKind};
use crate::schema::Field;
use crate::schema::facts::Storage;

/// The value of a node as a field without a name. Computed values are stored as their type says.
pub fn field_of_value(node: &Node) -> Field {
    Field { storage: storage_of(node).copied(), ..Field::new("", node.ty.clone()) }
}

fn storage_of(node: &Node) -> Storage {
    match &node.kind {
        NodeKind::Slot { storage, .. } | NodeKind::Field { storage, .. } => storage.clone(),
        NodeKind::NotNull { of, .. } => storage_of(of),
        NodeKind::Call(call, _) if call.maps => Storage::Map { declared: false, rank: node.ty.rank() },
        _ => Storage::default(),
    }
}
