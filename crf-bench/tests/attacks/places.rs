//! Hostile places: devices, pipes, links, full disks, closed outputs, and files where directories
//! should be.

use std::fs;
use std::os::unix::fs::symlink;

use crate::harness::Right::{Prints, Refused};
use crate::harness::{Place, Right, each};

/// Scripts in a directory with data `d`, a model `m.crf`, a named pipe `pipe`, a link `link` to
/// `target`, a link `loop` to itself and a link `lost` to nothing; the files that they make; what
/// is right.
const SCRIPTS: &[(&str, &[&str], Right)] = &[
    // Models are read from wherever they come.
    ("\"$CRF\" tag --model <(cat m.crf) d", &[], Prints("A\nB\n\nA\n\n")),
    ("\"$CRF\" tag --model /dev/stdin d < m.crf", &[], Prints("A\nB\n\nA\n\n")),
    ("\"$CRF\" tag --model <(head -c 100 m.crf) d", &[], Refused("truncated")),
    ("\"$CRF\" tag --model <(head -c 7 m.crf) d", &[], Refused("")),
    ("\"$CRF\" tag --model <(cat m.crf; echo) d", &[], Refused("damaged")),
    ("\"$CRF\" tag --model <(cat m.crf m.crf) d", &[], Refused("damaged")),
    ("\"$CRF\" tag --model /dev/null d", &[], Refused("empty")),
    ("\"$CRF\" tag --model /dev/zero d", &[], Refused("not a model file")),
    ("\"$CRF\" tag --model loop d", &[], Refused("loop")),
    ("\"$CRF\" tag --model lost d", &[], Refused("lost")),
    // So are data.
    ("\"$CRF\" tag --model m.crf < d", &[], Prints("A\nB\n\nA\n\n")),
    ("cat d | \"$CRF\" tag --model m.crf -", &[], Prints("A\nB\n\nA\n\n")),
    ("\"$CRF\" tag --model m.crf <(cat d)", &[], Prints("A\nB\n\nA\n\n")),
    ("gzip -c d | \"$CRF\" tag --model m.crf", &[], Prints("A\nB\n\nA\n\n")),
    ("gzip -c d | head -c 20 | \"$CRF\" tag --model m.crf", &[], Refused("standard input")),
    ("cat <(gzip -c d) d | \"$CRF\" tag --model m.crf", &[], Refused("standard input")),
    ("cat <(gzip -c d) <(echo) <(gzip -c d) | \"$CRF\" tag --model m.crf", &[], Refused("standard input")),
    ("\"$CRF\" tag --model m.crf < /dev/null", &[], Refused("empty")),
    ("\"$CRF\" tag --model m.crf <&-", &[], Refused("standard input")),
    ("\"$CRF\" tag --model m.crf loop", &[], Refused("loop")),
    ("\"$CRF\" tag --model m.crf lost", &[], Refused("lost")),
    ("\"$CRF\" tag --model m.crf d/", &[], Refused("d/")),
    ("\"$CRF\" tag --model m.crf ''", &[], Refused("")),
    ("\"$CRF\" tag --model m.crf $'\\e[31mred'", &[], Refused("No such file")),
    ("\"$CRF\" tag --model $'two\\nlines' d", &[], Refused("No such file")),
    ("\"$CRF\" tag --model m.crf $'\\xff'", &[], Refused("")),
    ("\"$CRF\" train --format crfsuite --data $'\\e[31mred' --model new.crf", &[], Refused("No such file")),
    ("\"$CRF\" train --format $'\\e[31mred' --data d --model new.crf", &[], Refused("unknown name")),
    (
        "\"$CRF\" train --format crfsuite --data d --model new.crf --set $'learner.\\e[31m=1'",
        &[],
        Refused(""),
    ),
    ("\"$CRF\" explain learner $'\\e[31mred'", &[], Refused("unknown learner")),
    // What cannot be printed is no success.
    ("\"$CRF\" tag --model m.crf d > /dev/full", &[], Refused("No space left")),
    ("\"$CRF\" eval --model m.crf --data d > /dev/full", &[], Refused("No space left")),
    ("\"$CRF\" inspect --model m.crf > /dev/full", &[], Refused("No space left")),
    ("\"$CRF\" list > /dev/full", &[], Refused("No space left")),
    ("\"$CRF\" explain learner mle > /dev/full", &[], Refused("No space left")),
    ("\"$CRF\" schema > /dev/full", &[], Refused("No space left")),
    ("\"$CRF\" convert --from crfsuite --to jsonl d > /dev/full", &[], Refused("No space left")),
    ("\"$CRF\" infer g.jsonl > /dev/full", &[], Refused("No space left")),
    ("\"$CRF\" --help > /dev/full", &[], Refused("No space left")),
    ("\"$CRF\" --version > /dev/full", &[], Refused("No space left")),
    // A closed output is opened as /dev/null before the program begins.
    ("\"$CRF\" tag --model m.crf d >&-", &[], Prints("")),
    ("\"$CRF\" eval --model m.crf --data d >&-", &[], Prints("")),
    ("\"$CRF\" inspect --model m.crf >&-", &[], Prints("")),
    ("\"$CRF\" list >&-", &[], Prints("")),
    ("\"$CRF\" infer g.jsonl >&-", &[], Prints("")),
    // A reader who leaves is no error.
    ("\"$CRF\" tag --model m.crf d | true; exit ${PIPESTATUS[0]}", &[], Prints("")),
    ("\"$CRF\" list | true; exit ${PIPESTATUS[0]}", &[], Prints("")),
    // Outputs follow links and keep devices and pipes what they are.
    ("\"$CRF\" convert --from crfsuite --to jsonl d link", &["target"], Prints("")),
    ("\"$CRF\" convert --from crfsuite --to crfsuite d /dev/null", &[], Prints("")),
    ("\"$CRF\" convert --from crfsuite --to crfsuite d /dev/full", &[], Refused("No space left")),
    (
        "cat pipe & \"$CRF\" convert --from crfsuite --to crfsuite d pipe; code=$?; wait; exit $code",
        &[],
        Prints("A\ta\tb:2.0\nB\tb:0.5\n\nA\tc\n\n"),
    ),
    ("\"$CRF\" convert --from crfsuite --to crfsuite d loop", &[], Refused("loop")),
    ("\"$CRF\" convert --from crfsuite --to crfsuite d folder", &[], Refused("directory")),
    ("\"$CRF\" convert --from crfsuite --to crfsuite d d/x", &[], Refused("d/x")),
    ("\"$CRF\" convert --from crfsuite --to crfsuite d ''", &[], Refused("")),
    ("\"$CRF\" convert --from crfsuite --to crfsuite d link2", &[], Refused("written over")),
    ("\"$CRF\" convert --from crfsuite --to crfsuite d hard", &[], Refused("written over")),
    ("\"$CRF\" convert --from crfsuite --to crfsuite - d < d", &[], Refused("written over")),
    ("\"$CRF\" train --format crfsuite --data d --model /dev/full --set learner.l2=1", &[], Refused("")),
    ("\"$CRF\" train --format crfsuite --data d --model folder", &[], Refused("directory")),
    ("\"$CRF\" train --format crfsuite --data d --model folder/", &[], Refused("directory")),
    ("\"$CRF\" train --format crfsuite --data d --model ..", &[], Refused("directory")),
    ("\"$CRF\" train --format crfsuite --data d --model loop", &[], Refused("loop")),
    ("\"$CRF\" train --format crfsuite --data d --model link2", &[], Refused("written over")),
    ("\"$CRF\" train --format crfsuite --data d --model new.crf --trace d", &[], Refused("written over")),
    (
        "\"$CRF\" train --format crfsuite --data d --model new.crf --trace new.crf",
        &[],
        Refused("written over"),
    ),
    (
        "\"$CRF\" train --format crfsuite --data d --model m.crf --warm-start m.crf --trace m.crf",
        &[],
        Refused("written over"),
    ),
    ("\"$CRF\" train --format crfsuite --data d --model new.crf --trace folder", &[], Refused("directory")),
    ("\"$CRF\" train --format crfsuite --data d --model new.crf --trace /dev/full", &[], Refused("")),
    ("\"$CRF\" train --format crfsuite --data - --model d < d", &[], Refused("written over")),
    ("\"$CRF\" train --format crfsuite --data - --holdout - --model new.crf < d", &[], Refused("-:1:1")),
    ("\"$CRF\" train - --data d --model new.crf < d", &[], Refused("")),
    ("\"$CRF\" show weather --out d/x.svg", &[], Refused("d/x.svg")),
    ("\"$CRF\" show weather --out folder", &[], Refused("directory")),
    ("\"$CRF\" show weather --out w.svg --export w.svg", &[], Refused("written over")),
    ("\"$CRF\" show weather --out /dev/full", &[], Refused("No space left")),
    ("\"$CRF\" experiment e.toml --out d", &[], Refused("d")),
    ("\"$CRF\" experiment e.toml --out loop", &[], Refused("loop")),
    ("\"$CRF\" experiment e.toml --out folder", &[], Refused("something else")),
    ("\"$CRF\" experiment e.toml --out diary", &[], Refused("something else")),
    ("\"$CRF\" merge e.toml diary --out new", &[], Refused("journal")),
    ("\"$CRF\" merge e.toml folder --out new", &[], Refused("folder")),
    ("\"$CRF\" report --results folder --out e.toml", &[], Refused("")),
    ("CRF_DATA=d \"$CRF\" data get conll2000", &[], Refused("d")),
];

#[test]
fn hostile_places_lose_nothing() {
    let place = Place::new("places");
    place.write("d", "A\ta:1\tb:2\nB\tb:0.5\n\nA\tc\n");
    place.write("target", "old");
    place.write("g.jsonl", "{\"cards\":[2],\"node\":[[0,1]]}\n");
    place.write("e.toml", include_str!("../copies.toml"));
    let train = "train --format crfsuite --data d --model m.crf --set learner.l2=1";
    assert_eq!(place.run(&train.split(' ').collect::<Vec<_>>(), &["m.crf"]).code, 0);
    for folder in ["folder", "diary", "folder/.git"] {
        fs::create_dir(place.path(folder)).expect("a folder");
    }
    place.write("folder/.env", "KEY=1");
    place.write("folder/notes", "mine");
    place.write("diary/journal", "my diary");
    fs::hard_link(place.path("d"), place.path("hard")).expect("a link");
    for (link, target) in [("link", "target"), ("link2", "d"), ("loop", "loop"), ("lost", "nothing")] {
        symlink(target, place.path(link)).expect("a link");
    }
    assert_eq!(place.script("mkfifo pipe", &["pipe"]).code, 0);
    each(SCRIPTS, |(script, made, right)| place.script(script, made).is(*right, script));
}
