// hysim new: a starter scenario or cluster, valid as it is.
#include <memory>

#include "cli/app.h"
#include "cli/errors.h"
#include "cli/executor.h"
#include "cli/files.h"
#include "cli/job_options.h"
#include "cli/options.h"
#include "cli/resources.h"
#include "config/words.h"
#include "model/transformer.h"
#include "report/starter.h"
#include "topology/cluster.h"

namespace hysim::cli {

namespace {

struct Arguments {
  std::string kind;
  JobText job;
  report::ClusterStarter cluster;
  bool sized = false;  // by --gpu, --nodes or --gpus-per-node
  std::string name;
  std::string file;
  bool force = false;
  std::vector<std::string> profiles;
};

std::string new_scenario(const Resources& named, const Arguments& arguments) {
  JobText job = arguments.job;
  if (job.model.empty()) job.model = "glm-5.1";
  if (job.cluster.empty()) job.cluster = "h20-96:64x8";
  if (job.seq_len.empty()) job.seq_len = "128K";
  Progress progress(true);
  const ScenarioSource source =
      scenario_source(named, "", job, {}, {}, parallel_executor(progress));
  progress.finish();
  const auto model = model::load_transformer(source.resources, job.model);
  return report::scenario_starter(source.chosen, arguments.name, model.indexer.top_k > 0);
}

std::string new_cluster(const Resources& named, const Arguments& arguments) {
  report::ClusterStarter starter = arguments.cluster;
  if (const auto size = topology::parse_shorthand(arguments.name)) {
    if (arguments.sized) {
      throw UsageError(config::in_quotes(arguments.name) +
                       " says GPU, nodes and GPUs a node: leave out --gpu, --nodes and "
                       "--gpus-per-node, or give another name");
    }
    starter.gpu = size->gpu;
    starter.nodes = size->nodes;
    starter.gpus_per_node = size->gpus_per_node;
  } else if (arguments.name.find(':') != std::string::npos) {
    throw UsageError(config::in_quotes(arguments.name) +
                     " is neither a name without ':' nor GPU:NODESxGPUS, for example h20-96:64x8");
  } else {
    starter.name = arguments.name;
  }
  if (starter.gpu.empty()) starter.gpu = "h100-sxm-80";
  if (starter.nics > 0 && starter.nic.empty()) throw UsageError("--nics needs --nic RATE");
  return report::cluster_starter(named, starter);
}

int run(const Arguments& arguments) {
  if (arguments.name.find('/') != std::string::npos) {
    throw UsageError("NAME is a name; the file is given by -o FILE");
  }
  std::vector<std::string> warnings;
  const Resources named = command_resources(arguments.profiles, warnings);
  const bool to_file = !arguments.file.empty() && arguments.file != "-";
  if (to_file && !arguments.force && file_exists(arguments.file)) {
    throw WriteError(arguments.file + " exists; --force replaces it");
  }
  const std::string text =
      arguments.kind == "scenario" ? new_scenario(named, arguments) : new_cluster(named, arguments);
  if (to_file) {
    write_file(arguments.file, text);
  } else {
    write_stdout(text);
  }
  warn(warnings, {});
  return kAnswered;
}

}  // namespace

void add_new(CLI::App& app, Action& action) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* const command =
      app.add_subcommand("new", "A starter scenario or cluster, to be edited");
  command->add_option("KIND", arguments->kind, "scenario or cluster")
      ->type_name("")
      ->required()
      ->check(CLI::IsMember({"scenario", "cluster"}).description(""));
  command->add_option("NAME", arguments->name, "its name; of a cluster also h20-96:64x8")
      ->type_name("");
  command->add_option("-o,--output", arguments->file, "file to write; else standard output")
      ->type_name("FILE");
  command->add_flag("--force", arguments->force, "replace an existing file");
  add_job_options(*command, arguments->job, "Scenario (what is left out is chosen)");
  constexpr const char* kGroup = "Cluster";
  command->add_option("--gpu", arguments->cluster.gpu, "a GPU profile (h100-sxm-80)")
      ->type_name("NAME")
      ->group(kGroup);
  const auto count = [&](const char* name, std::int64_t& target, const char* what) {
    constexpr std::int64_t kMost = 1 << 17;
    command->add_option(name, target, what)
        ->type_name("N")
        ->check(CLI::Range(std::int64_t{1}, kMost).description(""))
        ->group(kGroup);
  };
  count("--nodes", arguments->cluster.nodes, "nodes (1)");
  count("--gpus-per-node", arguments->cluster.gpus_per_node, "GPUs a node (8)");
  count("--nics", arguments->cluster.nics, "NICs a node (one a GPU)");
  command->add_option("--nic", arguments->cluster.nic, "line rate of a NIC, as \"400 Gbit/s\"")
      ->type_name("RATE")
      ->group(kGroup);
  add_profile_option(*command, arguments->profiles);
  command->footer(
      "Examples:\n"
      "  hysim new scenario mine --model glm-5.1 --cluster h20-96:64x8 --seq-len 1M\n"
      "  hysim new cluster ours --gpu h20-96 --nodes 64 --nic '400 Gbit/s' -o ours.json");
  command->callback([arguments, command, &action] {
    for (const char* name : {"--gpu", "--nodes", "--gpus-per-node"}) {
      arguments->sized = arguments->sized || command->count(name) > 0;
    }
    action = [arguments] { return run(*arguments); };
  });
}

}  // namespace hysim::cli
