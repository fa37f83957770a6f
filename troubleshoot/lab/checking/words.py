"""What each rule says, in English and Chinese: what was seen in numbers, and what to write instead.

Both tables have the same keys. A text may use the numbers of its finding; one that lacks a number is said without it (``?``).
"""

from __future__ import annotations

SEEN: dict[str, tuple[str, str]] = {
    "overflow": (
        "{op} overflows {dtype}: its operands are finite (at most {largest_input}), the result in float32 would be {float32}",
        "{op} 超出 {dtype} 的范围：操作数有限（最大 {largest_input}），float32 下结果为 {float32}",
    ),
    "gradient-overflow": (
        "a gradient overflows {dtype} in the backward pass of {op}; in float32 it is {float32}",
        "反向传播中 {op} 的梯度超出 {dtype} 的范围；float32 下为 {float32}",
    ),
    "constant-overflow": (
        "the constant {constant} does not fit into {dtype} and becomes inf",
        "常数 {constant} 超出 {dtype} 的范围，变成 inf",
    ),
    "nonfinite": (
        "{op} makes {value} of finite values, in float32 too",
        "{op} 由有限的值得到 {value}，float32 下同样如此",
    ),
    "masked-row": (
        "a row in which everything is masked (-inf): its softmax is NaN in every dtype",
        "某一行全部被屏蔽（-inf），其 softmax 在任何类型下都是 NaN",
    ),
    "nothing-left": (
        "{op} divides by a count of zero: nothing is left to average",
        "{op} 除以计数零：没有剩下可以求平均的元素",
    ),
    "divided-by-lost": (
        "what is divided by, or taken the logarithm of, became zero in {dtype}: {lost} is below its range",
        "被除数或对数的参数在 {dtype} 中变成了零：{lost} 低于其范围",
    ),
    "rounded-out-of-domain": (
        "a difference of nearly equal numbers is rounding in {dtype}: {op} gets a value out of its domain",
        "两个几乎相等的数相减，在 {dtype} 中只剩舍入误差：{op} 得到了定义域之外的值",
    ),
    "given-nonfinite": ("a tensor that comes from elsewhere holds {value}", "来自外部的张量含有 {value}"),
    "nan-weights": ("the weights that are loaded hold {value} already", "加载的权重已含有 {value}"),
    "uninitialized": ("a parameter is read before anything was written into it", "参数在写入任何值之前就被读取"),
    "squashed": (
        "{share} of the values that are not zero in float32 are zero in {dtype} (the largest is {largest})",
        "float32 下非零的值有 {share} 在 {dtype} 中成为零（最大为 {largest}）",
    ),
    "absorbed": (
        "what is added is rounded away in {dtype}: {came} of it comes through ({calls} calls), {stuck} of the values stay as they are",
        "加上去的值在 {dtype} 中被舍入掉：只有 {came} 生效（{calls} 次调用），{stuck} 的值没有变化",
    ),
    "flattened": (
        "rounding in {dtype} is {noise} of the variation of the values: {of} different ones become {distinct}",
        "{dtype} 的舍入误差达到数值变化的 {noise}：{of} 个不同的值变成 {distinct} 个",
    ),
    "cancelled": (
        "a difference of nearly equal numbers: operands of size {operands}, {difference} is left, which {dtype} rounds away",
        "两个几乎相等的数相减：操作数大小 {operands}，剩下 {difference}，被 {dtype} 舍入掉",
    ),
    "integers": (
        "{of} different integers (up to {largest}) become {distinct} in {dtype}",
        "{of} 个不同的整数（最大 {largest}）在 {dtype} 中变成 {distinct} 个",
    ),
    "integers-back": (
        "integers go through {dtype}, which changes them, and become integers again",
        "整数经过 {dtype} 时被改变，之后又变回整数",
    ),
    "coarse": (
        "rounding and clamping to integers changes the values by {error} of their size: the scale is wrong",
        "取整与截断使数值改变了其大小的 {error}：缩放系数不对",
    ),
    "stepped-twice": ("the step is done twice: scaler.step has done it already", "step 执行了两次：scaler.step 已经执行过"),
    "phase": (
        "angles up to {largest} in {dtype}, whose neighbours are {apart} apart there: their sine is noise",
        "{dtype} 中的角度高达 {largest}，相邻两个值相差 {apart}：其正弦只是噪声",
    ),
    "integer-range": (
        "{share} of the values (up to {largest}) do not fit into {dtype}, which ends at {limit}",
        "{share} 的值（最大 {largest}）超出 {dtype} 的范围（上限 {limit}）",
    ),
    "cut-off": ("values are written into a tensor of {dtype}, which cuts off {share} of them", "值写入 {dtype} 张量时被截去 {share}"),
    "quantised": ("the quantised values differ from the original by {error} of its size", "量化后的值与原值相差 {error}"),
    "float-mask": (
        "a mask of zeros and ones in {dtype} is added to the attention scores: it masks nothing",
        "由 0 和 1 组成的 {dtype} 掩码会被加到注意力分数上：什么也没有屏蔽",
    ),
    "weights-stuck": (
        "the weights do not move: {came} of the update comes through, {stuck} of them stay as they are",
        "权重不动：只有 {came} 的更新生效，{stuck} 的权重没有变化",
    ),
    "gradient-gone": (
        "gradients are zero: in the backward pass of {op} values of {largest} are below the range of {dtype}",
        "梯度为零：{op} 反向传播中的值 {largest} 低于 {dtype} 的范围",
    ),
    "clipped-scaled": (
        "gradients are still multiplied by {scale} (GradScaler) when they are clipped to {limit}",
        "裁剪到 {limit} 时，梯度仍然乘着 {scale}（GradScaler）",
    ),
    "clipped-after-step": ("gradients are clipped after the step that used them", "在使用梯度的 step 之后才裁剪"),
    "stepped-scaled": (
        "the step uses gradients that are still multiplied by {scale} (GradScaler)",
        "step 使用的梯度仍然乘着 {scale}（GradScaler）",
    ),
    "never-scaled": (
        "the loss is not scaled, but scaler.step divides its gradients by {scale}",
        "损失没有缩放，而 scaler.step 会把梯度除以 {scale}",
    ),
    "unscaled-twice": (
        "gradients are divided by the scale {scale} by hand, and once more by the scaler",
        "梯度手动除以了缩放系数 {scale}，scaler 又除了一次",
    ),
    "accumulated-after-unscale": (
        "scaled gradients are added to gradients that unscale_ has divided already",
        "unscale_ 之后又累加了仍带缩放的梯度",
    ),
    "mixed-scales": (
        "gradients of different loss scales ({other}, {scale}) are added up before one step",
        "一次 step 之前累加了不同缩放系数（{other}、{scale}）的梯度",
    ),
    "scaler-with-bf16": (
        "GradScaler is used with bfloat16 gradients, which need no scale",
        "GradScaler 用于 bfloat16 梯度，后者不需要缩放",
    ),
    "scale-exhausted": (
        "the GradScaler has left out {skipped} steps in a row; its scale is {scale}",
        "GradScaler 已连续跳过 {skipped} 步，缩放系数为 {scale}",
    ),
    "raised": ("{error}", "{error}"),
    "differs": ("the printed numbers differ from those in float32 from here on", "从这里起，打印的数值与 float32 不同"),
}

INSTEAD: dict[str, tuple[str, str]] = {
    "overflow": (
        "compute this line in float32 (`.float()` on its operands), or divide before multiplying",
        "这一行用 float32 计算（操作数加 `.float()`），或先除后乘",
    ),
    "gradient-overflow": (
        "use a GradScaler, which leaves such steps out, or a smaller factor on the loss",
        "使用 GradScaler（会跳过这样的步），或减小损失的系数",
    ),
    "constant-overflow": (
        "torch.finfo(x.dtype).min, or a boolean mask with masked_fill(mask, float('-inf'))",
        "用 torch.finfo(x.dtype).min，或布尔掩码加 masked_fill(mask, float('-inf'))",
    ),
    "nonfinite": (
        "keep the argument away from the edge of the function's domain: an epsilon inside, not outside",
        "让参数远离函数定义域的边界：把 epsilon 加在里面，而不是外面",
    ),
    "masked-row": (
        "leave at least one position unmasked in every row, or torch.nan_to_num behind the softmax",
        "每行至少保留一个未屏蔽的位置，或在 softmax 后用 torch.nan_to_num",
    ),
    "nothing-left": ("divide by count.clamp(min=1)", "除以 count.clamp(min=1)"),
    "divided-by-lost": (
        "an epsilon of at least 1e-6 for float16 (Adam: eps=1e-4), or this line in float32",
        "float16 下 epsilon 至少为 1e-6（Adam：eps=1e-4），或这一行用 float32 计算",
    ),
    "rounded-out-of-domain": (
        "compute the difference in float32, or with torch.var; clamp what must be in the domain",
        "差值用 float32 或 torch.var 计算；必须在定义域内的值加 clamp",
    ),
    "given-nonfinite": ("look at where it comes from: torch.isfinite(x).all()", "检查其来源：torch.isfinite(x).all()"),
    "nan-weights": ("take another copy of the checkpoint, or the one before it", "换一份权重文件，或更早的一份"),
    "uninitialized": ("load or initialise every parameter after to_empty()", "to_empty() 之后要加载或初始化每个参数"),
    "squashed": (
        "scale before this line and divide afterwards, or compute it in float32",
        "在这一行之前放大、之后再除回来，或用 float32 计算",
    ),
    "absorbed": ("keep what is added to in float32", "被累加的量用 float32 保存"),
    "flattened": ("compute this line in float32", "这一行用 float32 计算"),
    "cancelled": ("compute this line and its operands in float32", "这一行及其操作数用 float32 计算"),
    "integers": ("keep integers in int64, and compute what depends on them in float32", "整数保持 int64，依赖它们的计算用 float32"),
    "integers-back": (
        "leave integer tensors out of the cast: v.half() if v.is_floating_point() else v",
        "转换时跳过整数张量：v.half() if v.is_floating_point() else v",
    ),
    "coarse": ("take the scale from the largest value: x.abs().max() / 127", "缩放系数取自最大值：x.abs().max() / 127"),
    "stepped-twice": ("leave optimizer.step() out", "去掉 optimizer.step()"),
    "phase": ("compute angles, sine and cosine in float32 and cast the result", "角度、正弦、余弦用 float32 计算，最后再转换结果"),
    "integer-range": (
        "clamp to the range of the integer type, and take the scale from the largest value",
        "先 clamp 到整数类型的范围，缩放系数取自最大值",
    ),
    "cut-off": ("make the tensor that is written into a floating-point one", "被写入的张量应为浮点类型"),
    "quantised": ("take the scale from the largest value", "缩放系数取自最大值"),
    "float-mask": ("pass the mask as torch.bool", "掩码以 torch.bool 传入"),
    "weights-stuck": ("keep the weights in float32 and use autocast", "权重保持 float32，使用 autocast"),
    "gradient-gone": ("float32 weights, autocast and torch.amp.GradScaler", "float32 权重、autocast 和 torch.amp.GradScaler"),
    "clipped-scaled": ("scaler.unscale_(optimizer) on the line before it", "在前一行加上 scaler.unscale_(optimizer)"),
    "clipped-after-step": ("clip between unscale_ and step", "在 unscale_ 和 step 之间裁剪"),
    "stepped-scaled": ("scaler.step(optimizer); scaler.update()", "改为 scaler.step(optimizer); scaler.update()"),
    "never-scaled": ("scaler.scale(loss).backward()", "改为 scaler.scale(loss).backward()"),
    "unscaled-twice": ("scaler.unscale_(optimizer) in its place", "改用 scaler.unscale_(optimizer)"),
    "accumulated-after-unscale": (
        "unscale_ once, after the last backward before the step",
        "在 step 之前最后一次 backward 之后只调用一次 unscale_",
    ),
    "mixed-scales": ("scaler.update() only after a step", "只在 step 之后调用 scaler.update()"),
    "scaler-with-bf16": ("leave the GradScaler out: GradScaler(enabled=False)", "不要使用 GradScaler：GradScaler(enabled=False)"),
    "scale-exhausted": ("look for inf or NaN that no scale takes away", "寻找任何缩放都无法消除的 inf 或 NaN"),
}

LABELS: dict[str, tuple[str, str]] = {
    "none": (
        "No finding in {operations} operations, {steps} optimizer steps.",
        "在 {operations} 个操作、{steps} 个优化器步中没有发现问题。",
    ),
    "one": ("1 finding", "1 个发现"),
    "many": ("{count} findings", "{count} 个发现"),
    "also": ("see also line {lines}", "另见第 {lines} 行"),
    "times": ("{times} times, first in step {step}", "共 {times} 次，首次在第 {step} 步"),
    "instead": ("instead: ", "改为："),
    "numbers": ("printed numbers", "打印的数值"),
    "agree": ("The printed numbers agree with those of a float32 run.", "打印的数值与 float32 运行一致。"),
    "differ": ("The printed numbers differ from those of a float32 run:", "打印的数值与 float32 运行不同："),
    "not-compared": ("Not compared with float32: {why}", "未与 float32 比较：{why}"),
    "here": ("here", "此处"),
    "float32": ("float32", "float32"),
    "fixed": (
        "With this edit nothing is found, and the numbers are those of the float32 run:",
        "作此修改后没有发现问题，数值与 float32 运行一致：",
    ),
    "not-fixed": ("No edit: {why}", "没有修改：{why}"),
    "tried": ("tried: {title}: {why}", "试过：{title}：{why}"),
    "applied": ("written: {file} (before: {backup})", "已写入：{file}（原文件：{backup}）"),
    "error": ("The check itself stopped: {error}", "检查自身中断：{error}"),
    "raised": ("The program raised: {error}", "程序抛出异常：{error}"),
    "uncompiled": ("torch.compile was left out while it was checked.", "检查期间未使用 torch.compile。"),
}
