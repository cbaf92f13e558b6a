"""For each kind of work: what an example, a batch, a loss and a measure are."""
