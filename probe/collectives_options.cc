// SPDX-License-Identifier: Apache-2.0
// The options of the collectives probe: which points they make.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "probe/collective.h"
#include "probe/options.h"
#include "probe/probes.h"

namespace shardplan::probe {
namespace {

struct Options {
  std::vector<std::string> ops{"all_reduce"}, dtypes{"fp32"}, places{"out", "in"}, splits{"no"};
  std::vector<std::int64_t> sizes, least{32 << 20}, most{32 << 20}, step{0};
  int ranks = 0, stride = 1, root = 0, channels = 0;
  double factor = 0;
  bool graph = false, registered = false, no_check = false, first_group = false;
};

// From -b to -e by -f or -i, as nccl-tests has it; the list where one is given.
std::vector<std::int64_t> SizesOf(const Options& options) {
  if (!options.sizes.empty()) return options.sizes;
  std::vector<std::int64_t> sizes;
  const std::int64_t most = options.most.front(), step = options.step.front();
  for (std::int64_t size = options.least.front(); size <= most;) {
    sizes.push_back(size);
    const auto next = options.factor > 1
                          ? static_cast<std::int64_t>(static_cast<double>(size) * options.factor)
                          : size + (step > 0 ? step : 1 << 20);
    size = std::max(next, size + 1);
  }
  return sizes;
}

Json PointOf(const Options& options, Collective op, std::int64_t bytes, Dtype dtype,
             bool in_place) {
  Json point{{"op", Name(op)},           {"ranks", options.ranks},
             {"stride", options.stride}, {"bytes", RoundSize(op, bytes, options.ranks, dtype)},
             {"dtype", Name(dtype)},     {"in_place", in_place}};
  if (options.root != 0) point["root"] = options.root;
  if (options.channels != 0) point["channels"] = options.channels;
  if (options.graph) point["graph"] = true;
  if (options.registered) point["registered"] = true;
  if (options.no_check) point["check"] = false;
  if (options.first_group) point["groups"] = "first";
  return point;
}

std::vector<Json> PointsOf(Options options) {
  if (options.ranks == 0) {
    const Result<Seat> seat = SeatOfEnvironment();
    options.ranks = seat ? std::max(seat->size / options.stride, 1) : 1;
  }
  std::vector<Json> points;
  for (const std::string& op_name : options.ops) {
    const Collective op = *CollectiveOf(op_name);
    const bool has_in_place = InPlaceOf({.op = op}, 0, options.ranks).has_value();
    for (const std::string& split : options.splits)
      for (const std::string& dtype : options.dtypes)
        for (const std::int64_t bytes : SizesOf(options))
          for (const std::string& place : options.places) {
            if (place == "in" && !has_in_place) continue;
            points.push_back(PointOf(options, op, bytes, *DtypeOf(dtype), place == "in"));
            if (split != "no") points.back()["split"] = split;
          }
  }
  return points;
}
}  // namespace

std::function<std::vector<Json>()> DeclareCollectives(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  AddWords(app, "--ops", options->ops, CollectiveNames(), "operations");
  app.add_option("--ranks", options->ranks, "ranks of a group; default: all, over --stride")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--stride", options->stride, "ranks from one member to the next; default 1")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 20));
  app.add_flag("--first-group", options->first_group, "only one group runs; the others wait");
  AddSizes(app, "--sizes", options->sizes, "sizes as nccl-tests counts them; or a range:");
  AddSizes(app, "-b,--min-bytes", options->least, "least size; default 32M");
  AddSizes(app, "-e,--max-bytes", options->most, "greatest size; default 32M");
  app.add_option("-f,--factor", options->factor, "from one size to the next")
      ->type_name("FACTOR")
      ->check(CLI::Range(1.0, 1e6));
  AddSizes(app, "-i,--step", options->step, "from one size to the next; default 1M");
  AddDtypes(app, options->dtypes);
  AddWords(app, "--place", options->places, {"out", "in"}, "buffers apart and shared");
  app.add_option("--root", options->root, "of broadcast and reduce; default 0")->type_name("N");
  app.add_option("--channels", options->channels, "of the library; default: its choice")
      ->type_name("N")
      ->check(CLI::Range(1, 64));
  app.add_flag("--graph", options->graph, "replay a captured graph");
  app.add_flag("--registered", options->registered, "register the buffers");
  AddWords(app, "--split", options->splits, {"no", "yes", "shared"},
           "make the communicators by splitting one of all ranks");
  app.add_flag("--no-check", options->no_check, "do not check results");
  return [options] { return PointsOf(*options); };
}
}  // namespace shardplan::probe
