// SPDX-License-Identifier: Apache-2.0
#include "planner/spec/source.h"

#include <fmt/format.h>

#include <algorithm>

namespace shardplan {
namespace {

constexpr int kMostColumns = 100;  // of a source line that an error shows

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

int Characters(std::string_view text) {
  return static_cast<int>(
      std::count_if(text.begin(), text.end(), [](char c) { return !IsContinuation(c); }));
}

// `text` cut into characters of one column each; what a terminal would act on becomes a space.
std::vector<std::string_view> Columns(std::string_view text) {
  std::vector<std::string_view> columns;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    while (end < text.size() && IsContinuation(text[end])) ++end;
    const auto c = static_cast<unsigned char>(text[i]);
    columns.push_back(c < 0x20 || c == 0x7f ? std::string_view(" ") : text.substr(i, end - i));
    i = end;
  }
  return columns;
}

// The start of the line that holds the place.
std::size_t LineStart(const Place& place) {
  const std::vector<std::size_t>& starts = place.source->line_starts;
  return *(std::upper_bound(starts.begin(), starts.end(), place.offset) - 1);
}

// The line of `place` behind a gutter, and a second line that underlines the place.
std::string Excerpt(const Place& place) {
  const Position position = PositionOf(place);
  const std::vector<std::string_view> columns = Columns(LineOf(place));
  const int count = static_cast<int>(columns.size());
  int first = 0;
  if (count > kMostColumns && position.column > kMostColumns / 2)
    first = std::min(position.column - kMostColumns / 2, count - kMostColumns);
  const int last = std::min(count, first + kMostColumns);
  std::string line;
  for (int i = first; i < last; ++i) line += columns[static_cast<std::size_t>(i)];
  std::string_view marked = std::string_view(place.source->text).substr(place.offset, place.bytes);
  marked = marked.substr(0, marked.find_first_of("\r\n"));
  const int caret = std::max(0, position.column - 1 - first);
  const int width = std::max(1, std::min(Characters(marked), last - first - caret));
  const std::string_view left = first > 0 ? "..." : "", right = last < count ? "..." : "";
  const bool numbered = !place.source->is_argument;
  const std::string number = numbered ? fmt::format("{}", position.line) : "";
  return fmt::format("  {}{}{}{}{}\n  {}{}{}{}", number, numbered ? " | " : "", left, line, right,
                     std::string(number.size(), ' '), numbered ? " | " : "",
                     std::string(left.size() + static_cast<std::size_t>(caret), ' '),
                     std::string(static_cast<std::size_t>(width), '^'));
}

}  // namespace

SourcePtr MakeSource(std::string name, std::string text, bool is_argument) {
  Source source{.name = std::move(name), .text = std::move(text), .is_argument = is_argument};
  source.line_starts.push_back(0);
  for (std::size_t i = 0; i < source.text.size(); ++i)
    if (source.text[i] == '\n') source.line_starts.push_back(i + 1);
  return std::make_shared<const Source>(std::move(source));
}

Position PositionOf(const Place& place) {
  if (!place || place.offset == Place::kNowhere) return {};
  const std::vector<std::size_t>& starts = place.source->line_starts;
  const auto next = std::upper_bound(starts.begin(), starts.end(), place.offset);
  const std::size_t start = *(next - 1);
  const std::string_view before =
      std::string_view(place.source->text).substr(start, place.offset - start);
  return {.line = static_cast<int>(next - starts.begin()), .column = 1 + Characters(before)};
}

std::string_view LineOf(const Place& place) {
  if (!place || place.offset == Place::kNowhere) return {};
  const std::string_view rest = std::string_view(place.source->text).substr(LineStart(place));
  return rest.substr(0, rest.find_first_of("\r\n"));
}

void SourceMap::Set(const std::string& path, Places places) { places_[path] = std::move(places); }

void SourceMap::Forget(const std::string& path) {
  std::erase_if(places_, [&](const auto& entry) {
    const std::string& other = entry.first;
    return other.starts_with(path) &&
           (other.size() == path.size() || other[path.size()] == '.' || other[path.size()] == '[');
  });
}

const Places* SourceMap::Find(const std::string& path) const {
  const auto found = places_.find(path);
  return found == places_.end() ? nullptr : &found->second;
}

Place SourceMap::ValueOrParent(const std::string& path) const {
  if (const Places* found = Find(path)) return found->value;
  for (std::string parent = path;;) {
    const std::size_t cut = parent.find_last_of(".[");
    if (cut == std::string::npos) break;
    parent.resize(cut);
    if (const Places* found = Find(parent)) return found->key;
  }
  const Places* root = Find("");
  return root ? root->key : Place{};
}

std::string Explain(const Place& place, std::string_view path, std::string_view what,
                    std::string_view hint) {
  std::string text;
  if (place) text += place.source->name;
  const Position position = PositionOf(place);
  if (position.line > 0 && !place.source->is_argument)
    text += fmt::format(":{}:{}", position.line, position.column);
  if (place) text += ": ";
  if (!path.empty()) text += fmt::format("{}: ", path);
  text += what;
  if (position.line > 0) text += "\n" + Excerpt(place);
  if (!hint.empty()) text += fmt::format("\n  {}", hint);
  return text;
}

std::string Shown(std::string_view text, std::size_t most) {
  std::string shown;
  std::size_t count = 0;
  for (std::string_view c : Columns(text)) {
    if (++count > most) return shown + "...";
    shown += c;
  }
  return shown;
}
}  // namespace shardplan
