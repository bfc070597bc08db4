// Launch scripts as far as they can be read without running them.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hysim/megatron.h"
#include "predict/megatron/pattern.h"
#include "unit/predict/scenarios.h"

namespace hysim::predictor {
namespace {

using test::faults_of;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> texts_of(const MegatronRun& run) {
  std::vector<std::string> texts;
  for (const MegatronArgument& argument : run.arguments) texts.push_back(argument.text());
  return texts;
}
std::vector<std::string> read(const std::string& script, const MegatronVariables& variables = {}) {
  return texts_of(read_megatron_script(script, "train.sh", variables));
}

TEST(MegatronScript, VariablesArraysAndArithmetic) {
  EXPECT_THAT(read(R"(#!/bin/bash
GPUS=8
NODES=${SLURM_NNODES:-"16"}
WORLD=$(($GPUS*NODES + 4 / 2 - 2))
NAME="run ${NODES}"'x'$GPUS
MODEL_ARGS=(
    --num-layers 96   # all of them
    --hidden-size $((128 * 96)) \
    #--bf16
)
MODEL_ARGS+=( --swiglu )
DATA="--seq-length 2048 --fp16"
torchrun --nproc_per_node $GPUS --nnodes=${NODES} pretrain_gpt.py \
    ${MODEL_ARGS[@]} \
    $DATA --wandb-exp-name "$NAME" --world $WORLD
)"),
              ElementsAre("--nproc-per-node 8", "--nnodes 16", "--num-layers 96",
                          "--hidden-size 12288", "--swiglu", "--seq-length 2048", "--fp16",
                          "--wandb-exp-name run 16x8", "--world 128"));
}

TEST(MegatronScript, ArgumentsKnowTheirLines) {
  const MegatronRun run = read_megatron_script(
      "A=(\n  --num-layers 2\n  --seq-length 4\n)\npython x.py \\\n  \"${A[@]}\" \\\n  --bf16\n",
      "train.sh");
  ASSERT_EQ(run.arguments.size(), 3U);
  EXPECT_EQ(run.arguments[0].line, 2);
  EXPECT_EQ(run.arguments[1].line, 3);
  EXPECT_EQ(run.arguments[2].line, 7);
  EXPECT_EQ(run.arguments[2].file, "train.sh");
}

TEST(MegatronScript, GivenVariablesWin) {
  const std::string script = "TP=1\npython x.py --num-layers 2 --tensor-model-parallel-size $TP";
  EXPECT_THAT(read(script), Contains("--tensor-model-parallel-size 1"));
  EXPECT_THAT(read(script, {{"TP", "4"}}), Contains("--tensor-model-parallel-size 4"));
}

// What a shell would have to run or decide is listed, not guessed.
TEST(MegatronScript, WhatCannotBeEvaluatedIsListed) {
  const MegatronRun run = read_megatron_script(R"(
NODES=$(wc -l < hosts)
if [ -n "$FP8" ]; then
  EXTRA="--fp8-format hybrid"
fi
[[ $LONG == 1 ]] && SEQ=131072
SEQ=${SEQ:-4096}
python x.py --num-layers 2 --nnodes $NODES --seq-length $SEQ $EXTRA
)",
                                               "train.sh");
  EXPECT_THAT(texts_of(run),
              ElementsAre("--num-layers 2", "--nnodes $(wc -l < hosts)", "--seq-length 4096"));
  EXPECT_THAT(run.arguments[1].missing, testing::SizeIs(1));
  ASSERT_EQ(run.not_evaluated.size(), 4U);
  EXPECT_EQ(run.not_evaluated[0].line, 2);
  EXPECT_THAT(run.not_evaluated[0].message, HasSubstr("is a command"));
  EXPECT_THAT(run.not_evaluated[1].message, HasSubstr("value of EXTRA in a conditional part"));
  EXPECT_THAT(run.not_evaluated[2].message, HasSubstr("value of SEQ in a conditional part"));
  EXPECT_THAT(run.not_evaluated[3].message, HasSubstr("$EXTRA is not set"));
}

TEST(MegatronScript, CommandsInTextsAreRead) {
  EXPECT_THAT(read(R"(
options=" \
  --num-layers 4 \
  --bf16"
run_cmd="python -u ${DIR}/pretrain_gpt.py ${options}"
srun -l --nodes 2 sh -c "${run_cmd}"
)"),
              ElementsAre("--nodes 2", "--num-layers 4", "--bf16"));
  EXPECT_THAT(read("CMD=\"python x.py --num-layers 4\"\neval $CMD --bf16\n"),
              ElementsAre("--num-layers 4", "--bf16"));
}

TEST(MegatronScript, HereDocumentsAndOtherCommandsAreNoArguments) {
  EXPECT_THAT(read(R"(
cat > config <<EOF
python x.py --num-layers 7
EOF
python tools/preprocess_data.py --input a --workers 4
python x.py --num-layers 2 2>&1 | tee log
)"),
              ElementsAre("--num-layers 2"));
}

TEST(MegatronScript, ArgumentsAloneAreRead) {
  EXPECT_THAT(read("# hysim: kernels.topk=\"radix\"\n--num-layers 2\n--bf16 --seq-length 4\n"),
              ElementsAre("--num-layers 2", "--bf16", "--seq-length 4"));
  const MegatronRun run =
      read_megatron_script("# hysim: kernels.topk=\"radix\"\n--num-layers 2\n", "args");
  ASSERT_EQ(run.settings.size(), 1U);
  EXPECT_EQ(run.settings[0].name, "kernels.topk");
  EXPECT_THAT(run.settings[0].values, ElementsAre("\"radix\""));
}

TEST(MegatronScript, NeedsOneTrainingCommand) {
  const auto none = faults_of([] { read("echo hello\n"); });
  ASSERT_EQ(none.size(), 1U);
  EXPECT_THAT(none[0].message, HasSubstr("no command passes Megatron arguments"));
  const auto two =
      faults_of([] { read("python a.py --num-layers 1\npython b.py --num-layers 2\n"); });
  ASSERT_EQ(two.size(), 1U);
  EXPECT_EQ(two[0].line, 2);
}

// Whatever the bytes, an answer or an InputError.
TEST(MegatronScript, OddTextsEnd) {
  for (const char* text :
       {"", "\"", "'", "$(", "$((", "${", "${A:-${B:-", "A=(", "A+=(", "`", "\\", "<<EOF", "((((",
        "A=${A}${A}\npython x.py --num-layers $A", "A=(${A[@]} ${A[@]})\n", "$((1/0))",
        "$((9223372036854775807+1))", "python x.py --num-layers $((((((1))))))"}) {
    try {
      read(text);
    } catch (const InputError&) {
      SUCCEED();
    }
  }
  std::string doubling = "A=(x y)\n";
  for (int i = 0; i < 40; ++i) doubling += "A=(${A[@]} ${A[@]})\n";
  const auto faults = faults_of([&] { read(doubling + "python x.py --num-layers 1 ${A[@]}"); });
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_THAT(faults[0].message, HasSubstr("more than can be read"));
}

// ---------------------------------------------------------------- patterns

TEST(MegatronPattern, LayerFrequency) {
  EXPECT_THAT(*parse_layer_frequency("2", 5), ElementsAre(true, false, true, false, true));
  EXPECT_THAT(*parse_layer_frequency("([0]*2+[1]*3)", 5),
              ElementsAre(false, false, true, true, true));
  EXPECT_THAT(*parse_layer_frequency("[0, 1]*2 + [1]", 5),
              ElementsAre(false, true, false, true, true));
  for (const char* text : {"", "0", "[0]*3", "([0]", "[2]*5", "[0]*99999999999", "1x", "[1]*5]"}) {
    EXPECT_FALSE(parse_layer_frequency(text, 5)) << text;
  }
}

// The example of Megatron's documentation: DeepSeek-V3 on 16 stages of two chunks.
TEST(MegatronPattern, PipelineLayout) {
  const auto layout = parse_pipeline_layout("Et*3|(tt|)*29,m|L");
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->layers.size(), 32U);
  std::int64_t layers = 0;
  for (const std::int64_t count : layout->layers) layers += count;
  EXPECT_EQ(layers, 61);
  EXPECT_EQ(layout->layers[0], 3);
  EXPECT_EQ(layout->mtp[30], 1);
  EXPECT_EQ(layout->layers[31], 0);
  const auto again = parse_pipeline_layout(pipeline_layout_text(*layout));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->layers, layout->layers);
  EXPECT_EQ(again->mtp, layout->mtp);
  for (const char* text : {"", "tt|tt", "Et|x|L", "E(t|L", "Et*99999999L", "Et*|L"}) {
    EXPECT_FALSE(parse_pipeline_layout(text)) << text;
  }
}

}  // namespace
}  // namespace hysim::predictor
