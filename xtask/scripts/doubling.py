#!/usr/bin/env python3
"""Counts the instructions of commands on data of a size and of twice that size.

  xtask/scripts/doubling.py [PATH/TO/crf] [NAME ...]

The edges of the data have many different rows of values, which share tables; one sequence holds
all chunks; all words differ: cases in which a cost that is not linear shows. Needs valgrind;
without a program, the release build is made and used. Exits with 1 where doubling the data
multiplies the instructions by more than 2.4 (a fixed cost makes it less than 2).
"""
import json
import os
import random
import re
import subprocess
import sys
import tempfile

LIMIT = 2.4


def triples(n, file, edges):
    """Sequences of three labels. One row of values in ten is new, which is few enough to share tables."""
    draw = random.Random(9)
    with open(file, "w") as out:
        for _ in range(n):
            labels = [draw.choice("PQ"), draw.choice("PQR"), draw.choice("PQ")]
            x = [{y: 1, "k": draw.randint(1, n // 10) / n} for y in labels]
            out.write(json.dumps({"x": x, "y": labels} | edges) + "\n")


def chains(n, file):
    """Chains of three positions."""
    triples(n, file, {})


def graphs(n, file):
    """Graphs of three nodes and two edges."""
    triples(n, file, {"edges": [[0, 1], [0, 2]]})


def chunks(n, file):
    """One sequence, with a chunk at every other word."""
    with open(file, "w") as out:
        for t in range(n):
            out.write(f"w{t % 7}\t{'B-X' if t % 2 else 'O'}\n")
        out.write("\n")


def words(n, file):
    """Sequences of ten words that all differ."""
    with open(file, "w") as out:
        for t in range(n):
            out.write(f"{'AB'[t % 3 % 2]}\tw{t}\n" + ("\n" if t % 10 == 9 else ""))


EDGES = '[{state="attributes"},{transition="attributes"}]'
CHAIN = ["--format", "jsonl", "--features", EDGES, "--threads", "1"]
WINDOW = '[{state={type="window",before=2,after=2,over="mean",of="attributes"}}]'
MLE = '{type="mle",l2=1.0,stop={iterations=%d}}'
PERCEPTRON = '{type="perceptron",epochs=%d}'
AGGRESSIVE = '{type="passive-aggressive",epochs=%d}'

FORBID = ["--constraints", '{forbid=[["R","R"]]}']
GRAPH = ["--set", "inference=belief-propagation"]
TAB = ["--format", '{type="conll",separator="tab"}']
BAGS = ["--format", "crfsuite", "--features", WINDOW, "--threads", "1"]


def training(*options):
    """Command that trains on D."""
    return ["train", *options, "--data", "D", "--model", "M2"]


EVAL = ["eval", "--model", "M", "--data", "D"]
TAG = ["tag", "--batch", "100", "--model", "M", "D"]

# Name: (maker of data, size, options of the training that makes M if one is needed, command).
CASES = {
    "gradient": (chains, 4000, None, training(*CHAIN, "--learner", MLE % 5)),
    "gradient, constraints": (chains, 4000, None, training(*CHAIN, *FORBID, "--learner", MLE % 5)),
    "perceptron": (chains, 4000, None, training(*CHAIN, "--learner", PERCEPTRON % 3)),
    "passive-aggressive": (chains, 4000, None, training(*CHAIN, "--learner", AGGRESSIVE % 3)),
    "eval": (chains, 6000, [*CHAIN, "--learner", MLE % 3], EVAL),
    "eval, constraints": (chains, 6000, [*CHAIN, *FORBID, "--learner", MLE % 3], EVAL),
    "eval, graphs": (graphs, 6000, [*CHAIN, *GRAPH, "--learner", MLE % 3], EVAL),
    "tag --batch 100": (chains, 6000, [*CHAIN, "--learner", MLE % 3], TAG),
    "chunk F1": (chunks, 30000, [*TAB, "--learner", PERCEPTRON % 1], EVAL),
    "window": (words, 6000, None, training(*BAGS, "--learner", MLE % 2)),
}


def instructions(command):
    """Number of instructions of a command, by callgrind."""
    run = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=" + os.devnull, "--log-file=" + LOG, *command],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False,
        env={**os.environ, "RAYON_NUM_THREADS": "1"},
    )
    if run.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{run.stderr}")
    return int(re.search(r"Collected\s*:\s*(\d+)", open(LOG).read()).group(1))


def measure(name, crf, place):
    """Instructions on the data, and on twice the data."""
    make, size, model, command = CASES[name]
    counts = []
    for n in (size, 2 * size):
        files = {key: os.path.join(place, key) for key in ("D", "M", "M2")}
        make(n, files["D"])
        if model is not None:
            train = [crf, "train", *model, "--data", files["D"], "--model", files["M"]]
            subprocess.run(train, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        counts.append(instructions([crf] + [files.get(part, part) for part in command]))
    return counts


def main():
    arguments = sys.argv[1:]
    if arguments and arguments[0] not in CASES:
        crf = arguments.pop(0)
    else:
        subprocess.run(["cargo", "build", "--release", "--quiet", "--package", "crf-bench"], check=True)
        crf = "target/release/crf"
    failed = False
    print("| command | millions of instructions | twice the data | ratio |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as place:
        globals()["LOG"] = os.path.join(place, "callgrind.log")
        for name in arguments or CASES:
            once, twice = measure(name, crf, place)
            failed |= twice > LIMIT * once
            print(f"| {name} | {once / 1e6:.0f} | {twice / 1e6:.0f} | {twice / once:.2f} |", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
