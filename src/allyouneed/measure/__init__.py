"""Time and memory, measured so that they can be compared: peers in processes of their own that take turns."""
