//! `--manifest FILE`: lists the files written, as JSON. It is renamed to its final name after them.

use super::sink::Counts;
use crate::error::{Error, Result};
use crate::io::{Distribution, Outputs, Written, manifest_head};
use crate::options::Options;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The output for the list of files.
pub struct Manifest {
    /// The file itself.
    pub output: Arc<Outputs>,
    directory: PathBuf,
}

/// The files of one run.
pub struct Listed {
    /// The outputs, in order. Their files are numbered consecutively.
    pub outputs: Vec<Arc<Outputs>>,
    /// The name of their format.
    pub format: &'static str,
    /// Record counts by file number; empty if each record is a separate file.
    pub records: BTreeMap<u64, u64>,
}

impl Manifest {
    /// The manifest of `--manifest`; `None` without that option.
    ///
    /// # Errors
    /// See [`Outputs::plan`]. Also an error if nothing is written except to standard output.
    pub fn plan(options: &Options) -> Result<Option<Manifest>> {
        let Some(name) = &options.manifest else { return Ok(None) };
        let own = Options { output: Some(name.clone()), shards: None, manifest: None, ..options.clone() };
        let output = Arc::new(Outputs::plan(&own)?);
        let directory = Path::new(name).parent().unwrap_or(Path::new("")).to_owned();
        Ok(Some(Manifest { output, directory }))
    }

    /// Rejects outputs that cannot be listed.
    ///
    /// # Errors
    /// Standard output, or the manifest itself.
    pub fn refuse(&self, outputs: &[Arc<Outputs>]) -> Result<()> {
        if outputs.iter().any(|output| output.is_stdout()) {
            return Err(
                Error::usage("--manifest lists files, but the output goes to standard output").help("specify an output file with -o")
            );
        }
        match outputs.iter().any(|output| output.overlaps(&self.output)) {
            true => {
                let error = Error::usage("the manifest would replace an output").in_input(self.output.name().clone());
                Err(error.help("write to another file"))
            }
            false => Ok(()),
        }
    }

    /// Writes the list, without renaming it to its final name.
    ///
    /// # Errors
    /// Writing fails.
    pub fn write(&self, listed: &[Listed], counts: &Counts) -> Result<()> {
        let mut lines = Vec::new();
        let mut nbytes = 0;
        let outputs = listed.iter().flat_map(|run| {
            let firsts = run.outputs.iter().scan(0, |next, output| Some(std::mem::replace(next, *next + output.nfiles())));
            run.outputs.iter().zip(firsts).map(move |(output, first)| (run, output, first))
        });
        for (Listed { format, records, .. }, output, first) in outputs {
            for Written { path, number, nbytes: size, sha256 } in output.written()? {
                nbytes += size;
                let name = path.strip_prefix(&self.directory).unwrap_or(&path);
                let name = name.strip_prefix(".").unwrap_or(name).display().to_string();
                let of_none = u64::from(output.distribution() == Distribution::PerRecord);
                let records = records.get(&(first + number)).copied().unwrap_or(of_none);
                lines.push(json!({"name": name, "format": format, "records": records, "bytes": size, "sha256": sha256}).to_string());
            }
        }
        let list = format!("{}    {}\n  ]\n}}\n", manifest_head(counts.records_out, nbytes), lines.join(",\n    "));
        let mut file = self.output.create_report()?;
        file.write_all(list.as_bytes()).map_err(|e| Error::io(self.output.name(), "cannot write", &e))
    }
}
