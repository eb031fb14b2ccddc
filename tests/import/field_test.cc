// SPDX-License-Identifier: Apache-2.0
// Field cases: what people saw in public threads (tests/field/cases.yaml). Those that the product
// does not give are listed with the reason in tests/field/misses.yaml; one that starts to hold, or
// stops holding, fails here.
#include <gmock/gmock.h>
#include <yaml-cpp/yaml.h>

#include <cmath>
#include <map>
#include <sstream>

#include "tests/import/import_fixtures.h"

namespace shardplan {
namespace {

using testing::Judge;
using testing::Judged;

const std::string kFolder = SHARDPLAN_SOURCE_DIR "/tests/field/";
constexpr double kMiB = 1 << 20, kGiB = 1 << 30;

std::string TextOf(const YAML::Node& node) {
  YAML::Emitter emitter;
  emitter.SetMapFormat(YAML::Flow);
  emitter.SetSeqFormat(YAML::Flow);
  emitter << YAML::Clone(node);
  return emitter.c_str();
}

// The parts of the peak of the fullest stage: all of them, or those named, joined by +.
Bytes PartsOf(const Evaluation& evaluation, const std::string& names) {
  const auto& stages = evaluation.stages;
  const auto fullest = std::max_element(
      stages.begin(), stages.end(),
      [](const auto& a, const auto& b) { return a.allocated.value < b.allocated.value; });
  double sum = 0;
  for (int part = 0; part < kMemoryParts; ++part) {
    const std::string name = Name(static_cast<MemoryPart>(part));
    if (names == "all" || ("+" + names + "+").find("+" + name + "+") != std::string::npos)
      sum += fullest->parts[static_cast<std::size_t>(part)].value;
  }
  return {sum};
}

// What does not hold of a case; empty: all does.
class Complaints {
 public:
  void Near(const char* what, double got, const YAML::Node& expected) {
    const double value = expected["value"].as<double>(), most = expected["tolerance"].as<double>();
    if (std::fabs(got - value) > most * std::fabs(value))
      text_ << what << " is " << got << ", observed " << value << "; ";
  }
  template <class T>
  void Same(const char* what, const T& got, const T& expected) {
    if (!(got == expected)) text_ << what << " is " << got << ", observed " << expected << "; ";
  }
  void Say(const std::string& what) { text_ << what << "; "; }
  std::string Take() const { return text_.str(); }

 private:
  std::ostringstream text_;
};

std::string Disagreement(const YAML::Node& field) {
  const Result<Judged> judged = Judge(TextOf(field["spec"]));
  if (!judged) return judged.error().message;
  if (!judged->evaluation) return "illegal: " + judged->broken.front().text;
  const Evaluation& e = *judged->evaluation;
  const double parameters = CountParameters(judged->problem.model).total;
  Complaints complaints;
  // What runs may still be called tight; what ran out of memory on the edge too.
  if (field["verdict"]) {
    const std::string seen = field["verdict"].as<std::string>();
    const bool holds = seen == "fits"    ? e.verdict != Verdict::kOom
                       : seen == "tight" ? e.verdict != Verdict::kFits
                                         : e.verdict == Verdict::kOom;
    if (!holds) complaints.Say(std::string("verdict is ") + Name(e.verdict) + ", observed " + seen);
  }
  if (field["limit"]) complaints.Same("limit", e.limit, field["limit"].as<std::string>());
  if (field["reserved_gib"])
    complaints.Near("reserved", e.peak_reserved.value / kGiB, field["reserved_gib"]);
  if (field["device_gib"])
    complaints.Near("device", e.peak_device.value / kGiB, field["device_gib"]);
  if (field["parameters"])
    complaints.Same("parameters", parameters, field["parameters"].as<double>());
  for (const auto& part : field["part_at_least_gib"])
    if (PartsOf(e, part.first.as<std::string>()).value / kGiB < part.second.as<double>())
      complaints.Say(part.first.as<std::string>() + " are too small");
  if (const YAML::Node each = field["bytes_per_parameter"])
    complaints.Near("bytes per parameter",
                    PartsOf(e, each["parts"].as<std::string>()).value *
                        each["ranks"].as<double>(1) / parameters,
                    each);
  if (field["less"]) {
    const Result<Judged> less = Judge(TextOf(field["less"]));
    if (!less || !less->evaluation) return "the other spec is not judged";
    complaints.Near("difference",
                    (e.peak_allocated.value - less->evaluation->peak_allocated.value) / kMiB,
                    field["allocated_difference_mib"]);
  }
  return complaints.Take();
}

TEST(FieldCases, AreAsObservedOrListedAsMisses) {
  std::map<std::string, std::string> misses;
  for (const YAML::Node& miss : YAML::LoadFile(kFolder + "misses.yaml")) {
    ASSERT_FALSE(miss["why"].as<std::string>().empty());
    misses[miss["id"].as<std::string>()] = miss["why"].as<std::string>();
  }
  std::size_t cases = 0;
  for (const YAML::Node& field : YAML::LoadFile(kFolder + "cases.yaml")) {
    const std::string id = field["id"].as<std::string>();
    const std::string disagreement = Disagreement(field);
    ++cases;
    if (misses.erase(id) > 0)
      EXPECT_NE(disagreement, "") << id << " holds now: take it out of misses.yaml";
    else
      EXPECT_EQ(disagreement, "") << id;
  }
  EXPECT_GE(cases, 30u);
  for (const auto& [id, why] : misses) ADD_FAILURE() << "misses.yaml names no case: " << id;
}
}  // namespace
}  // namespace shardplan
