// Megatron-LM arguments as scenarios and back. Argument sets are those of public examples.
#include "hysim/megatron.h"

#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/node.h"
#include "predict/megatron/lookup.h"
#include "predict/megatron/model.h"
#include "unit/predict/scenarios.h"

namespace hysim::predictor {
namespace {

using config::Node;
using test::bundle;
using test::faults_of;
using test::predict_nominal;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using testing::UnorderedElementsAre;

// NVIDIA/Megatron-LM examples/gpt3/train_gpt3_175b_distributed.sh at 157006d6; its one node does
// not hold its layout, which the script asks to change.
const char* const kGpt3 = R"(
GPUS_PER_NODE=8
NUM_NODES=1
DISTRIBUTED_ARGS=( --nproc_per_node $GPUS_PER_NODE --nnodes $NUM_NODES --master_addr localhost )
GPT_MODEL_ARGS=(
    --num-layers 96 --hidden-size 12288 --num-attention-heads 96 --seq-length 2048
    --max-position-embeddings 2048 --attention-backend auto
)
TRAINING_ARGS=(
    --micro-batch-size 1 --global-batch-size 1536 --rampup-batch-size 16 16 5859375
    --train-iters 500000 --adam-beta1 0.9 --init-method-std 0.006 --fp16 --lr 6.0e-5
)
MODEL_PARALLEL_ARGS=( --tensor-model-parallel-size 8 --pipeline-model-parallel-size 16 )
DATA_ARGS=( --data-path $DATA_PATH --split 949,50,1 )
torchrun ${DISTRIBUTED_ARGS[@]} pretrain_gpt.py ${GPT_MODEL_ARGS[@]} ${TRAINING_ARGS[@]} \
    ${MODEL_PARALLEL_ARGS[@]} ${DATA_ARGS[@]} --lrr 1
)";

// NVIDIA/Megatron-LM examples/moe_recipes/deepseek_v3/h100/bf16_1024GPU_TP1PP16EP64.yaml at
// 256f6065 with the pipeline layout of Megatron's documentation, as arguments.
const char* const kDeepSeek = R"sh(
torchrun --nproc-per-node 8 --nnodes 128 pretrain_gpt.py --tokenizer-model unsloth/DeepSeek-V3 \
  --num-layers 61 --hidden-size 7168 --ffn-hidden-size 18432 --num-attention-heads 128 \
  --kv-channels 128 --max-position-embeddings 4096 --normalization RMSNorm --norm-epsilon 1e-6 \
  --swiglu --disable-bias-linear --untie-embeddings-and-output-weights \
  --position-embedding-type rope --make-vocab-size-divisible-by 3232 --multi-latent-attention \
  --q-lora-rank 1536 --kv-lora-rank 512 --qk-head-dim 128 --qk-pos-emb-head-dim 64 \
  --v-head-dim 128 --qk-layernorm --num-experts 256 --moe-layer-freq "([0]*3+[1]*58)" \
  --moe-ffn-hidden-size 2048 --moe-shared-expert-intermediate-size 2048 --moe-router-topk 8 \
  --moe-router-group-topk 4 --moe-router-num-groups 8 --mtp-num-layers 1 --seq-length 4096 \
  --tensor-model-parallel-size 1 --pipeline-model-parallel-size 16 \
  --expert-model-parallel-size 64 --expert-tensor-parallel-size 1 --use-distributed-optimizer \
  --sequence-parallel --overlap-grad-reduce --overlap-param-gather \
  --moe-token-dispatcher-type flex --moe-enable-deepep --micro-batch-size 1 \
  --global-batch-size 8192 --bf16 --pipeline-model-parallel-layout "Et*3|(tt|)*29,m|L"
)sh";

MegatronImport imported(const std::string& script, const MegatronVariables& variables = {},
                        ImportOptions options = {}) {
  if (options.gpu.empty() && options.cluster.empty()) options.gpu = "h100-sxm-80";
  return import_megatron(bundle(), read_megatron_script(script, "train.sh", variables), options);
}

std::string setting(const MegatronImport& import, std::string_view path) {
  const Node document = config::parse(import.scenario, "scenario");
  const Node* const value = config::find_path(document, path);
  return value == nullptr ? "none" : config::to_text(*value);
}

std::vector<std::string> names_of(const MegatronImport& import, MegatronUse use) {
  std::vector<std::string> names;
  for (const MegatronReportLine& line : import.report) {
    if (line.use == use) names.push_back(line.argument.name);
  }
  return names;
}

/// The resolved settings of a variant, without its name.
Node resolved(const ScenarioText& scenario, const std::string& variant = {}) {
  Node document =
      config::parse(predict_nominal(scenario, {}, variant).resolved_scenario, "resolved");
  document.erase("name");
  return document;
}

std::string replaced(const std::string& text, std::string_view from, std::string_view to) {
  return test::replaced(text, from, to);
}

TEST(MegatronImport, ReadsTheGpt3Example) {
  const MegatronImport import = imported(kGpt3, {{"NUM_NODES", "16"}});
  EXPECT_EQ(import.model, "gpt3-175b");
  EXPECT_EQ(setting(import, "cluster"), "\"h100-sxm-80:16x8\"");
  EXPECT_EQ(setting(import, "parallelism.tp"), "8");
  EXPECT_EQ(setting(import, "parallelism.pp"), "16");
  EXPECT_EQ(setting(import, "parallelism.zero"), "0");  // no distributed optimizer
  EXPECT_EQ(setting(import, "parallelism.sequence_parallel"), "false");
  EXPECT_EQ(setting(import, "workload.global_batch_size"), "1536");
  EXPECT_EQ(setting(import, "training.overlap.grad_reduce"), "false");
  EXPECT_EQ(setting(import, "training.gradient_dtype"), "\"bf16\"");  // fp16: two bytes
  EXPECT_THAT(names_of(import, MegatronUse::not_modelled),
              UnorderedElementsAre("attention-backend", "rampup-batch-size"));
  EXPECT_THAT(names_of(import, MegatronUse::unknown), UnorderedElementsAre("lrr"));
  EXPECT_THAT(names_of(import, MegatronUse::no_effect), Contains("data-path"));
  EXPECT_EQ(predict_nominal({import.scenario, "imported"}).gpus, 128);
}

TEST(MegatronImport, NothingIsDropped) {
  const MegatronRun run = read_megatron_script(kGpt3, "train.sh", {{"NUM_NODES", "16"}});
  const MegatronImport import = import_megatron(bundle(), run, {"", "", "h100-sxm-80", "", ""});
  ASSERT_EQ(import.report.size(), run.arguments.size());
  for (std::size_t i = 0; i < run.arguments.size(); ++i) {
    EXPECT_EQ(import.report[i].argument.text(), run.arguments[i].text());
  }
  // What changes a step and is not priced stands in the scenario as well.
  EXPECT_THAT(setting(import, "assumptions"), HasSubstr("--rampup-batch-size 16 16 5859375"));
  EXPECT_THAT(setting(import, "assumptions"), HasSubstr("--lrr 1"));
}

TEST(MegatronImport, ReadsTheDeepSeekRecipe) {
  const MegatronImport import = imported(kDeepSeek);
  EXPECT_EQ(import.model, "deepseek-v3");
  EXPECT_EQ(import.model_config, "");
  EXPECT_EQ(setting(import, "parallelism.vpp"), "2");
  EXPECT_EQ(setting(import, "parallelism.ep"), "64");
  EXPECT_EQ(setting(import, "parallelism.sequence_parallel"), "false");  // tp is 1
  EXPECT_EQ(setting(import, "training.mtp_stage"), "14");
  EXPECT_EQ(setting(import, "kernels.dispatcher"), "\"deepep\"");
  EXPECT_EQ(setting(import, "parallelism.zero"), "1");
  EXPECT_EQ(predict_nominal({import.scenario, "imported"}).layout.layers_per_stage[0], 5);
  EXPECT_THAT(names_of(import, MegatronUse::unknown), IsEmpty());
}

TEST(MegatronImport, ContradictionsAreFaultsAtTheirLines) {
  const auto world = faults_of([] { imported(kGpt3); });
  ASSERT_EQ(world.size(), 1U);
  EXPECT_EQ(world[0].file, "train.sh");
  EXPECT_EQ(world[0].line, 13);
  EXPECT_THAT(world[0].message, HasSubstr("tp x pp x cp = 128 does not divide the 8 GPUs"));

  const auto cluster = faults_of([] {
    imported(kGpt3, {{"NUM_NODES", "16"}}, {"", "h100-512", "", "", ""});
  });
  ASSERT_EQ(cluster.size(), 1U);
  EXPECT_THAT(cluster[0].message, HasSubstr("16x8 = 128 processes, but h100-512 has 512 GPUs"));

  const auto uneven = faults_of([] {
    imported(replaced(kDeepSeek, "--pipeline-model-parallel-layout \"Et*3|(tt|)*29,m|L\"", ""));
  });
  ASSERT_EQ(uneven.size(), 1U);
  EXPECT_THAT(uneven[0].message, HasSubstr("61 layers do not divide evenly into 16 stages"));

  // Found by the predictor, told at the argument.
  const auto batch = faults_of([] {
    imported(replaced(kGpt3, "--global-batch-size 1536", "--global-batch-size 1537"),
             {{"NUM_NODES", "32"}});
  });
  ASSERT_EQ(batch.size(), 1U);
  EXPECT_EQ(batch[0].line, 10);
  EXPECT_THAT(batch[0].message, HasSubstr("must be divisible"));
}

// Megatron-LM asserts (megatron/training/arguments.py at 000c4ac2): "please use
// --num-virtual-stages-per-pipeline-rank to specify virtual pipeline parallel degree when enable
// uneven pipeline parallelism".
TEST(MegatronImport, RefusesLayersPerVirtualStageOfUnevenStages) {
  const std::string layout = "--pipeline-model-parallel-size 16";
  const MegatronVariables nodes = {{"NUM_NODES", "16"}};
  const auto with = [&](const std::string& more) { return replaced(kGpt3, layout, more); };
  for (const char* uneven :
       {"--decoder-first-pipeline-num-layers 6", "--decoder-last-pipeline-num-layers 6"}) {
    const auto faults = faults_of([&] {
      imported(with(layout + " --num-layers-per-virtual-pipeline-stage 3 " + uneven), nodes);
    });
    ASSERT_EQ(faults.size(), 1U);
    EXPECT_THAT(faults[0].message, HasSubstr("use --num-virtual-stages-per-pipeline-rank"));
  }
  EXPECT_EQ(setting(imported(with(layout + " --num-virtual-stages-per-pipeline-rank 2 "
                                           "--decoder-first-pipeline-num-layers 6"),
                             nodes),
                    "parallelism.vpp"),
            "2");
}

TEST(MegatronImport, AsksForWhatIsMissing) {
  const MegatronRun run = read_megatron_script(kGpt3, "train.sh", {{"NUM_NODES", "16"}});
  const auto gpu = faults_of([&] { import_megatron(bundle(), run, {}); });
  ASSERT_EQ(gpu.size(), 1U);
  EXPECT_THAT(gpu[0].message, HasSubstr("--gpu NAME for its 16x8"));

  const auto variable = faults_of([] {
    imported(replaced(kGpt3, "--pipeline-model-parallel-size 16",
                      "--pipeline-model-parallel-size ${PP}"),
             {{"NUM_NODES", "16"}});
  });
  ASSERT_FALSE(variable.empty());
  EXPECT_THAT(variable[0].message, HasSubstr("needs PP, which nothing sets"));

  const auto length = faults_of([] {
    imported(replaced(kGpt3, "--seq-length 2048", ""), {{"NUM_NODES", "16"}});
  });
  ASSERT_FALSE(length.empty());
  EXPECT_THAT(length[0].message, HasSubstr("--seq-length is needed"));
}

// NVIDIA/Megatron-LM examples/mixtral/train_mixtral_8x7b_distributed.sh at 0a40979e, whose toy
// sizes are no bundled model.
TEST(MegatronImport, WritesTheConfigOfAModelOfYourOwn) {
  const std::string script = R"(
torchrun --nproc_per_node 2 --nnodes 1 pretrain_gpt.py --disable-bias-linear --seq-length 256 \
  --max-position-embeddings 2048 --num-layers 2 --hidden-size 256 --ffn-hidden-size 896 \
  --num-attention-heads 2 --normalization RMSNorm --position-embedding-type rope --swiglu \
  --untie-embeddings-and-output-weights --group-query-attention --num-query-groups 2 \
  --no-position-embedding --num-experts 2 --moe-router-topk 2 \
  --moe-token-dispatcher-type alltoall --overlap-param-gather --overlap-grad-reduce \
  --micro-batch-size 1 --global-batch-size 4 --expert-model-parallel-size 2 \
  --use-distributed-optimizer --sequence-parallel --bf16)";
  const auto refused = faults_of([&] { imported(script); });
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_THAT(refused[0].message, HasSubstr("--vocab-size"));

  const MegatronImport import =
      imported(script + " --vocab-size 32000", {}, {"", "", "h100-sxm-80", "", "mine.config.json"});
  EXPECT_EQ(import.model, "mine.config.json");
  const model::Transformer mine = model::parse_transformer(import.model_config, "mine", "mine");
  EXPECT_EQ(mine.layers.size(), 2U);
  EXPECT_EQ(mine.moe.num_experts, 2);
  EXPECT_EQ(mine.moe.expert_ffn, 896);
  EXPECT_EQ(mine.attention.head_dim, 128);
  EXPECT_EQ(mine.vocab, 32000);
}

// GLM-5 as Megatron-Bridge's glm_moe_dsa recipes have it: DSA with a sparse indexer loss.
TEST(MegatronImport, ReadsDsa) {
  const MegatronExport exported =
      export_megatron(bundle(), test::bundled_scenario("glm-5.1-128k-h20-512"), "megatron-cudnn",
                      {}, MegatronFormat::arguments);
  const auto with = [&](std::string_view from, std::string_view to) {
    return import_megatron(bundle(),
                           read_megatron_script(replaced(exported.text, from, to), "args"),
                           {"", "h20-512", "", "", ""});
  };
  EXPECT_EQ(setting(with("--bf16", "--bf16"), "training.indexer.loss"), "\"sparse\"");
  EXPECT_EQ(setting(with("--dsa-indexer-use-sparse-loss", ""), "training.indexer.loss"),
            "\"dense\"");
  EXPECT_EQ(setting(with("--dsa-kernel-backend cudnn", "--dsa-kernel-backend tilelang"),
                    "kernels.sparse_attention"),
            "\"tilelang\"");
  const MegatronImport none = with("--dsa-kernel-backend cudnn", "");
  EXPECT_EQ(setting(none, "kernels.selection"), "\"naive\"");  // Megatron's default
  // Pre-training input is not packed.
  EXPECT_EQ(setting(with("# hysim: workload.packing=\"thd\"", ""), "workload.packing"), "\"bshd\"");
}

// ---------------------------------------------------------------- round trips

TEST(MegatronRoundTrip, EveryBundledVariant) {
  for (const test::BundledVariant& bundled : test::bundled_variants()) {
    SCOPED_TRACE(bundled.name + ":" + bundled.variant);
    const Node wanted = resolved(bundled.scenario, bundled.variant);
    for (const MegatronFormat format : {MegatronFormat::script, MegatronFormat::arguments}) {
      const MegatronExport exported =
          export_megatron(bundle(), bundled.scenario, bundled.variant, {}, format);
      const MegatronImport import =
          import_megatron(bundle(), read_megatron_script(exported.text, "exported"), {});
      const Node found = resolved({import.scenario, "imported"});
      EXPECT_TRUE(found == wanted) << config::to_text(found) << "\n" << config::to_text(wanted);
      EXPECT_THAT(names_of(import, MegatronUse::unknown), IsEmpty());
      EXPECT_THAT(names_of(import, MegatronUse::not_modelled), IsEmpty());
    }
  }
}

TEST(MegatronRoundTrip, OnlyWhatHasNoArgumentIsAComment) {
  const auto unexpressed = [](const std::string& variant) {
    return export_megatron(bundle(), test::bundled_scenario("glm-5.1-1m-h20-512"), variant, {},
                           MegatronFormat::script)
        .unexpressed;
  };
  EXPECT_THAT(
      unexpressed("megatron-cudnn"),
      UnorderedElementsAre("cluster=\"h20-512\"", "model=\"glm-5.1\"", "workload.packing=\"thd\""));
  EXPECT_THAT(unexpressed("hyscale"), Contains("kernels.selection=\"fused\""));
  EXPECT_THAT(unexpressed("hyscale"), Contains("kernels.selection_replay=true"));
}

/// Arguments of the model and its parallelism survive a scenario.
TEST(MegatronRoundTrip, ArgumentsSurvive) {
  const MegatronImport import = imported(kDeepSeek);
  const MegatronExport exported =
      export_megatron(bundle(), {import.scenario, "imported"}, "", {}, MegatronFormat::arguments);
  std::map<std::string, std::string> found;
  for (const auto& argument : read_megatron_script(exported.text, "args").arguments) {
    found[argument.name] = argument.text();
  }
  for (const MegatronReportLine& line : import.report) {
    const std::string& name = line.argument.name;
    if (line.use != MegatronUse::used || line.note == "cluster") continue;
    // Off with tp 1; older spellings; lengths of the file and of the config differ.
    if (name == "sequence-parallel" || name == "moe-enable-deepep" || name == "kv-channels" ||
        name == "max-position-embeddings" || name == "pipeline-model-parallel-layout" ||
        name == "tensor-model-parallel-size" || name == "num-virtual-stages-per-pipeline-rank") {
      continue;
    }
    EXPECT_EQ(found[name], line.argument.text());
  }
  EXPECT_THAT(found["pipeline-model-parallel-layout"],
              StartsWith("--pipeline-model-parallel-layout Et*3|t*2|t*2|"));
}

TEST(MegatronRoundTrip, SharedExpertOverlapIsASetting) {
  const std::string script = replaced(kDeepSeek, "--overlap-grad-reduce",
                                      "--overlap-grad-reduce --moe-shared-expert-overlap");
  EXPECT_EQ(setting(imported(kDeepSeek), "training.overlap.shared_expert"), "false");
  const MegatronImport import = imported(script);
  EXPECT_EQ(setting(import, "training.overlap.shared_expert"), "true");
  EXPECT_THAT(names_of(import, MegatronUse::used), Contains("moe-shared-expert-overlap"));
  EXPECT_LT(predict_nominal({import.scenario, "overlapped"}).step_time.value,
            predict_nominal({imported(kDeepSeek).scenario, "plain"}).step_time.value);
  const MegatronExport exported =
      export_megatron(bundle(), {import.scenario, "imported"}, "", {}, MegatronFormat::arguments);
  EXPECT_THAT(exported.text, HasSubstr("--moe-shared-expert-overlap"));
  EXPECT_THAT(exported.unexpressed,
              testing::Not(Contains(StartsWith("training.overlap.shared_expert"))));
}

TEST(MegatronRoundTrip, EveryBundledModel) {
  int models = 0;
  for (const std::string& path : bundle().list("models")) {
    const std::string name = path.substr(7, path.size() - 12);
    model::Transformer model;
    try {
      model = model::load_transformer(bundle(), name);
    } catch (const InputError&) {
      continue;  // an architecture that cannot be predicted
    }
    SCOPED_TRACE(name);
    ++models;
    const MegatronModel arguments = megatron_model(model);
    EXPECT_THAT(arguments.unexpressed, IsEmpty());
    MegatronRun run;
    run.arguments = arguments.arguments;
    MegatronLookup lookup(run);
    const Node config = huggingface_config(lookup, 1);
    for (const Diagnostic& fault : lookup.faults()) ADD_FAILURE() << fault.message;
    ASSERT_TRUE(config.is_object());
    EXPECT_TRUE(same_architecture(
        model::parse_transformer(config::to_text(config), "config", "again"), model, true))
        << config::to_text(config);
  }
  EXPECT_GE(models, 20);
}

}  // namespace
}  // namespace hysim::predictor
