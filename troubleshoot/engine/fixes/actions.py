"""Actions of fixes: the closed list, what each needs, and how it is shown as a command or as code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from troubleshoot.basics.names import is_distribution, is_requirement
from troubleshoot.basics.patterns import searched

#: action -> (required companions, optional companions)
ACTIONS: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "upgrade": (frozenset(), frozenset({"to"})),
    "downgrade": (frozenset({"to"}), frozenset()),
    "install": (frozenset(), frozenset({"to"})),
    "uninstall": (frozenset(), frozenset()),
    "patch": (frozenset(), frozenset({"module", "modules", "dtype", "device", "implementation"})),
    "edit": (frozenset(), frozenset()),
    "setting": (frozenset(), frozenset()),
    "advice": (frozenset(), frozenset()),
}

#: live patch -> its required companions
PATCHES: dict[str, frozenset[str]] = {
    "cast_inputs": frozenset({"dtype"}),
    "cast_module": frozenset({"module", "dtype"}),
    "cast_outputs": frozenset({"module", "dtype"}),
    "keep_fp32": frozenset({"modules"}),
    "move_module": frozenset({"module", "device"}),
    "move_inputs": frozenset({"device"}),
    "autocast": frozenset({"dtype"}),
    "set_attention": frozenset({"implementation"}),
    "repair_probabilities": frozenset(),
}

#: What general fixes write where the library's name belongs. No shell runs it: it is replaced, or shown as LIBRARY.
PLACEHOLDER = "{library}"

#: install action -> the command's beginning, by installer
_VERBS = {
    "upgrade": {"pip": "pip install --upgrade", "uv": "uv pip install --upgrade", "conda": "conda update"},
    "install": {"pip": "pip install", "uv": "uv pip install", "conda": "conda install"},
    "uninstall": {"pip": "pip uninstall", "uv": "uv pip uninstall", "conda": "conda remove"},
}
# A downgrade names its release.
_VERBS["downgrade"] = _VERBS["install"]

_DTYPES = {"requested": "dtype", "model": "model.dtype"}


def problems(action: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with an action; empty where it is well formed."""
    names = [name for name in ACTIONS if name in action]
    if len(names) != 1:
        return [f"needs exactly one of {', '.join(ACTIONS)}; has {', '.join(names) or 'none'}"]
    name = names[0]
    found: list[str] = []
    if not isinstance(action[name], str) or not action[name].strip():
        found.append(f"{name} needs a text")
        return found
    required, optional = ACTIONS[name]
    if name == "patch":
        if action[name] not in PATCHES:
            return [f"unknown patch {action[name]!r}; the patches are {', '.join(PATCHES)}"]
        required = PATCHES[action[name]]
    missing = sorted(required - action.keys())
    unknown = sorted(action.keys() - required - optional - {name})
    if missing:
        found.append(f"{name} needs {', '.join(missing)}")
    if unknown:
        found.append(f"{name} knows no {', '.join(unknown)}")
    return found


def kind_of(action: Mapping[str, Any]) -> str:
    """Return the action's name."""
    for name in action:
        if name in ACTIONS:
            return name
    return "advice"


def command(action: Mapping[str, Any], installer: str = "pip") -> str | None:
    """Return the shell command of an install action for the installer in use (pip, uv or conda), or None for other actions.

    None too where the package or the version has not the form of one, wherever it comes from: a shell would read the rest of it.
    """
    name = kind_of(action)
    verbs = _VERBS.get(name)
    if verbs is None:
        return None
    package, version = str(action[name]), action.get("to")
    wanted = package if version is None else f"{package}=={version}"
    if not is_requirement(wanted.replace(PLACEHOLDER, "library")):
        return None
    # A release that is named is installed.
    verb = verbs if version is None else _VERBS["install"]
    if wanted != PLACEHOLDER and not is_distribution(wanted):
        # A shell redirects at "<" and expands "[".
        wanted = f"'{wanted.replace('==', '=') if installer == 'conda' else wanted}'"
    return f"{verb.get(installer, verb['pip'])} {wanted}"


#: "pip install", "uv pip install" and what follows it on its line, up to a remark or the next command.
_PIP = searched(r"\bpip3?\s{1,3}install\b([^\n;&|#`，。；）]{0,400})")
#: Options that take a value.
_WITH_VALUE = frozenset({"--index-url", "--extra-index-url", "-i", "-f", "--find-links", "-r", "--requirement", "-c", "--constraint", "-t"})
#: What commands in texts write where a name belongs.
_PLACES = frozenset({"LIBRARY", "PACKAGE", "<package>", PLACEHOLDER})


def named_distributions(action: Mapping[str, Any]) -> list[str]:
    """Return the distributions that an action's command, or a command within its code, installs by their names.

    In advice a command runs on into the sentence: there is no telling where it ends.
    """
    name = kind_of(action)
    if name in ("upgrade", "downgrade", "install"):
        wanted = [str(action[name])]
    else:
        wanted = [word for match in _PIP.finditer(str(action[name])) for word in _arguments(match[1])] if name != "advice" else []
    bare = (searched(r"[\[<>=!~ ]").split(word.strip("'\""))[0] for word in wanted if word not in _PLACES)
    return [one for one in dict.fromkeys(bare) if one and is_distribution(one)]


def _arguments(text: str) -> list[str]:
    """Return the requirements of a command: no options with their values, no addresses, no paths."""
    found: list[str] = []
    skip = False
    for word in text.split():
        if skip or word.startswith("-"):
            skip = not skip and word in _WITH_VALUE
        elif "/" not in word and word != ".":
            found.append(word)
    return found


def code(action: Mapping[str, Any]) -> str | None:
    """Return what to write: Python, or a flag or configuration line; None for commands and advice."""
    name = kind_of(action)
    if name in ("edit", "setting"):
        return str(action[name]).rstrip()
    if name == "patch":
        return _patch_code(action)
    return None


def _dtype(action: Mapping[str, Any]) -> str:
    name = str(action.get("dtype", "requested"))
    return _DTYPES.get(name, f"torch.{name}")


def _module(action: Mapping[str, Any]) -> str:
    module = str(action.get("module", ""))
    return f"model.{module}" if module else "model"


def _patch_code(action: Mapping[str, Any]) -> str:
    name = action["patch"]
    dtype = _dtype(action)
    module = _module(action)
    if name == "cast_inputs":
        return f"inputs = {{k: v.to({dtype}) if v.is_floating_point() else v for k, v in inputs.items()}}"
    if name == "cast_module":
        shown = "dtype" if dtype == "dtype" else dtype
        return f"{module}.to({shown})" + ("  # dtype: the one you load with" if shown == "dtype" else "")
    if name == "cast_outputs":
        return f"{module}.register_forward_hook(lambda module, args, output: output.to({'args[0].dtype' if dtype == 'dtype' else dtype}))"
    if name == "keep_fp32":
        modules = action["modules"]
        listed = [modules] if isinstance(modules, str) else list(modules)
        return "\n".join(f"model.{one}.float()" if one else "model.float()" for one in listed)
    if name == "move_module":
        device = str(action["device"])
        target = "model.device" if device == "model" else repr(device)
        return f"{module}.to({target}{f', dtype={dtype}' if 'dtype' in action else ''})"
    if name == "move_inputs":
        device = str(action["device"])
        target = "model.device" if device == "model" else repr(device)
        return f"inputs = {{k: v.to({target}) for k, v in inputs.items()}}"
    if name == "autocast":
        shown = "model.dtype" if dtype == "dtype" else dtype
        return f'with torch.autocast("{action.get("device", "cuda")}", dtype={shown}):\n    outputs = model(**inputs)'
    if name == "set_attention":
        return f'model = AutoModel.from_pretrained(..., attn_implementation="{action["implementation"]}")'
    # Not -inf: where every logit is NaN, a row of -inf would again have no distribution.
    return "lowest = torch.finfo(logits.dtype).min\nlogits = torch.nan_to_num(logits, nan=lowest, neginf=lowest)"
