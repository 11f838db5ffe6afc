"""Logistic regression of each token alone on the same attributes: what the chain is worth.

    run_sklearn.py TRAIN TEST ITERATIONS LABELS    prints JSON, and writes a label a line to LABELS

The objective is that of a chain without transitions: minus log-likelihood + |w|^2, no intercepts.
"""

import json
import sys
import time
import warnings

import numpy
from scipy.sparse import csr_matrix
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from chunking import read_attributes


def matrix(path, number):
    """All tokens as rows of ones, with the labels of each sentence; attributes that have no number are left out."""
    starts, columns, labels = [0], [], []
    for xs, ys in read_attributes(path):
        for names in xs:
            columns.extend(n for n in map(number, names) if n is not None)
            starts.append(len(columns))
        labels.append(ys)
    return numpy.array(starts), numpy.array(columns, dtype=numpy.int32), labels


def rows(starts, columns, n_columns):
    return csr_matrix((numpy.ones(len(columns)), columns, starts), shape=(len(starts) - 1, n_columns))


def main(train, test, iterations, output):
    numbers = {}
    starts, columns, labels = matrix(train, lambda name: numbers.setdefault(name, len(numbers)))
    x, y = rows(starts, columns, len(numbers)), [label for ys in labels for label in ys]
    began = time.process_time()
    model = LogisticRegression(C=0.5, max_iter=int(iterations), tol=1e-7, fit_intercept=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(x, y)
    cpu = time.process_time() - began
    starts, columns, labels = matrix(test, numbers.get)
    given = iter(model.predict(rows(starts, columns, len(numbers))))
    with open(output, "w", encoding="utf-8") as out:
        for ys in labels:
            out.write("".join(f"{next(given)}\n" for _ in ys) + "\n")
    json.dump({"cpu": cpu, "iterations": int(model.n_iter_[0]), "weights": model.coef_.size}, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
