#include "graph/scale.h"

#include <algorithm>

#include "config/reader.h"
#include "config/words.h"

namespace hysim::graph {

namespace {

template <class Visit>
void for_each_list(Program& program, const Visit& visit) {
  const auto layer = [&](LayerProgram& l) {
    visit(l.forward);
    visit(l.backward);
  };
  for (LayerProgram& l : program.layers) layer(l);
  layer(program.embedding);
  layer(program.head);
  layer(program.mtp);
}

bool has_replicas(const Program& program) {
  return program.dense_group.size > 1 || program.expert_group.size > 1 || program.world.size > 1 ||
         program.embedding_reduce.group.size > 1;
}

}  // namespace

const std::vector<ScaleName>& scale_names() {
  static const std::vector<ScaleName> names = {
      {"kernels.selection", "everything from scores to selected tokens", {"selection/"}, true},
      {"kernels.attention", "attention cores, dense and sparse", {"attention/"}, true},
      {"kernels.gemm",
       "every matrix product",
       {"linear/", "experts/gemm/", "experts/shared/", "vocabulary/logits/"},
       true},
      {"kernels.linear", "matrix products outside the experts", {"linear/"}, true},
      {"kernels.experts", "routed and shared experts", {"experts/"}, true},
      {"kernels.vocabulary", "embedding, logits and loss", {"vocabulary/"}, true},
      {"kernels.scoring", "index scores", {"selection/scoring/"}},
      {"kernels.score_table", "writing the score table", {"selection/score_table/"}},
      {"kernels.topk", "top-k over the score table", {"selection/topk/"}},
      {"kernels.hytopk", "fused scoring and selection", {"selection/hytopk/"}},
      {"kernels.sparse_attention", "attention over selected tokens", {"attention/sparse_"}},
      {"kernels.dense_attention", "attention over all tokens", {"attention/dense_"}},
      {"kernels.indexer_loss", "loss of the indexer", {"indexer_loss/"}},
      {"kernels.indexer_projections", "matrix products of the indexer", {"linear/indexer/"}},
      {"kernels.grouped_gemm", "matrix products of the routed experts", {"experts/gemm/"}},
      {"kernels.elementwise", "norms, rotary, residuals, activations", {"elementwise/"}},
      {"kernels.optimizer", "gradient norm and weight update", {"optimizer"}},
      {"communication.tp", "tensor-parallel collectives", {"communication/tp"}},
      {"communication.cp", "context-parallel collectives", {"communication/cp"}},
      {"communication.ep", "expert dispatch and combine", {"communication/ep"}},
      {"communication.pp", "sends between pipeline stages", {"communication/pp"}},
      {"communication.dp", "gradients and weights of the replicas", {"communication/dp"}},
  };
  return names;
}

const ScaleName* find_scale_name(std::string_view name) {
  const auto& names = scale_names();
  const auto found =
      std::find_if(names.begin(), names.end(), [&](const ScaleName& n) { return n.name == name; });
  return found == names.end() ? nullptr : &*found;
}

std::string unknown_scale_name(std::string_view name) {
  std::vector<std::string> known;
  std::string near;
  std::string list;
  for (const ScaleName& candidate : scale_names()) {
    known.emplace_back(candidate.name);
    list += (list.empty() ? "" : ", ") + known.back();
    // "topk" is most likely "kernels.topk".
    if (known.back().ends_with("." + std::string(name))) near = known.back();
  }
  for (const char* section : {"", "kernels.", "communication."}) {
    if (near.empty()) near = config::nearest(section + std::string(name), known);
  }
  return "nothing to scale is named " + config::in_quotes(name) +
         (near.empty() ? "" : "; did you mean " + config::in_quotes(near) + "?") +
         " (names: " + list + ")";
}

bool covers(const ScaleName& name, std::string_view path) {
  return std::any_of(name.prefixes.begin(), name.prefixes.end(),
                     [&](std::string_view prefix) { return path.starts_with(prefix); });
}

bool touches(const Program& program, const ScaleName& name) {
  if (covers(name, kOptimizerLeaf)) return true;
  if (covers(name, kPipelineLeaf)) return program.pp > 1;
  if (covers(name, kReplicaLeaf)) return has_replicas(program);
  return std::any_of(program.leaves.begin(), program.leaves.end(),
                     [&](const std::string& path) { return covers(name, path); });
}

void apply_scale(Program& program, const ScaleName& name, double factor) {
  for_each_list(program, [&](TaskList& list) {
    for (Task& task : list) {
      if (covers(name, program.leaves[static_cast<std::size_t>(task.leaf)])) task.scale *= factor;
    }
  });
  if (covers(name, kOptimizerLeaf)) program.optimizer_scale *= factor;
  if (covers(name, kPipelineLeaf)) program.send_scale *= factor;
  if (covers(name, kReplicaLeaf)) program.replica_scale *= factor;
}

}  // namespace hysim::graph
