// SPDX-License-Identifier: Apache-2.0
// Whatever the keys and values, a config is a model with sane numbers or a problem with a text.
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/model/configs.h"

namespace shardplan {
namespace {

using Json = nlohmann::json;

class Soup {
 public:
  explicit Soup(std::uint64_t seed) : random_(seed) {}

  Json Config() {
    static const std::vector<std::string> types = KnownModelTypes();
    Json config = Keys(Below(12));
    config["model_type"] = Below(20) == 0 ? Value(0) : Json(types[Below(types.size())]);
    if (Below(10) == 0) config["text_config"] = Keys(Below(6));
    return config;
  }

 private:
  std::size_t Below(std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_);
  }

  Json Keys(std::size_t count) {
    static const std::vector<std::string> keys = KnownConfigKeys();
    Json config = Json::object();
    for (std::size_t i = 0; i < count; ++i) config[keys[Below(keys.size())]] = Value(0);
    return config;
  }

  Json Value(int depth) {
    switch (Below(depth < 2 ? 12 : 10)) {
      case 0:
        return nullptr;
      case 1:
        return Below(2) == 0;
      case 2:
        return static_cast<int>(Below(5)) - 1;
      case 3:
        return Below(100'000'000);
      case 4:
        return std::numeric_limits<std::int64_t>::min();
      case 5:
        return std::numeric_limits<std::uint64_t>::max();
      case 6:
        return std::vector<double>{0.5, 1e300, NAN, -INFINITY, 4.0}[Below(5)];
      case 7:
        return std::vector<std::string>{"",     "silu",    "full_attention", "sliding_attention",
                                        "rope", "\xff\xfe"}[Below(6)];
      case 8:
      case 9:
        return 1 << Below(12);
      case 10: {
        Json list = Json::array();
        for (std::size_t i = Below(40); i > 0; --i) list.push_back(Value(depth + 1));
        return list;
      }
      default:
        return Json{{"alibi", Value(depth + 1)}, {"x", Value(depth + 1)}};
    }
  }

  std::mt19937_64 random_;
};

TEST(ConfigProperty, AnyKeySoupIsAModelOrAProblem) {
  int models = 0;
  for (std::uint64_t seed = 0; seed < 4'000; ++seed) {
    const Json config = Soup(seed).Config();
    for (bool hand_written : {true, false}) {
      const auto shape = ShapeFromConfig(config, hand_written);
      if (!shape) {
        ASSERT_FALSE(shape.error().message.empty()) << "seed " << seed;
        continue;
      }
      ++models;
      const ParameterCount count = CountParameters(BuildDecoder(*shape));
      ASSERT_TRUE(std::isfinite(count.total) && count.total > 0) << "seed " << seed;
      ASSERT_TRUE(count.active > 0 && count.active <= count.total) << "seed " << seed;
      ASSERT_EQ(shape->heads % shape->kv_heads, 0) << "seed " << seed;
    }
  }
  EXPECT_GT(models, 500);  // else the soup is too thick to test anything
}

// What a spec may say, a config.json may say, and it means the same model.
TEST(ConfigProperty, AHandWrittenConfigIsAlsoAConfigFile) {
  for (std::uint64_t seed = 0; seed < 4'000; ++seed) {
    const Json config = Soup(seed).Config();
    const auto spec = ShapeFromConfig(config, /*hand_written=*/true);
    if (!spec) continue;
    const auto file = ShapeFromConfig(config, /*hand_written=*/false);
    ASSERT_TRUE(file.has_value()) << "seed " << seed;
    ASSERT_EQ(CountParameters(BuildDecoder(*spec)).total,
              CountParameters(BuildDecoder(*file)).total)
        << "seed " << seed;
  }
}

// Overriding a key with the value it has changes nothing; so does overriding nothing.
TEST(ConfigProperty, OverridingAKeyWithItselfChangesNothing) {
  for (const char* name : {"llama-3-70b", "gpt2", "mpt-7b", "falcon-40b", "deepseek-v3",
                           "gpt-oss-20b", "bloom-7b1", "mt-nlg-530b"}) {
    const Json base = Preset(name);
    for (const auto& [key, value] : base.items()) {
      const auto merged = OverrideConfig(base, Json{{key, value}});
      ASSERT_TRUE(merged.has_value()) << name << ' ' << key;
      ASSERT_EQ(*merged, base) << name << ' ' << key;
    }
    ASSERT_EQ(*OverrideConfig(base, Json::object()), base) << name;
  }
}
}  // namespace
}  // namespace shardplan
