// SPDX-License-Identifier: Apache-2.0
#include "tests/evidence/reasons.h"

#include <fmt/format.h>

#include <algorithm>

#include "planner/spec/catalogue.h"
#include "planner/spec/reader.h"
#include "tests/evidence/evidence.pb.h"

namespace shardplan::evidence {
namespace {

std::vector<Figure> FiguresOf(const file::Reason& reason) {
  switch (reason.figure()) {
    case file::FIGURE_MEMORY:
      return {Figure::kMemory};
    case file::FIGURE_TIME:
      return {Figure::kTime};
    case file::FIGURE_COLLECTIVES:
      return {Figure::kCollectives};
    default:
      return {Figure::kMemory, Figure::kTime};
  }
}

template <class Item>
bool AnyBegins(const std::vector<Item>& items, const std::string& begins) {
  return std::any_of(items.begin(), items.end(),
                     [&](const Item& item) { return item.id.starts_with(begins); });
}
}  // namespace

Result<Reasons> Reasons::Read(const std::string& path, const Evidence& evidence) {
  const Result<SourcePtr> source = ReadSource(path, {});
  if (!source) return tl::unexpected(source.error());
  file::Reasons from;
  SourceMap map;
  if (Result<void> done = ReadMessage(*source, &from, &map); !done)
    return tl::unexpected(done.error());
  Reasons reasons;
  for (int i = 0; i < from.reasons_size(); ++i) {
    const file::Reason& reason = from.reasons(i);
    const std::string key_path = fmt::format("reasons[{}]", i);
    if (reason.rows().empty() || !reason.has_why())
      return InvalidAt(map.ValueOrParent(key_path), key_path, "needs rows and why", "");
    for (const std::string& begins : reason.rows()) {
      const bool points = reason.figure() == file::FIGURE_COLLECTIVES;
      if (!(points ? AnyBegins(evidence.points, begins) : AnyBegins(evidence.rows, begins)))
        return InvalidAt(map.ValueOrParent(key_path), key_path,
                         fmt::format("no id begins with {}", begins),
                         "the evidence has changed: correct the reason or take it out");
      for (const Figure figure : FiguresOf(reason))
        reasons.entries_.push_back({.begins = begins,
                                    .figure = figure,
                                    .low = reason.predicted() != file::PREDICTED_HIGH,
                                    .high = reason.predicted() != file::PREDICTED_LOW,
                                    .why = {reason.why(), reason.contradiction()}});
    }
  }
  return reasons;
}

template <class Fits>
const Why* Reasons::Longest(const std::string& id, Figure figure, const Fits& fits) const {
  const Entry* best = nullptr;
  for (const Entry& entry : entries_)
    if (entry.figure == figure && id.starts_with(entry.begins) && fits(entry) &&
        (best == nullptr || best->begins.size() < entry.begins.size()))
      best = &entry;
  return best ? &best->why : nullptr;
}

const Why* Reasons::Find(const std::string& id, Figure figure, double error) const {
  return Longest(id, figure,
                 [=](const Entry& entry) { return error < 0 ? entry.low : entry.high; });
}

const Why* Reasons::Contradiction(const std::string& id, Figure figure) const {
  return Longest(id, figure, [](const Entry& entry) { return entry.why.contradiction; });
}
}  // namespace shardplan::evidence
