// Reads a GPU profile and turns it into plain numbers: which fields there are, what each may be,
// and what a number rests on. Wrong for a GPU whose compute units are not alike.
#include "hardware/gpu.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "config/named.h"
#include "config/words.h"

namespace hysim::hardware {
namespace {

using config::child_pointer;
using config::Faults;
using config::in_quotes;
using config::Node;
using config::Reader;
using config::Sourced;
using config::SourceKind;

constexpr std::string_view kFolder = "hw_profiles/gpus";

enum class Bound {
  positive,      // (0, inf)
  fraction,      // (0, 1]
  share,         // [0, 1]
  non_negative,  // [0, inf)
};

using Member =
    std::variant<Known<double> Gpu::*, Known<PerSecond> Gpu::*, Known<FlopsPerSecond> Gpu::*,
                 Known<Bytes> Gpu::*, Known<BytesPerSecond> Gpu::*, Known<Seconds> Gpu::*>;

struct Field {
  std::string_view key;
  std::string_view si_unit;
  std::string_view meaning;
  Bound bound;
  Member member;
};

// One row a field: key in the profile, SI unit, meaning, allowed values, member of Gpu.
constexpr Field kGpuFields[] = {
    // Pipes and memory.
    {"sm_count", "1", "streaming multiprocessors", Bound::positive, &Gpu::sm_count},
    {"clock", "1/s", "boost clock of an SM", Bound::positive, &Gpu::clock},
    {"bf16", "flop/s", "dense bf16 tensor peak", Bound::positive, &Gpu::bf16},
    {"fp8", "flop/s", "dense fp8 tensor peak; the bf16 peak where there is no fp8", Bound::positive,
     &Gpu::fp8},
    {"fp32", "flop/s", "fp32 vector peak", Bound::positive, &Gpu::fp32},
    {"hbm_bandwidth", "B/s", "device memory bandwidth", Bound::positive, &Gpu::hbm_bandwidth},
    {"hbm_capacity", "B", "device memory as sold", Bound::positive, &Gpu::hbm_capacity},
    {"hbm_usable", "B", "device memory as the driver reports it", Bound::positive,
     &Gpu::hbm_usable},
    {"l2", "B", "last-level cache", Bound::positive, &Gpu::l2},
    {"nvlink", "B/s", "link bandwidth to the other GPUs of a node, per direction", Bound::positive,
     &Gpu::nvlink},

    // Efficiency laws.
    {"laws/gemm_bf16", "1", "bf16 GEMM, of the bf16 peak at full waves", Bound::fraction,
     &Gpu::gemm_bf16},
    {"laws/gemm_fp8", "1", "fp8 GEMM, of the fp8 peak at full waves", Bound::fraction,
     &Gpu::gemm_fp8},
    {"laws/grouped_gemm_bf16", "1", "grouped bf16 GEMM, of the bf16 peak at full waves",
     Bound::fraction, &Gpu::grouped_gemm_bf16},
    {"laws/grouped_gemm_fp8", "1", "grouped fp8 GEMM, of the fp8 peak at full waves",
     Bound::fraction, &Gpu::grouped_gemm_fp8},
    {"laws/attention_forward", "1", "dense attention forward on long sequences, of the bf16 peak",
     Bound::fraction, &Gpu::attention_forward},
    {"laws/attention_backward", "1", "dense attention backward on long sequences, of the bf16 peak",
     Bound::fraction, &Gpu::attention_backward},
    {"laws/sparse_attention_forward", "1",
     "attention over gathered rows, of the bf16 peak where memory does not bind", Bound::fraction,
     &Gpu::sparse_attention_forward},
    {"laws/sparse_attention_backward_cudnn", "1",
     "cuDNN's backward of it, of the bf16 peak where memory does not bind", Bound::fraction,
     &Gpu::sparse_attention_backward_cudnn},
    {"laws/sparse_backward_tilelang_flop_per_sm_cycle", "flop",
     "TileLang's backward of it, flop per SM-cycle", Bound::positive,
     &Gpu::sparse_backward_tilelang_flop_per_sm_cycle},
    {"laws/index_loss", "1", "loss of the indexer over selected keys, of the bf16 peak",
     Bound::fraction, &Gpu::index_loss},
    {"laws/stream_fraction", "1", "streaming kernels, of the memory bandwidth", Bound::fraction,
     &Gpu::stream_fraction},
    {"laws/scatter_fraction", "1", "random rows and atomics, of the memory bandwidth",
     Bound::fraction, &Gpu::scatter_fraction},
    {"laws/l2_hit_gather", "1", "share of gathered rows served by L2", Bound::share,
     &Gpu::l2_hit_gather},
    {"laws/l2_hit_scatter", "1", "share of scattered rows absorbed by L2", Bound::share,
     &Gpu::l2_hit_scatter},

    // Selection.
    {"laws/score_tensor_fraction", "1", "matrix part of scoring, of the tensor peak",
     Bound::fraction, &Gpu::score_tensor_fraction},
    {"laws/score_epilogue_cycles", "1",
     "SM-cycles per scored pair beyond the matrix part, whatever the heads", Bound::positive,
     &Gpu::score_epilogue_cycles},
    {"laws/score_epilogue_lane_ops", "1", "fp32 lane operations per pair and head", Bound::positive,
     &Gpu::score_epilogue_lane_ops},
    {"laws/torch_topk_cycles", "1", "torch.topk, SM-cycles per table element", Bound::positive,
     &Gpu::torch_topk_cycles},
    {"laws/torch_topk_bytes", "B", "torch.topk, memory traffic per table element", Bound::positive,
     &Gpu::torch_topk_bytes},
    {"laws/radix_topk_cycles", "1", "serving radix top-k, SM-cycles per table element",
     Bound::positive, &Gpu::radix_topk_cycles},
    {"laws/radix_topk_bytes", "B", "serving radix top-k, memory traffic per table element",
     Bound::positive, &Gpu::radix_topk_bytes},
    {"laws/hytopk_scan_overhead", "1",
     "gate and append of the fused selection, as a fraction of scoring", Bound::non_negative,
     &Gpu::hytopk_scan_overhead},
    {"laws/hytopk_compaction_cycles", "1",
     "SM-cycles of one compaction of one query block of the fused selection", Bound::positive,
     &Gpu::hytopk_compaction_cycles},

    // Collectives of 8 GPUs in a node.
    {"collectives/all_reduce/latency", "s", "all-reduce of few bytes", Bound::positive,
     &Gpu::all_reduce_latency},
    {"collectives/all_reduce/busbw", "B/s", "all-reduce, bus bandwidth of many bytes",
     Bound::positive, &Gpu::all_reduce_busbw},
    {"collectives/all_gather/latency", "s", "all-gather of few bytes", Bound::positive,
     &Gpu::all_gather_latency},
    {"collectives/all_gather/busbw", "B/s", "all-gather, bus bandwidth of many bytes",
     Bound::positive, &Gpu::all_gather_busbw},
    {"collectives/reduce_scatter/latency", "s", "reduce-scatter of few bytes", Bound::positive,
     &Gpu::reduce_scatter_latency},
    {"collectives/reduce_scatter/busbw", "B/s", "reduce-scatter, bus bandwidth of many bytes",
     Bound::positive, &Gpu::reduce_scatter_busbw},
    {"collectives/all_to_all/latency", "s", "all-to-all of few bytes", Bound::positive,
     &Gpu::all_to_all_latency},
    {"collectives/all_to_all/busbw", "B/s", "all-to-all, bus bandwidth of many bytes",
     Bound::positive, &Gpu::all_to_all_busbw},
};

constexpr std::size_t kFieldCount = std::size(kGpuFields);

// Fails when a field is added to Gpu and not to the table.
static_assert(sizeof(Gpu) == 2 * sizeof(std::string) + kFieldCount * sizeof(Known<double>));

/// The objects of a profile by path ("", "laws", "collectives/all_reduce"), each read once.
class Folders {
 public:
  Folders(const Node& root, Faults& faults) : faults_(&faults) {
    folders_.emplace("", Reader(root, "", faults));
  }

  /// Null when the object is absent; that was recorded once.
  Reader* open(std::string_view path) {
    const auto known = folders_.find(path);
    if (known != folders_.end()) return known->second ? &*known->second : nullptr;
    const auto [parent_path, key] = split(path);
    std::optional<Reader> folder;
    if (Reader* parent = open(parent_path)) {
      if (const Node* node = parent->required(key)) {
        folder.emplace(*node, child_pointer(parent->pointer(), key), *faults_);
      }
    }
    auto& added = folders_.emplace(path, std::move(folder)).first->second;
    return added ? &*added : nullptr;
  }

  void finish() {
    for (auto& [path, folder] : folders_) {
      if (folder) folder->finish();
    }
  }

  /// "a/b/c" is {"a/b", "c"}, "a" is {"", "a"}.
  static std::pair<std::string_view, std::string_view> split(std::string_view path) {
    const auto slash = path.rfind('/');
    if (slash == std::string_view::npos) return {"", path};
    return {path.substr(0, slash), path.substr(slash + 1)};
  }

 private:
  Faults* faults_;
  std::map<std::string, std::optional<Reader>, std::less<>> folders_;
};

bool may_be_zero(Bound bound) { return bound == Bound::share || bound == Bound::non_negative; }
bool at_most_one(Bound bound) { return bound == Bound::fraction || bound == Bound::share; }

void check_bound(const Node& node, const std::string& pointer, const Sourced& sourced, Bound bound,
                 Faults& faults) {
  if (!node.is_object()) return;
  // As written: what read_sourced found wrong is 0 in `sourced` and was recorded there.
  for (const char* key : {"low", "value"}) {
    const Node* number = node.find(key);
    if (number == nullptr || !number->is_number()) continue;
    const double written = number->as_number();
    if (written < 0.0 || (written == 0.0 && !may_be_zero(bound))) {
      faults.add(*number, pointer + "/" + key,
                 in_quotes(key) +
                     (may_be_zero(bound) ? " must not be negative, found "
                                         : " must be greater than 0, found ") +
                     to_text(*number));
      return;
    }
  }
  if (at_most_one(bound) && sourced.high > 1.0) {
    const Node* high = node.find("high");
    faults.add(high != nullptr ? *high : node, high != nullptr ? pointer + "/high" : pointer,
               "a fraction must not exceed 1");
  }
}

Sourced read_field(const Node& node, const std::string& pointer, const std::string& id,
                   const Field& field, Faults& faults) {
  Sourced value = read_sourced(node, pointer, id, field.si_unit, faults);
  check_bound(node, pointer, value, field.bound, faults);
  return value;
}

/// "nvlink_domain", which a profile need not state.
std::optional<Sourced> read_domain(Reader& top, const std::string& gpu, Faults& faults) {
  constexpr std::string_view kKey = "nvlink_domain";
  const Node* const node = top.raw(kKey);
  if (node == nullptr) return std::nullopt;
  const std::size_t before = faults.count();
  Sourced domain = read_sourced(*node, "/" + std::string(kKey),
                                "gpu/" + gpu + "/" + std::string(kKey), "1", faults);
  if (faults.count() > before) return std::nullopt;
  if (domain.value < 1.0 || domain.value != std::floor(domain.value)) {
    top.fault(kKey, "must be a whole number of GPUs from 1, found " +
                        to_text(Node::number(domain.value)));
  }
  return domain;
}

/// A text that must be there and not empty.
std::string required_text(Reader& reader, std::string_view key) {
  std::string text = reader.required_string(key);
  const Node* node = reader.node().find(key);
  if (text.empty() && node != nullptr && node->is_string()) {
    reader.fault(key, in_quotes(key) + " must not be empty");
  }
  return text;
}

/// One figure that no law reads: a sourced value in any unit, or a text and its source.
void check_figure(const Node& node, std::string pointer, Faults& faults) {
  Reader figure(node, std::move(pointer), faults);
  if (!node.is_object()) return;
  if (figure.has("text")) {
    required_text(figure, "text");
  } else {
    constexpr double kMax = std::numeric_limits<double>::max();
    bool numbers = true;
    double written[3] = {};
    const char* const keys[3] = {"low", "value", "high"};
    for (std::size_t i = 0; i < 3; ++i) {
      const Node* number = figure.required(keys[i]);
      numbers = numbers && number != nullptr && number->is_number();
      written[i] = figure.number(keys[i], 0.0, -kMax, kMax);
    }
    if (numbers && !(written[0] <= written[1] && written[1] <= written[2])) {
      figure.fault("value", "\"value\" must lie between \"low\" and \"high\"");
    }
    figure.required_string("unit");
    if (figure.required("kind") != nullptr) {
      figure.choice("kind", SourceKind::assumed, config::source_kinds());
    }
    figure.string("measured_on", "");
  }
  required_text(figure, "source");
  figure.string("note", "");
  figure.finish();
}

/// "further" and "achieved": figures to show, which no law reads.
void check_figures(Reader& profile, std::string_view key, Faults& faults) {
  if (!profile.has(key)) return;
  const Reader figures = profile.object(key);
  if (!figures.node().is_object()) return;
  for (const auto& [name, figure] : figures.node().as_object()) {
    check_figure(figure, child_pointer(figures.pointer(), name), faults);
  }
}

/// A profile read from a file is in bounds already; one made by a fit may not be.
double clamped(double value, Bound bound) {
  constexpr double kLeast = 1e-9;
  const double least = may_be_zero(bound) ? 0.0 : kLeast;
  return at_most_one(bound) ? std::clamp(value, least, 1.0) : std::max(value, least);
}

[[noreturn]] void refuse(std::string file, std::string pointer, std::string message) {
  throw InputError({Diagnostic{std::move(file), 0, 0, std::move(pointer), std::move(message)}});
}

}  // namespace

const std::vector<GpuFieldInfo>& gpu_fields() {
  static const std::vector<GpuFieldInfo> fields = [] {
    std::vector<GpuFieldInfo> infos;
    infos.reserve(kFieldCount);
    for (const Field& field : kGpuFields) {
      infos.push_back({field.key, field.si_unit, field.meaning});
    }
    return infos;
  }();
  return fields;
}

std::size_t gpu_field_index(std::string_view key) {
  std::size_t index = 0;
  while (index < std::size(kGpuFields) && kGpuFields[index].key != key) ++index;
  return index;
}

Sourced read_gpu_field(const Node& node, const std::string& pointer, const std::string& id,
                       std::size_t index, Faults& faults) {
  return read_field(node, pointer, id, kGpuFields[index], faults);
}

GpuProfile parse_gpu_profile(std::string_view text, std::string_view path) {
  const Node root = config::parse(text, path);
  Faults faults;
  Folders folders(root, faults);
  Reader& top = *folders.open("");

  GpuProfile profile;
  const std::string schema = top.required_string("schema");
  if (!schema.empty() && schema != "hysim.gpu/1") {
    top.fault("schema", "\"schema\" must be \"hysim.gpu/1\", found " + in_quotes(schema));
  }
  profile.name = required_text(top, "name");
  profile.full_name = required_text(top, "full_name");
  required_text(top, "vendor");
  profile.architecture = required_text(top, "architecture");
  for (const Field& field : kGpuFields) {
    const auto [folder_path, key] = Folders::split(field.key);
    profile.fields.emplace_back();
    Reader* folder = folders.open(folder_path);
    const Node* node = folder != nullptr ? folder->required(key) : nullptr;
    if (node == nullptr) continue;
    const std::string pointer = child_pointer(folder->pointer(), key);
    const std::string id = "gpu/" + profile.name + "/" + std::string(field.key);
    profile.fields.back() = read_field(*node, pointer, id, field, faults);
  }
  profile.nvlink_domain = read_domain(top, profile.name, faults);
  check_figures(top, "further", faults);
  check_figures(top, "achieved", faults);
  folders.finish();
  faults.throw_if_any();
  return profile;
}

GpuProfile load_gpu_profile(const Resources& resources, std::string_view name) {
  const config::NamedDocument document =
      config::load_named(resources, kFolder, "GPU", name, "`hysim list gpus` shows all");
  GpuProfile profile = parse_gpu_profile(document.text, document.path);
  if (profile.name != document.name) {
    refuse(document.path, "/name",
           "\"name\" must be " + in_quotes(document.name) + " like the file's, found " +
               in_quotes(profile.name));
  }
  return profile;
}

Gpu resolve(const GpuProfile& profile, const config::Sampler& sampler) {
  Gpu gpu;
  resolve(profile, sampler, gpu);
  return gpu;
}

void resolve(const GpuProfile& profile, const config::Sampler& sampler, Gpu& gpu) {
  assert(profile.fields.size() == kFieldCount);
  gpu.name = profile.name;
  gpu.architecture = profile.architecture;
  for (std::size_t i = 0; i < kFieldCount; ++i) {
    const Sourced& sourced = profile.fields[i];
    const double value = clamped(sampler(sourced), kGpuFields[i].bound);
    const Evidence evidence = config::evidence_of(sourced, profile.name);
    std::visit(
        [&](auto member) {
          using Value = std::remove_cvref_t<decltype((gpu.*member).value)>;
          gpu.*member = {Value(value), evidence};
        },
        kGpuFields[i].member);
  }
}

}  // namespace hysim::hardware
