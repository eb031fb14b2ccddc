// SPDX-License-Identifier: Apache-2.0
// Texts that a spec comes from, places in them, and error messages that point there.
//
// A Source is a file, standard input or one --set argument. A SourceMap remembers where each key
// path of a message stands, so that whoever finds a value wrong later can still point at its
// characters.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "planner/base/result.h"

namespace shardplan {

struct Source {
  std::string name;  // as the user gave it; "--set" for an argument
  std::string text;  // for an argument the whole of it, key included
  bool is_argument = false;
  std::vector<std::size_t> line_starts;  // offsets into `text`
};
using SourcePtr = std::shared_ptr<const Source>;
SourcePtr MakeSource(std::string name, std::string text, bool is_argument = false);

// A span of the text. An error shows its first line.
struct Place {
  SourcePtr source;
  std::size_t offset = kNowhere;
  std::size_t bytes = 1;                       // from `offset` on, that the caret underlines
  static constexpr std::size_t kNowhere = -1;  // the source as a whole
  explicit operator bool() const { return source != nullptr; }
};

// Lines and columns count from 1, columns in characters, not bytes. Zeros for the source as a
// whole.
struct Position {
  int line = 0, column = 0;
};
Position PositionOf(const Place& place);
// The text of the line that holds the place, without its end.
std::string_view LineOf(const Place& place);

struct Places {
  Place key, value;
};

// Key paths ("plan.tp", "plan.recompute[1].layers") and where they stand.
class SourceMap {
 public:
  void Set(const std::string& path, Places places);
  // Drops what is known of `path` and of all under it.
  void Forget(const std::string& path);
  const Places* Find(const std::string& path) const;
  // Where the value of `path` stands; of the innermost part of the path that the user wrote, where
  // `path` itself was left out. Empty: nothing of it was written.
  Place ValueOrParent(const std::string& path) const;

 private:
  std::map<std::string, Places> places_;
};

// `file:line:column: path: what`, the line with a caret, then `hint` indented (may be empty).
std::string Explain(const Place& place, std::string_view path, std::string_view what,
                    std::string_view hint);
inline tl::unexpected<Error> InvalidAt(const Place& place, std::string_view path,
                                       std::string_view what, std::string_view hint) {
  return Invalid(Explain(place, path, what, hint));
}

// `text` made safe for a one-line message: cut when long, control characters as spaces.
std::string Shown(std::string_view text, std::size_t most = 60);
}  // namespace shardplan
