"""The command line: one verb, one file. A verb loads what it needs when it runs, so that help comes at once."""
