// SPDX-License-Identifier: Apache-2.0
#include "planner/import/shell_expansion.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "planner/import/arithmetic.h"
#include "planner/import/shell_tokens.h"

namespace shardplan {
namespace {

constexpr int kMostDepth = 40;
// Scripts put together a few kilobytes of arguments; whoever doubles a text in each line gets an
// unknown.
constexpr std::size_t kMostText = 1 << 18;

bool IsNameStart(char c) { return c == '_' || std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool IsName(char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; }
bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\n'; }

// The length of a parameter's name at `i`: letters, digits, or one special character.
std::size_t NameLength(const Placed& text, std::size_t i) {
  if (std::isdigit(static_cast<unsigned char>(text[i])) != 0 ||
      (text[i] != '\0' && std::string_view("@*#?$!-").find(text[i]) != std::string_view::npos))
    return 1;
  std::size_t length = 0;
  if (IsNameStart(text[i]))
    while (IsName(text[i + length])) ++length;
  return length;
}
}  // namespace

Placed ShellExpansion::Joined(const Expanded& expanded) {
  Placed joined;
  for (const Placed& item : expanded.items) {
    if (!joined.empty()) joined.Append(' ', item.spot());
    joined.Append(item);
  }
  return joined;
}

ShellExpansion::Expanded ShellExpansion::Variable(const std::string& name, const Placed& whole,
                                                  bool list) {
  const auto& arguments = shell_.arguments_;
  if (name == "@" || name == "*") {
    if (arguments.empty()) return {{}, true, true};  // a script that is started without any
    return {arguments.back(), true, arguments.back().empty()};
  }
  if (name == "#" && !arguments.empty())
    return {{Placed(std::to_string(arguments.back().size()), whole.spot())}};
  if (std::isdigit(static_cast<unsigned char>(name[0])) != 0) {
    const std::size_t index = static_cast<std::size_t>(name[0] - '0');
    const bool known = !arguments.empty() && name.size() == 1 && index >= 1;
    if (known && index <= arguments.back().size()) return {{arguments.back()[index - 1]}};
    if (known) return {{Placed()}, false, true};
    return {{Unknown(whole.text(), whole.spot())}, false, true};
  }
  const auto found = shell_.variables_.find(name);
  if (found == shell_.variables_.end()) return {{Unknown(whole.text(), whole.spot())}, false, true};
  const Shell::Value& value = found->second;
  if (list) return {value.items, true, value.items.empty()};
  return {{value.items.empty() ? Placed() : value.items.front()}};
}

// ${NAME-word} and its kin, from the operator at `at` on.
ShellExpansion::Expanded ShellExpansion::Alternative(const Expanded& value, const Placed& inner,
                                                     std::size_t at, const Placed& whole,
                                                     const std::string& name) {
  const bool colon = inner[at] == ':';
  const char kind = inner[at + (colon ? 1 : 0)];
  const bool empty = value.is_unset || (colon && Joined(value).empty());
  const Placed rest = inner.Part(at + (colon ? 2 : 1), inner.size());
  switch (kind) {
    case '-':
      return empty ? Expanded{Split(rest, false)} : value;
    case '=':
      if (empty) shell_.variables_[name] = {{Word(rest)}, false};
      return empty ? Variable(name, whole, false) : value;
    case '+':
      return empty ? Expanded{{Placed()}} : Expanded{Split(rest, false)};
    case '?':
      return value;
    default:
      break;
  }
  // ${NAME%suffix} of fixed text; other patterns are not followed.
  const std::string text = Joined(value).text();
  if (inner[at] == '%' || inner[at] == '#') {
    const bool end = inner[at] == '%';
    const std::string part = Word(inner.Part(at + 1, inner.size())).text();
    const bool fixed = part.find_first_of("*?[%#") == std::string::npos;
    if (fixed && !value.is_unset && text.size() >= part.size()) {
      const std::size_t cut = text.size() - part.size();
      const bool there =
          end ? text.compare(cut, part.size(), part) == 0 : text.compare(0, part.size(), part) == 0;
      const Placed all = Joined(value);
      if (!there) return value;
      return {{end ? all.Part(0, cut) : all.Part(part.size(), all.size())}};
    }
  }
  return {{Unknown(whole.text(), whole.spot())}};
}

ShellExpansion::Expanded ShellExpansion::Braces(const Placed& inner, const Placed& whole) {
  const Expanded unknown{{Unknown(whole.text(), whole.spot())}};
  std::size_t at = 0;
  const bool length = inner[0] == '#' && inner.size() > 1;
  const bool indirect = inner[0] == '!';
  if (length || indirect) at = 1;
  const std::size_t size = NameLength(inner, at);
  if (size == 0) return unknown;
  const std::string name = inner.text().substr(at, size);
  at += size;
  if (indirect) {
    const std::string other = Joined(Variable(name, whole, false)).text();
    return IsUnknown(other) || other.empty() ? unknown : Variable(other, whole, false);
  }
  bool list = false;
  std::optional<std::int64_t> index;
  if (inner[at] == '[') {
    const std::size_t end = EndOfBracket(inner, at, '[', ']');
    const Placed between = inner.Part(at + 1, end - 1);
    list = between.text() == "@" || between.text() == "*";
    if (!list && !(index = Arithmetic(between))) return unknown;
    at = end;
  }
  Expanded value = Variable(name, whole, list || index.has_value());
  if (index) {
    const bool there = *index >= 0 && static_cast<std::size_t>(*index) < value.items.size();
    const bool known = !value.is_unset;
    value = there   ? Expanded{{value.items[static_cast<std::size_t>(*index)]}}
            : known ? Expanded{{Placed()}, false, true}
                    : unknown;
  }
  if (length) {
    if (value.is_unset && !list) return unknown;
    const std::size_t count = list ? value.items.size() : Joined(value).size();
    return {{Placed(std::to_string(count), whole.spot())}};
  }
  if (at >= inner.size()) return value;
  return Alternative(value, inner, at, whole, name);
}

// $(...): no program is run, but expr and echo of known words are no mystery.
ShellExpansion::Expanded ShellExpansion::Substitution(const Placed& inner, const Placed& whole) {
  const std::vector<Token> tokens = ShellTokens(inner);
  std::vector<Placed> words;
  for (const Token& token : tokens) {
    if (token.kind == Token::Kind::kEnd) break;
    if (token.kind != Token::Kind::kWord) return {{Unknown(whole.text(), whole.spot())}};
    for (Placed& word : Words(token.text)) words.push_back(std::move(word));
  }
  const std::string program = words.empty() ? "" : words.front().text();
  if (program != "expr" && program != "echo") return {{Unknown(whole.text(), whole.spot())}};
  words.erase(words.begin());
  Placed joined = Joined({words});
  if (program == "echo") return {{joined}};
  const auto value = EvaluateArithmetic(joined.text());
  return {
      {value ? Placed(std::to_string(*value), whole.spot()) : Unknown(whole.text(), whole.spot())}};
}

ShellExpansion::Expanded ShellExpansion::Dollar(const Placed& raw, std::size_t& i) {
  const std::size_t begin = i;
  const bool deep = ++depth_ > kMostDepth;
  Expanded value;
  const auto whole = [&] { return raw.Part(begin, i); };
  if (raw[i + 1] == '(' && raw[i + 2] == '(') {
    i = EndOfBracket(raw, i + 1, '(', ')');
    const auto number =
        deep ? std::nullopt : Arithmetic(raw.Part(begin + 3, std::max(begin + 3, i - 2)));
    value = {{number ? Placed(std::to_string(*number), raw.At(begin))
                     : Unknown(whole().text(), raw.At(begin))}};
  } else if (raw[i + 1] == '(') {
    i = EndOfBracket(raw, i + 1, '(', ')');
    value = deep ? Expanded{{Unknown(whole().text(), raw.At(begin))}}
                 : Substitution(raw.Part(begin + 2, i - 1), whole());
  } else if (raw[i + 1] == '{') {
    i = EndOfBracket(raw, i + 1, '{', '}');
    value = deep ? Expanded{{Unknown(whole().text(), raw.At(begin))}}
                 : Braces(raw.Part(begin + 2, i - 1), whole());
  } else if (const std::size_t length = NameLength(raw, i + 1); length > 0) {
    i += 1 + length;
    value = Variable(raw.text().substr(begin + 1, length), whole(), false);
  } else {
    ++i;
    value = {{Placed("$", raw.At(begin))}};
  }
  --depth_;
  return value;
}

std::vector<Placed> ShellExpansion::Split(const Placed& raw, bool split) {
  std::vector<Placed> words;
  Placed word;
  bool any = false, in_double = false;  // `any`: even an empty word is one ("")
  const auto end_word = [&] {
    if (any || !word.empty()) words.push_back(std::exchange(word, {}));
    any = false;
  };
  const auto append = [&](const Expanded& value) {
    const bool whole = in_double || !split;
    for (std::size_t n = 0; n < value.items.size(); ++n) {
      const Placed& item = value.items[n];
      if (n > 0 && split) {
        any = any || in_double;
        end_word();
      } else if (n > 0) {
        word.Append(' ', item.spot());
      }
      if (word.size() + item.size() > kMostText) {
        word = Unknown("a text of more than 256 KiB", item.spot());
      } else if (whole || IsUnknown(item.text())) {
        word.Append(item);
      } else {
        for (std::size_t c = 0; c < item.size(); ++c)
          IsBlank(item[c]) ? end_word() : word.Append(item[c], item.At(c));
      }
    }
  };
  for (std::size_t i = 0; i < raw.size();) {
    const char c = raw[i];
    if (c == '"') {
      in_double = !in_double;
      // "${A[@]}" of nothing is no word; "" is one.
      any = any || (in_double && raw[i + 1] == '"');
      ++i;
    } else if (c == '\'' && !in_double) {
      any = true;
      for (++i; i < raw.size() && raw[i] != '\''; ++i) word.Append(raw[i], raw.At(i));
      ++i;
    } else if (c == '\\') {
      if (raw[i + 1] == '\n') {
        i += 2;
        continue;
      }
      const bool keeps =
          in_double && std::string_view("$`\"\\").find(raw[i + 1]) == std::string_view::npos;
      if (keeps) word.Append('\\', raw.At(i));
      if (i + 1 < raw.size()) word.Append(raw[i + 1], raw.At(i + 1));
      i += 2;
    } else if (c == '$') {
      append(Dollar(raw, i));
    } else if (c == '`') {
      const std::size_t end = std::min(raw.text().find('`', i + 1), raw.size());
      append(Substitution(raw.Part(i + 1, end), raw.Part(i, end + 1)));
      i = end + 1;
    } else {
      word.Append(c, raw.At(i));
      ++i;
    }
  }
  end_word();
  return words;
}

std::vector<Placed> ShellExpansion::Words(const Placed& raw) { return Split(raw, true); }

Placed ShellExpansion::Word(const Placed& raw) { return Joined({Split(raw, false)}); }

Placed ShellExpansion::Document(const Placed& raw) {
  Placed text;
  for (std::size_t i = 0; i < raw.size();) {
    if (raw[i] == '$')
      text.Append(Joined(Dollar(raw, i)));
    else
      text.Append(raw[i], raw.At(i)), ++i;
    if (text.size() > kMostText) break;
  }
  return text;
}

std::optional<std::int64_t> ShellExpansion::Arithmetic(const Placed& expression) {
  const Placed text = Document(expression);
  // Names stand for their variables without a $.
  std::string numbers;
  for (std::size_t i = 0; i < text.size();) {
    if (!IsNameStart(text[i])) {
      numbers += text[i++];
      continue;
    }
    const std::size_t length = NameLength(text, i);
    const Placed name = text.Part(i, i + length);
    const std::string value = Joined(Variable(name.text(), name, false)).text();
    if (IsUnknown(value)) return std::nullopt;
    numbers += "(" + (value.empty() ? "0" : value) + ")";
    i += length;
  }
  return EvaluateArithmetic(numbers);
}
}  // namespace shardplan
