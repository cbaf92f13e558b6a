"""Text in: corpus readers, the subword tokenizer and batches under a token budget."""
