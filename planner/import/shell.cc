// SPDX-License-Identifier: Apache-2.0
#include "planner/import/shell.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "planner/import/shell_condition.h"
#include "planner/import/shell_expansion.h"

namespace shardplan {
namespace {

using Kind = Token::Kind;
constexpr int kMostDepth = 60;
constexpr long kMostSteps = 200'000;
constexpr int kMostSources = 50;

// The length of `NAME=` or `NAME+=` that a word begins with; 0: it is no assignment.
std::size_t AssignmentLength(const std::string& word) {
  std::size_t i = 0;
  while (i < word.size() && (word[i] == '_' || std::isalnum(static_cast<unsigned char>(word[i]))))
    ++i;
  if (i == 0 || std::isdigit(static_cast<unsigned char>(word[0])) != 0) return 0;
  if (word.compare(i, 2, "+=") == 0) return i + 2;
  return i < word.size() && word[i] == '=' ? i + 1 : 0;
}

bool IsQuoted(const std::string& word) {
  return word.find_first_of("'\"$\\`") != std::string::npos;
}

bool Ends(const std::set<std::string>& ends, const std::string& word) {
  return ends.count(word) > 0;
}
}  // namespace

void Shell::Set(const std::string& name, const std::string& value) {
  variables_[name] = {{Placed(value, {})}, false};
}

void Shell::Run(const Placed& script) {
  const std::vector<Token> tokens = ShellTokens(script);
  RunTokens(tokens, true);
}

void Shell::RunTokens(const std::vector<Token>& tokens, bool active) {
  if (depth_ > kMostDepth) return;
  ++depth_;
  const auto* outer = std::exchange(tokens_, &tokens);
  const Position outer_at = std::exchange(at_, 0);
  // A stray `fi` or `)` does not end the script.
  while (Now().kind != Kind::kEnd) {
    const Position before = at_;
    List({}, active);
    if (at_ == before) ++at_;
  }
  tokens_ = outer;
  at_ = outer_at;
  --depth_;
}

const Token& Shell::Now() const { return (*tokens_)[std::min(at_, tokens_->size() - 1)]; }

bool Shell::NowIs(Kind kind, std::string_view text) const {
  return Now().kind == kind && Now().text.text() == text;
}

std::string Shell::NowWord() const {
  return Now().kind == Kind::kWord && !IsQuoted(Now().text.text()) ? Now().text.text() : "";
}

void Shell::SkipSeparators() {
  while (Now().kind == Kind::kNewline || NowIs(Kind::kOperator, ";") || NowIs(Kind::kOperator, "&"))
    ++at_;
}

Placed Shell::Head() const {
  Placed head;
  for (Position i = at_; i < tokens_->size() && head.size() < 80; ++i) {
    const Token& token = (*tokens_)[i];
    if (token.kind == Kind::kNewline || token.kind == Kind::kEnd || token.text.text() == ";") break;
    if (!head.empty()) head.Append(' ', token.text.spot());
    head.Append(token.text);
  }
  return head;
}

void Shell::Doubt(const Placed& text, std::string why) {
  doubts_.push_back({text.spot(), WithoutMarks(text.text()), std::move(why)});
}

void Shell::List(const std::set<std::string>& ends, bool active) {
  for (;;) {
    SkipSeparators();
    if (Now().kind == Kind::kEnd || Ends(ends, NowWord()) || NowIs(Kind::kOperator, ")") ||
        NowIs(Kind::kOperator, ";;"))
      return;
    const Position before = at_;
    Pipeline(active);
    if (at_ == before) ++at_;
  }
}

// Commands joined by && and ||.
Shell::Truth Shell::Pipeline(bool active) {
  Truth truth = Truth::kTrue;
  bool runs = active;
  for (;;) {
    const Truth now = Simple(runs);
    if (runs) truth = now;
    while (NowIs(Kind::kOperator, "|") && Now().kind != Kind::kEnd) {
      ++at_;
      Simple(runs);
    }
    const bool both = NowIs(Kind::kOperator, "&&"), either = NowIs(Kind::kOperator, "||");
    if (!both && !either) return truth;
    ++at_;
    while (Now().kind == Kind::kNewline) ++at_;
    if (truth == Truth::kUnknown && active && runs && AssignmentLength(NowWord()) > 0)
      Doubt(Head(), "hangs on a condition that is not known");
    runs = active && truth == (both ? Truth::kTrue : Truth::kFalse);
  }
}

Shell::Truth Shell::Simple(bool active) {
  if (++steps_ > kMostSteps || depth_ > kMostDepth) {
    at_ = tokens_->size() - 1;
    return Truth::kUnknown;
  }
  ++depth_;
  const std::string word = NowWord();
  Truth truth = Truth::kTrue;
  if (word == "if") {
    If(active);
  } else if (word == "case") {
    Case(active);
  } else if (word == "for" || word == "select") {
    For(active);
  } else if (word == "while" || word == "until") {
    Loop(active);
  } else if (word == "{") {
    ++at_;
    List({"}"}, active);
    if (NowWord() == "}") ++at_;
  } else if (NowIs(Kind::kOperator, "(")) {
    ++at_;
    List({}, active);
    if (NowIs(Kind::kOperator, ")")) ++at_;
  } else if (word == "!") {
    ++at_;
    const Truth inner = Simple(active);
    truth = inner == Truth::kTrue ? Truth::kFalse : inner == Truth::kFalse ? Truth::kTrue : inner;
  } else if (Now().kind == Kind::kArithmetic) {
    ShellExpansion expansion(*this);
    const auto value = expansion.Arithmetic(Now().text);
    ++at_;
    truth = !value ? Truth::kUnknown : *value != 0 ? Truth::kTrue : Truth::kFalse;
  } else {
    Statement(active);
    truth = last_;
  }
  --depth_;
  return truth;
}

// A simple command, an assignment, or the definition of a function.
void Shell::Statement(bool active) {
  last_ = Truth::kTrue;
  const std::string first = NowWord();
  const bool keyword = first == "function";
  const Position name_at = at_ + (keyword ? 1 : 0);
  if (name_at + 2 < tokens_->size() && (*tokens_)[name_at].kind == Kind::kWord &&
      (*tokens_)[name_at + 1].text.text() == "(" && (*tokens_)[name_at + 2].text.text() == ")") {
    at_ = name_at + 3;
    return Function((*tokens_)[name_at].text.text(), active);
  }
  if (keyword) {
    at_ = std::min(name_at + 1, tokens_->size() - 1);
    return Function((*tokens_)[name_at].text.text(), active);
  }

  ShellCommand command;
  std::vector<Token> assignments;
  ShellExpansion expansion(*this);
  std::string writes_to;
  const Token* document = nullptr;
  bool test = first == "[[";  // within its brackets, where operators are words
  for (;; ++at_) {
    const Token& token = Now();
    if (token.kind == Kind::kEnd || token.kind == Kind::kNewline) break;
    if (token.kind == Kind::kDocument) {
      document = &token;
      continue;
    }
    if (token.kind == Kind::kOperator) {
      const std::string& text = token.text.text();
      if (test) {
        command.words.push_back(token.text);
        continue;
      }
      if (text[0] != '<' && text[0] != '>' && text != "&>" && text != "&>>") break;
      ++at_;
      if (Now().kind == Kind::kNewline || Now().kind == Kind::kEnd) break;
      if (active && text[0] == '>') writes_to = expansion.Word(Now().text).text();
      continue;
    }
    const bool in_test = test;
    if (token.text.text() == "]]") test = false;
    if (!active) continue;
    const bool starts = command.words.empty();
    const bool assigns = AssignmentLength(token.text.text()) > 0;
    if (assigns && (starts || token.kind == Kind::kArray)) {
      assignments.push_back(token);
      continue;
    }
    if (token.kind == Kind::kWord && in_test)
      command.words.push_back(expansion.Word(token.text));
    else if (token.kind == Kind::kWord)
      for (Placed& word : expansion.Words(token.text)) command.words.push_back(std::move(word));
  }
  if (!active) return;
  const bool declares = !command.words.empty() && IsDeclaration(command.words[0].text());
  if (command.words.empty() || declares) {
    for (const Token& assignment : assignments) Assign(assignment);
    if (declares) Declare(command, assignments);
  } else {
    for (const Token& assignment : assignments) {
      const std::string& text = assignment.text.text();
      const std::size_t length = AssignmentLength(text);
      const std::string name = text.substr(0, length - (text[length - 2] == '+' ? 2 : 1));
      command.environment[name] =
          expansion.Word(assignment.text.Part(length, assignment.text.size()));
    }
    last_ = Execute(command);
  }
  const bool copies = !command.words.empty() &&
                      (command.words[0].text() == "cat" || command.words[0].text() == "tee");
  if (document != nullptr && copies) {
    if (writes_to.empty() && command.words.size() > 1) writes_to = command.words.back().text();
    const bool raw = IsQuoted(document->text.text());
    if (!writes_to.empty())
      files_[writes_to] = raw ? document->items[0] : expansion.Document(document->items[0]);
  }
}

void Shell::Assign(const Token& token) {
  ShellExpansion expansion(*this);
  const std::string& text = token.text.text();
  const std::size_t length = AssignmentLength(text);
  if (length == 0) return;
  const bool append = text[length - 2] == '+';
  const std::string name = text.substr(0, length - (append ? 2 : 1));
  Value& value = variables_[name];
  if (token.kind == Kind::kArray) {
    std::vector<Placed> items;
    for (const Placed& raw : token.items)
      for (Placed& word : expansion.Words(raw)) items.push_back(std::move(word));
    if (!append) value.items.clear();
    for (Placed& item : items) value.items.push_back(std::move(item));
    value.is_array = true;
    return;
  }
  Placed word = expansion.Word(token.text.Part(length, text.size()));
  if (append && !value.items.empty()) {
    Placed whole = value.items.front();
    whole.Append(word);
    word = std::move(whole);
  }
  value = {{std::move(word)}, false};
}

// export, declare, local, readonly: names, or assignments among the words.
void Shell::Declare(const ShellCommand& command, const std::vector<Token>& arrays) {
  const bool exports = command.words[0].text() == "export" ||
                       std::any_of(command.words.begin(), command.words.end(),
                                   [](const Placed& word) { return word.text() == "-x"; });
  for (std::size_t i = 1; i < command.words.size(); ++i) {
    const Placed& word = command.words[i];
    const std::string& text = word.text();
    const std::size_t length = AssignmentLength(text);
    std::string name = text;
    if (length > 0) {
      name = text.substr(0, length - (text[length - 2] == '+' ? 2 : 1));
      variables_[name] = {{word.Part(length, word.size())}, false};
    }
    if (exports && !name.empty() && name[0] != '-') exported_.insert(name);
  }
  for (const Token& array : arrays)
    if (exports)
      exported_.insert(array.text.text().substr(0, array.text.text().find_first_of("+=")));
}

bool Shell::IsDeclaration(const std::string& word) {
  return word == "export" || word == "declare" || word == "local" || word == "readonly" ||
         word == "typeset";
}

Shell::Truth Shell::Execute(const ShellCommand& command) {
  const std::string& program = command.words[0].text();
  if (program == "[" || program == "[[" || program == "test") {
    const std::optional<bool> holds = EvaluateShellTest(command.words);
    return !holds ? Truth::kUnknown : *holds ? Truth::kTrue : Truth::kFalse;
  }
  if (program == "unset") {
    for (const Placed& word : command.words) variables_.erase(word.text());
    return Truth::kTrue;
  }
  if (program == "true" || program == ":" || program == "false")
    return program == "false" ? Truth::kFalse : Truth::kTrue;
  if (program == "eval") {
    Placed script;
    for (std::size_t i = 1; i < command.words.size(); ++i) {
      script.Append(' ', command.words[i].spot());
      script.Append(command.words[i]);
    }
    RunTokens(ShellTokens(script), true);
    return Truth::kUnknown;
  }
  if (const auto function = functions_.find(program); function != functions_.end()) {
    if (arguments_.size() < 20) {
      arguments_.emplace_back(command.words.begin() + 1, command.words.end());
      const std::vector<Token> body = function->second;
      RunTokens(body, true);
      arguments_.pop_back();
    }
    return Truth::kUnknown;
  }
  if ((program == "source" || program == ".") && command.words.size() > 1) {
    const std::string& path = command.words[1].text();
    const auto other = library_.find(path.substr(path.rfind('/') + 1));
    if (other == library_.end() || sources_ > kMostSources) return Truth::kUnknown;
    ++sources_;
    sourced_.insert(other->first);
    RunTokens(ShellTokens(other->second), true);
    return Truth::kUnknown;
  }
  // What another shell is told to run (`srun bash -c "..."`) is read as if it ran here.
  for (std::size_t i = 0; i + 2 < command.words.size(); ++i) {
    const std::string& word = command.words[i].text();
    const std::string& option = command.words[i + 1].text();
    const bool shell = word == "bash" || word == "sh" || word.ends_with("/bash");
    if (!shell || option.empty() || option[0] != '-' || option.back() != 'c') continue;
    if (i > 0)
      commands_.push_back(
          {{command.words.begin(), command.words.begin() + static_cast<std::ptrdiff_t>(i)},
           command.environment});
    RunTokens(ShellTokens(command.words[i + 2]), true);
    return Truth::kUnknown;
  }
  commands_.push_back(command);
  return Truth::kUnknown;
}

void Shell::Function(const std::string& name, bool active) {
  while (Now().kind == Kind::kNewline || NowIs(Kind::kOperator, "(") || NowIs(Kind::kOperator, ")"))
    ++at_;
  if (NowWord() != "{") return;
  const Position begin = ++at_;
  List({"}"}, false);
  std::vector<Token> body(tokens_->begin() + static_cast<std::ptrdiff_t>(begin),
                          tokens_->begin() + static_cast<std::ptrdiff_t>(at_));
  body.push_back({});
  if (NowWord() == "}") ++at_;
  if (active) functions_[name] = std::move(body);
}

Shell::Truth Shell::Condition(const std::set<std::string>& ends, bool active) {
  Truth truth = Truth::kTrue;
  while (Now().kind != Kind::kEnd) {
    SkipSeparators();
    if (Now().kind == Kind::kEnd || Ends(ends, NowWord())) break;
    const Position before = at_;
    truth = Pipeline(active);
    if (at_ == before) ++at_;
  }
  if (Now().kind != Kind::kEnd) ++at_;  // `then`, `do`
  return truth;
}

void Shell::If(bool active) {
  const Placed head = Head();
  bool open = active;  // no branch was taken yet
  const Position begin = at_;
  Position commands = at_;
  bool doubt = false;
  do {
    ++at_;  // `if`, `elif`
    const Truth truth = Condition({"then"}, open);
    if (open && truth == Truth::kUnknown) {
      doubt = true;
      open = false;
    }
    const bool taken = open && truth == Truth::kTrue;
    if (!doubt || commands == begin) commands = at_;
    List({"elif", "else", "fi"}, taken);
    if (taken) open = false;
  } while (NowWord() == "elif");
  if (NowWord() == "else") {
    ++at_;
    List({"fi"}, open);
  }
  // A branch that only speaks changes nothing.
  if (doubt && AnyEffect(commands, at_))
    Doubt(head, "hangs on a condition that is not known; neither branch was read");
  if (NowWord() == "fi") ++at_;
}

bool Shell::AnyEffect(Position begin, Position end) const {
  return std::any_of(
      tokens_->begin() + static_cast<std::ptrdiff_t>(begin),
      tokens_->begin() + static_cast<std::ptrdiff_t>(std::min(end, tokens_->size())),
      [](const Token& token) {
        return token.kind == Kind::kArray ||
               (token.kind == Kind::kWord &&
                (AssignmentLength(token.text.text()) > 0 || token.text.text().ends_with(".py")));
      });
}

void Shell::Case(bool active) {
  const Placed head = Head();
  ++at_;
  ShellExpansion expansion(*this);
  const std::string subject =
      Now().kind == Kind::kWord ? expansion.Word(Now().text).text() : std::string();
  const bool known = !IsUnknown(subject);
  while (Now().kind != Kind::kEnd && NowWord() != "in") ++at_;
  if (Now().kind != Kind::kEnd) ++at_;
  bool open = active && known;
  for (SkipSeparators(); Now().kind != Kind::kEnd && NowWord() != "esac"; SkipSeparators()) {
    bool matches = false;
    for (; Now().kind != Kind::kEnd && !NowIs(Kind::kOperator, ")"); ++at_)
      if (Now().kind == Kind::kWord && open)
        matches = matches || MatchesShellPattern(subject, expansion.Word(Now().text).text());
    if (Now().kind != Kind::kEnd) ++at_;
    List({"esac"}, open && matches);
    if (matches) open = false;
    while (NowIs(Kind::kOperator, ";;")) ++at_;
    if (NowIs(Kind::kOperator, ")")) ++at_;
  }
  if (NowWord() == "esac") ++at_;
  if (active && !known) Doubt(head, "hangs on a value that is not known; no branch was read");
}

void Shell::For(bool active) {
  const Placed head = Head();
  ++at_;
  const std::string name = NowWord();
  if (Now().kind == Kind::kWord) ++at_;
  std::vector<Placed> values;
  ShellExpansion expansion(*this);
  while (Now().kind != Kind::kEnd && NowWord() != "do") {
    if (Now().kind == Kind::kWord && NowWord() != "in" && active)
      for (Placed& word : expansion.Words(Now().text)) values.push_back(std::move(word));
    ++at_;
  }
  if (active && !name.empty() && !values.empty()) variables_[name] = {{values.front()}, false};
  if (Now().kind != Kind::kEnd) ++at_;
  const Position begin = at_;
  List({"done"}, active);
  if (active && values.size() > 1 && AnyEffect(begin, at_))
    Doubt(head, "a loop was read as its first turn");
  if (NowWord() == "done") ++at_;
}

// The body of `while` and `until` is read where the first condition is known to hold.
void Shell::Loop(bool active) {
  const Placed head = Head();
  const bool until = NowWord() == "until";
  ++at_;
  const Truth truth = Condition({"do"}, active);
  const bool taken = active && truth == (until ? Truth::kFalse : Truth::kTrue);
  const Position begin = at_;
  List({"done"}, taken);
  if (active && truth == Truth::kUnknown && AnyEffect(begin, at_))
    Doubt(head, "a loop was not read: its condition is not known");
  if (NowWord() == "done") ++at_;
}
}  // namespace shardplan
