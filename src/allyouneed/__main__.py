"""`python -m allyouneed`, which is also how `torchrun -m allyouneed train …` starts it."""

from allyouneed.cli.main import run

run()
