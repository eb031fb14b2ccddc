// SPDX-License-Identifier: Apache-2.0
#include "planner/import/shell_tokens.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

namespace shardplan {
namespace {

using Kind = Token::Kind;

bool IsBlank(char c) { return c == ' ' || c == '\t'; }
bool EndsWord(char c) {
  return IsBlank(c) || std::string_view("\n;&|<>()").find(c) != std::string_view::npos;
}

constexpr int kMostNesting = 100;  // of quotes and brackets; what lies deeper ends the text
std::size_t EndOfBracketAt(const Placed& text, std::size_t open, char opening, char closing,
                           int nesting);

// One past the quote that closes the one at `open`.
std::size_t EndOfQuote(const Placed& text, std::size_t open, int nesting = 0) {
  if (nesting > kMostNesting) return text.size();
  const char quote = text[open];
  for (std::size_t i = open + 1; i < text.size(); ++i) {
    if (text[i] == '\\' && quote != '\'')
      ++i;
    else if (text[i] == quote)
      return i + 1;
    else if (quote == '"' && text[i] == '$' && text[i + 1] == '(')
      i = EndOfBracketAt(text, i + 1, '(', ')', nesting + 1) - 1;
  }
  return text.size();
}

std::size_t EndOfBracketAt(const Placed& text, std::size_t open, char opening, char closing,
                           int nesting) {
  if (nesting > kMostNesting) return text.size();
  int depth = 0;
  bool word_begins = true;  // where a # opens a comment
  for (std::size_t i = open; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\') {
      ++i;
    } else if (c == '\'' || c == '"') {
      i = EndOfQuote(text, i, nesting + 1) - 1;
    } else if (c == '#' && word_begins && opening == '(') {
      while (i + 1 < text.size() && text[i + 1] != '\n') ++i;
    } else if (c == opening) {
      ++depth;
    } else if (c == closing && --depth == 0) {
      return i + 1;
    }
    word_begins = IsBlank(c) || c == '\n' || c == '(';
  }
  return text.size();
}

class Lexer {
 public:
  explicit Lexer(const Placed& source) : source_(source) {}

  std::vector<Token> Run() {
    while (Next()) {
    }
    tokens_.push_back({});
    return std::move(tokens_);
  }

 private:
  struct Waiting {
    std::size_t token;
    std::string delimiter;
    bool tabs;
  };

  // False at the end.
  bool Next() {
    SkipBlanks();
    if (at_ >= source_.size()) return false;
    const char c = source_[at_];
    if (c == '\n') {
      Push(Kind::kNewline, 1);
      ReadDocuments();
    } else if (c == '#') {
      while (at_ < source_.size() && source_[at_] != '\n') ++at_;
    } else if (!Operator()) {
      Word();
    }
    return true;
  }

  void SkipBlanks() {
    while (at_ < source_.size()) {
      if (IsBlank(source_[at_]))
        ++at_;
      else if (source_[at_] == '\\' && source_[at_ + 1] == '\n')
        at_ += 2;
      else
        return;
    }
  }

  void Push(Kind kind, std::size_t length) {
    tokens_.push_back({kind, source_.Part(at_, at_ + length), {}});
    at_ += length;
  }

  bool Starts(std::string_view text) const {
    return source_.text().compare(at_, text.size(), text) == 0;
  }

  bool Operator() {
    if (Starts("((") && AtCommand()) {
      const std::size_t end = EndOfBracket(source_, at_, '(', ')');
      Placed inner = source_.Part(at_ + 2, end >= at_ + 4 ? end - 2 : end);
      tokens_.push_back({Kind::kArithmetic, std::move(inner), {}});
      at_ = end;
      return true;
    }
    if (Starts("<<") && !Starts("<<<")) return Document();
    for (const std::string_view text : {"<<<", "&>>", "&&", "||", ";;", ">>", ">&", "<&", "&>",
                                        "<(", ">(", ";", "&", "|", "<", ">", "(", ")"})
      if (Starts(text)) {
        if (text.size() == 2 && text[1] == '(') {  // process substitution: no word of ours
          at_ = EndOfBracket(source_, at_ + 1, '(', ')');
          return true;
        }
        Push(Kind::kOperator, text.size());
        return true;
      }
    return false;
  }

  bool AtCommand() const {
    if (tokens_.empty()) return true;
    const Token& last = tokens_.back();
    return last.kind == Kind::kNewline || last.kind == Kind::kOperator ||
           (last.kind == Kind::kWord && (last.text.text() == "if" || last.text.text() == "then" ||
                                         last.text.text() == "while" || last.text.text() == "for"));
  }

  bool Document() {
    at_ += 2;
    const bool tabs = source_[at_] == '-';
    if (tabs) ++at_;
    SkipBlanks();
    const std::size_t begin = at_;
    at_ = EndOfWord();
    std::string delimiter;
    const Placed written = source_.Part(begin, at_);
    for (const char c : written.text())
      if (c != '\'' && c != '"' && c != '\\') delimiter += c;
    waiting_.push_back({tokens_.size(), delimiter, tabs});
    tokens_.push_back({Kind::kDocument, written, {Placed{}}});
    return true;
  }

  // The here-documents of the line that just ended.
  void ReadDocuments() {
    for (const Waiting& document : std::exchange(waiting_, {})) {
      Placed& body = tokens_[document.token].items[0];
      while (at_ < source_.size()) {
        const std::size_t end = std::min(source_.text().find('\n', at_), source_.size());
        std::size_t begin = at_;
        while (document.tabs && source_[begin] == '\t') ++begin;
        const Placed line = source_.Part(begin, end + 1);
        at_ = std::min(end + 1, source_.size());
        const bool ends =
            line.text() == document.delimiter || line.text() == document.delimiter + "\n";
        if (ends) break;
        body.Append(line);
      }
    }
  }

  std::size_t EndOfWord() const {
    std::size_t i = at_;
    while (i < source_.size() && !EndsWord(source_[i])) {
      const char c = source_[i];
      if (c == '\\')
        i += 2;
      else if (c == '\'' || c == '"' || c == '`')
        i = EndOfQuote(source_, i);
      else if (c == '$' && source_[i + 1] == '(')
        i = EndOfBracket(source_, i + 1, '(', ')');
      else if (c == '$' && source_[i + 1] == '{')
        i = EndOfBracket(source_, i + 1, '{', '}');
      else
        ++i;
    }
    return std::min(i, source_.size());
  }

  void Word() {
    const std::size_t end = EndOfWord();
    Placed word = source_.Part(at_, end);
    at_ = std::max(end, at_ + 1);  // a lone character that ends words still moves on
    const std::string& text = word.text();
    const bool number = !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
      return std::isdigit(c) != 0;
    });
    // The 2 of 2>&1.
    if (number && (source_[at_] == '>' || source_[at_] == '<')) return;
    if (source_[at_] == '(' && !text.empty() && text.back() == '=')
      Array(std::move(word));
    else
      tokens_.push_back({Kind::kWord, std::move(word), {}});
  }

  void Array(Placed name) {
    const std::size_t end = EndOfBracket(source_, at_, '(', ')');
    const Placed inner = source_.Part(at_ + 1, end > at_ + 1 ? end - 1 : end);
    Token token{Kind::kArray, std::move(name), {}};
    for (Token& item : Lexer(inner).Run())
      if (item.kind == Kind::kWord) token.items.push_back(std::move(item.text));
    tokens_.push_back(std::move(token));
    at_ = end;
  }

  const Placed& source_;
  std::size_t at_ = 0;
  std::vector<Token> tokens_;
  std::vector<Waiting> waiting_;
};
}  // namespace

std::size_t EndOfBracket(const Placed& text, std::size_t open, char opening, char closing) {
  return EndOfBracketAt(text, open, opening, closing, 0);
}

std::vector<Token> ShellTokens(const Placed& source) { return Lexer(source).Run(); }
}  // namespace shardplan
