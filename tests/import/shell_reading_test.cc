// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "planner/import/arithmetic.h"
#include "planner/import/shell.h"

namespace shardplan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The words of the last command of a script; unknowns by their source.
std::vector<std::string> LastCommand(const std::string& script) {
  Shell shell;
  shell.Run(Placed::File(script, 0));
  std::vector<std::string> words;
  if (!shell.commands().empty())
    for (const Placed& word : shell.commands().back().words)
      words.push_back(WithoutMarks(word.text()));
  return words;
}

TEST(Shell, ExpandsVariablesAndDefaults) {
  EXPECT_THAT(LastCommand("A=1\nB=${B:-two}\nrun $A \"$B\" '$A' ${C:=x y}\n"),
              ElementsAre("run", "1", "two", "$A", "x", "y"));
  EXPECT_THAT(LastCommand("A=\nrun ${A:-d} ${A-e} ${A:+f}\n"), ElementsAre("run", "d"));
  EXPECT_THAT(LastCommand("F=model.tar\nrun ${F%.tar} ${F#model.} ${#F}"),
              ElementsAre("run", "model", "tar", "9"));
}

TEST(Shell, JoinsArraysAndContinuations) {
  EXPECT_THAT(LastCommand("A=(--x 1 # why\n  --y \"2 3\")\nA+=(--z)\nrun \\\n ${A[@]} \"${A[@]}\" "
                          "${#A[@]} ${A[1]}"),
              ElementsAre("run", "--x", "1", "--y", "2", "3", "--z", "--x", "1", "--y", "2 3",
                          "--z", "5", "1"));
  EXPECT_THAT(LastCommand("E=()\nrun \"${E[@]}\" ${E[@]} \"\""), ElementsAre("run", ""));
  EXPECT_THAT(LastCommand("A=\"--p 1 \\\n --q\"\nA=\"$A --r\"\nA+=' --s'\nrun $A"),
              ElementsAre("run", "--p", "1", "--q", "--r", "--s"));
}

TEST(Shell, Counts) {
  EXPECT_THAT(
      LastCommand("G=8\nN=4\nrun $(($G*N)) $(( (G + 2) / 3 )) $(expr $G \\* 2) $((2**3%5))"),
      ElementsAre("run", "32", "3", "16", "3"));
  EXPECT_EQ(EvaluateArithmetic("1/0"), std::nullopt);
  EXPECT_EQ(EvaluateArithmetic("9999999999*9999999999"), std::nullopt);
  EXPECT_EQ(EvaluateArithmetic("-2 ** 2 + (3 >= 2)"), 5);
  EXPECT_EQ(EvaluateArithmetic("2 3"), std::nullopt);
}

TEST(Shell, TakesTheBranchThatHolds) {
  const std::string script =
      "SIZE=7B\nif [ \"$SIZE\" = 13B ]; then L=40\nelif [[ $SIZE == 7* && -z \"$NONE\" ]]; then "
      "L=32\n"
      "else L=1; fi\n"
      "case $SIZE in\n 13B) H=5120 ;;\n 7B|8B) H=4096 ;;\n *) exit 1 ;;\nesac\n"
      "[ $L -gt 30 ] && D=deep || D=flat\nrun $L $H $D";
  EXPECT_THAT(LastCommand(script), ElementsAre("run", "32", "4096", "deep"));
}

// What hangs on a program's output is not guessed.
TEST(Shell, DoubtsWhatItCannotKnow) {
  Shell shell;
  shell.Run(
      Placed::File("A=1\nif [ $(hostname) = x ]; then\n A=2\nfi\nfor s in 1 2; do B=$s; done\nrun "
                   "$A $B $(date) $OUT",
                   0));
  ASSERT_EQ(shell.commands().size(), 1u);
  const auto& words = shell.commands()[0].words;
  EXPECT_EQ(words[1].text(), "1");
  EXPECT_EQ(words[2].text(), "1");
  EXPECT_TRUE(IsUnknown(words[3].text()));
  EXPECT_TRUE(IsUnknown(words[4].text()));
  ASSERT_EQ(shell.doubts().size(), 2u);
  EXPECT_EQ(shell.doubts()[0].spot.line, 2);
  EXPECT_EQ(shell.doubts()[1].why, "a loop was read as its first turn");
}

TEST(Shell, FollowsFunctionsEvalSourceAndOtherShells) {
  EXPECT_THAT(LastCommand("go() {\n local N=$1\n run --n $N \"$@\" $#\n}\ngo 4 b\n"),
              ElementsAre("run", "--n", "4", "4", "b", "2"));
  EXPECT_THAT(LastCommand("C=\"run --a $X\"\neval $C"), ElementsAre("run", "--a", "$X"));
  EXPECT_THAT(LastCommand("M=\"--m 1\"\nsrun -l bash -c \"run \\$M $M\""),
              ElementsAre("run", "--m", "1", "--m", "1"));
  Shell shell;
  shell.Keep("common.sh", Placed::File("L=12\n", 1));
  shell.Run(Placed::File(". `pwd`/common.sh\nrun $L", 0));
  EXPECT_EQ(shell.commands().back().words[1].text(), "12");
  EXPECT_EQ(shell.commands().back().words[1].spot(), (Spot{1, 1}));
}

// A script passes its own arguments on, and is read as if it had none.
TEST(Shell, StartsWithoutArguments) {
  EXPECT_THAT(LastCommand("exec torchrun t.py --x 1 \"$@\""),
              ElementsAre("exec", "torchrun", "t.py", "--x", "1"));
}

TEST(Shell, KeepsHereDocuments) {
  Shell shell;
  shell.Run(Placed::File(
      "S=3\nJ=ds.json\ncat <<EOT > $J\n{\"stage\": $S}\nEOT\ncat > raw <<'E'\n$S\nE\nrun", 0));
  ASSERT_EQ(shell.files().size(), 2u);
  EXPECT_EQ(shell.files().at("ds.json").text(), "{\"stage\": 3}\n");
  EXPECT_EQ(shell.files().at("ds.json").spot().line, 4);
  EXPECT_EQ(shell.files().at("raw").text(), "$S\n");
}

TEST(Shell, WordsKnowTheirLines) {
  Shell shell;
  shell.Run(Placed::File("#!/bin/bash\nA=(\n --x\n --y\n)\nrun ${A[@]} \\\n --z", 0));
  std::vector<int> lines;
  for (const Placed& word : shell.commands()[0].words) lines.push_back(word.spot().line);
  EXPECT_THAT(lines, ElementsAre(6, 3, 4, 7));
}

TEST(Shell, EndsWhateverTheScript) {
  EXPECT_THAT(LastCommand("f() { f; f; }\nf\nwhile true; do f; done\n"), ::testing::_);
  std::string doubling = "A=x\n";
  for (int i = 0; i < 60; ++i) doubling += "A=\"$A$A$A\"\n";
  EXPECT_THAT(LastCommand(doubling + "run $A"), ::testing::SizeIs(2));
  EXPECT_THAT(LastCommand(std::string(5000, '(')), IsEmpty());
  std::string nested;
  for (int i = 0; i < 3000; ++i) nested += "\"$(";
  EXPECT_THAT(LastCommand(nested), ::testing::_);
}
}  // namespace
}  // namespace shardplan
