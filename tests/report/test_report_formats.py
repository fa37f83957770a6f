"""Reports as people paste them, each form small."""

from __future__ import annotations

import pytest

from troubleshoot.reading import Failure, read_report

FRAMES = """\
  File "/home/u/train.py", line 10, in <module>
    main()
  File "/opt/conda/lib/python3.10/site-packages/transformers/models/t5/modeling_t5.py", line 321, in forward
    hidden_states = self.wo(hidden_states)
  File "/opt/conda/lib/python3.10/site-packages/torch/nn/modules/linear.py", line 114, in forward
    return F.linear(input, self.weight, self.bias)
"""
ERROR = "RuntimeError: expected scalar type Float but found Half\n"
WHOLE = "Traceback (most recent call last):\n" + FRAMES + ERROR


def only(text: str) -> Failure:
    report = read_report(text)
    assert len(report.failures) == 1, report.failures
    return report.failures[0]


def test_the_place_is_the_deepest_of_each_kind() -> None:
    """The reporter's own code, and the library above torch, shortened below site-packages."""
    place = only(WHOLE).place
    assert (place.user, place.library) == ("/home/u/train.py:10", "transformers/models/t5/modeling_t5.py:321")


@pytest.mark.parametrize(
    ("path", "user", "library"),
    [
        (r"C:\Users\me\proj\train.py", "C:/Users/me/proj/train.py:7", None),
        (r"C:\Users\me\venv\Lib\site-packages\diffusers\models\unet.py", None, "diffusers/models/unet.py:7"),
        (r"C:\Python310\lib\runpy.py", None, None),
        (r"D:\a\miniconda3\lib\threading.py", None, None),
        ("/usr/lib/python3/dist-packages/apex/amp.py", None, "apex/amp.py:7"),
        ("/usr/lib/python3.8/runpy.py", None, None),
        ("/Library/Frameworks/Python.framework/Versions/3.11/lib/python3.11/asyncio/runners.py", None, None),
        ("<frozen runpy>", None, None),
        ("<string>", None, None),
        ("<stdin>", "<stdin>:7", None),
        ("<ipython-input-3-abc>", "<ipython-input-3-abc>:7", None),
        ("transformers/models/llama/modeling_llama.py", None, "transformers/models/llama/modeling_llama.py:7"),
        (".../diffusers/models/unet.py", None, "diffusers/models/unet.py:7"),
        ("torch/nn/functional.py", None, None),
        ("/home/me/transformers/src/transformers/trainer.py", None, "transformers/trainer.py:7"),
        ("/home/me/transformers/examples/pytorch/run_glue.py", "/home/me/transformers/examples/pytorch/run_glue.py:7", None),
        (
            "/root/.cache/huggingface/modules/transformers_modules/org/model/modeling_x.py",
            None,
            "transformers_modules/org/model/modeling_x.py:7",
        ),
        ("/usr/local/bin/torchrun", None, None),
        ("/tmp/torchinductor_me/ab/cabc.py", None, None),
        ("/opt/pytorch/torch/nn/modules/linear.py", None, None),
    ],
)
def test_whose_code_a_file_is(path: str, user: str | None, library: str | None) -> None:
    """Paths of all systems, shortened ones and checkouts."""
    place = only(f'Traceback (most recent call last):\n  File "{path}", line 7, in f\n    x\n{ERROR}').place
    assert (place.user, place.library) == (user, library)


def test_a_cut_top_leaves_frames_that_are_not_complete() -> None:
    """Without its header a traceback may lack frames; what is absent is then unknown."""
    failure = only(FRAMES.partition("\n")[2].partition("\n")[2] + ERROR)
    assert len(failure.frames) == 2
    assert not failure.root.complete
    assert only(WHOLE).root.complete


def test_a_cut_bottom_keeps_its_frames() -> None:
    """The message is missing, the place is known."""
    failure = only("Traceback (most recent call last):\n" + FRAMES)
    assert (failure.root.type, failure.root.message) == ("", "")
    assert failure.place.user == "/home/u/train.py:10"


def test_frames_without_source_lines_are_read() -> None:
    """Frozen programs and bug trackers drop the source."""
    text = "Traceback (most recent call last):\n" + "".join(f'  File "m{n}.py", line {n}, in f{n}\n' for n in range(4)) + ERROR
    assert [frame.code for frame in only(text).frames] == [None] * 4


def test_only_the_last_line_is_a_failure_without_frames() -> None:
    """A class and a message are enough."""
    failure = only(ERROR)
    assert (failure.root.type, failure.root.message, failure.frames) == ("RuntimeError", "expected scalar type Float but found Half", ())


@pytest.mark.parametrize(
    ("line", "kind", "message"),
    [
        ("I get RuntimeError: mat1 and mat2 must have the same dtype when I call it", "RuntimeError", "mat1 and mat2"),
        ("[Bug]: torch.cuda.OutOfMemoryError: CUDA out of memory.", "torch.cuda.OutOfMemoryError", "CUDA out of memory."),
        ("`ValueError: Attempting to unscale FP16 gradients.`", "ValueError", "Attempting to unscale FP16 gradients."),
        ("**RuntimeError**: \"addmm_impl_cpu_\" not implemented for 'Half'", "RuntimeError", '"addmm_impl_cpu_" not implemented'),
        ("2024-05-01 12:00:00,123 - trainer - ERROR - RuntimeError: boom", "RuntimeError", "boom"),
        ("ERROR: expected scalar type Half but found Float", "", "expected scalar type Half but found Float"),
        ("Error: expected scalar type Half but found Float", "", "expected scalar type Half but found Float"),
        ("报错：expected scalar type Half but found Float", "", "expected scalar type Half but found Float"),
        ("!!! Exception during processing !!! expected scalar type Half but found Float", "", "expected scalar type Half but found Float"),
        ("FAILED tests/test_x.py::test_y - RuntimeError: boom", "RuntimeError", "boom"),
        ("triton.compiler.errors.CompilationError: at 1:0:", "triton.compiler.errors.CompilationError", "at 1:0:"),
    ],
)
def test_a_message_in_a_line_of_prose_or_of_a_log_is_a_failure(line: str, kind: str, message: str) -> None:
    """Where a class, or the word Error, stands before it."""
    failure = only(f"Hello,\n{line}\n")
    assert failure.root.type == kind
    assert failure.root.message.startswith(message)
    assert failure.line == 2


@pytest.mark.parametrize(
    "line",
    [
        "Input type (c10::Half) and bias type (float) should be the same",
        "/x/y.py:12: UserWarning: RuntimeError was raised once, error: is ignored",
        "FutureWarning: torch.cuda.amp.autocast is deprecated",
        "it trains without an error",
        "except RuntimeError:",
        "error_file: <N/A>",
        "class MyError(Exception):",
        'raise ValueError("x")',
        "num_errors: 0",
    ],
)
def test_other_lines_are_no_failures(line: str) -> None:
    """Bare messages stay for the templates, warnings and code are not failures."""
    report = read_report(f"Hello\n{line}\nbye\n")
    assert report.failures == ()
    assert line in report.lines


def test_a_message_told_twice_is_one_failure() -> None:
    """A title, a log line and the traceback all say the same."""
    text = (
        f"RuntimeError: expected scalar type Float but found Half\n\nI get:\n\n{WHOLE}\nERROR: expected scalar type Float but found Half\n"
    )
    assert len(only(text).frames) == 3


def test_prose_after_a_message_does_not_belong_to_it() -> None:
    """A blank line, a fence, a prompt or a log line ends a message."""
    for after in (
        "\nThanks",
        "```\nThanks",
        "$ nvidia-smi",
        ">>> x",
        "100%|###| 3/3 [00:01<00:00, 1.1it/s]",
        "INFO: done",
        "[INFO] done",
        "*** Done",
        "In [4]: ",
    ):
        assert only(f"{WHOLE}{after}\n").root.message == "expected scalar type Float but found Half"


def test_the_note_on_asynchronous_errors_belongs_to_the_message() -> None:
    """It follows the message, with a blank line or without, and hides nothing."""
    note = (
        "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.\n"
        "For debugging consider passing CUDA_LAUNCH_BLOCKING=1.\nCompile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
    )
    for gap in ("", "\n"):
        failure = only(
            "Traceback (most recent call last):\n"
            + FRAMES
            + "RuntimeError: CUDA error: device-side assert triggered\n"
            + gap
            + note
            + "\nbye\n"
        )
        assert failure.root.message.startswith("CUDA error: device-side assert triggered")
        assert failure.root.message.endswith("device-side assertions.")


def test_comfyui_names_the_error_above_its_frames() -> None:
    """ComfyUI prints the message first, then frames at the margin, and no last line."""
    text = (
        "Error occurred when executing KSampler:\n\nexpected scalar type Half but found Float\n\n"
        'File "/ComfyUI/execution.py", line 152, in recursive_execute\noutput_data, output_ui = get_output_data(obj, input_data_all)\n'
        'File "/ComfyUI/nodes.py", line 1355, in sample\nreturn common_ksampler(model)\n'
    )
    failure = only(text)
    assert failure.root.message == "expected scalar type Half but found Float"
    assert [frame.number for frame in failure.frames] == [152, 1355]
    assert failure.frames[0].code == "output_data, output_ui = get_output_data(obj, input_data_all)"


def test_comfyui_reports_name_type_and_message() -> None:
    """The newer report is Markdown with fields."""
    text = (
        "# ComfyUI Error Report\n## Error Details\n- **Node Type:** KSampler\n- **Exception Type:** RuntimeError\n"
        "- **Exception Message:** expected scalar type Half but found Float\n## Stack Trace\n```\n" + FRAMES + "```\n"
    )
    failure = only(text)
    assert (failure.root.type, failure.root.message) == ("RuntimeError", "expected scalar type Half but found Float")
    assert failure.root.line == 5, "the message is where it is stated, so that its dtypes are facts"
    text = text.replace("found Float\n", "found Float\nfrom here on\n")
    assert only(text).root.message == "expected scalar type Half but found Float\nfrom here on"


def test_webui_indents_its_traceback() -> None:
    """Stable Diffusion web UI prints stars and moves frames to the right."""
    text = (
        "*** Error completing request\n*** Arguments: ('task(x)',) {}\n    Traceback (most recent call last):\n"
        '      File "/sd/modules/call_queue.py", line 57, in f\n        res = list(func(*args, **kwargs))\n'
        "    modules.devices.NansException: A tensor with all NaNs was produced in Unet.\n\n---\n"
    )
    failure = only(text)
    assert failure.root.name == "NansException"
    assert failure.frames[0].code == "res = list(func(*args, **kwargs))"


def test_classic_notebooks_name_the_file_before_the_function() -> None:
    """IPython before 8, and Colab with its links and folded frames."""
    text = (
        "---------------------------------------------------------------------------\n"
        "RuntimeError                              Traceback (most recent call last)\n"
        "<ipython-input-5-1f2e> in <module>()\n      1 x = 1\n----> 2 model(x)\n\n2 frames\n"
        "[/usr/local/lib/python3.10/dist-packages/torch/nn/modules/module.py](https://localhost:8080/#) in"
        " _call_impl(self, *args, **kwargs)\n"
        "   1500         if not x:\n-> 1501             return forward_call(*args, **kwargs)\n   1502         # Do not call functions\n\n"
        "/usr/local/lib/python3.10/dist-packages/torch/nn/modules/linear.py in forward(self, input)\n"
        "    113     def forward(self, input):\n--> 114         return F.linear(input, self.weight, self.bias)\n\n" + ERROR
    )
    failure = only(text)
    assert [(frame.number, frame.function) for frame in failure.frames] == [(2, "<module>"), (1501, "_call_impl"), (114, "forward")]
    assert failure.frames[1].file == "/usr/local/lib/python3.10/dist-packages/torch/nn/modules/module.py"
    assert not failure.root.complete


def test_a_box_whose_top_is_cut_is_read() -> None:
    """The arrows tell that these lines were in a box."""
    text = (
        "│ /home/u/train.py:12 in main          │\n│                                      │\n│   11     x = 1                       │\n"
        "│ ❱ 12     model(x)                    │\n╰──────────────────────────────────────╯\n" + ERROR
    )
    failure = only(text)
    assert [(frame.file, frame.number, frame.code) for frame in failure.frames] == [("/home/u/train.py", 12, "model(x)")]
    assert not failure.root.complete


def test_native_crashes_have_the_class_and_what_it_says() -> None:
    """Stacks of C++ are left out."""
    text = (
        "terminate called after throwing an instance of 'c10::Error'\n  what():  CUDA error: an illegal memory access was encountered\n"
        "CUDA kernel errors might be asynchronously reported\n"
        "Exception raised from c10_cuda_check_implementation at ../c10/cuda/CUDAException.cpp:44 (most recent call first):\n"
        "frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x57 (0x7f in /x/libc10.so)\n"
        "frame #1: <unknown function> + 0x1 (0x7f in /x/half_T4.so)\n"
    )
    failure = only(text)
    assert failure.root.type == "c10::Error"
    assert failure.root.message.startswith("CUDA error: an illegal memory access was encountered")
    assert "frame #" not in failure.root.message
    assert not [one for one in read_report(text).mentions if one.kind == "gpu"]


def test_line_numbers_and_totals_count_the_paste() -> None:
    """Also where the last line has no end."""
    report = read_report("a\n\n" + ERROR.strip())
    assert (report.total_lines, report.failures[0].line, report.numbers) == (3, 3, (1, 2, 3))


@pytest.mark.parametrize("text", ["", " \n\t\n", b"", "\ufeff"])
def test_nothing_is_empty(text: str | bytes) -> None:
    """Blank input says why there is nothing."""
    assert read_report(text).reason == "empty"


@pytest.mark.parametrize("data", [b"PK\x03\x04\x00\x00", b"\x89PNG\r\n\x1a\n\x00\x00", bytes(range(256)) * 20, b"\x80\x04\x95\x00\x00"])
def test_binary_data_is_told(data: bytes) -> None:
    """An archive, a picture or a pickle is no report."""
    assert read_report(data).reason == "binary"


def test_a_windows_path_is_no_escape() -> None:
    r"""A backslash before an n is a directory's separator in C:\ComfyUI\nodes.py."""
    failure = only('Traceback (most recent call last):\n  File "C:\\ComfyUI\\nodes.py", line 13, in f\n    x\nRuntimeError: boom\n')
    assert failure.frames[0].path == "C:/ComfyUI/nodes.py"


INNER = '  File "/home/u/t.py", line 3, in train_fn\n    y()\nRuntimeError: expected scalar type Half but found Float\n'
OUTER = 'Traceback (most recent call last):\n  File "driver.py", line 9, in <module>\n    go()\n'


@pytest.mark.parametrize(
    ("text", "outer"),
    [
        (
            f"{OUTER}ray.exceptions.RayTaskError(RuntimeError): ray::train_fn() (pid=123, ip=1.1.1.1)\n{INNER}",
            "ray.exceptions.RayTaskError(RuntimeError)",
        ),
        (
            f"ray.exceptions.RayTaskError(RuntimeError): ray::train_fn() (pid=123, ip=1.1.1.1)\n{INNER}",
            "ray.exceptions.RayTaskError(RuntimeError)",
        ),
        (
            f"{OUTER}RuntimeError: Caught it in replica 0.\nOriginal Traceback (most recent call last):\n{INNER}",
            "RuntimeError",
        ),
        (
            f"{OUTER}RuntimeError: It failed in the interpreter.\nTraceback of TorchScript (most recent call last):\n{INNER}",
            "RuntimeError",
        ),
        (
            f'multiprocessing.pool.RemoteTraceback: \n"""\nTraceback (most recent call last):\n{INNER}"""\n\n'
            "The above exception was the direct cause of the following exception:\n\n"
            f"{OUTER}RuntimeError: expected scalar type Half but found Float\n",
            "RuntimeError",
        ),
        (
            f"{OUTER}torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\n"
            "RuntimeError: expected scalar type Half but found Float\n",
            "torch._dynamo.exc.BackendCompilerFailed",
        ),
    ],
)
def test_what_was_raised_elsewhere_comes_first(text: str, outer: str) -> None:
    """Workers of Ray, of pools and of DataParallel, TorchScript and compilers put one error into the message of another."""
    failure = only(text)
    assert [one.type for one in failure.exceptions] == ["RuntimeError", outer]
    assert failure.root.message == "expected scalar type Half but found Float"
    assert failure.exceptions[1].link == "cause"


def test_values_that_loguru_draws_are_skipped() -> None:
    """Markers, blank lines between frames, and the values below the source."""
    text = (
        "Traceback (most recent call last):\n\n"
        '> File "t.py", line 10, in <module>\n    f(1)\n    └ <function f at 0x7f>\n\n'
        '  File "t.py", line 5, in f\n    return x / 0\n           └ 1\n\nZeroDivisionError: division by zero\n'
    )
    failure = only(text)
    assert (failure.root.type, [frame.code for frame in failure.frames]) == ("ZeroDivisionError", ["f(1)", "return x / 0"])


def test_the_fault_handler_prints_the_innermost_frame_first() -> None:
    """A crash below Python has a message and frames in reverse."""
    text = (
        "Fatal Python error: Segmentation fault\n\nCurrent thread 0x00007f (most recent call first):\n"
        '  File "x.py", line 3 in forward\n  File "t.py", line 9 in <module>\n\n'
    )
    failure = only(text)
    assert failure.root.message == "Segmentation fault"
    assert [frame.function for frame in failure.frames] == ["<module>", "forward"]


def test_what_a_destructor_raised_is_not_the_cause() -> None:
    """Python ignored it, and so does the diagnosis where anything else failed."""
    report = read_report(
        "Exception ignored in: <function X.__del__ at 0x7f>\nTraceback (most recent call last):\n"
        '  File "t.py", line 3, in __del__\n    self.x\nAttributeError: no attribute\n' + WHOLE
    )
    assert [failure.role for failure in report.failures] == ["victim", "cause"]
