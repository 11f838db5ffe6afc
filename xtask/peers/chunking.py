"""CoNLL-2000 chunking as every peer sees it: attribute files, and scores by the rules of conlleval."""

import gzip
import itertools

WORDS = [[-2], [-1], [0], [1], [2], [-1, 0], [0, 1]]
TAGS = [[-2], [-1], [0], [1], [2], [-2, -1], [-1, 0], [0, 1], [1, 2], [-2, -1, 0], [-1, 0, 1], [0, 1, 2]]
# The column of each template, the offsets it looks at, and how its attributes begin.
TEMPLATES = [
    (column, offsets, "|".join(f"{name}[{offset}]" for offset in offsets))
    for column, name, templates in [(0, "w", WORDS), (1, "pos", TAGS)]
    for offsets in templates
]


def sentences(lines):
    """Lists of the columns of each line, cut at blank lines."""
    for blank, group in itertools.groupby(lines, key=lambda line: not line.strip()):
        if not blank:
            yield [line.split() for line in group]


def attributes(sentence, t):
    """The attributes of a token: 19 templates, of which those that leave the sentence give nothing, and its ends."""
    for column, offsets, name in TEMPLATES:
        if 0 <= t + offsets[0] and t + offsets[-1] < len(sentence):
            yield name + "=" + "|".join(sentence[t + offset][column] for offset in offsets)
    if t == 0:
        yield "__BOS__"
    if t == len(sentence) - 1:
        yield "__EOS__"


def write_attributes(columns, path, limit):
    """Writes a gzip file of columns as a file of attributes in CRFsuite's format; says how many sentences and tokens."""
    n_sentences = n_tokens = 0
    with gzip.open(columns, "rt", encoding="utf-8") as source, open(path, "w", encoding="utf-8") as out:
        for sentence in itertools.islice(sentences(source), limit):
            for t, token in enumerate(sentence):
                names = (name.replace("\\", "\\\\").replace(":", "\\:") for name in attributes(sentence, t))
                print(token[2], *names, sep="\t", file=out)
            print(file=out)
            n_sentences += 1
            n_tokens += len(sentence)
    return n_sentences, n_tokens


def read_attributes(path):
    """The attributes and labels of each sentence of such a file."""
    xs, ys = [], []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            label, *names = line.rstrip("\n").split("\t")
            if label:
                if "\\" in line:
                    names = [name.replace("\\:", ":").replace("\\\\", "\\") for name in names]
                xs.append(names)
                ys.append(label)
            else:
                yield xs, ys
                xs, ys = [], []


def read_labels(path):
    """The first column of each sentence of a file."""
    with open(path, encoding="utf-8") as lines:
        return [[token[0] for token in sentence] for sentence in sentences(lines)]


def chunks(labels):
    """The chunks of a sentence as (first token, token after the last, type)."""
    found, start, before = set(), None, ("O", "")
    for t, label in enumerate([*labels, "O"]):
        prefix, _, kind = label.partition("-")
        goes_on = prefix == "I" and kind == before[1] and start is not None
        if start is not None and not goes_on:
            found.add((start, t, before[1]))
            start = None
        if prefix != "O" and start is None:
            start = t
        before = (prefix, kind)
    return found


def evaluate(truth, given):
    """Accuracy of tokens and F1 of chunks."""
    assert [len(labels) for labels in truth] == [len(labels) for labels in given], "labels for other sentences"
    pairs = [pair for a, b in zip(truth, given) for pair in zip(a, b)]
    both = [(chunks(a), chunks(b)) for a, b in zip(truth, given)]
    right = sum(len(a & b) for a, b in both)
    total = sum(len(a) + len(b) for a, b in both)
    return {"accuracy": sum(a == b for a, b in pairs) / len(pairs), "f1": 2 * right / total if total else 0.0}
