// SPDX-License-Identifier: Apache-2.0
// What a shell script would run, as far as static reading can tell.
//
// Variables, arrays, defaults (${X:-8}), arithmetic, if, case, functions and here-documents are
// followed; no program is run. A variable that the script takes from outside, and what a program
// would print, are unknown (planner/import/placed.h); a condition that hangs on one is not decided,
// and neither of its branches is read. A loop is read as its first turn.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "planner/import/placed.h"
#include "planner/import/shell_tokens.h"

namespace shardplan {

// One simple command, its words expanded.
struct ShellCommand {
  std::vector<Placed> words;
  std::map<std::string, Placed> environment;  // NAME=value in front of it
};

// Something that the reading could not follow.
struct ShellDoubt {
  Spot spot;
  std::string text, why;
};

class Shell {
 public:
  struct Value {
    std::vector<Placed> items;
    bool is_array = false;
  };

  // Sets a variable that comes from outside (Slurm's, the user's).
  void Set(const std::string& name, const std::string& value);
  // A script that others may source, by its name without folders.
  void Keep(const std::string& name, const Placed& script) { library_[name] = script; }
  bool WasSourced(const std::string& name) const { return sourced_.count(name) > 0; }
  // Runs a script after those before it, in the same shell.
  void Run(const Placed& script);

  const std::vector<ShellCommand>& commands() const { return commands_; }
  const std::map<std::string, Value>& variables() const { return variables_; }
  const std::set<std::string>& exported() const { return exported_; }
  // Files that here-documents make, by the path as written.
  const std::map<std::string, Placed>& files() const { return files_; }
  const std::vector<ShellDoubt>& doubts() const { return doubts_; }

 private:
  friend class ShellExpansion;
  using Position = std::size_t;
  enum class Truth { kFalse, kTrue, kUnknown };

  void RunTokens(const std::vector<Token>& tokens, bool active);
  // Runs commands until one of `ends` stands where a command begins; stays on it. What is not
  // `active` is passed over.
  void List(const std::set<std::string>& ends, bool active);
  Truth Pipeline(bool active);
  Truth Simple(bool active);
  void Statement(bool active);
  void If(bool active);
  void Case(bool active);
  void For(bool active);
  void Loop(bool active);
  void Function(const std::string& name, bool active);
  // Up to `then` or `do`, and past it.
  Truth Condition(const std::set<std::string>& ends, bool active);

  Truth Execute(const ShellCommand& command);
  void Assign(const Token& token);
  static bool IsDeclaration(const std::string& word);
  void Declare(const ShellCommand& command, const std::vector<Token>& arrays);
  void SkipSeparators();
  void Doubt(const Placed& text, std::string why);
  // Whether these tokens assign anything or start a program.
  bool AnyEffect(Position begin, Position end) const;

  const Token& Now() const;
  bool NowIs(Token::Kind kind, std::string_view text) const;
  std::string NowWord() const;  // of a word that has no quotes and so may be a keyword
  Placed Head() const;          // the words of the statement that begins here, for doubts

  const std::vector<Token>* tokens_ = nullptr;
  Position at_ = 0;
  Truth last_ = Truth::kTrue;  // of the last simple command
  std::map<std::string, Value> variables_;
  std::set<std::string> exported_;
  std::map<std::string, std::vector<Token>> functions_;
  std::vector<std::vector<Placed>> arguments_;  // of the functions being called
  std::map<std::string, Placed> library_;
  std::set<std::string> sourced_;
  int sources_ = 0;
  std::map<std::string, Placed> files_;
  std::vector<ShellCommand> commands_;
  std::vector<ShellDoubt> doubts_;
  int depth_ = 0;
  long steps_ = 0;  // against scripts that never end
};
}  // namespace shardplan
