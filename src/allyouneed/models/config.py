"""Every difference between the Transformers of the field, as fields of one config."""

from dataclasses import dataclass
from typing import Any, Literal, cast, get_args, get_type_hints

from allyouneed.parts.block import Placement
from allyouneed.parts.feedforward import Activation
from allyouneed.parts.norms import NormKind
from allyouneed.parts.positions import RotaryLayout, RotaryScaling

Positions = Literal[
    "sinusoidal", "sinusoidal-halves", "coordinates", "learned", "rotary", "alibi", "t5", "shaw", "none"
]
Reach = Literal["full", "window", "blocks"]
RandomBlocks = Literal["drawn", "first"]
ADDED = ("sinusoidal", "sinusoidal-halves", "learned")  # schemes whose vectors are added to the embeddings


@dataclass(frozen=True)
class TransformerConfig:
    """Every number of a Transformer: an encoder, a decoder, or both. The defaults are the base model of 2017.

    A stack without layers is not there: 0 encoder layers leave a decoder that reads and writes one text, 0 decoder
    layers an encoder that only reads.
    """

    vocab_size: int
    d_model: int = 512
    n_heads: int = 8
    n_kv_heads: int | None = None  # None: as many as query heads (Ainslie 2023)
    d_head: int | None = None  # None: d_model / n_heads
    d_ff: int = 2048
    n_encoder_layers: int = 6
    n_decoder_layers: int = 6
    max_length: int = 1024

    # The block: where its norms stand and what it is made of.
    norm_placement: Placement = "post"
    norm: NormKind = "layer"
    norm_epsilon: float = 1e-5
    final_norm: bool = False
    embedding_norm: bool = False
    parallel_residual: bool = False  # attention and feed-forward read the same state (GPT-J; Black 2022, section 2.1)
    activation: Activation = "relu"
    gated: bool = False  # the feed-forward network has a gate (Shazeer 2020)
    bias: bool = True
    qkv_bias: bool | None = None  # of the query, key and value projections; None: as `bias`
    attention_output_bias: bool | None = None  # of the projection after the heads are put together; None: as `bias`
    query_key_norm: bool = False  # an RMS norm on every head's queries and keys (Henry 2020)
    attention_scale: float | None = None  # of the scores; None: 1 / sqrt(d_head)
    window: int | None = None  # a decoder's query sees this many keys, itself included; None: all before it
    window_layers: tuple[int, ...] | None = None  # decoder layers with the window; None: all

    # What an encoder that stands alone looks at: all of the text, a window around each token (Beltagy 2020), or blocks
    # around each block and a few others (Zaheer 2020). It is the same for short texts as for long ones.
    reach: Reach = "full"
    reach_window: int = 256  # "window": tokens that are seen on either side
    reach_block: int = 64  # "blocks": tokens of a block, which sees itself and its two neighbours
    end_blocks: bool = True  # "blocks": the first and the last one see all, and all see them
    random_blocks: int = 3  # "blocks": others that each block sees
    random_choice: RandomBlocks = "drawn"  # once for each layer; "first": each of them is the first block once more
    global_tokens: int = 0  # first tokens of a text that see all of it, and that all see; a call can mark others
    global_projections: bool = False  # queries, keys and values of such tokens are made apart

    # Where a token stands.
    positions: Positions = "sinusoidal"
    position_offset: int = 0  # rows of a learned table that come before position 0
    rotary_base: float = 10_000.0
    rotary_share: float = 1.0  # of each head's width that is turned
    rotary_layout: RotaryLayout = "halves"
    rotary_scaling: RotaryScaling = "none"
    rotary_factor: float = 1.0  # how many times the trained length
    rotary_trained_length: int = 8192  # before it was scaled
    rotary_low: float = 1.0  # turns over the trained length below which a pair is slowed down (Llama 3), or 1 (YaRN)
    rotary_high: float = 4.0  # and above which it is left as it is; 32 in YaRN
    rotary_attention: float | None = None  # YaRN's factor on queries and keys; None: 0.1 ln(factor) + 1
    relative_buckets: int = 32  # of T5's bias
    relative_distance: int = 128  # beyond which T5's bias and Shaw's embeddings no longer tell distances apart

    # Embeddings and the output.
    tied_embeddings: bool = True  # the output is the embedding's transpose
    shared_embeddings: bool | None = None  # encoder and decoder read one table; None: as `tied_embeddings`
    embedding_scale: bool = True  # embeddings are multiplied by sqrt(d_model)
    n_segments: int = 0  # kinds of text that an encoder tells apart (BERT: 2)
    pooler: bool = False  # a layer on the first token's state (BERT)
    output_transform: bool = False  # a layer, its activation and a norm before the output (BERT's masked-word head)
    output_bias: bool = False
    output_scale: float = 1.0  # of the states before the output (T5: 1 / sqrt(d_model) where tied)

    # Mixture of experts in place of the feed-forward network (Shazeer 2017); 0: none.
    n_experts: int = 0
    experts_per_token: int = 2
    balance_weight: float = 0.01  # of the balance loss (Fedus 2022, equation 4)

    # One layer repeated (Dehghani 2018), and how long each position is worked on.
    shared_depth: bool = False
    halting: bool = False
    halting_threshold: float = 0.99
    ponder_weight: float = 0.01  # of the ponder cost (Graves 2016, equation 7)

    dropout: float = 0.1
    attention_dropout: float = 0.0

    def __post_init__(self) -> None:
        """Refuses what no model can be."""
        for name in ("vocab_size", "d_model", "n_heads", "d_ff", "max_length"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} = {getattr(self, name)}: at least 1 is needed")
        for name in ("n_encoder_layers", "n_decoder_layers", "n_experts", "n_segments", "position_offset"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} = {getattr(self, name)}: 0 or more is needed")
        if self.n_encoder_layers + self.n_decoder_layers == 0:
            raise ValueError("n_encoder_layers and n_decoder_layers are both 0: one of them is needed")
        for name, hint in get_type_hints(type(self)).items():
            value = getattr(self, name)
            if isinstance(value, str) and value not in get_args(hint):
                raise ValueError(f'{name} "{value}" is none of {", ".join(get_args(hint))}')
        for name in ("dropout", "attention_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} = {getattr(self, name)} is outside [0, 1)")
        self._check_heads()
        self._check_combinations()
        self._check_distances()
        self._check_reach()

    def _check_heads(self) -> None:
        if self.d_head is None and self.d_model % self.n_heads:
            raise ValueError(f"d_model {self.d_model} must be a multiple of n_heads {self.n_heads}, or d_head be given")
        if self.n_kv_heads is not None and (self.n_kv_heads < 1 or self.n_heads % self.n_kv_heads):
            raise ValueError(f"n_heads {self.n_heads} must be a multiple of n_kv_heads {self.n_kv_heads}")
        if self.d_head is not None and self.d_head < 1:
            raise ValueError(f"d_head = {self.d_head}: at least 1 is needed")
        if not 0 < self.rotary_share <= 1:
            raise ValueError(f"rotary_share = {self.rotary_share} is outside (0, 1]")
        if self.positions == "rotary" and self.rotary_width % 2:
            raise ValueError(f"rotary positions turn pairs, and {self.rotary_width} of a head's widths are not even")

    def _check_combinations(self) -> None:
        if self.parallel_residual and (self.norm_placement != "pre" or self.is_encoder_decoder):
            raise ValueError("parallel_residual needs norm_placement pre, and one stack")
        if self.n_experts and not 1 <= self.experts_per_token <= self.n_experts:
            raise ValueError(f"experts_per_token {self.experts_per_token} is not between 1 and {self.n_experts}")
        if self.window is not None and (self.window < 1 or not self.n_decoder_layers):
            raise ValueError(f"window {self.window}: it belongs to a decoder, and holds at least 1 key")
        if self.halting and not self.shared_depth:
            raise ValueError("halting needs shared_depth: it decides how often the one layer is applied")
        if (self.n_segments or self.pooler) and not self.n_encoder_layers:
            raise ValueError("n_segments and pooler belong to an encoder")

    def _check_distances(self) -> None:
        if self.rotary_factor <= 0:
            raise ValueError(f"rotary_factor = {self.rotary_factor}: more than 0 is needed")
        if self.positions == "shaw" and self.relative_distance < 0:
            raise ValueError(f"relative_distance = {self.relative_distance}: 0 or more is needed")
        shares = {4: self.n_encoder_layers, 2: self.n_decoder_layers}  # an encoder's two directions share the buckets
        alone = [self.relative_buckets // share for share, depth in shares.items() if depth]
        if self.positions == "t5" and not all(1 <= count < self.relative_distance for count in alone):
            raise ValueError(
                f"relative_buckets = {self.relative_buckets}: half of a direction's hold one distance each, and these "
                f"must be at least 1 and fewer than relative_distance = {self.relative_distance}"
            )

    def _check_reach(self) -> None:
        for name, least in (("reach_window", 0), ("reach_block", 1), ("random_blocks", 0), ("global_tokens", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} = {getattr(self, name)}: {least} or more is needed")
        if self.reach == "full" and (self.global_tokens or self.global_projections):
            raise ValueError("global_tokens and global_projections need reach window or blocks: in full, all see all")
        if self.reach != "full" and self.n_decoder_layers:
            raise ValueError(f"reach {self.reach} belongs to an encoder alone; a decoder has its window")
        if self.reach != "full" and self.positions not in (*ADDED, "coordinates", "rotary", "none"):
            raise ValueError(f"reach {self.reach}: positions {self.positions} need a number for each pair of tokens")
        if self.counts_first_again and (self.global_projections or not self.end_blocks):
            raise ValueError("random_choice first needs end_blocks, and no global_projections")

    @property
    def counts_first_again(self) -> int:
        """How many times more the keys of the first block count for the blocks between the ends."""
        return self.random_blocks if self.reach == "blocks" and self.random_choice == "first" else 0

    @property
    def is_encoder_decoder(self) -> bool:
        """Are there both stacks?"""
        return self.n_encoder_layers > 0 and self.n_decoder_layers > 0

    @property
    def line(self) -> Literal["encoder", "decoder", "both"]:
        """Which of the three lines of the field it belongs to."""
        if self.is_encoder_decoder:
            return "both"
        return "encoder" if self.n_encoder_layers else "decoder"

    def has_window(self, layer: int) -> bool:
        """Does this decoder layer see a window alone?"""
        return self.window is not None and (self.window_layers is None or layer in self.window_layers)

    @property
    def head_width(self) -> int:
        """K, the width of a head."""
        return self.d_model // self.n_heads if self.d_head is None else self.d_head

    @property
    def rotary_width(self) -> int:
        """How much of a head's width rotary positions turn."""
        return int(self.head_width * self.rotary_share)

    @property
    def reads_one_table(self) -> bool:
        """Do encoder and decoder read one embedding table?"""
        return self.tied_embeddings if self.shared_embeddings is None else self.shared_embeddings

    @classmethod
    def from_fields(cls, values: dict[str, Any]) -> "TransformerConfig":
        """The config of JSON values, whose lists are tuples here."""
        fields: dict[str, Any] = {
            name: tuple(cast(list[Any], value)) if isinstance(value, list) else value for name, value in values.items()
        }
        return cls(**fields)
