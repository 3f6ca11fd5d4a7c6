//! Suggests the equivalents of options of other tools.

const BACKWARD: &str = "for the next value of later records: enumerate then sort --by -index then fill-null --forward FIELDS \
                        then sort --by index then drop index";

/// Verbs, their options in other tools, and what to do here.
const OPTIONS: &[(&[&str], &[&str], &str)] = &[
    (&["sort"], &["-f", "-g", "-k", "--key", "-c", "-t"], "use --by to specify the key: sort --by FIELD"),
    (&["sort"], &["-n"], "omit -n; numbers are sorted numerically: sort --by FIELD"),
    (&["sort"], &["-R", "--random-sort"], "to shuffle records, use the verb shuffle"),
    (&["sort"], &["-nr", "-rn", "-nrk", "-rnk"], "numbers are sorted numerically: sort --by FIELD -r"),
    (&["sort"], &["-nk", "-nf"], "numbers are sorted numerically: sort --by FIELD"),
    (&["sort"], &["-rk"], "use --by to specify the key: sort --by FIELD -r"),
    (&["sort"], &["-u", "--unique"], "keep one record for each key with the verb unique: unique --by FIELD then sort --by FIELD"),
    (&["head", "tail"], &["-c"], "records are counted, not bytes: -n N"),
    (&["tail"], &["-f"], "input is read to its end; to follow a file: tail -f FILE | tatter tail --unbuffered"),
    (&["tail"], &["-r"], "to reverse the records: enumerate then sort --by -index then drop index"),
    (&["rename"], &["-r", "-g"], "names are not patterns; rename each field: rename old=new"),
    (&["diff"], &["-u"], "omit -u"),
    (&["stats"], &["--sum", "--total"], "sums are in the report as JSON: stats --as json"),
    (&["head", "tail"], &["--lines", "--limit", "--count"], "use -n for the number of records: -n N"),
    (&["count"], &["-l"], "omit -l: records are counted"),
    (&["unique"], &["-c", "--count"], "count the records of each value: count --by FIELD"),
    (&["unique"], &["-d", "--repeated"], "find values that occur more than once: count --by FIELD then filter 'count > 1'"),
    (&["unique"], &["-u"], "find values that occur once: count --by FIELD then filter 'count == 1'"),
    (&["skip"], &["-n"], "the number is a positional argument: skip N"),
    (&["sample"], &["-n"], "the number is a positional argument: sample N"),
    (&["repeat"], &["-n"], "the number is a positional argument: repeat N"),
    (&["count"], &["-d"], "count the values: count --by FIELD then count"),
    (&["window", "windows"], &["--step", "--stride", "--slide"], "did you mean --shift?"),
    (&["window"], &["--length", "--len", "-n"], "did you mean --size?"),
    (&["unique", "count"], &["--on", "--key", "--keys", "-k"], "did you mean --by?"),
    (&["lookup"], &["--on", "--by", "--key"], "the key is a positional argument: lookup KEY in TABLE"),
    (&["padded-batch", "to-dense", "bucket"], &["--pad-value", "--padding-value", "--fill-value"], "did you mean --default?"),
    (&["padded-batch", "to-dense", "bucket"], &["--padding-values", "--pad-values"], "did you mean --default?"),
    (&["padded-batch", "pack"], &["--pad", "--padding", "--pad-id", "--pad-token", "--pad-token-id"], "did you mean --default?"),
    (&["pack"], &["--eos", "--eos-id", "--sep", "--separator-id"], "did you mean --separator?"),
    (&["padded-batch", "to-dense", "bucket"], &["--padded-shapes", "--padded-shape"], "use --shape for sizes, as in --shape 'FIELD=[5]'"),
    (&["bucket"], &["--bucket-boundaries"], "did you mean --boundaries?"),
    (&["bucket"], &["--bucket-batch-sizes", "--batch-size", "--batch"], "did you mean --batch-sizes?"),
    (&["select"], &["--exclude", "--drop", "--omit"], "to leave out fields, use the verb drop: drop FIELDS"),
    (&["count"], &["--distinct", "--unique"], "count the records of each value: count --by FIELD"),
    (
        &["split"],
        &["--fractions", "--ratios", "--shares", "--proportions"],
        "use --into for the shares: split --into train=0.8,test=0.2 -o part.jsonl",
    ),
    (&["split"], &["--shuffle"], "omit it: --into assigns records by a hash, so the parts are random samples"),
    (&["filter"], &["--invert", "--not", "--exclude"], "negate the condition: filter 'not (CONDITION)'"),
    (&["shard"], &["--index", "--num-shards"], "the shard is a positional argument: shard I/N"),
    (&["batch"], &["-n", "--size", "--batch-size"], "the number is a positional argument: batch N"),
    (&["padded-batch"], &["-n", "--size", "--batch-size"], "the number is a positional argument: padded-batch N"),
    (&["to-dense"], &["--pad", "--padding"], "did you mean --default?"),
    (&["batch"], &["--pad", "--padded"], "for padded batches, use the verb padded-batch: padded-batch N"),
    (&["unique"], &["--keep"], "to keep the last record of each value: tail 1 --by FIELD"),
    (&["unique"], &["-g", "-f"], "use --by to specify the fields: unique --by FIELDS"),
    (&["count"], &["-g", "-f"], "use --by to specify the fields: count --by FIELDS"),
    (&["count"], &["-n"], "omit -n: records are counted"),
    (&["count", "stats"], &["--where", "--filter"], "select records with the verb filter: filter CONDITION then ..."),
    (&["convert", "show", "count", "select"], &["--limit"], "limit records with the verb head: head N then ..."),
    (&["convert", "count", "select"], &["--head"], "limit records with the verb head: head N then ..."),
    (&["convert", "select"], &["-n"], "limit records with the verb head: head N then ..."),
    (&["convert", "count", "show", "head", "tail"], &["--select"], "choose fields with the verb select: select FIELDS then ..."),
    (&["convert", "show", "head", "tail"], &["--fields"], "choose fields with the verb select: select FIELDS then ..."),
    (&["convert", "show", "head", "tail"], &["--exclude", "--drop"], "omit fields with the verb drop: drop FIELDS then ..."),
    (&["count"], &["--sort"], "omit it: with --by, the most frequent values come first"),
    (&["select"], &["-x", "-v"], "to keep all other fields, use the verb drop: drop FIELDS"),
    (&["map", "filter"], &["-f"], "let the shell read a file of expressions: map \"$(cat FILE)\""),
    (&["filter"], &["-x", "-v"], "negate the condition: filter 'not (CONDITION)'"),
    (&["padded-batch", "batch"], &["-f"], "choose fields with the verb select: select FIELDS then ..."),
    (&["cumsum", "windows", "explode", "implode"], &["-f"], "the field is a positional argument: FIELD"),
    (&["split", "shard"], &["-n"], "to write N files of about equal size: convert --shards N -o OUT"),
    (&["split", "shard"], &["-l"], "specify the number of files, not of lines: convert --shards FILES -o OUT"),
    (&["split", "shard"], &["-b"], "specify the number of files, not of bytes: convert --shards FILES -o OUT"),
    (&["split"], &["-d"], "omit -d: files of a sharded output are numbered: convert --shards N -o OUT"),
    (
        &["split"],
        &["--train", "--test", "--val", "--ratio", "--train-size", "--test-size", "--frac"],
        "use --into for the shares: split --into train=0.8,test=0.2 -o part.jsonl",
    ),
    (&["sample"], &["--frac", "--fraction", "--rate", "-f", "-p"], "the fraction is a positional argument: sample 0.1"),
    (&["sample"], &["--replace", "--replacement"], "no record is drawn twice: sampling is without replacement"),
    (&["shuffle", "sample"], &["-s", "--random-state"], "did you mean --seed?"),
    (
        &["filter", "take-while", "skip-while"],
        &["--where", "--filter", "--condition"],
        "the condition is a positional argument: filter CONDITION",
    ),
    (
        &["convert", "show", "head", "tail", "select"],
        &["--where", "--filter"],
        "select records with the verb filter: filter CONDITION then ...",
    ),
    (&["head", "tail", "sample", "cumsum"], &["-g", "--group", "--group-by", "--groupby", "--on", "--per"], "did you mean --by?"),
    (&["sample"], &["--stratify", "--stratify-by", "--strata", "--stratified"], "did you mean --by?"),
    (&["sample"], &["--weight", "-w", "--probs", "--p"], "did you mean --weights?"),
    (
        &["fill-null"],
        &["--method", "--strategy", "--ffill", "--pad", "-a"],
        "for the last value of earlier records, name the fields: fill-null --forward x",
    ),
    (&["fill-null"], &["--backward", "--bfill", "--backfill"], BACKWARD),
    (
        &["to-dense"],
        &["--length", "--len", "--max-length", "--max-len", "--maxlen", "--size", "--truncate", "--truncation"],
        "use --shape for sizes, as in --shape 'FIELD=[5]'",
    ),
    (&["schema"], &["--format", "--fmt", "--output-format"], "use --as for the format, as in schema --as json"),
    (&["mix"], &["--weights", "--probs"], "append each weight to its input: mix a.jsonl=0.7 b.jsonl=0.3"),
    (&["interleave"], &["--block-length"], "did you mean --block?"),
    (&["interleave"], &["--cycle-length"], "did you mean --cycle?"),
    (&["pack"], &["--max-length", "--max-len", "--maxlen", "--max_length", "--seq-length", "--seq-len"], "did you mean --length?"),
    (&["pack"], &["--drop-remainder"], "to drop rows with padding: pack ... then filter 'reduce_all(segment_ids > 0)'"),
    (&["convert"], &["-f"], "for the format of the input, use --from; to choose fields, use the verb select: select FIELDS then ..."),
    (&["show", "validate", "head", "tail", "schema"], &["-f"], "choose fields with the verb select: select FIELDS then ..."),
    (&["select"], &["--fields", "-c", "-f"], "the fields are a positional argument: select FIELDS"),
    (&["drop"], &["--fields", "-c", "-f"], "the fields are a positional argument: drop FIELDS"),
    (&["rename", "cast", "fill-null"], &["-f"], "the fields are a positional argument: a=b"),
    (&["partition"], &["--by", "--on", "-g"], "to write a file for each value, use the verb split: split --by FIELD -o part.jsonl"),
    (&["shuffle"], &["-n"], "to draw N records at random, use the verb sample: sample N"),
];

/// Options of other tools for any verb, with advice.
const GLOBAL_OPTIONS: &[(&[&str], &str)] = &[
    (
        &["-j", "-p", "--jobs", "--parallel", "--workers", "--cores", "--num-threads", "--num-workers", "--nthreads"],
        "did you mean --threads?",
    ),
    (&["--format", "--fmt"], "use --from for the input format and --to for the output format"),
    (&["-O"], "did you mean -o?"),
    (&["-t", "--output-format", "--out-format", "--ofmt"], "did you mean --to?"),
    (&["-i", "--input", "--infile", "--in-file", "--file"], "FILEs are positional arguments; use --from for their format"),
    (&["--input-format", "--ifmt", "--ft"], "did you mean --from?"),
    (&["--outfile", "--out-file", "--out"], "did you mean --output?"),
    (&["--encoding"], "input must be UTF-8; to convert text in another encoding: iconv -f cp1252 -t utf-8 FILE | tatter ... --from csv -"),
    (
        &["--dtype", "--dtypes", "--types", "--infer-types", "--no-inference"],
        "use --schema to declare types, as in --schema 'FIELD: string'",
    ),
    (&["--na-values", "--null-value", "--null-values", "--na", "--null"], "did you mean --nulls?"),
    (&["--row-group-size", "--rowgroup-size"], "did you mean --row-group-rows?"),
    (&["-z", "--codec", "--compress"], "did you mean --compression?"),
    (&["--partition-by", "--partition-cols"], "to write a file for each value, use the verb split: split --by FIELD -o part.jsonl"),
    (
        &["--parse-dates", "--try-parse-dates", "--try-parsedates", "--date-columns"],
        "use --schema to declare times, as in --schema 'FIELD: date32' or --schema 'FIELD: timestamp[us]'",
    ),
    (
        &["--comment", "--comments", "--comment-char", "--comment-prefix", "--skip-comments"],
        "to omit comment lines: grep -v '^#' FILE | tatter ... --from csv -; before a header that begins with #, as in VCF: \
         grep -v '^##' FILE | tatter ... --from tsv -",
    ),
    (&["--slurp"], "to combine all records into one, use the verb batch: batch all"),
    (&["--skip-rows", "--skiprows", "--skip-lines"], "to omit lines before the header: tail -n +2 FILE | tatter ... --from csv -"),
    (&["--nrows", "--n-rows", "--n_rows", "--max-rows"], "limit records with the verb head: head N then ..."),
    (&["--num-shards", "--nshards", "--num_shards"], "did you mean --shards?"),
    (&["--gzip", "--gz"], "did you mean --compression gzip?"),
    (&["--zstd"], "did you mean --compression zstd?"),
    (&["--cols", "--usecols", "--use-cols"], "choose fields with the verb select: select FIELDS then ..."),
    (&["--chunk-size", "--chunksize", "--batch-rows"], "did you mean --chunk-rows?"),
    (&["--drop-last"], "did you mean --drop-remainder?"),
    (&["--buffer-size"], "did you mean --buffer?"),
    (&["--batch-size"], "to combine records, use the verb batch: batch N; to set how many records are processed at a time: --chunk-rows N"),
    (&["--header"], "the first line of CSV is read as the header; to name the columns of a file without one: --columns a,b"),
    (&["--ndjson"], "use --from and --to for formats, as in --to jsonl"),
    (&["--json", "--jsonl", "--csv", "--tsv", "--parquet", "--arrow"], "use --from and --to for formats, as in --to csv"),
    (&["--icsv", "--ijson", "--ijsonl", "--itsv"], "use --from for the format of the input, as in --from csv"),
    (&["--ocsv", "--ojson", "--ojsonl", "--otsv", "--oxtab"], "use --to for the format of the output, as in --to csv"),
    (&["--pretty"], "for indented JSON: tatter ... | jq .; the verb `show` prints tensors as TensorFlow does"),
    (&["--table"], "for columns of text: --to tsv | column -t; the verb `show` prints tensors as TensorFlow does"),
    (&["--c2j", "--c2l", "--c2p", "--c2t", "--j2c", "--t2c", "--t2j"], "use --from and --to for formats, as in --from csv --to json"),
    (&["--no-color", "--no-colour"], "did you mean --color never?"),
    (
        &["--no-header", "--no-headers", "--no-header-row", "--headerless-csv-input"],
        "name the columns with --columns: the first line is then a record",
    ),
    (&["-d", "-F", "--fs", "--ifs", "--ofs", "--sep", "--separator"], "did you mean --delimiter?"),
    (&["--quotechar", "--quote-char", "--quoting", "--no-quote", "--no-quotes", "--lazy-quotes"], "did you mean --quote?"),
    (&["--overwrite"], "omit it: existing output files are replaced unless --no-clobber is given"),
    (&["--inplace"], "did you mean --in-place?"),
    (&["--append"], "let the shell append JSON Lines: tatter ... >> FILE"),
    (&["-c", "--compact", "--compact-output"], "JSON Lines output is already compact; to choose fields, use the verb select"),
    (&["-r", "--raw-output", "--raw"], "to write strings as lines, choose their field: select FIELD then rename FIELD=text --to text"),
    (&["--sort-keys", "-S"], "choose the order of fields with the verb select: select a,b then ..."),
    (
        &["--ignore-errors", "--skip-errors", "--skip-bad", "--on-bad-lines", "--skip-bad-lines", "--skip-invalid"],
        "did you mean --on-error skip?",
    ),
    (&["--rejects", "--store-rejects", "--bad-lines"], "did you mean --on-error quarantine=FILE?"),
    (&["--argjson", "--slurpfile", "--rawfile"], "use --arg NAME=VALUE for a constant, and --with NAME=FILE for an array"),
    (&["-u", "--line-buffered", "--fflush", "--flush", "--follow", "--stream"], "did you mean --unbuffered?"),
    (&["--silent"], "did you mean --quiet?"),
    (&["--debug"], "did you mean --verbose?"),
    (&["--recursive", "-R"], "specify a directory to read all files below it"),
];

/// Verbs of other tools that have no equivalent, with advice.
const VERBS: &[(&[&str], &str)] = &[
    (&["unsparsify", "regularize"], "leave it out: all records have the same fields, which may be null"),
    (&["transpose"], "records cannot become fields; to transpose a matrix in each record, use the verb map: map 'x = transpose(x)'"),
    (
        &["prefetch", "cache", "persist", "with-options", "with_options", "autotune", "repartition"],
        "leave it out: reading, computing and writing always overlap",
    ),
    (&["bootstrap"], "there is no equivalent: no record is drawn twice; to draw records at random, use the verb sample: sample N"),
    (
        &["count-similar"],
        "count first, then look up the counts: count --by FIELD -o counts.jsonl; lookup FIELD in counts.jsonl --take count",
    ),
    (&["sort-within-records"], "choose the order of fields with the verb select: select a,b"),
    (&["behead"], "to omit the header of CSV: tatter convert --to csv FILE | tail -n +2"),
    (&["tee"], "to copy the stream, use tee: tatter ... | tee FILE | tatter ..."),
    (&["from-generator", "from_generator"], "write the records to a pipe as JSON Lines: python3 SCRIPT | tatter ... -"),
];

/// Advice for a verb of another tool that has no equivalent.
pub fn of_verb(name: &str) -> Option<&'static str> {
    VERBS.iter().find(|(names, _)| names.contains(&name)).map(|(_, advice)| *advice)
}

/// Advice for an option of another tool with this verb.
pub fn of_option(verb: &str, option: &str) -> Option<&'static str> {
    let own = OPTIONS.iter().find(|(verbs, names, _)| names.contains(&option) && verbs.contains(&verb)).map(|(.., advice)| *advice);
    // `-k2` is `-k 2`, and `-d,` is `-d ,`.
    let letter = || option.get(..2).filter(|letter| *letter != "--" && option[2..].starts_with(|c: char| !c.is_ascii_alphabetic()));
    own.or_else(|| of_global_option(option)).or_else(|| letter().and_then(|letter| of_option(verb, letter)))
}

/// Advice for an option of another tool with any verb.
pub fn of_global_option(option: &str) -> Option<&'static str> {
    GLOBAL_OPTIONS.iter().find(|(names, _)| names.contains(&option)).map(|(_, advice)| *advice)
}
