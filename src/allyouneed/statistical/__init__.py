"""Translation by counting, before neural models: word alignments, a table of phrases, and a search over both.

The alignment models, the extraction of phrases and the search are those of the library `nltk`: install the extra
`statistical`.
"""

from allyouneed.errors import InputError

try:
    from allyouneed.statistical.translator import PhraseTranslator
except ModuleNotFoundError as error:
    if error.name is None or not error.name.startswith("nltk"):
        raise
    raise InputError('Statistical translation needs nltk: pip install "allyouneed[statistical]".') from error

__all__ = ["PhraseTranslator"]
