// SPDX-License-Identifier: Apache-2.0
#include "planner/spec/yaml_tree.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>

namespace shardplan {
namespace {

constexpr std::size_t kMostBytes = 4u << 20;
constexpr std::size_t kMostDepth = 32;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// Length of the UTF-8 character that `text` starts with, 0 where it starts with none.
std::size_t Utf8Length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char c = byte(0);
  const std::size_t length = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
  if (length == 0 || c > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const bool overlong = (c == 0xe0 && byte(1) < 0xa0) || (c == 0xf0 && byte(1) < 0x90);
  const bool surrogate = c == 0xed && byte(1) >= 0xa0;
  const bool beyond = c == 0xf4 && byte(1) >= 0x90;
  return overlong || surrogate || beyond ? 0 : length;
}

// yaml-cpp replaces what is not UTF-8 and takes U+0004 for the end of the file, both in silence.
std::optional<Error> CheckText(const SourcePtr& source) {
  const std::string_view text = source->text;
  if (text.size() > kMostBytes)
    return InvalidAt({.source = source}, "", fmt::format("{} bytes long", text.size()),
                     fmt::format("files up to {} MiB are read", kMostBytes >> 20))
        .value();
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = Utf8Length(text.substr(i));
    const auto c = static_cast<unsigned char>(text[i]);
    if (length == 0)
      return InvalidAt(Place{source, i, 1}, "", fmt::format("byte 0x{:02x} is not UTF-8", c),
                       "save the file as UTF-8")
          .value();
    if ((c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f)
      return InvalidAt(Place{source, i, 1}, "", fmt::format("control character U+{:04X}", c),
                       "remove it")
          .value();
    i += length;
  }
  return std::nullopt;
}

// Bytes from the quote that `rest` begins with to the one that closes it; 0: none does.
std::size_t QuotedLength(std::string_view rest) {
  const char quote = rest[0];
  for (std::size_t i = 1; i < rest.size(); ++i) {
    if (quote == '"' && rest[i] == '\\')
      ++i;
    else if (rest[i] == quote)
      return i + 1;
  }
  return 0;
}

constexpr const char* kCloseQuote = "close it on the same line";

// yaml-cpp's words for what it stumbles over, in ours.
struct Syntax {
  std::string what, hint;
};
Syntax SyntaxOf(const std::string& message, std::string_view line) {
  const std::size_t indent = line.find_first_not_of(' ');
  if (indent != std::string_view::npos && line[indent] == '\t')
    return {"a tab stands in the indentation", "indent with blanks"};
  if (message == YAML::ErrorMsg::MAP_VALUE || message == YAML::ErrorMsg::MAP_KEY)
    return {
        "a key and its value do not fit here",
        "the keys of one mapping begin in the same column; a text that holds `: ` goes in quotes"};
  if (message == YAML::ErrorMsg::END_OF_MAP_FLOW) return {"a { is never closed", "close it with }"};
  if (message == YAML::ErrorMsg::END_OF_SEQ_FLOW) return {"a [ is never closed", "close it with ]"};
  if (message == YAML::ErrorMsg::FLOW_END) return {"nothing is open that this closes", "remove it"};
  if (message == YAML::ErrorMsg::EOF_IN_SCALAR) return {"a quote is never closed", kCloseQuote};
  if (message == YAML::ErrorMsg::UNKNOWN_TOKEN)
    return {"no value begins with this character", "put the text in quotes"};
  if (message == YAML::ErrorMsg::END_OF_MAP || message == YAML::ErrorMsg::END_OF_SEQ)
    return {"this line is indented like none above it",
            "the keys of one mapping begin in the same column"};
  if (message == YAML::ErrorMsg::UNKNOWN_ANCHOR || message == YAML::ErrorMsg::ALIAS_NOT_FOUND ||
      message == YAML::ErrorMsg::ANCHOR_NOT_FOUND)
    return {"anchors and aliases are not taken", "write the value out"};
  return {"not YAML: " + Shown(message), "look at the line, and at the end of the one before"};
}

class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(SourcePtr source, std::size_t offset, std::string path)
      : source_(std::move(source)), offset_(offset), root_path_(std::move(path)) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (ExpectsKey()) return Fail(At(mark, 1), "the key is empty", "write a key before the colon");
    // The place of a value that is not there is where the next thing stands; the key's says more.
    const bool written = Rest(mark).starts_with("null") || Rest(mark).starts_with("~");
    const bool keyed = !frames_.empty() && frames_.back().key;
    const Place place = keyed && !written ? frames_.back().key->second : At(mark, written ? 4 : 1);
    CheckAnchor(place, anchor);
    Add({.kind = YamlNode::Kind::kNull, .place = place});
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    Fail(At(mark, 1), "anchors and aliases are not taken", "write the value out");
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    const std::string_view rest = Rest(mark);
    const bool quoted = rest.starts_with('"') || rest.starts_with('\'');
    const std::size_t length = quoted ? QuotedLength(rest) : value.size();
    const Place place = At(mark, length);
    // yaml-cpp lets a quote pass that the end of the text closes.
    if (quoted && length == 0) Fail(At(mark, 1), "a quote is never closed", kCloseQuote);
    CheckAnchor(place, anchor);
    CheckTag(place, tag);
    seen_ = place.offset + length;
    if (ExpectsKey()) return AddKey(place, value);
    Add({.kind = YamlNode::Kind::kScalar, .text = value, .quoted = tag == "!", .place = place});
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(YamlNode::Kind::kList, mark, tag, anchor);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(YamlNode::Kind::kMapping, mark, tag, anchor);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapEnd() override { Close(); }

  // Key path of the value that comes next.
  std::string Path() const {
    if (frames_.empty()) return root_path_;
    const Frame& frame = frames_.back();
    if (frame.node.kind == YamlNode::Kind::kList)
      return fmt::format("{}[{}]", frame.path, frame.node.items.size());
    return frame.key ? Join(frame.path, frame.key->first) : frame.path;
  }

  void Fail(const Place& place, std::string_view what, std::string_view hint) {
    if (!error_) error_ = InvalidAt(place, Path(), what, hint).value();
  }
  Place At(const YAML::Mark& mark, std::size_t bytes) const {
    return {source_, Offset(mark), bytes};
  }
  // The error that yaml-cpp's `e` ends the text with: an earlier one of ours, unless `e` explains
  // it.
  Error Conclude(const YAML::Exception& e) const {
    const bool bracket =
        e.msg == YAML::ErrorMsg::END_OF_SEQ_FLOW || e.msg == YAML::ErrorMsg::END_OF_MAP_FLOW;
    if (error_ && !(bracket && unclosed_)) return *error_;
    const std::size_t quote = source_->text.find_first_of("\"'", seen_);
    const Place place = bracket && !frames_.empty() ? frames_.back().node.place
                        : e.msg == YAML::ErrorMsg::EOF_IN_SCALAR && quote != std::string::npos
                            ? Place{source_, quote, 1}
                            : At(e.mark, 1);
    const Syntax syntax = SyntaxOf(e.msg, LineOf(place));
    return InvalidAt(place, bracket && !frames_.empty() ? frames_.back().path : Path(), syntax.what,
                     syntax.hint)
        .value();
  }
  const std::optional<Error>& error() const { return error_; }
  std::optional<YamlNode>& root() { return root_; }

 private:
  // A mapping or list whose end is yet to come.
  struct Frame {
    YamlNode node;
    std::string path;
    std::optional<std::pair<std::string, Place>> key;  // of a mapping: the key just read
    std::map<std::string, Place> keys;                 // of a mapping
  };

  std::size_t Offset(const YAML::Mark& mark) const {
    return std::min(source_->text.size(),
                    offset_ + static_cast<std::size_t>(std::max(mark.pos, 0)));
  }
  std::string_view Rest(const YAML::Mark& mark) const {
    return std::string_view(source_->text).substr(Offset(mark));
  }
  bool ExpectsKey() const {
    return !frames_.empty() && frames_.back().node.kind == YamlNode::Kind::kMapping &&
           !frames_.back().key;
  }
  void CheckAnchor(const Place& place, YAML::anchor_t anchor) {
    if (anchor != 0) Fail(place, "anchors and aliases are not taken", "write the value out");
  }
  void CheckTag(const Place& place, const std::string& tag) {
    if (tag != "?" && tag != "!" && !tag.empty())
      Fail(place, fmt::format("the tag {} is not taken", Shown(tag)), "leave it out");
  }

  void AddKey(const Place& place, const std::string& key) {
    Frame& frame = frames_.back();
    if (key == "<<") Fail(place, "merge keys are not taken", "write the keys out");
    if (key.empty()) Fail(place, "the key is empty", "write a key before the colon");
    frame.key = {key, place};
    const auto [first, added] = frame.keys.emplace(key, place);
    if (!added)
      Fail(place, "given twice",
           fmt::format("it stands on line {} already; keep one", PositionOf(first->second).line));
  }

  void Add(YamlNode node) {
    if (error_) {
      if (!frames_.empty()) frames_.back().key.reset();
      return;
    }
    if (frames_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& frame = frames_.back();
    if (frame.node.kind == YamlNode::Kind::kList) {
      frame.node.items.push_back(std::move(node));
    } else {
      frame.node.members.push_back({frame.key->first, frame.key->second, std::move(node)});
      frame.key.reset();
    }
  }

  void Open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag,
            YAML::anchor_t anchor) {
    const Place place = At(mark, 1);
    CheckAnchor(place, anchor);
    CheckTag(place, tag);
    if (ExpectsKey()) {
      // yaml-cpp takes a bracket that is never closed for the start of a key, too.
      unclosed_ = !error_;
      Fail(place, "a key must be a word", "mappings and lists cannot be keys");
      frames_.back().key = {"", place};
    }
    if (frames_.size() >= kMostDepth)
      Fail(place, fmt::format("nested deeper than {} levels", kMostDepth), "");
    frames_.push_back({.node = {.kind = kind, .place = place}, .path = Path()});
  }

  void Close() {
    YamlNode node = std::move(frames_.back().node);
    frames_.pop_back();
    Add(std::move(node));
  }

  SourcePtr source_;
  std::size_t offset_;
  std::string root_path_;
  std::vector<Frame> frames_;
  std::optional<YamlNode> root_;
  std::optional<Error> error_;
  std::size_t seen_ = 0;   // end of the last scalar
  bool unclosed_ = false;  // error_ may come of a bracket that is never closed
};

}  // namespace

std::string Join(std::string_view path, std::string_view key) {
  if (path.empty() || key.empty()) return std::string(path) + Shown(key);
  return fmt::format("{}.{}", path, Shown(key));
}

Result<YamlNode> ParseYaml(const SourcePtr& source, std::size_t offset, const std::string& path) {
  if (std::optional<Error> error = CheckText(source)) return tl::unexpected(*error);
  if (source->text.compare(offset, kByteOrderMark.size(), kByteOrderMark) == 0)
    offset += kByteOrderMark.size();
  std::istringstream stream(source->text.substr(offset));
  TreeBuilder builder(source, offset, path);
  try {
    YAML::Parser parser(stream);
    parser.HandleNextDocument(builder);
    std::optional<YamlNode> root = std::move(builder.root());
    if (builder.error()) return tl::unexpected(*builder.error());
    if (root && parser) {
      // What follows is another document, or text that YAML makes nothing of.
      TreeBuilder next(source, offset, path);
      if (parser.HandleNextDocument(next))
        return InvalidAt(next.root() ? next.root()->place : Place{.source = source}, path,
                         "a second document begins here", "one file is one document; remove ---");
    }
    if (!root) return YamlNode{.place = {.source = source}};
    return std::move(*root);
  } catch (const YAML::Exception& e) {
    return tl::unexpected(builder.Conclude(e));
  }
}
}  // namespace shardplan
