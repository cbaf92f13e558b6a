"""Models by their name on the Hugging Face hub, fetched by its own library into its own cache."""

from pathlib import Path

from allyouneed.errors import InputError, UsageError

PREFIX = "hf:"
# What a model needs, at the top of its repository. Pickled weights are not even fetched, and none in a layout of their
# makers' own, which some repositories hold beside those that are read here.
WANTED = ["*.json", "*.safetensors", "*.model", "*.spm", "README.md"]
UNWANTED = ["*/*", "consolidated*"]


def fetched(name: str) -> Path:
    """The folder of "hf:organisation/name", or the file of "hf:organisation/name/FILE.gguf".

    What the cache holds is not fetched again, and without a network the cache alone serves. HF_HOME says where it is,
    HF_HUB_OFFLINE=1 keeps it from asking the network, and HF_TOKEN opens what only a member may read.

    Raises UsageError for what can be no such name; InputError without the library, and where there is no such model, no
    way to it, or nothing in it but pickled weights.
    """
    organisation, slash, rest = name.removeprefix(PREFIX).partition("/")
    model, _, file = rest.partition("/")
    if not slash or not organisation or not model or (file and not file.endswith(".gguf")):
        raise UsageError(
            f'"{name}" is no model of the hub: those are hf:organisation/name and hf:organisation/name/FILE.gguf.'
        )
    try:
        from huggingface_hub import hf_hub_download, snapshot_download
        from huggingface_hub.errors import (
            EntryNotFoundError,
            HfHubHTTPError,
            HFValidationError,
            LocalEntryNotFoundError,
            RepositoryNotFoundError,
        )
    except ImportError as error:
        raise InputError('Models of the hub need huggingface_hub: pip install "allyouneed[hub]".') from error
    repository = f"{organisation}/{model}"
    try:
        if file:
            return Path(hf_hub_download(repository, file))
        folder = Path(snapshot_download(repository, allow_patterns=WANTED, ignore_patterns=UNWANTED))
    except HFValidationError as error:
        raise UsageError(f'"{name}" is no model of the hub: {error}') from error
    except LocalEntryNotFoundError as error:
        raise InputError(f"{name} is not in the cache, and the hub cannot be asked: there is no network.") from error
    except EntryNotFoundError as error:
        raise InputError(f"The model {repository} has no file {file}.") from error
    except RepositoryNotFoundError as error:
        raise InputError(f"The hub has no model {repository}, or not for everyone: HF_TOKEN says who asks.") from error
    except HfHubHTTPError as error:
        raise InputError(f"{name} cannot be had from the hub: {str(error).splitlines()[0]}") from error
    if not any(folder.glob("*.safetensors")):
        raise InputError(
            f"{name} has no safetensors. Weights in another form (.bin, .pt) are never opened, since reading them can "
            "run a program that is hidden in them; a .gguf file is named behind the model: "
            f"{PREFIX}{repository}/FILE.gguf."
        )
    return folder
