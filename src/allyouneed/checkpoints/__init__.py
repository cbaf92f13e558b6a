"""Models as files: formats in and out."""
