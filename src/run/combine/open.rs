//! Opens the inputs of a chain: FILEs, or those that its first verb combines, each optionally with its own chain.

use super::combined::Combined;
use super::member::{Member, OwnChain};
use crate::error::{Error, Result};
use crate::io;
use crate::options::Options;
use crate::run::beside;
use crate::run::branch::{Branch, Branches};
use crate::run::format;
use crate::run::inputs::Inputs;
use crate::run::reading::within;
use crate::run::tables::with_tables;
use crate::verbs::Parsed;
use crate::verbs::combine::{self, Combination};
use std::ffi::{OsStr, OsString};
use std::sync::Arc;

/// Opens the inputs of a chain: those that its first verb combines, or the files.
///
/// # Errors
/// See [`Inputs::open`].
pub fn open_chain(verbs: &[Box<dyn Parsed>], files: &[OsString], branches: &Branches, options: Arc<Options>) -> Result<Inputs> {
    match verbs.first().map_or(Ok(None), |verb| verb.combine(files.to_vec(), &options))? {
        Some(several) => combine(several, branches, options),
        None => Inputs::open(files, options),
    }
}

fn combine(several: combine::Combined, branches: &Branches, options: Arc<Options>) -> Result<Inputs> {
    if options.from.as_deref() == Some("none") {
        return Err(Error::usage("--from none reads no file, but the first verb combines several inputs"));
    }
    if beside::standard_inputs(&several.inputs, branches, &options) > 1 {
        let error = Error::usage("standard input is named twice");
        return Err(error.help("an input can be a chain that reads a file: [ head 10 data.jsonl ]"));
    }
    let plain: Vec<OsString> = several.inputs.iter().filter(|input| !branches.contains_key(*input)).cloned().collect();
    let files = if plain.is_empty() { None } else { Some(Inputs::open(&plain, options.clone())?) };
    if matches!(several.how, Combination::Zipped { .. }) && options.schema.is_some() {
        let error = Error::usage("zip takes no --schema: each input has its own");
        return Err(error.help("apply it to one input: zip [ convert --schema TEXT a.jsonl ] b.jsonl"));
    }
    let mut sizes = Vec::new();
    for input in &plain {
        let nfiles = io::expand(std::slice::from_ref(input), &options, &format::is_dataset(&options))?.len();
        sizes.push(if several.each_file { vec![1; nfiles] } else { vec![nfiles] });
    }
    let mut files = files.map_or_else(Vec::new, |files| files.divided(&sizes.concat())).into_iter();
    let mut sizes = sizes.into_iter();
    let mut members: Vec<Member> = Vec::new();
    for input in &several.inputs {
        match branches.get(input) {
            Some(branch) => members.push(open_branch(branch, input, &options)?),
            None => {
                let n = sizes.next().map_or(0, |sizes| sizes.len());
                let is_list = matches!(several.how, Combination::Listed(..)) && members.is_empty();
                let own = |inputs: Inputs| if is_list { inputs.for_scalar() } else { inputs };
                members.extend(files.by_ref().take(n).map(|inputs| Member::new(own(inputs), None)));
            }
        }
    }
    let is_repeated = matches!(&several.how, Combination::Chosen(chooser) if chooser().restarts());
    let pipe = members.iter().flat_map(|member| member.inputs.iter()).find(|opened| !opened.input.is_regular());
    if let (true, Some(pipe)) = (is_repeated, pipe) {
        let error = Error::usage("this is a pipe, which cannot be read again").in_input(pipe.input.name().clone());
        return Err(error.help("write it to a file first").help("or use --stop all, which reads each input once"));
    }
    Ok(Inputs::of_several(Box::new(Combined { how: several.how, members }), options))
}

/// Opens the files of the branch. `options` are those of the run.
///
/// # Errors
/// See [`open_chain`]. Also an error for a verb that outputs no records.
fn open_branch(branch: &Branch, text: &OsStr, options: &Options) -> Result<Member> {
    let text: Arc<str> = text.to_string_lossy().into();
    let located = |error: Error| error.help(format!("in {text}"));
    for verb in branch.verbs.iter() {
        if verb.is_report() || !matches!(verb.parts(), Ok(None)) {
            let does = if verb.is_report() { "prints a report" } else { "writes its outputs" };
            return Err(located(Error::usage(format!("{} {does}, but an input must produce records", verb.name()))));
        }
    }
    let mut own = within(options, &branch.given, &branch.options);
    own.only = branch.verbs.first().map(|verb| verb.numbers()).transpose()?.flatten().map(Arc::new);
    let own = with_tables(&branch.verbs, Arc::new(own)).map_err(located)?;
    let inputs = open_chain(&branch.verbs, &branch.files, &branch.branches, own.clone()).map_err(located)?;
    Ok(Member::new(inputs, Some(OwnChain { text: text.clone(), verbs: branch.verbs.clone(), options: own })))
}
