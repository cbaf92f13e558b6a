"""Runs every benchmark and writes RESULTS.md beside it: `make bench`.

Each peer's process begins by importing this file, so it imports nothing heavy.
"""

import argparse
import math
import platform
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import decode
import generate
import prose
import startup
from allyouneed.measure import turns
from workload import SHAPES

HEAD = """# Speed and memory beside other libraries

One run of `make bench` on one machine: {machine}.
Python {python}; {versions}.

Each library runs in a process of its own, all take turns ({rounds} rounds), and the medians are compared. Every process
has {threads} threads, each bound to a core. Rounds that other programs disturbed (over 10 % of the processors) are left
out, as long as half of the rounds remain; "others" is the most that such programs took in a round that counts. Read the
ratios: the absolute numbers belong to the machine. Peak memory is that of the whole process, libraries included. What
another machine gave, and what other programs measure, stands in [ELSEWHERE.md](ELSEWHERE.md).
"""


def table(columns: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def shown(value: float, form: str) -> str:
    """A number, or a dash where nothing was measured."""
    return "–" if math.isnan(value) else format(value, form)


def training_section(result: dict[str, Any]) -> str:
    """Tokens a second, and our ratio to each library."""
    rows, ours = result["rows"], result["rows"]["allyouneed"]["tokens_per_second"]
    best = max(row["tokens_per_second"] for name, row in rows.items() if name != "allyouneed")
    body = [
        [
            name,
            f"{row['tokens_per_second']:,.0f}",
            f"{ours / row['tokens_per_second']:.2f}",
            f"{row['peak_share']:.0%}",
            f"{row['peak_mb']:,.0f}",
            f"{row['others']:.0%}",
        ]
        for name, row in rows.items()
    ]
    columns = ["library", "target tokens/s", "allyouneed is × as fast", "share of peak", "peak memory, MB", "others"]
    return (
        f"## Training, {result['shape']} shape: {ours / best:.2f} × the best other library\n\n"
        f"Whole updates (forward, label-smoothed loss, backward, Adam) with dropout 0.1 on {result['batches']} "
        f"length-sorted batches of {result['tokens'] // result['batches']:,} target tokens. Padding does not count. "
        f"The peak is that of 2048 × 2048 float32 products in the same run: {result['peak_gflops']:.0f} GFLOP/s.\n\n"
        + table(columns, body)
    )


def language_training_section(result: dict[str, Any]) -> str:
    """Tokens a second of the small decoder, and our ratio to the plain loop."""
    rows, ours = result["rows"], result["rows"]["allyouneed"]["tokens_per_second"]
    body = [
        [
            name,
            f"{row['tokens_per_second']:,.0f}",
            f"{ours / row['tokens_per_second']:.2f}",
            f"{row['peak_mb']:,.0f}",
            f"{row['others']:.0%}",
        ]
        for name, row in rows.items()
    ]
    best = max(row["tokens_per_second"] for name, row in rows.items() if name != "allyouneed")
    return (
        f"## Training, decoder of 10 million parameters: {ours / best:.2f} × Hugging Face's class in a plain loop\n\n"
        f"Whole updates (forward, loss, backward, clipping, AdamW) on {result['batches']} batches of "
        f"{result['tokens'] // result['batches']:,} predicted tokens, no padding.\n\n"
        + table(["library", "tokens/s", "allyouneed is × as fast", "peak memory, MB", "others"], body)
    )


def ratios(speed: dict[str, list[float]]) -> list[list[str]]:
    """Rows that say how many times as fast each of ours is as each other."""
    ours, others = (sorted(name for name in speed if name.startswith("allyouneed") is mine) for mine in (True, False))
    return [
        [f"{own} ÷ {other}", *(shown(a / b, ".2f") for a, b in zip(speed[own], speed[other], strict=True))]
        for own in ours
        for other in others
    ]


def speeds(rows: dict[str, Any], measure: str) -> list[list[str]]:
    """Rows that say how many tokens a second each makes, and what else was measured."""
    return [
        [*row_start(name, row[measure]), f"{row['peak_mb']:,.0f}", f"{row['same']:.0%}", f"{row['others']:.0%}"]
        for name, row in rows.items()
    ]


def decoding_section(result: dict[str, Any]) -> str:
    """Our ratios to each library, and below them tokens a second."""
    rows = result["rows"]
    settings = [f"beam {beam}, batch {count}" for beam, count in decode.SETTINGS]
    return (
        f"## Decoding, {result['shape']} shape\n\nThe same random weights everywhere, sources of about 22 tokens, "
        f"{decode.LENGTH} tokens written for each; each setting runs once unmeasured, since the turns of the others "
        "have emptied the caches. How many times as fast we are:\n\n"
        + table(["", *settings], ratios({name: row["tokens_per_second"] for name, row in rows.items()}))
        + f'\n\nTarget tokens a second; "same" is the share of texts that equal those of {decode.REFERENCE}:\n\n'
        + table(["library", *settings, "peak memory, MB", "same", "others"], speeds(rows, "tokens_per_second"))
    )


def generation_section(result: dict[str, Any]) -> str:
    """The same of a language model: of reading the prompt, and of writing after it."""
    rows = result["rows"]
    settings = [f"prompt {length}, batch {count}" for length, count in generate.SETTINGS]
    page = (
        f"## Generating, {result['shape']} shape\n\nThe same random weights everywhere, greedy; {generate.LENGTH} "
        f'tokens are written after each prompt. "same" is the share of texts that equal those of {generate.REFERENCE}.'
    )
    for measure, title in (("written", "Writing"), ("read", "Reading the prompt")):
        page += (
            f"\n\n{title}, how many times as fast we are:\n\n"
            + table(["", *settings], ratios({name: row[measure] for name, row in rows.items()}))
            + f"\n\n{title}, tokens a second:\n\n"
            + table(["library", *settings, "peak memory, MB", "same", "others"], speeds(rows, measure))
        )
    return page


def prose_section(result: dict[str, Any]) -> str:
    """The same of a trained model that goes on from sentences."""
    rows = result["rows"]
    return (
        f"## Going on from sentences, {result['model']}\n\nGreedy: {prose.LENGTH} tokens after the first ones of "
        f"long paragraphs, {result['text']}; {prose.ALONE} one at a time, and {prose.TOGETHER} at once. allyouneed and "
        "prompt lookup guess what followed the same tokens before, and check several guesses in a pass; the others "
        "make a step for each token. Prompt lookup is for one text at a time. How many times as fast we write:\n\n"
        + table(["", *result["settings"]], ratios({name: row["written"] for name, row in rows.items()}))
        + f'\n\nTokens a second; "same" is the share of texts that equal those of {prose.REFERENCE}:\n\n'
        + table(["library", *result["settings"], "peak memory, MB", "same", "others"], speeds(rows, "written"))
    )


def quality_section(result: dict[str, Any]) -> str:
    """BLEU of the shipped translator and perplexity of language models by the kind of weights."""
    rows: dict[str, dict[str, str]] = result["rows"]
    heads = next(iter(rows.values()))
    return (
        "## What weights in bytes cost\n\nint8 is ours, q8_0 what llama.cpp stores. The shipped English-French model, "
        f"beam 4, on {result['text']} ({result['sentences']} sentences; {result['signature']}), and language models on "
        "the English side, per token of their own:\n\n"
        + table(["weights of the decoder", *heads], [[name, *row.values()] for name, row in rows.items()])
    )


def row_start(name: str, speed: list[float]) -> list[str]:
    """A library's name and its tokens a second."""
    return [name, *(shown(value, ",.0f") for value in speed)]


def startup_section(result: dict[str, float]) -> str:
    """Seconds until the command line answers."""
    rows = [[name, f"{seconds:.2f}"] for name, seconds in result.items()]
    return "## Starting\n\n" + table(["command", "seconds"], rows)


def processor() -> str:
    """The processor's name, and how many of its cores there are."""
    name = platform.machine()
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                name = line.split(":", 1)[1].strip()
                break
    return f"{turns.THREADS} cores of {name}, {platform.system()}"


def sections(options: argparse.Namespace) -> Iterator[str]:
    """The parts of the page, each as soon as it is measured."""
    import lm_train
    import quality
    import train

    libraries = ("torch", "transformers", "x-transformers", "ctranslate2")
    yield HEAD.format(
        machine=processor(),
        python=platform.python_version(),
        versions=", ".join(f"{name} {version(name)}" for name in libraries),
        rounds=options.rounds,
        threads=turns.THREADS,
    )
    for shape in options.shapes:
        work = train.Work(shape, batches=options.batches, tokens=2048)
        yield training_section(train.measure(work, rounds=options.rounds))
    for shape in options.shapes:
        yield decoding_section(decode.measure(shape, rounds=options.rounds))
    yield language_training_section(lm_train.measure(lm_train.Work(options.batches), rounds=options.rounds))
    yield generation_section(generate.measure(options.decoder, rounds=options.rounds))
    yield prose_section(prose.measure(options.prose, rounds=options.rounds))
    yield quality_section(quality.measure(options.text, options.sentences))
    yield startup_section(startup.measure(rounds=options.rounds))


def main() -> None:
    """Measures, shows and writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shapes", nargs="+", default=["small", "base"], choices=list(SHAPES))
    parser.add_argument("--decoder", default="SmolLM2-135M", choices=list(generate.DECODERS))
    parser.add_argument("--rounds", type=int, default=5, help="turns of every library")
    parser.add_argument("--batches", type=int, default=4, help="training batches a turn")
    parser.add_argument("--text", type=Path, help="a .tsv of English and French, instead of the everyday grammar")
    parser.add_argument("--prose", type=Path, help="a text whose long lines to go on from, instead of sentences")
    parser.add_argument("--sentences", type=int, default=300, help="sentences of that text")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("RESULTS.md"), help="file to write")
    options = parser.parse_args()
    page: list[str] = []
    for section in sections(options):
        page.append(section.strip())
        print(page[-1], end="\n\n", flush=True)
    options.out.write_text("\n\n".join(page) + "\n", "utf-8")


if __name__ == "__main__":
    main()
