"""The words of contrasts: what people change, what comes out, and what tells a fact from a plan, a question, advice or hearsay.

One class a line, ``class: words``; ``_`` stands for a blank, and hyphens, dots and underscores of a text count as blanks. Settings are
``dimension=value``; of a dimension that can be on or off the words name it switched on.
"""

# ruff: noqa: SIM905  (lists of words read better as text)
from __future__ import annotations

WORDS = """
# --- settings -------------------------------------------------------------------------------------------------------------------------
dtype=float32: fp32 float32 f32 full_precision single_precision precision_=_32 precision_32 --force-fp32 --fp32 fp32_mode 全精度 单精度
dtype=float32: --precision_full_--no-half --no-half --precision_full float_32 all_fp32 fp_32 pure_fp32 32_true --dtype_float32
dtype=float32: 32_bit_float
dtype=float16: fp16 float16 half half_precision precision_=_16 precision_16 fp_16 半精度 16_true --fp16 --half --force-fp16 float_16
dtype=float16: torch_half
dtype=bfloat16: bf16 bfloat16 brain_float precision_=_bf16 --bf16 bf16_true bf_16
dtype=float64: fp64 float64 double_precision 双精度
dtype=mixed: mixed_fp16 plain_mixed_fp16 mixed_precision_fp16
dtype=part: fp32_vae --no-half-vae --force-upcast-attention upcast_attention upcast_cross_attention fp16_vae --fp32-vae vae_fp32
dtype=part: float32_vae attention_in_float32 attention_in_fp32 norms_in_fp32 layernorm_in_float32 vae_in_fp32 vae_in_float32
dtype=part: --upcast-sampling
autocast=on: amp autocast mixed_precision apex to_fp16 automatic_mixed_precision 混合精度 16_mixed bf16_mixed opt_level self_amp use_amp
autocast=on: --amp
device=cpu: cpu --cpu the_cpu device_=_cpu
device=mps: mps metal apple_silicon
device=cuda: cuda
device=gpu: gpu 显卡
attention=SageAttention: sage sage_attention sageattention sageattn --use-sage-attention sage_attn
attention=flash_attention: flash_attention flash_attn flashattention flashattn flash_attention_2 flash_attn_2 fa2 fa3 flash_attention_3
attention=flash_attention: flashmha flash_attention2 flashattention2 flash_attention3 flashattention3 flash flashinfer flash_attn2
attention=flash_attention: flash_sdp
attention=SDPA: sdpa torch_sdpa sdp scaled_dot_product_attention torch_sdpa_flash pytorch_attention pytorch_cross_attention
attention=SDPA: --use-pytorch-cross-attention --opt-sdp-attention --opt-sdp-no-mem-attention
attention=xformers: xformers --xformers memory_efficient_attention
attention=memory-efficient: mem_efficient memory_efficient efficient_attention mem_eff
attention=math: math_path math_backend math_sdp math_kernel math_attention
attention=eager: eager eager_attention attn_implementation_=_eager vanilla_attention naive_attention standard_attention
attention=eager: torch_nn_multiheadattention nn_multiheadattention
attention=split: --use-split-cross-attention split_attention quad_cross_attention --use-quad-cross-attention sub_quadratic
compile=on: torch_compile compile compiled inductor cuda_graph cuda_graphs cudagraph cudagraphs dynamo 编译 enforce_eager_=_false
compile=off: --enforce-eager enforce_eager aot_eager eager_mode plain_eager enforce_eager_=_true enforce_eager_mode backend_=_eager
compile=off: uncompiled not_compiled --disable-cuda-graph eagerly
tf32=on: tf32 tensorfloat32 tensor_float_32 allow_tf32 allow_tf32_=_true
tf32=off: allow_tf32_=_false tf32_=_false float32_matmul_precision_highest
devices=one: one_gpu single_gpu a_single_gpu single_card one_card 1_gpu gpu_0_only one_device single_device 单卡 单张卡 单_gpu 单张
devices=one: 只用一张 一张卡 只用一张卡 一块卡 单机单卡 tp_=_1 tensor_parallel_size_1 单张显卡 device_map_=_cuda_:_0
devices=one: cuda_visible_devices_=_0 cuda_visible_devices_只留_0 just_one_gpu only_one_gpu 1_x_gpu 单块 一个_gpu 一块_gpu one_of_the_gpus
devices=one: device_map_=_{_:_0 one_gpu_only on_one_gpu only_1_gpu
devices=many: multi_gpu multiple_gpus several_gpus more_than_one_gpu two_gpus 2_gpus 4_gpus 8_gpus both_gpus 多卡 多张 多块_gpu 多_gpu
devices=many: 双卡 两张卡 四卡 八卡 2_卡 4_卡 8_卡 device_map_=_auto device_map tensor_parallel multi_card dataparallel data_parallel
devices=many: two_cards tp_=_2 tp_=_4 tp_=_8
distributed=FSDP: fsdp fsdp2 megatron_fsdp
distributed=DeepSpeed: deepspeed zero_on zero3 zero_3 zero2 zero_2 zero_stage_3 zero_stage_2 deepspeed_zero_2 deepspeed_zero_3
distributed=DeepSpeed: deepspeed_zero2 deepspeed_zero3
distributed=DDP: ddp distributeddataparallel
distributed=accelerate: accelerate accelerate_launch
distributed=Megatron: megatron
distributed=apex: apex_ddp
zero=on: zero
quantization=on: quantization quantized quantised 量化 gptq awq int4 int8 4bit 8bit 4_bit 8_bit load_in_4bit load_in_8bit w4a16 w8a8 w4a8
quantization=on: fp8 nf4 bnb bitsandbytes gptq_int4 gptq_int4_量化 fp8_量化 qlora hqq 量化后
quantization=off: unquantized unquantised 量化前 before_quantization 未量化 非量化 not_quantized non_quantized full_precision_model
quantization=off: without_quantizing
adapter=on: lora loras adapter adapters controlnet ip_adapter ipadapter
nodes=on: custom_node custom_nodes extension extensions 自定义节点 插件
nodes=off: --disable-all-custom-nodes zero_custom_nodes vanilla_comfyui
offload=on: offload offloading cpu_offload enable_model_cpu_offload enable_sequential_cpu_offload sequential_offload model_offload
offload=on: --lowvram lowvram
offload=off: offload_mode_=_none
checkpointing=on: gradient_checkpointing --gradient_checkpointing grad_checkpointing activation_checkpointing checkpointing 梯度检查点
kv=on: use_cache kv_cache use_cache_=_true cache_on 缓存
kv=off: use_cache_=_false no_kv_cache cache_off --no-cache
batch=small: batch_size_1 batch_size_of_1 batch_size_of_one batch_of_1 batch_of_one batch_1 bs_=_1 bs_1 batch_size_=_1 smaller_batch
batch=small: smaller_batches smaller_batch_size small_batch lower_batch_size batch_size_one one_by_one single_sample batch_size_降到_1
batch=small: batch_size_设_1 batch_size_设成_1 batchsize_=_1 batchsize_1 batch_size_调小 batch_size_改小 batch_调小 小_batch 单条
batch=small: batch_size_改成_1 batch_size_设为_1 batch_size_改为_1 smaller_batchsize reduced_batch_size 逐条 lower_the_batch_size
batch=small: lower_the_batch lower_batch_sizes lowering_batch_size lowering_the_batch_size lowering_the_batch lowering_batch_sizes
batch=small: lowered_batch_size lowered_the_batch_size lowered_the_batch lowered_batch_sizes reduce_batch_size reduce_the_batch_size
batch=small: reduce_the_batch reduce_batch_sizes reducing_batch_size reducing_the_batch_size reducing_the_batch reducing_batch_sizes
batch=small: reduced_the_batch_size reduced_the_batch reduced_batch_sizes decrease_batch_size decrease_the_batch_size decrease_the_batch
batch=small: decrease_batch_sizes decreasing_batch_size decreasing_the_batch_size decreasing_the_batch decreasing_batch_sizes
batch=small: decreased_batch_size decreased_the_batch_size decreased_the_batch decreased_batch_sizes smaller_the_batch_size
batch=small: smaller_the_batch smaller_batch_sizes 批大小改成_1 批大小为_1 批大小设为_1 批大小_1 one_sample_at_a_time one_at_a_time
batch=small: single_samples
batch=large: 大于_1 larger_than_1 greater_than_1 above_1 batch_size_greater_than_1 >_1 batches_larger_than_1 more_than_one_sample bs_>_1
batch=large: bs_大于_1 多条 batch_size_大于_1 batch_size_一大于_1 batch_size_>_1 batch_>_1 batch_size_larger_than_1 larger_batch
batch=large: bigger_batch batch_size_>=_2 batch_size_2 batch_size_4 batch_size_8 batch_size_16 batch_16 batch_32 batch_推理 batched
batch=large: batch_size_above_1 batch_size_over_1 batch_sizes_larger_than_1 batch_sizes_above_1 batch_sizes_>_1 batch_sizes_greater_than_1
batch=large: batches_above_1
input=short: smaller_images smaller_image shorter_prompt shorter_prompts shorter_input shorter_inputs short_prompt short_prompts
input=short: smaller_resolution lower_resolution short_sequences shorter_sequences short_texts short_input small_images smaller_size
input=short: width_and_height_made_smaller 512x512 短文本 短输入 短句 小图 分辨率调小 分辨率降低 降低分辨率 shorter_context short_context
input=short: fewer_frames shorter_videos short_inputs 短_prompt 三千字以内 smaller_resolutions lower_resolutions small_resolutions
input=long: long_prompt long_prompts longer_prompt longer_prompts long_context long_input long_inputs larger_images large_images
input=long: higher_resolution high_resolution long_sequences long_texts 长文本 长输入 再长 太长 长上下文 大图 高分辨率 长_prompt
input=long: longer_inputs longer_sequences
lr=low: lowered_the_learning_rate lowered_the_lr lowered_lr lowered_learning_rate reduced_lr reduced_the_lr reduce_the_lr decreased_lr
lr=low: reduced_learning_rate smaller_learning_rates lower_learning_rates tiny_learning_rate low_learning_rate 更小的学习率 调低学习率
lr=low: 学习率减小 学习率改小 lr_调小 lr_调低 lr_降低 lr_改小 降低_lr 减小_lr lr_降到 learning_rate_of_0 decreasing_the_learning_rate
lr=low: lower_lr lower_learning_rate smaller_learning_rate smaller_lr learning_rate_down lower_the_learning_rate reduced_the_learning_rate
lr=low: lowering_the_learning_rate decreased_the_learning_rate reducing_the_learning_rate lr_down 学习率降 学习率调小 学习率调低
lr=low: 学习率降低 降低学习率 减小学习率 调小学习率 学习率 学习率换 学习率设成_0 小学习率 learning_rate_lower lr_lower learning_rates
lr=low: tried_lr different_learning_rates several_learning_rates various_learning_rates lr_down_to learning_rate_down_to
lr=low: changing_the_learning_rate change_the_learning_rate changed_the_learning_rate changing_lr changing_the_lr lower_the_lr
lr=low: lower_my_learning_rate lowering_lr lowering_learning_rate lowering_the_lr lowering_my_learning_rate lowered_my_learning_rate
lr=low: reduce_lr reduce_learning_rate reduce_the_learning_rate reduce_my_learning_rate reducing_lr reducing_learning_rate reducing_the_lr
lr=low: reducing_my_learning_rate reduced_my_learning_rate decrease_lr decrease_learning_rate decrease_the_lr decrease_the_learning_rate
lr=low: decrease_my_learning_rate decreasing_lr decreasing_learning_rate decreasing_the_lr decreasing_my_learning_rate
lr=low: decreased_learning_rate decreased_the_lr decreased_my_learning_rate smaller_the_lr smaller_the_learning_rate
lr=low: smaller_my_learning_rate
weights==other: another_model other_model other_models another_checkpoint other_checkpoint other_checkpoints different_model
weights==other: different_models different_checkpoint base_model_itself original_weights original_model official_weights
weights==other: original_checkpoint official_model stock_model 原版权重 原始权重 官方权重 原模型 原始模型 原版模型 官方原始权重 官方模型
weights==other: 别的模型 其他模型 换模型 换个模型 其它模型 另一个模型 原始的模型 基座模型 另一个_lora another_lora other_loras another_vae
weights==other: other_vae different_vae a_different_lora which_base_model any_model every_model all_models every_checkpoint any_checkpoint
weights==other: all_checkpoints every_model_i several_models various_models many_models several_checkpoints 好几个模型 多个模型 所有模型
weights==other: 每个模型 几个模型 换了模型 换了个模型 换了几个模型 不同模型 different_base_model other_base_models another_base_model
weights==other: smaller_model smaller_yolo larger_model bigger_model smaller_models models_里面 models_里 different_checkpoints
weights==other: different_loras other_vaes another_finetune other_finetunes
seed=other: other_seed another_seed different_seed other_seeds different_seeds 换种子 换_seed 换个种子 changing_the_seed changed_the_seed
seed=other: change_the_seed other_random_seeds new_seed another_random_seed different_random_seed which_seed any_seed every_seed
fresh=yes: fresh_install brand_new fresh_venv fresh_environment clean_install reinstalled reinstall reinstalling new_venv
fresh=yes: clean_environment set_it_all_up_from_scratch installed_from_scratch brand_new_install 重装 重新安装 重新装 全新安装 新环境
fresh=yes: 重装环境 新建环境 clean_venv new_environment fresh_conda 重新搭 installed_everything_anew deleted_the_venv new_conda_env
fresh=yes: fresh_conda_env fresh_env clean_env reinstalled_everything new_virtualenv
release=before: before_the_update before_updating before_the_upgrade previous_version previous_versions previous_release older_version
release=before: older_versions older_release old_version earlier_version earlier_versions earlier_release 旧版 旧版本 老版本 之前的版本
release=before: 低版本 更新前 升级前 以前的版本 上一版 上个版本 older_build older_driver older_drivers older_commit earlier_commit
release=before: old_driver used_to_work worked_before previously_worked worked_until used_to_be_fine worked_fine_before 以前没问题
release=before: 以前正常 之前没问题 之前都正常 之前正常 was_fine_before worked_fine_until
release=newest: nightly nightlies newest latest latest_version newest_version latest_release newest_release pre_release main_branch
release=newest: latest_master latest_main dev_version 最新版 最新版本 最新的 新版 新版本 latest_driver newest_driver latest_drivers
release=newest: newer_version newer_versions
release=changed: git_pull update_all downgrade downgraded downgrading upgrade upgraded upgrading updated updating rolled_back rolling_back
release=changed: reverted reverting 升级 降级 回退 other_versions other_version different_version different_versions another_version
release=changed: 换版本 换了好几个版本 好几个版本 各个版本 几个版本 别的版本 其他版本
release=since: since_the_update since_updating since_the_upgrade since_today after_the_update after_updating after_upgrading
release=since: my_last_git_pull after_the_upgrade since_upgrading after_update after_upgrade since_version 更新后 升级后 更新之后 升级之后
release=since: since_i_updated after_i_updated after_git_pull since_the_last_update started_after_the since_my_last
attention=backend: --attention-backend attention_backend
autocast=off: mixed_precision_no mixed_precision_=_no mixed_precision_none mixed_precision_off

# --- outcomes -------------------------------------------------------------------------------------------------------------------------
works: works worked work working fine ok okay good well normal normally correct correctly right perfect perfectly sane sensible accurate
works: readable coherent consistent stable succeeds succeeded successfully runs_through goes_through trains train_right converges
works: completes complete completed as_expected as_it_should as_it_must all_right goes_down match matches matched no_problem
works: without_any_issue without_any_issues without_any_errors without_errors without_error without_any_error without_a_hitch
works: without_trouble error_free just_fine as_intended works_like_a_charm does_fine does_it_right is_right as_it_used_to correct_results
works: right_result true_values behaves gives_what_it_should trained_well same_as_the_reference converged converging usable_images proper
works: finite recovers no_problems no_issue no_issues without_issue without_issues without_problems without_a_problem without_any_problem
works: flawless flawlessly healthy decent as_i_expect get_my_picture i_see_a_picture saw_a_picture i_got_pictures picture_is_there
works: a_picture see_a_picture just_runs it_runs ran_fine runs_fine run_ok comes_out_straight comes_out_right do_get_updated gets_updated
works: ordinary reasonable usable good_picture generates_normally trains_properly properly nothing_is_lost intact succeed finishes
works: finished 正确 没错 没出错 就正常 就能 就能出图 可正常 运行正常 表现正常 正常了 都能跑 能运行 能正常跑 跑得好好的 顺利 没出现过
works: 没有出现过 没报错 不会报错 不会 正常 没问题 没有问题 没有任何问题 没事 没啥问题 好好的 就好了 好了 能跑 能训 能用 可以训练 对的
works: 对得上 对上了 完全对得上 没毛病 都对 就对 结果对 才对 对 都好 很稳 稳 恢复 恢复正常 跑通 通过 成功 跑完 精度才回来 能推理 可以跑
works: 可以用 是可以的 可以的 可以运行 能正常 可以正常 没出过问题 不会这样 都不会 从来没乱过 不出现 跑得通 都行 就行 就可以了 不会出现
works: 没任何问题 无问题 解决了 就可以 没这个问题 没有这个问题 没有此问题 无此问题 无异常 没有异常 回答得好好的 也好 很好 一致 可以出图
works: 能出图 it_trains now_trains never_fails have_no_drop no_drop does_train does_run does_work it_does_train like_it_should
works: used_to_work worked_before previously_worked worked_until used_to_be_fine worked_fine_before 以前没问题 以前正常 之前没问题
works: 之前都正常 之前正常 was_fine_before worked_fine_until agrees agree make_sense makes_sense makes_sense_again was_enough is_enough
works: does_the_job is_back are_back all_is_well is_well results_are_identical outputs_are_identical same_as_on_cpu in_agreement
works: no_such_problem no_such_thing does_what_it_should unproblematic can_run can_run_it can_train can_load could_run unaffected
works: not_affected get_it_to_run got_it_running got_it_to_work get_it_to_work get_it_working no_trouble 可以 no_such_trouble
works: no_such_issue no_such_error
gone: doesn't_happen doesn't_come doesn't_occur doesn't_show_up never_happens did_not_happen don't_show_up does_not_happen does_not_occur
gone: didn't_happen doesn't_appear not_happen not_occur not_show_up no_longer_appears never_comes_up isn't_there none_of_it gone
gone: disappears disappeared disappear vanishes vanished vanish fixed fixes fix fixing solved solves solve resolved resolves resolve cured
gone: cures avoids avoid avoided helps helped went_away goes_away go_away did_the_trick does_the_trick rid rids got_rid prevents
gone: stays_away stops_occurring stopped_occurring stops_happening stopped_happening eliminates eliminated goes_through_again
gone: that_was_all_it_needed was_all_it_needed not_seen_any_more made_it_work makes_it_work brings_back 好转为正常 报错消失 不会再报
gone: 不再报错 不报错了 不报错 不会出现 不黑了 解决问题 问题解决 问题消失 搞定 搞定了 能解决 可以解决 就不会 没遇到过 没遇到 没碰到过
gone: 没这种情况 没出过 没了 消失 消失了 解决 不再 没再出现 就没再 都没再 不报了 不报 没有出现 避免 不出现 不会再 没再报 不见了 就没
gone: 没有再出现 不乱了 没出现 没有报 未出现 再没 problem_free never_seen_again cleared_it clears_it makes_it_go_away made_it_go_away
gone: is_history cleared_up sorted_it sorts_it is_not_there not_there_anymore repairs repaired mends mended not_present
fails: nan nans inf infinity black noise noisy garbage garbled gibberish nonsense meaningless broken wrong bad mismatch mismatches blank
fails: empty useless terrible unusable incorrect zeros zero_loss green unstable random diverge diverges diverged diverging glitches
fails: glitchy glitch runs_away black_square black_squares black_images black_image black_picture black_screen color_noise pure_noise
fails: row_of_meaningless_signs coloured_noise exclamation_marks too_high corrupted corrupt infs weird awful no_convergence not_converge
fails: hardly_converges stuck poor unk unreadable collapse collapses explodes exploded blows_up nonfinite distorted nan_loss incoherent
fails: bad_images all_black pitch_black u_shape saturation worse drops_to_0 go_to_0 gradients_go_to_0 odd_curve inaccurate loses_quality
fails: static scrambled repeats repeating artifacts artefacts overflow overflows underflow 黑 全黑 黑的 黑图 黑屏 乱码 感叹号 不对 不正常
fails: 异常 胡说 胡说八道 说胡话 胡言乱语 变傻 溢出 对不上 不收敛 爆炸 为_0 成_0 变_0 全_0 全零 重复 乱序 随机 不一致 不稳 花屏 噪声 噪点
fails: 错误 结果错 变差 不准 掉精度 很差 差很多 全是符号 都是符号 死循环 全是_0 都是_0 repeated repetitive repetition loop loops
fails: one_repeated_token loss_=_0 loss_0 are_0 all_0 is_0 map_0 loss_is_0 !!! ！！！ 傻 drop_in_quality break breaks converge_badly 乱
fails: 发散 飞了 为_nan 成_nan is_what_breaks_it is_the_culprit was_the_culprit is_to_blame causes_it 罪魁祸首 spike spikes loss_0.0
fails: rubbish 错的
again: 有问题 也有同样 也有这个问题 也会 也出现 也遇到 也有问题 也报 shows_it has_it does_it_too 一样报错 stops stopped stopped_working
again: stops_working error errors fail fails failed failing happens occurs occur happened i_see_it me_too have_it had_it had_that i_get_it
again: shows_up appears persists_too 用不了 跑不了 跑不起来 起不来 无法运行 跑不通 不行 不能用 出现 复现 shows_this show_this show_it
again: have_this do_this does_this 都是这样 也是这样 都这样 the_case affected reproducible reproduce reproduced
errors: crash crashes crashed crashing dies died die exception raises raised throws threw segfault core_dumped aborts aborted refuses
errors: hangs hang falls_over complains cuda_error runtimeerror valueerror typeerror assertionerror doesn't_start errored
errors: expected_scalar_type expected_all_tensors expected_all_tensors_to_be_on_the_same_device to_have_the_same_dtype
errors: probability_tensor_contains_either expected_mat1_and_mat2 cannot_copy_out_of_meta_tensor floating_point_exception
errors: same_device_error input_types but_found core_dump 报错 崩 崩溃 崩了 失败 出错 挂了 挂掉 报 not_implemented not_implemented_for
errors: no_kernel_image
oom: oom out_of_memory ooms cuda_oom memory_error 爆显存 显存不够 显存不足 内存不足 爆内存 内存不够 显存爆了 直接爆 显存溢出
oom: ran_out_of_memory runs_out_of_memory 爆了 超显存 显存超了 run_out_of_memory out_of_vram not_enough_memory not_enough_vram doesn't_fit
oom: does_not_fit
same: changes_anything change_anything changed_anything 都不行 都一样 都没用 试了都 same_behavior same_behaviour same_outcome same_crash
same: same_exception same_message same_traceback same_nan same_nans same_garbage same_loss same_noise same_black same_picture_of_noise
same: no_better not_better nothing_helps nothing_helped none_of_them_helped none_helped neither_helped neither_helps neither_works
same: couldn't_fix no_way_around no_dice doesn't_matter makes_no_odds nothing_new unchanged irrelevant no_success unsuccessful
same: unsuccessfully no_difference no_change nothing_changed changed_nothing changes_nothing change_nothing same same_error same_issue
same: same_problem same_thing same_result the_same no_help of_no_help no_luck no_effect to_no_avail persists persist persisted
same: error_remains issue_remains remains_broken remains_the_same error_remained as_before like_before as_bad_as_before no_cure not_a_cure
same: no_improvement made_no_difference makes_no_difference did_nothing does_nothing still_there still_the_case still_happens still_occurs
same: still_happening still_not all_the_same in_vain identical_error identical_result same_failure same_bug same_story same_here
same: not_resolved unresolved issue_stays is_still_there problem_remains 没用 无效 没变化 没有变化 不管用 没效果 没有效果 也不行 还是不行
same: 无济于事 没解决 未解决 没能解决 依旧 照报不误 还是这样 也这样 一样的错 同样的错 还是一样 照样报 仍旧 救不了 问题依旧 依然如此 没有用
same: 没区别 没有区别 没什么变化 不起作用 毫无作用 毫无变化 并没有解决 问题依然 没有改善 没改善 没躲过 仍然存在 依然存在 还存在 还在
same: 还是存在 no_relief change_a_thing changed_a_thing just_the_same did_not_cut_it wasn't_it no_remedy no_avail just_as_bad equally_bad
same: nothing_gained no_real_change no_real_difference no_visible_change no_noticeable_difference no_measurable_difference
same: no_real_improvement doesn't_help didn't_help does_not_help did_not_help won't_help no_influence 也一样 也是一样
less: less_often rarer later_than milder less_frequent a_bit_better slightly_better somewhat_better less_noise less_severe smaller_error
less: 好一点 好一些 好点 少一些 有所改善 有所好转 略好 好转 没那么 减轻 改善 有改善 晚一些 much_later takes_longer_to are_smaller
less: is_smaller smaller_spikes fewer_spikes seldom rarely longer_until much_longer_until
better: better
other: instead now_it's_a but_now_i_get 又变成 就变成 却变成 结果变成 different_error another_error new_error a_different_error turns_into
other: other_error 换了个错 另一个错误 新的错误 别的错误 新错误 error_changes error_changed now_a_different in_exchange another_message
other: different_message other_message another_exception different_exception replaced_by is_replaced_by
unless: unless 除非
now: now finally later in_the_end error_since 现在 后来 终于 果然
against: against 针对
idle: if_i if_we 一开始 the_work your_work great_work nice_work good_work 时不时 不仅 不但 不断 not_only not_just 没想到 不好意思
idle: good_luck good_day good_morning 你好 大佬好 您好 all_right_reserved right_now 好像 最好的 不得不 差不多 不久 不知道 不清楚 不小心
idle: 不同 for_what_it's_worth very_same same_code same_script same_model same_prompt same_data same_seed same_command same_settings
idle: same_workflow same_input same_image same_machine same_config same_picture same_file same_time same_model_and same_card same_gpu
idle: same_environment same_checkpoint same_length the_same_way 同样的数据 同样代码 同样命令 一样的代码 命令一样 同样的模型 同样的代码
idle: 同样的命令 同样的环境 同样的脚本 同样环境 同样配置 同样的配置 两边一模一样 i_got_it_from worthwhile
idle: fine_tune fine_tunes fine_tuned fine_tuning finetune finetuned finetuning fine_grained be_the_same to_be_the_same same_dtype
idle: the_same_dtype the_same_type same_type the_same_device same_device same_precision the_same_precision the_same_shape same_shape
runs: runs loads starts renders survives
also: 都是这样 也是这样 都这样 anyway just_as nonetheless nevertheless 也有同样 也有这个问题 也会 也出现 也遇到 也有问题 也报 也不行
also: 一样报错 also too as_well again even still likewise even_with equally already so_does so_do so_is stay stays stayed each_time
also: every_time reproduced reproduces both_ways a_second_time 也 还是 还 依然 照样 仍 仍然 又 同样 一样 哪怕 即使 就算 仍会 已经
also: reproducible alike
only: is_what_breaks_it is_the_culprit was_the_culprit is_to_blame causes_it 罪魁祸首 batch_size_一大于_1 batch_一大于_1 一做 一换 一加
only: 一用 一跑 only only_when only_if only_with nowhere_else solely exclusively 只有 只在 仅 仅在 只要 一旦 唯独 就_only 一开 only_on
only: 除了 except but_only as_soon_as once whenever
both: with_or_without with_and_without on_or_off or_not or_off 开不开都 加不加都 用不用都 开关都 both neither nor either no_matter
both: no_matter_if no_matter_whether regardless whether whichever does_not_matter 不管 无论 不论 都试过 哪个都不 哪个都
off: with_or_without with_and_without set_to_false set_to_off without off disabled disable disabling remove removed removing unticked
off: untick turned_off turning_off switch_off switched_off switching_off uninstalled uninstall uninstalling deactivated dropping dropped
off: leave_out left_out took_out taken_out no drop not_using leave minus w/o unset not_passing omit omitting omitted stopped_using
off: disable_=_true throw_out kicked_out except_without zero 去掉 关闭 关掉 关了 关 不用 不开 不加 没开 不使用 禁用 卸载 删掉 删除 取消
off: 没加 没用_off 去除 关_off 不 不带 停用 移除 拿掉 没关_off 不做 commented commenting 注释 注释掉
isoff: driver_out on_or_off or_not or_off 开不开都 加不加都 用不用都 开关都 禁用 禁用后 卸载 卸载后 删掉 移除 全部禁用 不开 停用
isoff: set_to_false =_false =_0 =_no =_none =_off :_false is_off disabled removed off turned_off unticked 关掉 关了 关闭 去掉 去掉了
isoff: 关掉后
quote: i_was_told was_told told_me was_suggested someone somebody people they_say i_read guide_says docs_say reported heard report
quote: according_to said claims mentioned_that readme people_report others it_is_said documentation they_said author_says maintainers 听说
quote: 听人说 据说 有人说 官方说 文档说 说明书 网友 群友 群友说 群里说 有个_issue 别人说 有人 作者说 大家说 issue_说
effect: any_difference any_change make_a_difference makes_a_difference made_a_difference any_effect
take: took take taking leaving leave left kicked threw pulled throwing
out: out

# --- marks ------------------------------------------------------------------------------------------------------------------------------
not: no_longer not no never without neither nor none cannot can't can_not don't doesn't didn't isn't aren't wasn't weren't won't wouldn't
not: couldn't hasn't haven't nothing stopped_giving nobody free_of lacks cant doesnt didnt isnt dont wont 谈不上 哪个都不 不太 不能 没法
not: 没能 不 没 没有 未 无 并不 不是 不会 从没 从不 从未 从来没
ison: =_true =_on enabled turned_on on enabling enable 打开 开启 一开 开着 开了 启用 加上 开
tried: tried tested test_with went_through switched switched_to moved_to swapped changed set_to put took tried_with went_to had_both
tried: have_had 试过 试了 换成 换了 换 改成 改为 改 换用 改用 设成 调成 拿到 换到 提到 升到 降到 退回 换过 调过 都跑了 跑过 换着跑过 跑了
tried: 改了
change: to into -> → with_arrow 换成 改成 换到 改为 换回 变成 降到 升到 转成 换为 改用 切到 切换到 退回 退回到 回退到 降到了
instead: instead_of rather_than replacing in_place_of was from compared_to than 而不是 代替 从 把 将 was_on unlike 不像 原来是 之前是 相比
instead: 相对于
plan: will i'll gonna going_to plan_to planning next_step next_i'll to_do todo thinking_about thinking_of want_to have_to_try should_try
plan: need_to_try had_no_time not_yet haven't_tested have_not_tested haven't_tried not_tested untested later_i i'd_like let_me
plan: would_like_to 打算 准备 接下来 下次 之后再 后面会 再试 明天 待会 没试 还没试 没测 未测试 计划 回头 等我 我去试 稍后 就想改成_plan
plan: 晚点 will_test will_try
guess: 肯定 一定可以 肯定可以 理论上 既然 means could_explain would_explain may_explain maybe perhaps probably might could_be i_think
guess: i_guess guess guessing suspect suspected likely it's_likely suppose wonder if_i_remember not_sure presumably assume may_be must_be
guess: seems_to_be possibly i'd_say could_it_be in_my_opinion supposedly my_guess 可能 估计 我猜 猜 猜是 觉得 大概 也许 感觉是 多半 印象里
guess: 印象中 凭感觉 怀疑 似乎是 或许 恐怕 看起来是 应该是 应该可以 应该不 说不定 好像是 推测 难道
advice: you_can you_could you_should you_need you_may you_might you_have_to you_must please suggest recommend recommended would_be
advice: consider we'd_suggest i'd_suggest advise advised better_to worth worth_a_go worth_a_try you_want you'd try_to can_try try_using
advice: try_with try_setting make_sure have_you_tried did_you_try one_should one_could need_to should can't_you do_you could_you can_you
advice: by_any_chance to_use be_sure 建议 推荐 可以试 可以试试 试试 试下 试一下 请 最好 可以先 解决办法 可以更换 你可以 您可以 你试 改一下
advice: 不妨 不如 需要 要求 必须 您的_advice 麻烦 the_one_you_need what_i'd_try requires required supported not_supported is_not_supported
advice: does_not_support doesn't_support only_supports support
ask: does is do can could would should are was did has have why what how which when who anybody anyone any where 吗 呢 是不是 为什么 怎么
ask: 有没有 能不能 难道 请教 请问 求 如何 啥 什么 哪里 为何 是否 会不会 对吗 还是说
if: if in_case provided assuming 如果 要是 假如 若 倘若 万一
first: i we my our i'm i've 我 我们 我这 nope yes here 这边 本人 own
but: but however though although yet so_i 但 但是 可是 不过 然而 结果 却
"""

#: Words of a table's or list's cell or label that count as an outcome only there.
CELLS = """
works: yes ok pass passed passes √ ✓ ✔ ✅ y good 对 是 好 没有 none
fails: no ❌ ✗ × x n bad 否 错
"""

#: How a toggle that is switched off is called, by dimension; and what its opposite value is, where two values exclude each other.
OFF = {
    "autocast": "no-autocast", "compile": "no-compile", "tf32": "no-tf32", "distributed": "no-distributed", "zero": "no-distributed",
    "quantization": "no-quantization", "adapter": "no-adapter", "nodes": "no-custom-node", "offload": "no-offload",
    "checkpointing": "no-checkpointing", "kv": "no-kv-cache", "attention": "other-attention",
}  # fmt: skip
#: dimension=value -> experiment, where the value itself is what was tried.
TRIED = {
    "dtype=float32": "float32", "dtype=float16": "float16", "dtype=bfloat16": "bfloat16", "dtype=mixed": "autocast",
    "autocast=on": "autocast", "device=cpu": "cpu", "device=gpu": "gpu", "device=cuda": "other-gpu", "device=mps": "other-gpu",
    "devices=one": "one-device", "batch=small": "small-batch", "input=short": "short-input", "lr=low": "lower-lr",
    "seed=other": "other-seed", "fresh=yes": "fresh-install",
}  # fmt: skip
#: the value that fails in "only with ..." -> the experiment that works then
OPPOSITE = {"devices=many": "one-device", "batch=large": "small-batch", "input=long": "short-input"}

#: Names that stand before a release, beside the packages of ``word_tables``.
RELEASED = frozenset(
    "cuda cudnn driver python macos webui comfyui rocm cann pytorch xformers vllm sglang yolov5 ultralytics whl windows triton ollama"
    " forge invokeai release version tag branch commit".split()
)
