// A model: its shape, its layer pattern and its parameters by kind of layer.
#include <algorithm>
#include <cstdint>
#include <utility>

#include "report/catalog.h"
#include "report/catalog_parts.h"
#include "report/format.h"
#include "units/text.h"

namespace hysim::report {

namespace {

using config::Node;
using model::LayerSpec;
using model::ParameterCount;
using model::Transformer;

/// One line of the parameter table.
struct KindCount {
  std::string kind;         // "dsa+moe", "embedding", "head"
  std::int64_t layers = 0;  // 0: not part of the layer pattern
  ParameterCount each;
  ParameterCount all;
};

std::vector<KindCount> counts_by_kind(const Transformer& model) {
  std::vector<KindCount> counts;
  const auto add = [&](std::string kind, std::int64_t layers,
                       const std::vector<model::Tensor>& tensors) {
    auto at = std::find_if(counts.begin(), counts.end(),
                           [&](const KindCount& count) { return count.kind == kind; });
    if (at == counts.end()) {
      at = counts.insert(counts.end(),
                         KindCount{std::move(kind), 0, model::count(tensors, model), {}});
    }
    at->layers += layers;
    at->all += at->each;
  };
  for (const LayerSpec& layer : model.layers) {
    add(to_string(layer), 1, model::layer_tensors(model, layer));
  }
  add("embedding", 0, model::embedding_tensors(model));
  add("head", 0, model::head_tensors(model));
  return counts;
}

/// What the MTP layers hold beyond the total: a block like the last layer, and their own tensors.
ParameterCount mtp_count(const Transformer& model) {
  ParameterCount total;
  if (model.mtp_layers == 0 || model.layers.empty()) return total;
  ParameterCount each = model::count(model::layer_tensors(model, model.layers.back()), model);
  each += model::count(model::mtp_extra_tensors(model), model);
  for (std::int64_t i = 0; i < model.mtp_layers; ++i) total += each;
  return total;
}

bool has_moe(const Transformer& model) {
  return std::any_of(model.layers.begin(), model.layers.end(),
                     [](const LayerSpec& layer) { return layer.ffn == model::FfnKind::moe; });
}

bool has_indexer(const Transformer& model) {
  return std::any_of(model.layers.begin(), model.layers.end(),
                     [](const LayerSpec& layer) { return layer.index != model::IndexRole::none; });
}

bool is_gqa(const Transformer& model) {
  return !model.layers.empty() && model.layers.front().attention == model::AttentionKind::gqa;
}

std::string attention_text(const Transformer& model) {
  const model::Attention& a = model.attention;
  const auto number = [](std::int64_t value) { return units::format_count(value); };
  if (is_gqa(model)) {
    std::string text = number(a.num_heads) + " heads of " + number(a.head_dim) + ", " +
                       number(a.num_kv_heads) + " for keys and values";
    if (a.sliding_window > 0) text += ", window " + number(a.sliding_window);
    return text;
  }
  std::string text = number(a.num_heads) + " heads, latent: q ";
  text += a.q_lora_rank > 0 ? number(a.q_lora_rank) : std::string("direct");
  return text + ", kv " + number(a.kv_lora_rank) + "; qk " + number(a.qk_nope_head_dim) + " + " +
         number(a.qk_rope_head_dim) + " rope, v " + number(a.v_head_dim);
}

std::string experts_text(const model::Moe& moe) {
  const auto number = [](std::int64_t value) { return units::format_count(value); };
  std::string text = number(moe.num_experts) + ", " + number(moe.experts_per_token) +
                     " a token, of width " + number(moe.expert_ffn);
  if (moe.shared_ffn > 0) text += ", shared width " + number(moe.shared_ffn);
  return text;
}

Node attention_node(const Transformer& model) {
  const model::Attention& a = model.attention;
  Node node = Node::object({{"num_heads", Node::integer(a.num_heads)}});
  if (is_gqa(model)) {
    node.set("num_kv_heads", Node::integer(a.num_kv_heads));
    node.set("head_dim", Node::integer(a.head_dim));
    if (a.sliding_window > 0) node.set("sliding_window", Node::integer(a.sliding_window));
  } else {
    node.set("q_lora_rank", Node::integer(a.q_lora_rank));
    node.set("kv_lora_rank", Node::integer(a.kv_lora_rank));
    node.set("qk_nope_head_dim", Node::integer(a.qk_nope_head_dim));
    node.set("qk_rope_head_dim", Node::integer(a.qk_rope_head_dim));
    node.set("v_head_dim", Node::integer(a.v_head_dim));
  }
  return node;
}

}  // namespace

std::string parameter_text(double count) {
  if (count >= 0.9995e12) return significant(count / 1e12) + " T";
  if (count >= 0.9995e9) return significant(count / 1e9) + " B";
  if (count >= 0.9995e6) return significant(count / 1e6) + " M";
  return significant(count);
}

std::string layer_pattern(const std::vector<LayerSpec>& layers) {
  constexpr std::size_t kMaxPeriod = 16;
  // At each place the period that covers most layers, the shortest of equals.
  const auto repeats_at = [&](std::size_t from, std::size_t period) {
    std::size_t repeats = 1;
    while (from + (repeats + 1) * period <= layers.size() &&
           std::equal(layers.begin() + static_cast<std::ptrdiff_t>(from),
                      layers.begin() + static_cast<std::ptrdiff_t>(from + period),
                      layers.begin() + static_cast<std::ptrdiff_t>(from + repeats * period))) {
      ++repeats;
    }
    return repeats;
  };
  const auto counted = [](std::size_t count, const std::string& what) {
    return count == 1 ? what : std::to_string(count) + " x " + what;
  };
  const auto runs = [&](std::size_t from, std::size_t end) {
    std::string text;
    while (from < end) {
      std::size_t next = from;
      while (next < end && layers[next] == layers[from]) ++next;
      text += (text.empty() ? "" : ", ") + counted(next - from, to_string(layers[from]));
      from = next;
    }
    return text;
  };
  std::string text;
  std::size_t at = 0;
  while (at < layers.size()) {
    std::size_t period = 1;
    std::size_t repeats = repeats_at(at, 1);
    for (std::size_t candidate = 2; candidate <= kMaxPeriod; ++candidate) {
      if (at + 2 * candidate > layers.size()) break;
      const std::size_t count = repeats_at(at, candidate);
      if (count > 1 && count * candidate > repeats * period) {
        period = candidate;
        repeats = count;
      }
    }
    const std::string what =
        period == 1 ? to_string(layers[at]) : "(" + runs(at, at + period) + ")";
    text += (text.empty() ? "" : ", ") + counted(repeats, what);
    at += repeats * period;
  }
  return text;
}

ListEntry list_entry(const Transformer& model) {
  const ParameterCount total = model::total_parameters(model);
  ListEntry entry;
  entry.name = model.name;
  entry.summary = parameter_text(static_cast<double>(total.total));
  if (total.active != total.total) {
    entry.summary += ", " + parameter_text(static_cast<double>(total.active)) + " active";
  }
  entry.summary += "; " + layer_pattern(model.layers);
  entry.fields.set("model_type", Node::string(model.model_type));
  entry.fields.set("num_layers", Node::integer(static_cast<std::int64_t>(model.layers.size())));
  entry.fields.set("parameters", Node::object({{"total", Node::integer(total.total)},
                                               {"active", Node::integer(total.active)}}));
  return entry;
}

Document model_document(const Transformer& model) {
  const ParameterCount total = model::total_parameters(model);
  Document document;
  std::string answer =
      model.name + ": " + parameter_text(static_cast<double>(total.total)) + " parameters";
  if (total.active != total.total) {
    answer += ", " + parameter_text(static_cast<double>(total.active)) + " active a token";
  }
  document.add(Paragraph{answer, Tone::strong});

  Table shape;
  shape.show_titles = false;
  shape.columns = {{"", Align::left}, {"", Align::left, true}};
  const auto add = [&](const char* label, std::string text) {
    shape.rows.push_back(Row{{label, std::move(text)}});
  };
  add("Type", model.model_type);
  add("Layers", std::to_string(model.layers.size()) + ": " + layer_pattern(model.layers));
  if (model.mtp_layers > 0) add("MTP layers", std::to_string(model.mtp_layers));
  add("Hidden", units::format_count(model.hidden));
  add("Vocabulary", units::format_count(model.vocab));
  add("Positions", units::format_count(model.max_positions));
  add("Attention", attention_text(model));
  if (has_indexer(model)) {
    add("Indexer", units::format_count(model.indexer.num_heads) + " heads of " +
                       units::format_count(model.indexer.head_dim) + ", top-k " +
                       units::format_count(model.indexer.top_k));
  }
  if (model.dense_ffn > 0) add("Dense FFN", "width " + units::format_count(model.dense_ffn));
  if (has_moe(model)) add("Experts", experts_text(model.moe));
  document.add(std::move(shape));

  Table table;
  table.columns = {{"", Align::left}, {"layers"}, {"each"}, {"total"}, {"active"}};
  for (const KindCount& count : counts_by_kind(model)) {
    table.rows.push_back(
        Row{{count.kind, count.layers > 0 ? units::format_count(count.layers) : std::string(),
             units::format_count(count.each.total), units::format_count(count.all.total),
             units::format_count(count.all.active)}});
  }
  Row sum{{Cell("Total", Tone::strong), "", "",
           Cell(units::format_count(total.total), Tone::strong),
           Cell(units::format_count(total.active), Tone::strong)}};
  sum.rule_above = true;
  table.rows.push_back(std::move(sum));
  const auto part = [&](const char* label, std::int64_t count) {
    if (count == 0) return;
    Row row{{label, "", "", units::format_count(count)}};
    row.indent = 2;
    table.rows.push_back(std::move(row));
  };
  part("routed experts", total.routed_expert);
  part("indexers", total.indexer);
  part("split by TP", total.tp_split);
  part("on every TP rank", total.tp_replicated);
  document.add(Heading{"Parameters"});
  document.add(std::move(table));
  if (model.mtp_layers > 0) {
    document.add(Paragraph{"Not in the total: " + units::format_count(mtp_count(model).total) +
                           " in MTP layers"});
  }
  SourceList sources;
  for (const std::string& source : model.sources) sources.number(source);
  sources.add_to(document);
  return document;
}

std::string model_json(const Transformer& model) {
  const ParameterCount total = model::total_parameters(model);
  Node by_kind = Node::object();
  for (const KindCount& count : counts_by_kind(model)) {
    by_kind.set(count.kind, Node::object({{"layers", Node::integer(count.layers)},
                                          {"each", Node::integer(count.each.total)},
                                          {"total", Node::integer(count.all.total)},
                                          {"active", Node::integer(count.all.active)},
                                          {"routed_expert", Node::integer(count.all.routed_expert)},
                                          {"indexer", Node::integer(count.all.indexer)}}));
  }
  Node::Array layers;
  for (std::size_t i = 0; i < model.layers.size();) {
    std::size_t end = i;
    while (end < model.layers.size() && model.layers[end] == model.layers[i]) ++end;
    layers.push_back(Node::object({{"kind", Node::string(to_string(model.layers[i]))},
                                   {"count", Node::integer(static_cast<std::int64_t>(end - i))}}));
    i = end;
  }
  Node::Array sources;
  for (const std::string& source : model.sources) sources.push_back(Node::string(source));

  Node result = Node::object({
      {"schema", Node::string("hysim.show/1")},
      {"kind", Node::string("model")},
      {"name", Node::string(model.name)},
      {"tool", tool_node()},
      {"model_type", Node::string(model.model_type)},
      {"parameters",
       Node::object({{"total", Node::integer(total.total)},
                     {"active", Node::integer(total.active)},
                     {"matrices_and_embeddings", Node::integer(total.matrices_and_embeddings)},
                     {"routed_expert", Node::integer(total.routed_expert)},
                     {"indexer", Node::integer(total.indexer)},
                     {"tp_split", Node::integer(total.tp_split)},
                     {"tp_replicated", Node::integer(total.tp_replicated)},
                     {"mtp_not_in_total", Node::integer(mtp_count(model).total)},
                     {"by_kind", std::move(by_kind)}})},
      {"num_layers", Node::integer(static_cast<std::int64_t>(model.layers.size()))},
      {"layers", Node::array(std::move(layers))},
      {"layer_pattern", Node::string(layer_pattern(model.layers))},
      {"mtp_layers", Node::integer(model.mtp_layers)},
      {"hidden_size", Node::integer(model.hidden)},
      {"vocab_size", Node::integer(model.vocab)},
      {"max_positions", Node::integer(model.max_positions)},
      {"attention", attention_node(model)},
  });
  if (has_indexer(model)) {
    result.set("indexer", Node::object({{"num_heads", Node::integer(model.indexer.num_heads)},
                                        {"head_dim", Node::integer(model.indexer.head_dim)},
                                        {"top_k", Node::integer(model.indexer.top_k)}}));
  }
  if (has_moe(model)) {
    result.set("moe",
               Node::object({{"num_experts", Node::integer(model.moe.num_experts)},
                             {"experts_per_token", Node::integer(model.moe.experts_per_token)},
                             {"expert_ffn", Node::integer(model.moe.expert_ffn)},
                             {"shared_ffn", Node::integer(model.moe.shared_ffn)}}));
  }
  result.set("sources", Node::array(std::move(sources)));
  return config::to_text(result, 2) + "\n";
}

}  // namespace hysim::report
