//! Commands with odd settings: each is refused with the option or the key that is wrong, or gives a
//! model that labels.

use crate::harness::{Place, Right, each};

/// Commands, and words of the error.
const REFUSED: &[(&str, &str)] = &[
    ("train", "the following required arguments were not provided:"),
    ("train --format crfsuite", "the following required arguments were not provided:"),
    ("train --format crfsuite --data d.crfsuite", "the following required arguments were not provided:"),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --threads 0",
        "expected a whole number from 1 to 1024",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --learner as-selected",
        "2 labelled sequences are too few to set a fifth aside",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --threads 1000000000",
        "expected a whole number from 1 to 1024",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --learner {type=\"neural-chain\",hidden=[65536,65536]}",
        "memory",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --tune learner.l2=1,2 --tune-by chunk-f1 --folds 2",
        "`chunk-f1` needs labels of chunks",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --threads -1",
        "unexpected argument '-1' found",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --threads 18446744073709551616",
        "expected a whole number from 1 to 1024",
    ),
    ("train --format crfsuite --data d.crfsuite --model new.crf --seed -1", "unexpected argument '-1' found"),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --seed 1e3",
        "invalid value '1e3' for '--seed <N>': invalid digit found in string",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --patience 3",
        "needs holdout data: --holdout FILE or --holdout-fraction SHARE",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --holdout d.crfsuite --holdout-fraction 0.5",
        "the argument '--holdout <FILE>' cannot be used with '--holdout-fraction <SHARE>'",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --holdout-fraction 0",
        "must be between 0 and 1",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --holdout-fraction 1",
        "must be between 0 and 1",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --holdout-fraction nan",
        "must be between 0 and 1",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --holdout-fraction -0.5",
        "unexpected argument '-0' found",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --set learner.l2=nan",
        "`l2` must be a finite number of at least 0",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --set learner.l2=inf",
        "`l2` must be a finite number of at least 0",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --set learner.l2=true",
        "invalid type: boolean `true`, expected f64",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --set learner.l2=[1]",
        "invalid type: sequence, expected f64",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --set learner.l2={}",
        "invalid type: map, expected f64",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --set learner.l2=",
        "invalid type: string \"\", expected f64",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --set =1",
        "`` is not a dotted key such as `dataset.copies`",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --set .=1",
        "`.` is not a dotted key such as `dataset.copies`",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --set learner..l2=1",
        "`learner..l2` is not a dotted key such as `dataset.copies`",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --set learner.=1",
        "`learner.` is not a dotted key such as `dataset.copies`",
    ),
    ("train --format crfsuite --data d.crfsuite --model new.crf --set learner={}", "missing field `type`"),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --set learner=1",
        "invalid type: integer `1`, expected a plugin: its name, or a table with a `type`",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --set learner=[]",
        "invalid type: sequence, expected a plugin: its name, or a table with a `type`",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --set learner.type=perceptron",
        "unknown key `l1`",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --set features=[]",
        "d.crfsuite: none of the features applies to the data, so there is nothing to train",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --features []",
        "d.crfsuite: none of the features applies to the data, so there is nothing to train",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --features {}",
        "invalid type: map, expected a sequence",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --features 1",
        "invalid type: map, expected a sequence",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --features [1]",
        "invalid type: integer `1`, expected a feature: `intercept`, `transition`, `start`, or a ta",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --features [[]]",
        "invalid type: sequence, expected a feature: `intercept`, `transition`, `start`, or a table",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --features [{}]",
        "a feature has either `state` (with an optional `kind`) or `transition` (with an optional `",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --features [{state={type=\"lag\",by=[],of=\"attributes\"}}]",
        "`by` must be a list of at least one lag",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --features [{state={type=\"power\",degrees=[0],of=\"attributes\"}}]",
        "`degrees` must be a list of whole numbers from 1 to 64",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --features [{state={type=\"power\",degrees=[4000000000],of=\"attributes\"}}]",
        "`degrees` must be a list of whole numbers from 1 to 64",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --features [{state={type=\"power\",degrees=[],of=\"attributes\"}}]",
        "`degrees` must be a list of whole numbers from 1 to 64",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --features [{state={type=\"conjunction\",of=[]}}]",
        "`of` must be a list of two or more prototypes",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --features [{state={type=\"threshold\",of=\"attributes\",thresholds=[]}}]",
        "unknown key `thresholds`",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --features [{state={type=\"relational\",rules=[\"(\"]}}]",
        "column 2 of `(`: expected a number, a name, or `(`",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --features [{state={type=\"template\",templates=[\"U:%x[0,0\"]}}]",
        "`templates` must be templates with macros such as `%x[-1,0]`, `%t[0,0,\"\\u\"]` or `%m[0,0,\"^",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --constraints nonsense",
        "unknown name `nonsense`",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --constraints bio",
        "d.crfsuite: `constraints` must be a scheme whose labels the data have: `O`, `B-…` and `I-…",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --constraints {forbid=[[\"A\",\"Z\"]]}",
        "d.crfsuite: constraints: unknown label `Z`, did you mean `A`?",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --constraints {forbid=[[\"A\"]]}",
        "invalid length 1, expected a tuple of size 2",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --constraints {forbid=[[\"A\",\"B\"]]}",
        "d.crfsuite: sequence 1: position 2: `B` may not follow `A`, say the constraints",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --constraints {never_first=[\"A\",\"B\"]}",
        "d.crfsuite: sequence 1: no sequence may begin with `A`, say the constraints",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --constraints {never_last=[\"A\"]}",
        "d.crfsuite: sequence 2: no sequence may end with `A`, say the constraints",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --set inference=nonsense",
        "unknown name `nonsense`",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --set inference=icm",
        "`decode = \"posterior\"` needs marginals, `viterbi` does not: `icm` finds a labelling, not m",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --set inference={type=\"gibbs\",samples=0}",
        "`samples` must be at least 1",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --set selector=nonsense",
        "unknown name `nonsense`",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --set decode=nonsense",
        "unknown name `nonsense`",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --learner svc",
        "d.crfsuite: `svc` gives every function a weight for every label, but `a` has only some; us",
    ),
    ("train --format crfsuite --data d.crfsuite --model new.crf --learner fixed", "missing field `weights`"),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --learner label-weighted",
        "missing field `learner`",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --learner {type=\"mle\",stop={delta=-1}}",
        "`delta` must be a finite number of at least 0",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --learner {type=\"mle\",optimizer={type=\"lbfgs\",memory=0}}",
        "`memory` must be at least 1",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --learner {type=\"mle\",optimizer={type=\"sgd\",rate=0}}",
        "`rate` must be a finite number above 0",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --learner {type=\"mle\",optimizer=\"lbfgs\",l1=1}",
        "`optimizer` must be `owl-qn`, or another that takes an ℓ1 penalty",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --learner {type=\"perceptron\",epochs=0}",
        "`epochs` must be at least 1",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --learner {type=\"neural-chain\",hidden=[0]}",
        "`hidden` must be sizes from 1 to 65536",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --learner {type=\"gradient-tree-boosting\",rounds=0}",
        "`rounds` must be at least 1",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --learner {type=\"ssvm-one-slack\",c=-1}",
        "`c` must be a finite number above 0",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --learner {type=\"ssvm-frank-wolfe\",c=0}",
        "`c` must be a finite number above 0",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --learner {type=\"arow\",r=0}",
        "unknown key `r`",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --learner {type=\"best-of\",learners=[]}",
        "`learners` must be at least one learner",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --tune learner.l2=",
        "tuning needs a list of at least two values",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --tune learner.l2=1,nan",
        "`l2` must be a finite number of at least 0",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --tune learner.nothing=1,2",
        "unknown key `learner.nothing`",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --tune learner.l2=1,2 --folds 1",
        "`folds` must be at least 2",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --tune learner.l2=1,2 --folds 4000000000",
        "d.crfsuite: 4000000000 folds need as many sequences",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --tune learner.l2=1,2 --tune-by nonsense",
        "unknown name `nonsense`",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --folds 3",
        "the options:1:1: nothing to tune: expected keys with lists of values, such as `--tune lear",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --warm-start d.crfsuite",
        "d.crfsuite: not a model file: it does not begin with `CRFMODEL`",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --template d.crfsuite",
        "d.crfsuite:1:1: expected a template, which begins with `U`, `B` or `*`, or a comment after",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model new.crf --template m.crf",
        "m.crf: stream did not contain valid UTF-8",
    ),
    (
        "train --format crfsuite --data d.crfsuite --model ",
        "a value is required for '--model <MODEL>' but none was supplied",
    ),
    ("train --format crfsuite --data m.crf --model new.crf", "m.crf:1:13: expected UTF-8"),
    ("train --format csv --data m.crf --model new.crf", "m.crf:1:13: expected UTF-8"),
    ("train --format jsonl --data m.crf --model new.crf", "m.crf:1:13: expected UTF-8"),
    ("train --format conll --data m.crf --model new.crf", "m.crf:1:13: expected UTF-8"),
    ("train m.crf --data d.crfsuite --model new.crf", "m.crf: stream did not contain valid UTF-8"),
    ("train t.csv --data d.crfsuite --model new.crf", "t.csv:1:2: key with no value, expected `=`"),
    (
        "train --format {type=\"crfsuite\"} --data d.crfsuite --model new.crf --set format.type=csv",
        "unknown key `labelled`",
    ),
    (
        "train --format {type=\"crfsuite\",type=\"csv\"} --data d.crfsuite --model new.crf",
        "neither TOML nor JSON: key must be a string at line 1 column 2",
    ),
    ("train --format {} --data d.crfsuite --model new.crf", "missing field `type`"),
    (
        "train --format csv --data t.csv --model new.crf --set format.separator=",
        "invalid value: string \"\", expected a character",
    ),
    ("tag", "the following required arguments were not provided:"),
    (
        "tag --model m.crf --batch 0 d.crfsuite",
        "invalid value '0' for '--batch <N>': number would be zero for non-zero type",
    ),
    ("tag --model m.crf --batch -1 d.crfsuite", "unexpected argument '-1' found"),
    (
        "tag --model m.crf --nbest 0 d.crfsuite",
        "invalid value '0' for '--nbest <K>': number would be zero for non-zero type",
    ),
    ("tag --model m.crf --decode nonsense d.crfsuite", "invalid value 'nonsense' for '--decode <HOW>'"),
    ("tag --model m.crf --format csv d.crfsuite", "d.crfsuite:1: unknown column `label`"),
    ("tag --model m.crf --format csv t.csv", "t.csv:1:x: expected the columns `attributes`"),
    ("tag --model m.crf --set learner.l2=1 d.crfsuite", "unknown key `learner`"),
    ("tag --model m.crf --set format.type=csv d.crfsuite", "unknown key `labelled`"),
    (
        "tag --model m.crf --constraints bio d.crfsuite",
        "`constraints` must be a scheme whose labels the data have: `O`, `B-…` and `I-…` for `bio`",
    ),
    (
        "tag --model m.crf --constraints {never_first=[\"A\",\"B\"]} d.crfsuite",
        "d.crfsuite: sequence 1: infeasible: every labelling has a potential of −∞",
    ),
    (
        "tag --model m.crf --constraints {never_first=[\"Z\"]} d.crfsuite",
        "unknown label `Z`, did you mean `A`?",
    ),
    (
        "tag --model m.crf --marginals --nbest 2 d.crfsuite",
        "the argument '--marginals' cannot be used with '--nbest <K>'",
    ),
    ("tag --model d.crfsuite d.crfsuite", "d.crfsuite: not a model file: it does not begin with `CRFMODEL`"),
    ("tag --model m.crf m.crf", "m.crf:1:13: expected UTF-8"),
    ("tag --model m.crf nowhere", "nowhere: No such file or directory (os error 2)"),
    ("tag --model m.crf .", ".: Is a directory (os error 21)"),
    ("tag --model m.crf d.crfsuite d.crfsuite", "unexpected argument 'd.crfsuite' found"),
    ("eval --model m.crf", "the following required arguments were not provided:"),
    ("eval --model m.crf --data .", ".: Is a directory (os error 21)"),
    (
        "eval --model m.crf --data d.crfsuite --constraints {never_first=[\"A\",\"B\"]}",
        "d.crfsuite: sequence 1: infeasible: every labelling has a potential of −∞; allow more labe",
    ),
    ("inspect", "the following required arguments were not provided:"),
    ("inspect --model m.crf --top -1", "unexpected argument '-1' found"),
    (
        "inspect --model m.crf --top 18446744073709551616",
        "invalid value '18446744073709551616' for '--top <N>': number too large to fit in target ty",
    ),
    ("inspect --model .", ".: expected a model file: Is a directory (os error 21)"),
    ("convert --from crfsuite --to crfsuit d.crfsuite", "unknown name `crfsuit`, did you mean `crfsuite`?"),
    (
        "convert --from crfsuite --to csv d.crfsuite",
        "`csv` cannot hold channel `attributes` of bags of attributes; `crfsuite` and `jsonl` can",
    ),
    ("convert --from crfsuite --to jsonl nowhere", "nowhere: No such file or directory (os error 2)"),
    ("convert --from crfsuite --to jsonl .", ".: Is a directory (os error 21)"),
    (
        "convert --from crfsuite --to jsonl d.crfsuite d.crfsuite",
        "would be written over d.crfsuite, which is the input",
    ),
    (
        "convert --from crfsuite --to jsonl d.crfsuite ./d.crfsuite",
        "would be written over d.crfsuite, which is the input",
    ),
    (
        "convert --from crfsuite --to jsonl d.crfsuite nowhere/x",
        "nowhere/x: cannot be written: No such file or directory (os error 2)",
    ),
    (
        "convert --from {type=\"crfsuite\",labelled=1} --to jsonl d.crfsuite",
        "invalid type: integer `1`, expected a boolean",
    ),
    ("infer --with nonsense d.crfsuite", "unknown name `nonsense`"),
    ("infer d.crfsuite", "d.crfsuite:1:1: expected valid JSON"),
    ("infer --threads 0 d.crfsuite", "expected a whole number from 1 to 1024"),
    ("infer --set damping=2 d.crfsuite", "`damping` must be at least 0 and below 1"),
    ("infer --set damping=nan d.crfsuite", "`damping` must be at least 0 and below 1"),
    ("infer --with gibbs --set samples=0 d.crfsuite", "`samples` must be at least 1"),
    ("infer --with gibbs --set nothing=0 d.crfsuite", "unknown key `nothing`"),
    ("infer .", ".: Is a directory (os error 21)"),
    ("infer nowhere", "nowhere: No such file or directory (os error 2)"),
    ("explain", "the following required arguments were not provided:"),
    ("explain nothing", "explain: unknown kind `nothing`"),
    ("explain learner mel", "explain: unknown learner `mel`, did you mean `mle`?"),
    ("explain lerner", "explain: unknown kind `lerner`, did you mean `learner`?"),
    ("list lerner", "list: unknown kind `lerner`, did you mean `learner`?"),
    ("show nothing", "unknown name `nothing`"),
    ("show tag --frames 0", "invalid value '0' for '--frames <N>': number would be zero for non-zero type"),
    ("show tag --from 4000000000", "expected a frame below 72000"),
    ("show tag --rate 0", "invalid value '0' for '--rate <N>': number would be zero for non-zero type"),
    ("show tag --rate nan", "invalid value 'nan' for '--rate <N>': invalid digit found in string"),
    ("show tag --set source.nothing=1", "unknown key `source.nothing`"),
    ("show tag --model m.crf", "`crfsuite` cannot hold channel `robot1.x` of real numbers; `csv` can"),
    ("experiment", "the following required arguments were not provided:"),
    ("experiment nowhere.toml", "nowhere.toml: No such file or directory (os error 2)"),
    ("experiment m.crf", "m.crf: stream did not contain valid UTF-8"),
    ("experiment .", ".: Is a directory (os error 21)"),
    ("experiment t.csv", "t.csv:1:2: key with no value, expected `=`"),
    ("experiment e.toml --set trials=0 --out o", "`trials` must be at least 1"),
    ("experiment e.toml --set trials=-1 --out o", "invalid value: integer `-1`, expected u32"),
    (
        "experiment e.toml --set trials=4294967296 --out o",
        "invalid value: integer `4294967296`, expected u32",
    ),
    ("experiment e.toml --set trails=1 --out o", "unknown key `trails`, did you mean `trials`?"),
    ("experiment e.toml --set sweep={} --out o", "unknown sweep key `dataset.copies`"),
    (
        "experiment e.toml --set sweep.nothing=[1] --out o",
        "a sweep goes over settings of `dataset` and `methods`, not `nothing`",
    ),
    ("experiment e.toml --set methods={} --out o", "an experiment needs at least one method"),
    ("experiment e.toml --set metrics=[] --out o", "an experiment needs at least one metric"),
    ("experiment e.toml --set metrics=[\"eror\"] --out o", "unknown name `eror`, did you mean `error`?"),
    ("experiment e.toml --set dataset.copies=0 --out o", "`copies` must be at least 1"),
    (
        "experiment e.toml --shard 0/2 --out o",
        "invalid value '0/2' for '--shard <I/N>': expected a part and the number of parts, such as ",
    ),
    (
        "experiment e.toml --shard 3/2 --out o",
        "invalid value '3/2' for '--shard <I/N>': expected a part and the number of parts, such as ",
    ),
    (
        "experiment e.toml --shard 1/0 --out o",
        "invalid value '1/0' for '--shard <I/N>': expected a part and the number of parts, such as ",
    ),
    (
        "experiment e.toml --shard x --out o",
        "invalid value 'x' for '--shard <I/N>': expected a part and the number of parts, such as 1/",
    ),
    ("experiment e.toml --out e.toml", "Not a directory (os error 20)"),
    ("experiment e.toml --out .", "the directory holds something else than a run's results"),
    ("experiment e.toml --out /proc/nothing", "No such file or directory (os error 2)"),
    ("merge e.toml", "the following required arguments were not provided:"),
    ("merge e.toml nowhere --out o", "nowhere/journal: No such file or directory (os error 2)"),
    ("merge e.toml . --out o", "./journal: No such file or directory (os error 2)"),
    ("check nowhere.toml", "nowhere.toml: No such file or directory (os error 2)"),
    ("check t.csv", "t.csv:1:2: key with no value, expected `=`"),
    ("check .", ".: Is a directory (os error 21)"),
    ("schema nothing", "unexpected argument 'nothing' found"),
    ("report --results nowhere", "nowhere"),
    ("data get nothing", "data: unknown data set `nothing`"),
    ("nonsense", "unrecognized subcommand 'nonsense'"),
    ("trian", "unrecognized subcommand 'trian'"),
    ("--nonsense", "unexpected argument '--nonsense' found"),
];

/// Options of trainings that look odd and are right.
const TAKEN: &[&str] = &[
    "--patience 0",
    "--set learner.l2=1e308",
    "--features [\"transition\",\"transition\"]",
    "--features [{state={type=\"window\",before=4000000000,of=\"attributes\"}}]",
    "--features [{state={type=\"lag\",by=[0],of=\"attributes\"}}]",
    "--features [{state={type=\"lag\",by=[9223372036854775807],of=\"attributes\"}},\"transition\"]",
    "--features [{state={type=\"lag\",by=[-9223372036854775808],of=\"attributes\"}},\"transition\"]",
    "--features [{state={type=\"normalised\",of=\"one\"}}]",
    "--learner {type=\"mle\",stop={iterations=0}}",
    "--learner {type=\"mle\",optimizer={type=\"sgd\",rate=1e300}}",
    "--learner {type=\"mle\",optimizer={type=\"adam\",rate=1e300}}",
    "--learner {type=\"in-part\"}",
];

fn place(name: &str) -> Place {
    let place = Place::new(name);
    place.write("d.crfsuite", "A\ta:1\tb:2\nB\tb:0.5\n\nA\tc\n");
    place.write("t.csv", "x,label\n1,a\n2,b\n3,a\n4,b\n");
    place.write("e.toml", include_str!("../copies.toml"));
    let line = "train --format crfsuite --data d.crfsuite --model m.crf --set learner.l2=1";
    assert_eq!(place.run(&words(line), &["m.crf"]).code, 0);
    place
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

#[test]
fn odd_settings_are_refused() {
    let place = place("settings");
    each(REFUSED, |(line, right)| place.run(&words(line), &[]).is(Right::Refused(right), line));
}

#[test]
fn a_training_with_odd_settings_gives_a_model_that_labels() {
    let place = place("taken");
    each(TAKEN, |options| {
        let train = format!("train --format crfsuite --data d.crfsuite --model new.crf {options}");
        let outcome = place.run(&words(&train), &["new.crf"]);
        assert_eq!(outcome.code, 0, "{train}: {outcome:?}");
        let tagged = place.run(&words("tag --model new.crf --marginals d.crfsuite"), &[]);
        assert_eq!(tagged.code, 0, "{train}: {tagged:?}");
        let lines: Vec<&str> = tagged.stdout.lines().collect();
        assert_eq!(lines.len(), 5, "{train}: {tagged:?}");
        for line in lines.iter().filter(|line| !line.is_empty()) {
            let p = line.split('\t').skip(1).map(|field| field[2..].parse::<f64>().expect("a probability"));
            assert!((p.sum::<f64>() - 1.0).abs() < 1e-5, "{train}: {tagged:?}");
        }
    });
}
