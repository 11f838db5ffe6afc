"""CRFsuite in a process of its own, so that its time and memory are its own.

    run_crfsuite.py train ALGORITHM FILE MODEL [KEY=VALUE ...]    prints JSON
    run_crfsuite.py tag MODEL FILE                                prints a label a line
"""

import json
import sys
import time

import pycrfsuite

from chunking import read_attributes


class Trainer(pycrfsuite.Trainer):
    """Notes the time at which each iteration was done."""

    def message(self, message):
        if message.startswith("***** "):
            self.times.append((time.perf_counter(), time.process_time()))
        self.logparser.feed(message)


def train(algorithm, data, model, *params):
    began = time.perf_counter()
    trainer = Trainer(algorithm=algorithm, params=dict(param.split("=") for param in params), verbose=False)
    trainer.times = []
    for xs, ys in read_attributes(data):
        trainer.append(xs, ys)
    read = time.perf_counter()
    trainer.train(model)
    log = trainer.logparser
    wall, cpu = zip(*trainer.times)
    report = {
        "read": read - began,
        "features": log.featgen_seconds,
        "steps": [after - before for before, after in zip(wall, wall[1:])],
        "cpu_step": (cpu[-1] - cpu[0]) / (len(cpu) - 1),
        "objective": log.iterations[-1].get("loss"),
        "weights": log.featgen_num_features,
    }
    json.dump(report, sys.stdout)


def tag(model, data):
    tagger = pycrfsuite.Tagger()
    tagger.open(model)
    for xs, _ in read_attributes(data):
        sys.stdout.write("\n".join(tagger.tag(xs)) + "\n\n")


if __name__ == "__main__":
    {"train": train, "tag": tag}[sys.argv[1]](*sys.argv[2:])
