"""Questions about points in the plane whose answers are rows of the points themselves."""
