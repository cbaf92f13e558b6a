"""Recurrent models: language models, encoder-decoders, and encoder-decoders whose decoder looks back."""

from allyouneed.models.recurrent.config import RecurrentConfig as RecurrentConfig
from allyouneed.models.recurrent.model import Recurrent as Recurrent
from allyouneed.models.recurrent.state import RecurrentMemory as RecurrentMemory
from allyouneed.models.recurrent.state import RecurrentState as RecurrentState
