"""Models that answer over HTTP: what the verbs of the command line do, asked for and told in JSON."""
