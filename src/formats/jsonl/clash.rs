//! Whether the values of records have one type, for `--on-error skip`.

use crate::formats::first_wins::Clash;
use crate::json::seen::{FirstSeen, Kind, SeenMembers, SeenNode};
use crate::json::settle::kinds;

/// How the values of `later` clash with those of `earlier` at the same positions, and with each other.
pub fn clash(earlier: &SeenMembers, later: &SeenMembers) -> Clash {
    of_members(Some(earlier), later)
}

fn of_members(earlier: Option<&SeenMembers>, later: &SeenMembers) -> Clash {
    let members = later.list.iter().filter(|theirs| theirs.count > 0);
    worst(members.map(|theirs| of_values(earlier.and_then(|earlier| earlier.find(&theirs.name)), &theirs.node, false)))
}

/// The worst, which ends the search if nothing is worse.
fn worst(clashes: impl Iterator<Item = Clash>) -> Clash {
    let mut worst = Clash::None;
    for clash in clashes {
        worst = worst.max(clash);
        if worst == Clash::Always {
            break;
        }
    }
    worst
}

fn of_values(earlier: Option<&SeenNode>, later: &SeenNode, inside_list: bool) -> Clash {
    let before = |kind: Kind| earlier.map_or(FirstSeen::NEVER, |earlier| earlier[kind]);
    let first = |kind: Kind| before(kind).min(later[kind]);
    let is_set = |kind| first(kind).is_set();
    let found = kinds(first);
    if found.found().nth(1).is_some() || (found.float.is_set() && is_set(Kind::BeyondFloat)) {
        return Clash::Always;
    }
    // What holds all of them, and whether it has come before them.
    let resolved = |is_there: bool, is_before: bool| match (is_there, is_before) {
        (false, _) => Clash::SoFar,
        (true, false) => Clash::InOrder,
        (true, true) => Clash::None,
    };
    let mut clash = Clash::None;
    if is_set(Kind::Beyond64Bits) || (is_set(Kind::BeyondInt64) && is_set(Kind::Negative)) {
        // float64 may hold integers that have no integer type.
        clash = resolved(found.float.is_set(), kinds(before).float.is_set());
    }
    let ranks = [earlier.and_then(|earlier| earlier.sparse_rank), later.sparse_rank];
    if !inside_list && (is_set(Kind::OtherRank) || matches!(ranks, [Some(a), Some(b)] if a != b)) {
        // Beside objects of another form, they are structures.
        clash = clash.max(resolved(is_set(Kind::NotSparse), before(Kind::NotSparse).is_set()));
    }
    let elements = later.element.as_deref().filter(|_| later[Kind::List].is_set());
    let elements = elements.map(|element| of_values(earlier.and_then(|earlier| earlier.element.as_deref()), element, true));
    let members = later.members.as_deref().filter(|_| later[Kind::Object].is_set());
    let members = members.map(|members| of_members(earlier.and_then(|earlier| earlier.members.as_deref()), members));
    worst([clash].into_iter().chain(elements).chain(members))
}
