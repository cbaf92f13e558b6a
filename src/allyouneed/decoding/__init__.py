"""One search for everything that writes token by token.

A model takes part by three functions: `start` makes a state, `step` appends one token to every row and says what may
come next, `select` keeps, repeats or reorders rows. The search knows nothing else of it.
"""
