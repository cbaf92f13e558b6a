"""What may be asked: a verb each, with the options of the command line, and what a model of text answers."""

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from allyouneed.errors import UsageError, nearest
from allyouneed.pipeline import LanguageModel, MaskedModel, Pipeline, TextError, Translator, Writer
from allyouneed.pipeline.writing import MAX_TOKENS
from allyouneed.text.glossary import Glossary

MOST_TEXTS = 512
MOST_PHRASES = 32
WIDEST = 64  # beam: one request should not take the memory that all share

Answers = list[dict[str, Any]]
Phrases = Annotated[list[str], Field(max_length=MOST_PHRASES)]  # that one text must hold


class Asked(BaseModel):
    """Texts for a model: the one that is named, or the first that is meant."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, strict=True)  # true is no number
    model: str | None = None
    texts: list[str] = Field(min_length=1, max_length=MOST_TEXTS)

    def means(self, pipe: Pipeline) -> bool:
        """Of the models that can, is it such a one that is meant where none is named?"""
        return True


class Translate(Asked):
    """Another text for each."""

    beam: int = Field(4, ge=1, le=WIDEST)
    nbest: int = Field(1, ge=1)
    length_penalty: float = Field(0.6, ge=0)
    coverage_penalty: float = Field(0.0, ge=0)
    align: bool = False
    constraints: list[Phrases] | None = Field(None, max_length=MOST_TEXTS)
    glossary: dict[str, str] | None = None  # terms and their translations

    def answer(self, pipe: Any) -> Answers:
        """The best translation of each text, and with `nbest` the runners-up."""
        settings = self.model_dump(exclude={"model", "texts", "glossary"})
        if self.glossary:
            settings["constraints"] = self.held(Glossary.of(self.glossary))
        return [found.to_dict(ranked=self.nbest > 1) for found in pipe.translate(self.texts, **settings)]

    def held(self, glossary: Glossary) -> list[list[str]]:
        """What the translation of each text must hold. Raises TextError where that is too much."""
        always = [[] for _ in self.texts] if self.constraints is None else self.constraints
        if len(always) != len(self.texts):
            return always  # the translator says so
        held = [glossary.held_by(text, own) for text, own in zip(self.texts, always, strict=True)]
        for index, phrases in enumerate(held):
            if len(phrases) > MOST_PHRASES:
                raise TextError(index, f"has {len(phrases)} phrases to hold, and at most {MOST_PHRASES} are held")
        return held


class Generate(Asked):
    """What comes after each text. With `stream` the one text comes as it is written, without JSON around it."""

    max_tokens: int = Field(MAX_TOKENS, ge=1)
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None
    seed: int | None = None
    stop: list[str] = []
    beam: int | None = Field(None, ge=1, le=WIDEST)
    stream: bool = False

    def means(self, pipe: Pipeline) -> bool:
        """One that goes on with a text."""
        return isinstance(pipe, LanguageModel)

    def settings(self) -> dict[str, Any]:
        """How the texts are drawn: what was said of it."""
        return self.model_dump(exclude={"model", "texts", "beam", "stream"}, exclude_none=True)

    def answer(self, pipe: Any) -> Answers:
        """What the model wrote after each text."""
        return [found.to_dict() for found in pipe.generate(self.texts, beam=self.beam, **self.settings())]


class Score(Asked):
    """How likely each text is, or with a translator each of the `targets` given its text."""

    targets: list[str] | None = Field(None, max_length=MOST_TEXTS)

    def means(self, pipe: Pipeline) -> bool:
        """A translator for targets, and another for texts alone."""
        return isinstance(pipe, Translator) == (self.targets is not None)

    def answer(self, pipe: Any) -> Answers:
        """The log-probability of every token."""
        if not self.means(pipe):
            needed = "a translator scores targets given their texts" if self.targets is None else "it takes none"
            raise UsageError(f'"targets": {pipe.name} is {pipe.what}: {needed}.')
        given = (self.texts,) if self.targets is None else (self.texts, self.targets)
        return [found.to_dict() for found in pipe.score(*given)]


class Fill(Asked):
    """What may stand in the gaps (___) of each text; `top` guesses for each."""

    top: int = Field(5, ge=1)

    def answer(self, pipe: Any) -> Answers:
        """The texts filled, and the guesses for each gap."""
        return [found.to_dict() for found in pipe.fill(self.texts, k=self.top)]


# Each verb with what may be asked of it, and the models that can.
VERBS: dict[str, tuple[type[Asked], Callable[[Pipeline], bool]]] = {
    "translate": (Translate, lambda pipe: isinstance(pipe, Translator)),
    "generate": (Generate, lambda pipe: isinstance(pipe, Writer)),
    "score": (Score, lambda pipe: True),
    "fill": (Fill, lambda pipe: isinstance(pipe, MaskedModel) or (isinstance(pipe, Translator) and pipe.fills)),
}


def verbs_of(pipe: Pipeline) -> list[str]:
    """What can be asked of a model."""
    return [verb for verb, (_, able) in VERBS.items() if able(pipe)]


def read(verb: str, given: dict[str, Any]) -> Any:
    """What is asked of a verb. Raises UsageError with a sentence for each thing that is wrong."""
    asked, _ = VERBS[verb]
    try:
        return asked.model_validate(given)
    except ValidationError as error:
        raise UsageError(" ".join(told(one, asked) for one in error.errors())) from error


def told(problem: Any, asked: type[Asked]) -> str:
    """One thing that is wrong, as a sentence."""
    place = ".".join(map(str, problem["loc"]))
    if problem["type"] == "extra_forbidden":
        allowed = ", ".join(asked.model_fields)
        return f'"{place}" cannot be asked here, only {allowed}.{nearest(place, asked.model_fields)}'
    if problem["type"] == "missing":
        return f'"{place}" is missing.'
    return f'"{place}": {problem["msg"][0].lower()}{problem["msg"][1:]}.'


def chosen(pipes: dict[str, Pipeline], verb: str, asked: Asked) -> Pipeline:
    """The model that answers. Raises UsageError where there is none of that name, or none that can."""
    name = asked.model
    able = {key: pipe for key, pipe in pipes.items() if verb in verbs_of(pipe)}
    if name is None and able:
        return next(filter(asked.means, able.values()), next(iter(able.values())))
    if name in able:
        return able[name]
    if name in pipes:
        raise UsageError(f"{name} is {pipes[name].what}, and cannot {verb}.")
    if name is None:
        raise UsageError(f"No model here can {verb}: there {'is' if len(pipes) == 1 else 'are'} {', '.join(pipes)}.")
    raise UsageError(f'There is no model "{name}" here, only {", ".join(pipes)}.{nearest(name, pipes)}')
