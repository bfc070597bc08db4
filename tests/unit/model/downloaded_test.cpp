// Files as they come from the hub, with all the keys that do not matter here.
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "model/transformer.h"
#include "unit/model/model_files.h"

namespace hysim {
namespace {

using model::Transformer;

Transformer read(std::string_view text) {
  return model::parse_transformer(text, "config.json", "downloaded");
}

std::int64_t total(const Transformer& model) { return model::total_parameters(model).total; }

TEST(DownloadedConfig, Llama31) {
  const Transformer model = read(R"({
  "architectures": ["LlamaForCausalLM"],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "bos_token_id": 128000,
  "eos_token_id": [128001, 128008, 128009],
  "hidden_act": "silu",
  "hidden_size": 4096,
  "initializer_range": 0.02,
  "intermediate_size": 14336,
  "max_position_embeddings": 131072,
  "mlp_bias": false,
  "model_type": "llama",
  "num_attention_heads": 32,
  "num_hidden_layers": 32,
  "num_key_value_heads": 8,
  "pretraining_tp": 1,
  "rms_norm_eps": 1e-05,
  "rope_scaling": {
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
    "rope_type": "llama3"
  },
  "rope_theta": 500000.0,
  "tie_word_embeddings": false,
  "torch_dtype": "bfloat16",
  "transformers_version": "4.42.3",
  "use_cache": true,
  "vocab_size": 128256
})");
  EXPECT_EQ(total(model), 8'030'261'248);
  EXPECT_EQ(model.name, "downloaded");
  EXPECT_EQ(model.model_type, "llama");
  EXPECT_EQ(model.attention.head_dim, 128);
  EXPECT_EQ(model.max_positions, 131072);
  EXPECT_EQ(model.attention.sliding_window, 0);
  EXPECT_TRUE(model.gated_ffn);
  EXPECT_TRUE(model.sources.empty());
}

TEST(DownloadedConfig, DeepSeekV3) {
  const Transformer model = read(R"({
  "architectures": ["DeepseekV3ForCausalLM"],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "auto_map": {
    "AutoConfig": "configuration_deepseek.DeepseekV3Config",
    "AutoModel": "modeling_deepseek.DeepseekV3Model",
    "AutoModelForCausalLM": "modeling_deepseek.DeepseekV3ForCausalLM"
  },
  "bos_token_id": 0,
  "eos_token_id": 1,
  "ep_size": 1,
  "first_k_dense_replace": 3,
  "hidden_act": "silu",
  "hidden_size": 7168,
  "initializer_range": 0.02,
  "intermediate_size": 18432,
  "kv_lora_rank": 512,
  "max_position_embeddings": 163840,
  "model_type": "deepseek_v3",
  "moe_intermediate_size": 2048,
  "moe_layer_freq": 1,
  "n_group": 8,
  "n_routed_experts": 256,
  "n_shared_experts": 1,
  "norm_topk_prob": true,
  "num_attention_heads": 128,
  "num_experts_per_tok": 8,
  "num_hidden_layers": 61,
  "num_key_value_heads": 128,
  "num_nextn_predict_layers": 1,
  "q_lora_rank": 1536,
  "qk_nope_head_dim": 128,
  "qk_rope_head_dim": 64,
  "quantization_config": {
    "activation_scheme": "dynamic",
    "fmt": "e4m3",
    "quant_method": "fp8",
    "weight_block_size": [128, 128]
  },
  "rms_norm_eps": 1e-06,
  "rope_scaling": {
    "beta_fast": 32,
    "beta_slow": 1,
    "factor": 40,
    "mscale": 1.0,
    "mscale_all_dim": 1.0,
    "original_max_position_embeddings": 4096,
    "type": "yarn"
  },
  "rope_theta": 10000,
  "routed_scaling_factor": 2.5,
  "scoring_func": "sigmoid",
  "tie_word_embeddings": false,
  "topk_group": 4,
  "topk_method": "noaux_tc",
  "torch_dtype": "bfloat16",
  "transformers_version": "4.33.1",
  "use_cache": true,
  "v_head_dim": 128,
  "vocab_size": 129280
})");
  EXPECT_EQ(total(model), 671'026'404'352);  // published: 671B
  EXPECT_EQ(to_string(model.layers[2]), "mla+dense");
  EXPECT_EQ(to_string(model.layers[3]), "mla+moe");
  EXPECT_EQ(model.moe.groups, 8);
  EXPECT_EQ(model.moe.groups_picked, 4);
  EXPECT_EQ(model.mtp_layers, 1);
  EXPECT_EQ(model.attention.head_dim, 192);
  EXPECT_EQ(model.indexer.top_k, 0);
}

constexpr std::string_view kGpt2 = R"({
  "activation_function": "gelu_new",
  "architectures": ["GPT2LMHeadModel"],
  "attn_pdrop": 0.1,
  "bos_token_id": 50256,
  "embd_pdrop": 0.1,
  "eos_token_id": 50256,
  "initializer_range": 0.02,
  "layer_norm_epsilon": 1e-05,
  "model_type": "gpt2",
  "n_ctx": 1024,
  "n_embd": 768,
  "n_head": 12,
  "n_inner": null,
  "n_layer": 12,
  "n_positions": 1024,
  "resid_pdrop": 0.1,
  "summary_type": "cls_index",
  "task_specific_params": {"text-generation": {"do_sample": true, "max_length": 50}},
  "vocab_size": 50257
})";

TEST(DownloadedConfig, Gpt2UsesItsOwnNames) {
  const Transformer model = read(kGpt2);
  EXPECT_EQ(total(model), 124'439'808);  // published: 124M
  EXPECT_EQ(model.dense_ffn, 3072);
  EXPECT_EQ(model.attention.num_kv_heads, 12);
  EXPECT_FALSE(model.gated_ffn);
  EXPECT_TRUE(model.tied_embedding && model.learned_positions && model.norm_bias);
}

TEST(DownloadedConfig, Mistral7bHasAWindowInEveryLayer) {
  const Transformer model = read(R"({
    "architectures": ["MistralForCausalLM"], "bos_token_id": 1, "hidden_act": "silu",
    "hidden_size": 4096, "intermediate_size": 14336, "max_position_embeddings": 32768,
    "model_type": "mistral", "num_attention_heads": 32, "num_hidden_layers": 32,
    "num_key_value_heads": 8, "rms_norm_eps": 1e-05, "rope_theta": 10000.0,
    "sliding_window": 4096, "tie_word_embeddings": false, "vocab_size": 32000})");
  EXPECT_EQ(total(model), 7'241'732'096);
  EXPECT_EQ(model.attention.sliding_window, 4096);
}

TEST(DownloadedConfig, Qwen2MoeHasAGatedSharedExpert) {
  const Transformer model = read(R"({
    "architectures": ["Qwen2MoeForCausalLM"], "decoder_sparse_step": 1, "hidden_act": "silu",
    "hidden_size": 3584, "intermediate_size": 18944, "max_position_embeddings": 131072,
    "max_window_layers": 28, "model_type": "qwen2_moe", "moe_intermediate_size": 2560,
    "norm_topk_prob": false, "num_attention_heads": 28, "num_experts": 64,
    "num_experts_per_tok": 8, "num_hidden_layers": 28, "num_key_value_heads": 4,
    "shared_expert_intermediate_size": 20480, "sliding_window": 65536,
    "tie_word_embeddings": false, "use_sliding_window": false, "vocab_size": 151936})");
  EXPECT_NEAR(static_cast<double>(total(model)), 57.41e9, 0.005e9);  // published: 57.41B
  EXPECT_TRUE(model.moe.shared_gate);
  EXPECT_TRUE(model.attention.qkv_bias);
  EXPECT_FALSE(model.attention.out_bias);
  EXPECT_EQ(model.attention.sliding_window, 0);
}

TEST(DownloadedConfig, DeepSeekV2LiteProjectsQueriesDirectly) {
  const Transformer model = read(R"({
    "architectures": ["DeepseekV2ForCausalLM"], "first_k_dense_replace": 1,
    "hidden_act": "silu", "hidden_size": 2048, "intermediate_size": 10944, "kv_lora_rank": 512,
    "max_position_embeddings": 163840, "model_type": "deepseek_v2",
    "moe_intermediate_size": 1408, "moe_layer_freq": 1, "n_group": 1, "n_routed_experts": 64,
    "n_shared_experts": 2, "num_attention_heads": 16, "num_experts_per_tok": 6,
    "num_hidden_layers": 27, "num_key_value_heads": 16, "q_lora_rank": null,
    "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "topk_group": 1, "topk_method": "greedy",
    "v_head_dim": 128, "vocab_size": 102400})");
  EXPECT_EQ(total(model), 15'706'484'224);  // published: 15.7B
  EXPECT_EQ(model.attention.q_lora_rank, 0);
  EXPECT_EQ(model.moe.shared_ffn, 2816);
}

// GLM-5.2 as downloaded sets head_dim to the part without rope; loaders that take it for the
// rope part or the whole head get the sizes wrong.
TEST(DownloadedConfig, Glm52HeadDimIsNoTrap) {
  config::Node config = test::bundled_config("glm-5.2");
  config.set("head_dim", config::Node::integer(192));
  config.set("index_topk_pattern", config::Node::null());
  config.set("moe_layer_freq", config::Node::integer(1));
  const Transformer model = test::parsed(config);
  EXPECT_EQ(model.attention.head_dim, 256);
  EXPECT_EQ(model.attention.qk_rope_head_dim, 64);
  EXPECT_EQ(total(model), total(test::bundled("glm-5.2")));
}

// Kimi-K2.5 nests a DeepSeek-V3-like text model beside a vision tower.
TEST(DownloadedConfig, FollowsTextConfig) {
  const Transformer model = read(R"({
    "architectures": ["KimiK25ForConditionalGeneration"], "model_type": "kimi_k25",
    "tie_word_embeddings": true,
    "text_config": {"model_type": "kimi_k2", "hidden_size": 7168, "num_hidden_layers": 61,
      "first_k_dense_replace": 1, "intermediate_size": 18432, "moe_intermediate_size": 2048,
      "n_routed_experts": 384, "n_shared_experts": 1, "num_experts_per_tok": 8, "n_group": 1,
      "topk_group": 1, "num_attention_heads": 64, "num_key_value_heads": 64,
      "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
      "qk_rope_head_dim": 64, "v_head_dim": 128, "max_position_embeddings": 262144,
      "topk_method": "noaux_tc", "tie_word_embeddings": false, "vocab_size": 163840},
    "vision_config": {"hidden_size": 1152, "vt_num_hidden_layers": 27}})");
  EXPECT_EQ(model.model_type, "kimi_k2");
  EXPECT_FALSE(model.tied_embedding);
  EXPECT_NEAR(static_cast<double>(total(model)), 1.026e12, 0.001e12);  // published: 1T
}

TEST(DownloadedConfig, TextConfigInheritsTypeAndTying) {
  const Transformer model = read(R"({
    "model_type": "qwen3", "tie_word_embeddings": true,
    "text_config": {"hidden_size": 1024, "num_hidden_layers": 2, "num_attention_heads": 16,
      "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 3072,
      "max_position_embeddings": 40960, "vocab_size": 1000}})");
  EXPECT_EQ(model.model_type, "qwen3");
  EXPECT_TRUE(model.tied_embedding && model.attention.qk_norm);
}

}  // namespace
}  // namespace hysim
