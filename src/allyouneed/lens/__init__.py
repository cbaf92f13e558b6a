"""What a model looked at: weights recomputed for the layer and head asked for, while the fast path stays on."""
