"""Diagnoses built by hand: one for each thing that a face must be able to say."""

from __future__ import annotations

from dataclasses import replace

from troubleshoot.engine.result import Culprit, Diagnosis, EvidenceItem, FixAdvice, IssueDiagnosis, Question, SeenRun
from troubleshoot.reading.environment.machine import Accelerator, Environment, Package
from troubleshoot.reading.report import Failure, Frame, Mention, Place, RaisedException, Report

BLIP = """\
My captions fail since the update, on a Tesla T4 (token hf_abcdefghijklmnopqrstuvwxyz012345):
transformers==4.50.1
torch==2.6.0
Traceback (most recent call last):
  File "/home/alice/caption.py", line 21, in <module>
    out = model.generate(**inputs)
  File "/home/alice/.venv/lib/python3.10/site-packages/transformers/models/blip_2/modeling_blip_2.py", line 1372, in forward
    embedding_output = self.layernorm(query_embeds)
  File "/home/alice/.venv/lib/python3.10/site-packages/torch/nn/functional.py", line 2910, in layer_norm
    return torch.layer_norm(
RuntimeError: expected scalar type Float but found Half
"""


def report(text: str, *failures: Failure, mentions: tuple[Mention, ...] = ()) -> Report:
    """Return a report of these lines."""
    lines = tuple(text.splitlines())
    return Report(lines, tuple(range(1, len(lines) + 1)), failures, mentions, total_lines=len(lines))


def blip_failure() -> Failure:
    """Return the failure of BLIP."""
    lib = "/home/alice/.venv/lib/python3.10/site-packages"
    frames = (
        Frame("/home/alice/caption.py", "<module>", 21, "out = model.generate(**inputs)", 5),
        Frame(
            f"{lib}/transformers/models/blip_2/modeling_blip_2.py", "forward", 1372, "embedding_output = self.layernorm(query_embeds)", 7
        ),
        Frame(f"{lib}/torch/nn/functional.py", "layer_norm", 2910, "return torch.layer_norm(", 9),
    )
    error = RaisedException("RuntimeError", "expected scalar type Float but found Half", frames, 11, 11, complete=True)
    place = Place("/home/alice/caption.py:21", "transformers/models/blip_2/modeling_blip_2.py:1372")
    return Failure((error,), 11, place=place, fingerprint="0123456789abcdef")


T4 = Accelerator("Tesla T4", "cuda", "report", capability=(7, 5), architecture="turing", memory=16.0, line=1)
BLIP_ENVIRONMENT = Environment(
    (Package("transformers", "4.50.1", "report", 2), Package("torch", "2.6.0", "report", 3), Package("accelerate", "1.5.2", "answer")),
    (T4,),
    python="3.10.12",
)
UPGRADE = FixAdvice(
    "upgrade",
    "upgrade",
    "Upgrade transformers to 4.50.3",
    "safe",
    True,
    "transformers is 4.50.1",
    "The release casts at the borders of a float32 Q-Former.",
    command="pip install 'transformers==4.50.3'",
    action={"upgrade": "transformers", "to": "4.50.3"},
    seen=(SeenRun("works", "cpu", None, {"transformers": "4.50.3", "torch": "2.13.0"}, "2026-01-05"),),
)
CAST = FixAdvice(
    "cast-model",
    "cast-module",
    "Cast the whole model once after loading",
    "unsafe",
    True,
    "",
    "Puts the query tokens in half precision. Remove it after an upgrade.",
    code="model = AutoModelForVision2Seq.from_pretrained(name, torch_dtype=torch.float16)\nmodel = model.half()",
    action={"edit": "..."},
)
FLOAT32 = FixAdvice(
    "fp32",
    "use-fp32",
    "Load the model in float32",
    "unsafe",
    None,
    "if the GPU has 18 GiB or more",
    "Nothing can differ in float32.",
    code="torch_dtype=torch.float32",
    warning="14.0 GiB of weights of 16 GiB",
    action={"setting": "..."},
)
BF16 = FixAdvice(
    "use-bf16",
    "use-bf16",
    "Load the model in bfloat16",
    "manual",
    False,
    "",
    "bfloat16 fails in the same way: the query tokens stay in float32.",
    expected="fails",
    action={"setting": "..."},
)
DOWNGRADE = FixAdvice(
    "downgrade",
    "downgrade",
    "Go back to transformers 4.49.0",
    "manual",
    False,
    "another installed package needs transformers 4.50 or later",
    "4.49.0 works.",
    command="pip install 'transformers==4.49.0'",
    action={"downgrade": "transformers", "to": "4.49.0"},
)
BLIP_ISSUE = IssueDiagnosis(
    issue="transformers/blip2-query-tokens-fp32",
    cause="dtype-mismatch/fp32-island",
    failure=0,
    title="BLIP-2 query tokens stay in float32 beside a half-precision Q-Former",
    confidence=0.97,
    cause_confidence=0.99,
    explanation="transformers 4.50.0 keeps `query_tokens` in float32 (`_keep_in_fp32_modules`),\nbut not the Q-Former that consumes them. "
    "Its half LayerNorm receives float32.",
    affected=("transformers 4.50.0 to before 4.50.3",),
    models=("Salesforce/blip2-*",),
    evidence=(
        EvidenceItem("supports", "message", "RuntimeError: expected scalar type Float but found Half", 11),
        EvidenceItem("supports", "version", "transformers is 4.50.1, affected are 4.50.0 to before 4.50.3", 2),
        EvidenceItem("unknown", "fact", "dtype.requested is float16 or bfloat16"),
    ),
    fixes=(UPGRADE, CAST, FLOAT32, BF16, DOWNGRADE),
    references=("https://github.com/huggingface/transformers/issues/37103",),
    verify="troubleshoot verify transformers/blip2-query-tokens-fp32",
)


def diagnosis(**changes: object) -> Diagnosis:
    """Return the diagnosis of BLIP with changes."""
    base = Diagnosis(
        verdict="known",
        reason=None,
        summary=BLIP_ISSUE.title,
        report=report(BLIP, blip_failure()),
        environment=BLIP_ENVIRONMENT,
        diagnoses=(BLIP_ISSUE,),
        questions=(),
        knowledge="abc123",
        tool="0.1.0",
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def known() -> Diagnosis:
    """One sure issue with fixes of every sort."""
    return diagnosis()


FAMILY = IssueDiagnosis(
    issue="torch/linear-dtype",
    cause="dtype-mismatch/input-vs-weight",
    failure=0,
    title="A matrix product or linear layer got two dtypes",
    confidence=0.78,
    cause_confidence=0.4,
    explanation="Matrix products do not promote. " * 12,
    note="The inputs were never cast to the model's dtype.",
    kind="family",
    impact="error",
    evidence=(EvidenceItem("supports", "message", "RuntimeError: mat1 and mat2 must have the same dtype", 1),),
    fixes=(
        FixAdvice(
            "cast",
            "cast-inputs",
            "Cast the inputs",
            "safe",
            True,
            "",
            "The weights decide.",
            code="x = x.to(model.dtype)",
            action={"edit": "x"},
        ),
    ),
)


def likely() -> Diagnosis:
    """A family with open causes, a question, other failures, a launcher's footer and a note."""
    text = (
        "RuntimeError: mat1 and mat2 must have the same dtype\n"
        + "x\n" * 8
        + "ValueError: nan in loss\nRuntimeError: Connection closed by peer\nChildFailedError"
    )
    failures = (
        Failure((RaisedException("RuntimeError", "mat1 and mat2 must have the same dtype", (), 1, 1),), 1, count=3, ranks=(0, 1, 2)),
        Failure((RaisedException("ValueError", "nan in loss", (), 10, 10),), 10),
        Failure((RaisedException("RuntimeError", "Connection closed by peer", (), 11, 11),), 11, role="victim"),
        Failure((RaisedException("torch.distributed.elastic.ChildFailedError", "", (), 12, 12),), 12, role="launcher"),
    )
    adapter = replace(
        FAMILY, cause="dtype-mismatch/adapter-vs-base", confidence=0.3, cause_confidence=0.25, note="A LoRA adapter has another dtype."
    )
    loss = replace(
        BLIP_ISSUE, issue="numerics/nan-loss", cause="numerics/nan-loss", failure=1, title="The loss became NaN", confidence=0.55
    )
    return diagnosis(
        verdict="likely",
        report=report(text, *failures),
        environment=Environment(),
        diagnoses=(FAMILY, adapter, loss),
        questions=(
            Question("Is NVIDIA apex installed?", "package.apex", ("present", "absent"), ("transformers/t5-apex",)),
            Question("Which GPU does it run on?", "gpu", ("T4", "RTX 4090"), ("torch/linear-dtype",)),
            Question("Which version of transformers is installed?", "package.transformers", (), ("transformers/blip2-query-tokens-fp32",)),
        ),
        errors=("my-kb/x.yaml:3: kind: unknown",),
        refuted=(("transformers/blip2-query-tokens-fp32", EvidenceItem("refutes", "version", "transformers is 4.50.3")),),
    )


def unknown() -> Diagnosis:
    """Nothing fits: what was read, and the next step."""
    failure = blip_failure()
    odd = replace(failure.exceptions[0], message="quux has 3 [rank0] legs [/b]")
    text = BLIP.replace("expected scalar type Float but found Half", "quux has 3 [rank0] legs [/b]")
    mentions = (Mention("model", "model", "Salesforce/blip2-opt-2.7b", 1), Mention("dtype", "requested", "float16", 6))
    return diagnosis(
        verdict="unknown",
        reason="no-entry",
        summary="No known issue explains: RuntimeError: quux has 3 [rank0] legs [/b]",
        diagnoses=(),
        report=report(text, replace(failure, exceptions=(odd,)), mentions=mentions),
    )


def out_of_scope() -> Diagnosis:
    """One line."""
    return diagnosis(
        verdict="unknown",
        reason="out-of-scope",
        summary="Not a precision, dtype or device problem: the GPU's memory is exhausted",
        diagnoses=(),
    )


def too_little() -> Diagnosis:
    """Weak resemblance and a question."""
    weak = replace(FAMILY, confidence=0.3, failure=None)
    question = Question("Which GPU does it run on?", "gpu", (), ())
    return diagnosis(
        verdict="unknown",
        reason="too-little",
        summary="There is too little in the report to tell the cause.",
        diagnoses=(weak,),
        questions=(question,),
        report=report("it fails in half"),
        environment=Environment(),
    )


def nothing() -> Diagnosis:
    """No failure at all."""
    return diagnosis(
        verdict="unknown",
        reason="no-failure",
        summary="No failure was found.",
        diagnoses=(),
        report=report("all is well"),
        environment=Environment(),
    )


def chinese() -> Diagnosis:
    """The interface in Chinese; the entry's texts come translated."""
    issue = replace(
        BLIP_ISSUE,
        title="BLIP-2 的 query_tokens 停留在 float32，而 Q-Former 是半精度",
        explanation="transformers 4.50.0 把 `query_tokens` 保持在 float32，\n却没有保持使用它的 Q-Former。LayerNorm 收到了 float32 输入。",
    )
    return diagnosis(language="zh", diagnoses=(issue,))


def live() -> Diagnosis:
    """A live exception names the culprit; results are wrong silently."""
    culprit = Culprit(
        "qformer.layernorm", "LayerNorm", "weight", "float16", "float32", "modeling_blip_2.py:1372", "The rest of the model is float16."
    )
    return diagnosis(
        culprit=culprit, diagnoses=(replace(BLIP_ISSUE, impact="wrong-result"),), environment=replace(BLIP_ENVIRONMENT, source="local")
    )


HOSTILE = (
    "RuntimeError: [/b] [rank0] <script>alert(1)</script> ```` `x` \x1b[31mred\x1b[0m \u202eevil | ~~a~~ *b* _c_ "
    "@user #12 &amp; {0} %s \x07"
)


def hostile(text: str = HOSTILE) -> Diagnosis:
    """Whatever a report holds is shown as it is, everywhere."""
    failure = Failure((RaisedException("RuntimeError", text.removeprefix("RuntimeError: "), (), 1, 1),), 1)
    issue = replace(
        FAMILY,
        title=text,
        note=text,
        explanation=text,
        evidence=(EvidenceItem("supports", "fact", text, 1),),
        fixes=(FixAdvice("x", "other", text, "manual", True, text, text, command=text, code=text, warning=text),),
    )
    return diagnosis(verdict="likely", summary=text, report=report(text, failure), diagnoses=(issue,), environment=Environment())


ALL = {one.__name__: one for one in (known, likely, unknown, out_of_scope, too_little, nothing, chinese, live, hostile)}
