// Views of what is bundled: lists of models, GPUs, clusters, stacks and scenarios, and one of each
// in full, as documents and as JSON (hysim.list/1, hysim.show/1).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/node.h"
#include "hardware/gpu.h"
#include "hardware/named_kernels.h"
#include "model/transformer.h"
#include "report/document.h"

namespace hysim::report {

/// One line of a list. `fields` is an object for the JSON.
struct ListEntry {
  std::string name;
  std::string summary;
  config::Node fields = config::Node::object();
  bool usable = true;  // false: the document has faults and `summary` says which
};

ListEntry list_entry(const model::Transformer& model);
ListEntry list_entry(const hardware::GpuProfile& profile);
/// A cluster, stack or scenario by the keys that describe it.
ListEntry list_entry(std::string_view name, const config::Node& document);
/// A document that cannot be used.
ListEntry list_entry_of_fault(std::string_view name, std::string_view message);

struct Listing {
  std::string kind;  // "models"
  std::vector<ListEntry> entries;
};
Document list_document(const std::vector<Listing>& listings);
std::string list_json(const std::vector<Listing>& listings);

Document model_document(const model::Transformer& model);
std::string model_json(const model::Transformer& model);

/// `kernels`: those that documents define, of which the GPU's own are shown.
Document gpu_document(const hardware::GpuProfile& profile,
                      const std::vector<hardware::NamedKernel>& kernels = {});
std::string gpu_json(const hardware::GpuProfile& profile);

/// A cluster or a stack: its settings, and its numbers with their sources.
Document profile_document(std::string_view kind, std::string_view name,
                          const config::Node& document);
Document scenario_document(std::string_view name, const config::Node& document);
/// The document as it is, under "document".
std::string raw_json(std::string_view kind, std::string_view name, const config::Node& document);

/// "3 x dsa+dense, 75 x dsa+moe"; repeated groups are written once: "19 x (a, 3 x b)".
std::string layer_pattern(const std::vector<model::LayerSpec>& layers);

/// 744e9 -> "744 B"; for parameter counts.
std::string parameter_text(double count);

}  // namespace hysim::report
