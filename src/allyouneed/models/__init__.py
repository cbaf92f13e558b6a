"""One file a paper, reading like the paper; `presets` holds nothing but numbers."""
