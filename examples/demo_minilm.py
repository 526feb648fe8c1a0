"""Compile all-MiniLM-L6-v2, embed three sentences, and show what they say to each other, what the artifact weighs and how fast it is."""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import minilm
import numpy as np
from rich.console import Console
from rich.table import Table
from tokenizers import Tokenizer

import dinoml
from dinoml import runtime
from dinoml.cli.output import progress_bar

SENTENCES = ("A man is playing a guitar on stage.", "Someone performs music with a string instrument.", "The stock market fell sharply today.")


def tokenize(tokenizer: Tokenizer, sentences: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Return the arrays that BERT-like models take."""
    tokenizer.enable_padding()
    encodings = tokenizer.encode_batch(list(sentences))
    arrays = {"input_ids": [e.ids for e in encodings], "attention_mask": [e.attention_mask for e in encodings]}
    return {name: np.array(rows, np.int64) for name, rows in arrays.items()}


def show(console: Console, similarities: np.ndarray, rows: list[tuple[str, str]]) -> None:
    """Print the cosine matrix and the facts."""
    table = Table("sentence", *(str(n + 1) for n in range(len(SENTENCES))), title="cosine similarity", title_justify="left")
    for n, (sentence, row) in enumerate(zip(SENTENCES, similarities)):
        table.add_row(f"{n + 1}  {sentence}", *(f"{v:.3f}" for v in row))
    console.print(table)
    facts = Table("", "", show_header=False, title="artifact", title_justify="left")
    for row in rows:
        facts.add_row(*row)
    console.print(facts)


def main() -> None:
    """Run the demo."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="keep the artifact here")
    parser.add_argument("--threads", type=int, help="threads of the session (default: all cores)")
    arguments = parser.parse_args()
    tokenizer = Tokenizer.from_file(str(minilm.model_folder() / "tokenizer.json"))
    with tempfile.TemporaryDirectory() as scratch:
        out = arguments.out or Path(scratch) / "minilm.dinoml"
        start = time.perf_counter()
        with progress_bar(quiet=False) as progress:
            artifact = dinoml.compile(minilm.build_spec(), "cpu", out, progress=progress)
        compiled = time.perf_counter() - start
        session = runtime.load(artifact.path).create_session(threads=arguments.threads)
        arrays = tokenize(tokenizer, SENTENCES)
        vectors = session.run_numpy(arrays)["embedding"]
        one = {name: array[:1] for name, array in arrays.items()}
        timing = session.benchmark(one, warmup=10, iterations=100)
        show(Console(width=100), vectors @ vectors.T, [
            ("compile time", f"{compiled:.1f} s"),
            ("artifact", f"{artifact.nbytes / 1e6:.1f} MB, of which {(artifact.path / 'module.so').stat().st_size / 1e6:.2f} MB are code"),
            ("median latency", f"{timing.median_ms:.2f} ms for one sentence of {one['input_ids'].shape[1]} tokens"),
        ])  # fmt: skip


if __name__ == "__main__":
    main()
