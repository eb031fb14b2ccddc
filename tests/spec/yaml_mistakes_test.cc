// SPDX-License-Identifier: Apache-2.0
// One mistake each, and the whole text that a user gets to see: text that is not taken.
#include "tests/spec/mistakes.h"

namespace shardplan {
namespace {

const Mistake kMistakes[] = {
    {"An empty file.", "",
     R"(
spec.yaml: empty
  expected a mapping with keys of model, cluster, train, plan, search)"},
    {"Comments alone.",
     R"(
# nothing yet
)",
     R"(
spec.yaml: empty
  expected a mapping with keys of model, cluster, train, plan, search)"},
    {"A file that is no mapping.",
     R"(
- llama
- h100
)",
     R"(
spec.yaml:1:1: found a list
  1 | - llama
    | ^
  expected a mapping with keys of model, cluster, train, plan, search)"},
    {"One word.",
     R"(
llama-70b
)",
     R"(
spec.yaml:1:1: found llama-70b
  1 | llama-70b
    | ^^^^^^^^^
  expected a mapping with keys of model, cluster, train, plan, search)"},
    {"A key given twice.",
     R"(
model: {preset: llama-3-8b}
cluster: {gpu: h100-sxm-80gb}
train: {seq_length: 4096, global_batch_size: 64}
plan:
  tp: 4
  pp: 2
  tp: 8
)",
     R"(
spec.yaml:7:3: plan.tp: given twice
  7 |   tp: 8
    |   ^^
  it stands on line 5 already; keep one)"},
    {"A key given twice in JSON.",
     R"(
{"plan": {"tp": 4, "tp": 8}}
)",
     R"(
spec.yaml:1:20: plan.tp: given twice
  1 | {"plan": {"tp": 4, "tp": 8}}
    |                    ^^^^
  it stands on line 1 already; keep one)"},
    {"A section given twice.",
     R"(
plan: {tp: 4}
cluster: {nodes: 2}
plan: {pp: 4}
)",
     R"(
spec.yaml:3:1: plan: given twice
  3 | plan: {pp: 4}
    | ^^^^
  it stands on line 1 already; keep one)"},
    {"An anchor.",
     R"(
plan: &p
  tp: 4
)",
     R"(
spec.yaml:1:7: plan: anchors and aliases are not taken
  1 | plan: &p
    |       ^
  write the value out)"},
    {"An alias.",
     R"(
plan:
  tp: *p
)",
     R"(
spec.yaml:2:7: plan.tp: anchors and aliases are not taken
  2 |   tp: *p
    |       ^
  write the value out)"},
    {"A merge key.",
     R"(
plan:
  <<: {tp: 4}
)",
     R"(
spec.yaml:2:3: plan: merge keys are not taken
  2 |   <<: {tp: 4}
    |   ^^
  write the keys out)"},
    {"A tag.",
     R"(
plan:
  tp: !!int 4
)",
     R"(
spec.yaml:2:7: plan.tp: the tag tag:yaml.org,2002:int is not taken
  2 |   tp: !!int 4
    |       ^
  leave it out)"},
    {"A second document.",
     R"(
plan: {tp: 4}
---
plan: {tp: 8}
)",
     R"(
spec.yaml:3:1: a second document begins here
  3 | plan: {tp: 8}
    | ^
  one file is one document; remove ---)"},
    {"A list as a key.",
     R"(
? [a, b]
: 4
)",
     R"(
spec.yaml:1:3: a key must be a word
  1 | ? [a, b]
    |   ^
  mappings and lists cannot be keys)"},
    {"No key.",
     R"(
plan:
  : 4
)",
     R"(
spec.yaml:2:3: plan: the key is empty
  2 |   : 4
    |   ^
  write a key before the colon)"},
    {"A tab.", "plan:\n\ttp: 4\n",
     R"(
spec.yaml:2:4: a tab stands in the indentation
  2 |  tp: 4
    |    ^
  indent with blanks)"},
    {"A stray indentation.",
     R"(
plan:
  tp: 4
   pp: 2
)",
     R"(
spec.yaml:3:6: plan: a key and its value do not fit here
  3 |    pp: 2
    |      ^
  the keys of one mapping begin in the same column; a text that holds `: ` goes in quotes)"},
    {"A key less indented.",
     R"(
plan:
  tp: 4
 pp: 2
)",
     R"(
spec.yaml:3:2: this line is indented like none above it
  3 |  pp: 2
    |  ^
  the keys of one mapping begin in the same column)"},
    {"Two colons.",
     R"(
cluster:
  gpu: base: h100-sxm-80gb
)",
     R"(
spec.yaml:2:12: cluster: a key and its value do not fit here
  2 |   gpu: base: h100-sxm-80gb
    |            ^
  the keys of one mapping begin in the same column; a text that holds `: ` goes in quotes)"},
    {"A list never closed.",
     R"(
plan:
  tp: [1, 2
  pp: 2
)",
     R"(
spec.yaml:2:7: plan.tp: a [ is never closed
  2 |   tp: [1, 2
    |       ^
  close it with ])"},
    {"A mapping never closed.",
     R"(
plan: {tp: 4
)",
     R"(
spec.yaml:1:7: plan: a { is never closed
  1 | plan: {tp: 4
    |       ^
  close it with })"},
    {"A bracket too many.",
     R"(
plan: {tp: 4}}
)",
     R"(
spec.yaml:1:14: nothing is open that this closes
  1 | plan: {tp: 4}}
    |              ^
  remove it)"},
    {"A quote never closed.",
     R"(
model:
  preset: "llama-3-8b
)",
     R"(
spec.yaml:2:11: model.preset: a quote is never closed
  2 |   preset: "llama-3-8b
    |           ^
  close it on the same line)"},
    {"A value that begins with @.",
     R"(
model:
  preset: @llama
)",
     R"(
spec.yaml:2:11: model.preset: no value begins with this character
  2 |   preset: @llama
    |           ^
  put the text in quotes)"},
    {"An escape that is none.",
     R"(
model:
  preset: "llama\q"
)",
     R"(
spec.yaml:2:19: model.preset: not YAML: unknown escape character: q
  2 |   preset: "llama\q"
    |                   ^
  look at the line, and at the end of the one before)"},
    {"A control character.",
     "model:\n  preset: llama\x04"
     "-8b\n",
     R"(
spec.yaml:2:16: control character U+0004
  2 |   preset: llama -8b
    |                ^
  remove it)"},
    {"Latin-1.",
     "# gr\xfc"
     "\xdf"
     "e\nplan: {tp: 4}\n",
     "spec.yaml:1:5: byte 0xfc is not UTF-8\n"
     "  1 | # gr\xfc"
     "\xdf"
     "e\n"
     "    |     ^\n"
     "  save the file as UTF-8"},
    {"Too deep.",
     R"(
model:
  x: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]
)",
     R"(
spec.yaml:2:36: model.x[0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0]: nested deeper than 32 levels
  2 |   x: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]
    |                                    ^)"},
    {"A long line is cut around the place.",
     R"(
plan: {tp: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072, x, 262144, 524288, 1048576]}
)",
     R"(
spec.yaml:1:105: plan.tp[18]: x is not a whole number
  1 | ...64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072, x, 262144, 524288, 1048576]}
    |                                                                            ^
  expected a whole number from 1 to 1000000)"},
    {"Columns count characters.",
     R"(
cluster: {preset: "žluťoučký", node: 4}
)",
     R"(
spec.yaml:1:32: cluster.node: unknown key
  1 | cluster: {preset: "žluťoučký", node: 4}
    |                                ^^^^
  did you mean nodes? the keys of cluster are preset, nodes, gpus_per_node, gpu, scale_up, scale_up_domain, scale_out, nccl, host_memory, host_bandwidth, gpu_link, nvme, price, profile, source, confidence)"},
};

class YamlMistake : public testing::TestWithParam<Mistake> {};
TEST_P(YamlMistake, IsExplained) { ExpectExplained(GetParam()); }
INSTANTIATE_TEST_SUITE_P(All, YamlMistake, testing::ValuesIn(kMistakes), NameOfMistake);

}  // namespace
}  // namespace shardplan
