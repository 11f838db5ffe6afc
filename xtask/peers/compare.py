"""Our toolkit beside CRFsuite and scikit-learn: the same attribute files, one run, every measure as a ratio.

Started by `cargo xtask compare`. Each training and tagging is a process of its own, whose time and peak memory are
taken when it ends; ours and theirs take turns, so that what else the machine does hits both.
"""

import argparse
import importlib.util
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import time
import venv

from chunking import evaluate, read_labels, write_attributes

HERE = pathlib.Path(__file__).parent
# On macOS the system counts bytes, elsewhere KiB.
RSS_UNIT = 1 if sys.platform == "darwin" else 1024


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ours", required=True, help="our program")
    parser.add_argument("--work", required=True, type=pathlib.Path, help="where packages, data and models are kept")
    parser.add_argument("--iterations", type=int, help="iterations of L-BFGS, and epochs of the perceptron")
    parser.add_argument("--dense", action="store_true", help="every attribute with every label")
    parser.add_argument("--quick", action="store_true", help="the first 1,000 sentences, 10 iterations, one round")
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args()
    args.iterations = max(2, args.iterations or (10 if args.quick else 50))
    args.work.mkdir(parents=True, exist_ok=True)
    data = prepare_data(args.work, 1000 if args.quick else None)
    python = prepare_python(args.work / "python")
    if python is None:
        reason = "pip cannot install the packages of crf-bench/peers/requirements.txt here"
        print(json.dumps({"skipped": reason}) if args.json else f"skipped: {reason}")
        return
    comparison = Comparison(args, data, python)
    result = comparison.run(rounds=1 if args.quick else 2)
    print(json.dumps(result, indent=1) if args.json else table(result))


def prepare_data(work, limit):
    """Makes attribute files of the columns below CRF_DATA."""
    data = {}
    for part in ["train", "test"]:
        directory = os.environ.get("CRF_DATA")
        columns = pathlib.Path(directory or "$CRF_DATA") / "conll2000" / f"{part}.txt.gz"
        if directory is None or not columns.is_file():
            why = "CRF_DATA is not set" if directory is None else "no such file"
            sys.exit(
                f"cannot read `{columns}`: {why}; set CRF_DATA to the directory that holds the file, which is the "
                "public CoNLL-2000 chunking data: word, part of speech and chunk label a line, packed with gzip"
            )
        path = work / f"{part}{limit or ''}.crfsuite"
        sentences, tokens = write_attributes(columns, path, limit)
        data[part] = {"path": path, "sentences": sentences, "tokens": tokens}
    return data


def prepare_python(place):
    """A Python with the peers' packages, or none."""
    python = place / ("Scripts" if os.name == "nt" else "bin") / "python"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    ready = [python, "-c", "import pycrfsuite, sklearn"]
    if not python.exists():
        if importlib.util.find_spec("ensurepip") is None:
            return None
        venv.create(place, with_pip=True)
    if subprocess.run(ready, **quiet).returncode != 0:
        print("installing the peers' packages", file=sys.stderr)
        pip = [python, "-m", "pip", "install", "--quiet", "-r", HERE / "requirements.txt"]
        subprocess.run(pip, **quiet)
    return python if subprocess.run(ready, **quiet).returncode == 0 else None


class Comparison:
    def __init__(self, args, data, python):
        self.args, self.data, self.python, self.work = args, data, python, args.work
        self.truth = read_labels(data["test"]["path"])

    def run(self, rounds):
        kind = "dense" if self.args.dense else "sparse"
        likelihood = {"ours": [], "ours_2": [], "theirs": []}
        perceptron = {"ours": [], "theirs": []}
        for number in range(rounds):
            self.say(f"round {number + 1} of {rounds}")
            likelihood["ours"].append(self.our_chain(1))
            likelihood["theirs"].append(self.their_chain())
            likelihood["ours_2"].append(self.our_chain(2))
            perceptron["ours"] += self.our_perceptron()
            perceptron["theirs"].append(self.their_perceptron())
        self.say("one token at a time")
        local = {"ours": [self.our_local()], "theirs": [self.their_local()]}
        return {
            "model": kind,
            "iterations": self.args.iterations,
            "rounds": rounds,
            "data": {part: {**size, "path": str(size["path"])} for part, size in self.data.items()},
            "tables": [
                {"title": "likelihood, against CRFsuite", "rows": rows(likelihood, CHAIN)},
                {"title": "averaged perceptron, against CRFsuite", "rows": rows(perceptron, PERCEPTRON)},
                {"title": "one token at a time, against scikit-learn", "rows": rows(local, LOCAL)},
            ],
        }

    def our_chain(self, threads):
        features = '[{"state": "attributes"}, "transition"]' if self.args.dense else None
        settings = ["learner.l2=2.0", "learner.stop.tolerance=1e-7", "learner.stop.delta=1e-9"]
        return self.ours(f"ours-{threads}", threads, settings, features)

    def our_local(self):
        # The weights of all pairs, as scikit-learn has them.
        return self.ours("ours-local", 1, ["learner.l2=2.0"], '[{"state": "attributes"}]')

    def our_perceptron(self):
        """Trains by averaged perceptron, if our program has such a learner."""
        nowhere = ["--data", self.work / "nowhere", "--model", self.work / "nowhere.crf"]
        for limit in ["learner.epochs", "learner.iterations", "learner.stop.iterations"]:
            # Names that do not exist give exit code 2, before missing data can give 1.
            command = [self.args.ours, "train", "--format", "crfsuite", *nowhere, "--learner", "perceptron"]
            tried = subprocess.run([*command, "--set", f"{limit}=2"], stderr=subprocess.DEVNULL, check=False)
            if tried.returncode != 2:
                return [self.ours("ours-perceptron", 1, [], learner="perceptron", limit=limit)]
        return []

    def ours(self, name, threads, settings, features=None, learner="mle", limit="learner.stop.iterations"):
        """Trains and tags with our program.

        What a single iteration costs is taken off to know what each further one costs.
        """
        model, trace = self.work / f"{name}.crf", self.work / f"{name}.trace"
        train = [self.args.ours, "train", "--format", "crfsuite", "--data", self.data["train"]["path"]]
        train += ["--model", model, "--trace", trace, "--learner", learner, "--threads", str(threads), "--json"]
        train += [word for setting in settings for word in ("--set", setting)]
        train += ["--features", features] if features else []
        _, first = self.child(f"train as {name}, one iteration", [*train, "--set", f"{limit}=1"])
        train += ["--set", f"{limit}={self.args.iterations}"]
        trained, usage = self.child(f"train as {name}", train)
        summary = json.loads(trained)
        with open(trace, encoding="utf-8") as lines:
            times = [json.loads(line)["seconds"] for line in lines]
        steps = [after - before for before, after in zip(times, times[1:])]
        seconds = summary["seconds"]
        measured = {
            "weights": summary["features"],
            "cpu_step": (usage["cpu"] - first["cpu"]) / (summary["iterations"] - 1),
            "objective": summary["objective"],
            "reading": seconds["read"] + seconds["features"],
        }
        test = ["--model", model, "--decode", "viterbi"]
        tag = [self.args.ours, "tag", *test, self.data["test"]["path"]]
        measured.update(self.judged(name, model, steps, usage, tag, threads))
        # Two programs count chunks: ours and the one beside this file.
        command = [self.args.ours, "eval", *test, "--json", "--data", self.data["test"]["path"]]
        scores = json.loads(self.child(f"evaluate {name}", command)[0])
        for ours, theirs in [("accuracy", "accuracy"), ("chunk_f1", "f1")]:
            if not math.isclose(scores[ours], measured[theirs], abs_tol=1e-12):
                sys.exit(f"{ours} of {name} is {scores[ours]} by its own count, {measured[theirs]} by ours")
        return measured

    def their_chain(self):
        params = ["c1=0", "c2=1.0", f"max_iterations={self.args.iterations}", "epsilon=1e-7", "delta=1e-9"]
        if self.args.dense:
            params += ["feature.possible_states=1", "feature.possible_transitions=1"]
        return self.theirs("lbfgs", params)

    def their_perceptron(self):
        return self.theirs("ap", [f"max_iterations={self.args.iterations}", "epsilon=0"])

    def theirs(self, algorithm, params):
        """Trains and tags with CRFsuite."""
        model, program = self.work / f"{algorithm}.model", [self.python, HERE / "run_crfsuite.py"]
        train = [*program, "train", algorithm, self.data["train"]["path"], model, *params]
        trained, usage = self.child(f"train CRFsuite {algorithm}", train)
        report = json.loads(trained)
        measured = {
            "weights": report["weights"],
            "cpu_step": report["cpu_step"],
            "objective": report["objective"],
            "reading": report["read"] + report["features"],
        }
        tag = [*program, "tag", model, self.data["test"]["path"]]
        return {**measured, **self.judged(algorithm, model, report["steps"], usage, tag, 1)}

    def their_local(self):
        labels = self.work / "sklearn.labels"
        command = [self.python, HERE / "run_sklearn.py", self.data["train"]["path"], self.data["test"]["path"]]
        trained, usage = self.child("train scikit-learn", [*command, str(self.args.iterations), labels])
        report = json.loads(trained)
        return {
            "weights": report["weights"],
            "cpu_step": report["cpu"] / report["iterations"],
            "train_cpu": usage["cpu"],
            "train_memory": usage["memory"],
            **evaluate(self.truth, read_labels(labels)),
        }

    def judged(self, name, model, steps, usage, tag, threads):
        """What training cost, and what its model is worth."""
        given, tagging = self.child(f"tag with {name}", tag, threads)
        labels = self.work / f"{name}.labels"
        labels.write_text(given, encoding="utf-8")
        return {
            "step": statistics.median(steps),
            "train_cpu": usage["cpu"],
            "train_memory": usage["memory"],
            "model": os.path.getsize(model) / 1e6,
            "tagging": self.data["test"]["tokens"] / tagging["seconds"],
            "tag_cpu": self.data["test"]["tokens"] / tagging["cpu"],
            "tag_memory": tagging["memory"],
            **evaluate(self.truth, read_labels(labels)),
        }

    def child(self, what, command, threads=1):
        """What a command prints, and the time and memory it took."""
        environment = {**os.environ, "RAYON_NUM_THREADS": str(threads), "OMP_NUM_THREADS": "1"}
        began = time.perf_counter()
        output = self.work / "output"
        with open(output, "wb") as out:
            process = subprocess.Popen(command, stdout=out, env=environment)
            _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            sys.exit(f"could not {what}: exit code {process.returncode}")
        seconds, cpu = time.perf_counter() - began, usage.ru_utime + usage.ru_stime
        self.say(f"  {what}: {seconds:.1f} s")
        memory = usage.ru_maxrss * RSS_UNIT / 1e6
        return output.read_text(encoding="utf-8"), {"seconds": seconds, "cpu": cpu, "memory": memory}

    def say(self, text):
        print(text, file=sys.stderr, flush=True)


# What is shown: the key, its name, how it is written, and whether less (-1), more (1) or neither (0) is better.
WEIGHTS = ("weights", "weights", ",d", 0)
CPU_STEP = ("cpu_step", "CPU seconds an iteration", ".3f", -1)
CPU = ("train_cpu", "CPU seconds of the whole training", ".1f", -1)
SCORES = [("accuracy", "test accuracy", ".5f", 0), ("f1", "test chunk F1", ".5f", 0)]
MEMORY = ("train_memory", "peak memory of training, MB", ",.0f", -1)
MODEL = ("model", "model file, MB", ".1f", -1)
CHAIN = [
    WEIGHTS,
    CPU_STEP,
    ("step", "seconds an iteration, median", ".3f", -1),
    ("objective", "objective at the end", ".2f", 0),
    *SCORES,
    ("reading", "reading and features, seconds", ".2f", -1),
    CPU,
    MEMORY,
    MODEL,
    ("tag_cpu", "load, parse and tag, tokens a CPU second", ",.0f", 1),
    ("tagging", "load, parse and tag, tokens a second", ",.0f", 1),
    ("tag_memory", "peak memory of tagging, MB", ",.0f", -1),
]
PERCEPTRON = [
    WEIGHTS,
    ("cpu_step", "CPU seconds an epoch", ".3f", -1),
    ("step", "seconds an epoch, median", ".3f", -1),
    *SCORES,
    CPU,
    MODEL,
]
LOCAL = [WEIGHTS, CPU_STEP, *SCORES, CPU, MEMORY]
FORMS = {key: form for key, _, form, _ in [*CHAIN, *PERCEPTRON, *LOCAL]}


def rows(measured, shown):
    """The best of all rounds of each measure, and how many times better ours is."""
    table = []
    for key, name, _, better in shown:
        best = {}
        for who, rounds in measured.items():
            values = [measures[key] for measures in rounds if measures.get(key) is not None]
            best[who] = (max(values) if better > 0 else min(values)) if values else None
        ours, theirs = best["ours"], best["theirs"]
        ratio = (ours / theirs if better > 0 else theirs / ours) if better and ours and theirs else None
        table.append({"key": key, "name": name, **best, "ratio": ratio})
    return table


def table(result):
    """All tables in one, with aligned columns."""
    train, test = result["data"]["train"], result["data"]["test"]
    text = [
        f"CoNLL-2000 chunking: {train['sentences']:,} sentences to train on, {test['sentences']:,} to test on",
        f"{result['model']} model, {result['iterations']} iterations or epochs, best of {result['rounds']} rounds",
        "ratio: how many times better ours is, one thread against one; the others are fed from Python",
        "other work on the machine hardly shows in CPU seconds, but fully in the others",
    ]
    head = ["", "ours, 1 thread", "ours, 2 threads", "theirs", "ratio"]
    blocks = []
    for part in result["tables"]:
        lines = []
        for row in part["rows"]:
            values = [row.get(who) for who in ["ours", "ours_2", "theirs"]]
            shown = ["" if value is None else format(value, FORMS[row["key"]]) for value in values]
            lines.append([row["name"], *shown, f"{row['ratio']:.2f}" if row["ratio"] else ""])
        if all(row["ours"] is None for row in part["rows"]):
            part["title"] += " (ours has no such learner yet)"
        blocks.append((part["title"], lines))
    cells = [head, *(line for _, lines in blocks for line in lines)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(head))]
    for title, lines in blocks:
        text += ["", title]
        for name, *numbers in [head, *lines]:
            cells = [number.rjust(width) for number, width in zip(numbers, widths[1:])]
            text.append("  ".join([name.ljust(widths[0]), *cells]).rstrip())
    return "\n".join(text)


if __name__ == "__main__":
    main()
