"""The few parts that every model is built from. One idea a file; no part knows a family's name.

Dimensions, everywhere: `B` batch, `T` query length, `S` key length, `H` query heads, `G` key/value heads, `D` model
width, `K` head width, `F` feed-forward width, `V` vocabulary, `L` layers. Batch first.
"""
