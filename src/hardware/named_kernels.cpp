#include "hardware/named_kernels.h"

#include <algorithm>
#include <cstddef>

#include "config/named.h"
#include "config/words.h"
#include "hysim/errors.h"

namespace hysim::hardware {

namespace {

using config::child_pointer;
using config::Faults;
using config::in_quotes;
using config::Node;
using config::Reader;

constexpr std::string_view kFolder = "hw_profiles/kernels";

/// A key of a named kernel and the field of the GPU profile it stands for.
struct Key {
  std::string_view key;
  std::string_view field;
};

/// A bundled kernel that others may be like.
struct Law {
  std::string_view family;
  std::string_view like;
  std::vector<Key> keys;
};

const std::vector<Key> kScoring = {{"tensor_fraction", "laws/score_tensor_fraction"},
                                   {"epilogue_cycles", "laws/score_epilogue_cycles"},
                                   {"epilogue_lane_ops", "laws/score_epilogue_lane_ops"}};

std::vector<Key> fused() {
  std::vector<Key> keys = kScoring;
  keys.push_back({"scan_overhead", "laws/hytopk_scan_overhead"});
  keys.push_back({"compaction_cycles", "laws/hytopk_compaction_cycles"});
  return keys;
}

const std::vector<Law>& laws() {
  static const std::vector<Law> all = {
      {"selection", "naive", kScoring},
      {"selection", "table", kScoring},
      {"selection", "fused", fused()},
      {"topk", "torch", {{"cycles", "laws/torch_topk_cycles"}, {"bytes", "laws/torch_topk_bytes"}}},
      {"topk", "radix", {{"cycles", "laws/radix_topk_cycles"}, {"bytes", "laws/radix_topk_bytes"}}},
      {"sparse_attention",
       "cudnn",
       {{"forward", "laws/sparse_attention_forward"},
        {"backward", "laws/sparse_attention_backward_cudnn"}}},
      {"sparse_attention",
       "tilelang",
       {{"forward", "laws/sparse_attention_forward"},
        {"backward", "laws/sparse_backward_tilelang_flop_per_sm_cycle"}}},
  };
  return all;
}

std::vector<config::Choice<std::size_t>> likes_of(std::string_view family) {
  std::vector<config::Choice<std::size_t>> choices;
  for (std::size_t i = 0; i < laws().size(); ++i) {
    if (laws()[i].family == family) choices.push_back({laws()[i].like, i});
  }
  return choices;
}

void read_constants(Reader& reader, const Law& law, NamedKernel& kernel) {
  const std::string id = "gpu/" + kernel.gpu + "/kernels/" + kernel.family + "/" + kernel.name;
  for (const Key& key : law.keys) {
    const Node* const node = reader.required(key.key);
    if (node == nullptr) continue;
    const std::size_t field = gpu_field_index(key.field);
    kernel.constants.push_back(
        {field, read_gpu_field(*node, child_pointer(reader.pointer(), key.key),
                               id + "/" + std::string(key.key), field, reader.faults())});
  }
}

void read_kernel(const Node& node, const std::string& pointer, NamedKernel kernel, Faults& faults,
                 std::vector<NamedKernel>& kernels) {
  Reader reader(node, pointer, faults);
  reader.string("note", "");
  if (reader.required("like") == nullptr) return;
  const std::size_t before = faults.count();
  const Law& law = laws()[reader.choice("like", std::size_t{0}, likes_of(kernel.family))];
  if (faults.count() > before) return;  // which keys it must have is not known
  kernel.like = law.like;
  read_constants(reader, law, kernel);
  reader.finish();
  kernels.push_back(std::move(kernel));
}

bool is_bundled(std::string_view family, std::string_view name) {
  return std::any_of(laws().begin(), laws().end(),
                     [&](const Law& law) { return law.family == family && law.like == name; });
}

void read_family(Reader& families, const std::string& family, const std::string& gpu,
                 std::vector<NamedKernel>& kernels) {
  const Reader reader = families.object(family);
  if (!reader.node().is_object()) return;
  for (const auto& [name, node] : reader.node().as_object()) {
    const std::string pointer = child_pointer(reader.pointer(), name);
    if (name.empty() || is_bundled(family, name)) {
      families.faults().add(node, pointer,
                            "a named kernel needs a name of its own, found " + in_quotes(name));
      continue;
    }
    read_kernel(node, pointer, {family, name, gpu, "", {}}, families.faults(), kernels);
  }
}

bool same(const NamedKernel& a, const NamedKernel& b) {
  return a.family == b.family && a.name == b.name && a.gpu == b.gpu;
}

}  // namespace

std::vector<NamedKernel> parse_named_kernels(std::string_view text, std::string_view path) {
  const Node root = config::parse(text, path);
  Faults faults;
  Reader top(root, "", faults);
  const std::string schema = top.required_string("schema");
  if (!schema.empty() && schema != "hysim.kernels/1") {
    top.fault("schema", "\"schema\" must be \"hysim.kernels/1\", found " + in_quotes(schema));
  }
  top.required_string("name");
  top.string("note", "");
  const std::string gpu = top.required_string("gpu");
  std::vector<NamedKernel> kernels;
  if (top.required("kernels") != nullptr) {
    Reader families = top.object("kernels");
    for (const char* family : {"selection", "topk", "sparse_attention"}) {
      read_family(families, family, gpu, kernels);
    }
    families.finish();
  }
  top.finish();
  faults.throw_if_any();
  return kernels;
}

std::vector<NamedKernel> load_named_kernels(const Resources& resources) {
  std::vector<NamedKernel> all;
  for (const std::string& name : config::names_in(resources, kFolder)) {
    const config::NamedDocument document =
        config::load_named(resources, kFolder, "set of kernels", name, "");
    for (NamedKernel& kernel : parse_named_kernels(document.text, document.path)) {
      const bool known = std::any_of(all.begin(), all.end(),
                                     [&](const NamedKernel& other) { return same(kernel, other); });
      if (known) {
        throw InputError({Diagnostic{document.path, 0, 0, "/kernels/" + kernel.family,
                                     in_quotes(kernel.name) + " is defined for " + kernel.gpu +
                                         " by another document, too"}});
      }
      all.push_back(std::move(kernel));
    }
  }
  return all;
}

void use(const NamedKernel& kernel, GpuProfile& profile) {
  for (const NamedKernel::Constant& constant : kernel.constants) {
    profile.fields[constant.field] = constant.value;
  }
}

}  // namespace hysim::hardware
