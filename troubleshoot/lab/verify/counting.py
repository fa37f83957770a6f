"""Counting the parameters of a model from its configuration: ``python -m troubleshoot.lab.verify.counting MODEL``.

The model is built on the meta device: shapes without memory. Nothing is downloaded, and no code that the model brings along is run.
"""

from __future__ import annotations

import json
import sys


def count(model: str) -> int:
    """Return the number of parameters; tied ones count once.

    Raises:
        Exception: whatever transformers says where it does not know the model.
    """
    import torch
    import transformers

    config = transformers.AutoConfig.from_pretrained(model, local_files_only=True, trust_remote_code=False)
    names = [name for name in config.architectures or () if hasattr(transformers, name)]
    with torch.device("meta"):
        built = getattr(transformers, names[0])(config) if names else transformers.AutoModel.from_config(config)
    if hasattr(built, "tie_weights"):
        built.tie_weights()
    return sum(one.numel() for one in built.parameters())


if __name__ == "__main__":
    print(json.dumps({"parameters": count(sys.argv[1])}))
