//! `--compression`, as the columnar formats understand it.

use crate::error::{Error, Result};
use crate::options::Options;

/// How pages or buffers are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    None,
    Snappy,
    /// With a level.
    Zstd(i32),
    Gzip,
    Lz4,
}

/// The level of zstd where none is given.
const ZSTD_LEVEL: i32 = 1;

impl Codec {
    /// What `--compression` says; `default` without it.
    ///
    /// # Errors
    /// An unknown name, a level out of range.
    pub fn from_options(options: &Options, default: Codec) -> Result<Codec> {
        let Some(text) = &options.compression else { return Ok(default) };
        let (name, level) = match text.split_once(':') {
            Some((name, level)) => (name, Some(level)),
            None => (text.as_str(), None),
        };
        let codec = match name {
            "none" => Codec::None,
            "snappy" => Codec::Snappy,
            "gzip" => Codec::Gzip,
            "lz4" => Codec::Lz4,
            "zstd" => Codec::Zstd(match level {
                None => ZSTD_LEVEL,
                Some(level) => level
                    .parse()
                    .ok()
                    .filter(|level| (1..=22).contains(level))
                    .ok_or_else(|| Error::usage(format!("--compression {text}: zstd has the levels 1 to 22")))?,
            }),
            _ => return Err(Error::usage(format!("--compression {text} is unknown")).help("none, snappy, zstd, zstd:LEVEL, gzip or lz4")),
        };
        if level.is_some() && name != "zstd" {
            return Err(Error::usage(format!("--compression {text}: only zstd has levels")));
        }
        Ok(codec)
    }
}
