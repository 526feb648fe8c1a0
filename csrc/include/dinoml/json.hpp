// A strict JSON reader (RFC 8259) and a canonical writer, for manifests and safetensors headers. Refuses duplicate keys,
// trailing text, invalid UTF-8 and nesting deeper than 200.
#pragma once
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dinoml::json {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Value {
 public:
  enum class Kind { null, boolean, integer, real, string, array, object };
  using Member = std::pair<std::string, Value>;

  Kind kind = Kind::null;
  bool boolean = false;
  int64_t integer = 0;
  double real = 0;
  std::string string;
  std::vector<Value> array;
  std::vector<Member> object;

  const Value* find(std::string_view key) const {
    for (const Member& member : object)
      if (member.first == key) return &member.second;
    return nullptr;
  }
  const Value& at(std::string_view key) const {
    need(Kind::object, "an object");
    const Value* found = find(key);
    if (!found) throw Error("key \"" + std::string(key) + "\" is missing");
    return *found;
  }
  const std::string& text() const { return need(Kind::string, "a string").string; }
  int64_t number() const { return need(Kind::integer, "an integer").integer; }
  const std::vector<Value>& items() const { return need(Kind::array, "an array").array; }
  const std::vector<Member>& members() const { return need(Kind::object, "an object").object; }

 private:
  const Value& need(Kind wanted, const char* what) const {
    if (kind != wanted) throw Error(std::string("a value is not ") + what);
    return *this;
  }
};

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Value document() {
    Value value = any(0);
    space();
    if (at_ != text_.size()) fail("text after the end");
    return value;
  }

 private:
  static constexpr int kMaxDepth = 200;

  [[noreturn]] void fail(const char* what) const { throw Error(std::string(what) + " at byte " + std::to_string(at_)); }

  void space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t')) ++at_;
  }
  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool digit() const { return at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; }

  Value any(int depth) {
    if (depth > kMaxDepth) fail("nested too deeply");
    space();
    if (at_ >= text_.size()) fail("ends early");
    Value value;
    switch (text_[at_]) {
      case '{': read_object(value, depth); break;
      case '[': read_array(value, depth); break;
      case '"':
        value.kind = Value::Kind::string;
        value.string = read_string();
        break;
      case 't': word("true", value, Value::Kind::boolean, true); break;
      case 'f': word("false", value, Value::Kind::boolean, false); break;
      case 'n': word("null", value, Value::Kind::null, false); break;
      default: read_number(value);
    }
    return value;
  }

  void word(std::string_view expected, Value& value, Value::Kind kind, bool boolean) {
    if (text_.substr(at_, expected.size()) != expected) fail("unexpected text");
    at_ += expected.size();
    value.kind = kind;
    value.boolean = boolean;
  }

  void read_object(Value& value, int depth) {
    value.kind = Value::Kind::object;
    ++at_;
    space();
    if (take('}')) return;
    do {
      space();
      if (at_ >= text_.size() || text_[at_] != '"') fail("a key is missing");
      std::string key = read_string();
      space();
      if (!take(':')) fail("':' is missing");
      value.object.emplace_back(std::move(key), any(depth + 1));
      space();
    } while (take(','));
    if (!take('}')) fail("'}' is missing");
    refuse_duplicates(value.object);
  }

  void refuse_duplicates(const std::vector<Value::Member>& members) const {
    std::vector<std::string_view> keys;
    keys.reserve(members.size());
    for (const Value::Member& member : members) keys.push_back(member.first);
    std::sort(keys.begin(), keys.end());
    if (std::adjacent_find(keys.begin(), keys.end()) != keys.end()) fail("a key occurs twice in the object that ends");
  }

  void read_array(Value& value, int depth) {
    value.kind = Value::Kind::array;
    ++at_;
    space();
    if (take(']')) return;
    do {
      value.array.push_back(any(depth + 1));
      space();
    } while (take(','));
    if (!take(']')) fail("']' is missing");
  }

  void read_number(Value& value) {
    const size_t begin = at_;
    take('-');
    if (take('0')) {
    } else if (digit()) {
      while (digit()) ++at_;
    } else {
      fail("unexpected text");
    }
    bool real = false;
    if (take('.')) {
      real = true;
      if (!digit()) fail("a digit is missing");
      while (digit()) ++at_;
    }
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      real = true;
      ++at_;
      if (!take('+')) take('-');
      if (!digit()) fail("a digit is missing");
      while (digit()) ++at_;
    }
    const std::string number(text_.substr(begin, at_ - begin));
    if (real) {
      value.kind = Value::Kind::real;
      value.real = strtod(number.c_str(), nullptr);
      return;
    }
    value.kind = Value::Kind::integer;
    errno = 0;
    value.integer = strtoll(number.c_str(), nullptr, 10);
    if (errno != 0) fail("an integer is too large");
  }

  unsigned hex4() {
    unsigned code = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      if (at_ >= text_.size()) fail("ends early");
      const char c = text_[at_];
      const int d = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
      if (d < 0) fail("bad \\u escape");
      code = code * 16 + static_cast<unsigned>(d);
    }
    return code;
  }

  static void append_utf8(std::string& out, unsigned c) {
    if (c < 0x80) {
      out += static_cast<char>(c);
      return;
    }
    if (c < 0x800) {
      out += static_cast<char>(0xC0 | (c >> 6));
    } else {
      if (c < 0x10000) {
        out += static_cast<char>(0xE0 | (c >> 12));
      } else {
        out += static_cast<char>(0xF0 | (c >> 18));
        out += static_cast<char>(0x80 | ((c >> 12) & 0x3F));
      }
      out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    }
    out += static_cast<char>(0x80 | (c & 0x3F));
  }

  void escape(std::string& out) {
    if (at_ >= text_.size()) fail("ends early");
    const char c = text_[at_++];
    switch (c) {
      case '"':
      case '\\':
      case '/': out += c; return;
      case 'b': out += '\b'; return;
      case 'f': out += '\f'; return;
      case 'n': out += '\n'; return;
      case 'r': out += '\r'; return;
      case 't': out += '\t'; return;
      case 'u': break;
      default: fail("bad escape");
    }
    unsigned code = hex4();
    if (code >= 0xDC00 && code < 0xE000) fail("lone surrogate");
    if (code >= 0xD800 && code < 0xDC00) {
      if (!take('\\') || !take('u')) fail("lone surrogate");
      const unsigned low = hex4();
      if (low < 0xDC00 || low >= 0xE000) fail("lone surrogate");
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    append_utf8(out, code);
  }

  // Copies one UTF-8 sequence, refusing overlong forms, surrogates and code points past U+10FFFF.
  void utf8(std::string& out) {
    const unsigned char lead = static_cast<unsigned char>(text_[at_]);
    const int more = lead >= 0xC2 && lead < 0xE0 ? 1 : lead >= 0xE0 && lead < 0xF0 ? 2 : lead >= 0xF0 && lead < 0xF5 ? 3 : -1;
    if (more < 0 || at_ + static_cast<size_t>(more) >= text_.size()) fail("invalid UTF-8");
    for (int i = 1; i <= more; ++i)
      if ((static_cast<unsigned char>(text_[at_ + static_cast<size_t>(i)]) & 0xC0) != 0x80) fail("invalid UTF-8");
    const unsigned char second = static_cast<unsigned char>(text_[at_ + 1]);
    if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) || (lead == 0xF0 && second < 0x90) ||
        (lead == 0xF4 && second > 0x8F))
      fail("invalid UTF-8");
    out.append(text_.substr(at_, static_cast<size_t>(more) + 1));
    at_ += static_cast<size_t>(more) + 1;
  }

  std::string read_string() {
    std::string out;
    ++at_;
    while (true) {
      if (at_ >= text_.size()) fail("ends inside a string");
      const unsigned char c = static_cast<unsigned char>(text_[at_]);
      if (c == '"') {
        ++at_;
        return out;
      }
      if (c < 0x20) fail("control character in a string");
      if (c == '\\') {
        ++at_;
        escape(out);
      } else if (c < 0x80) {
        out += text_[at_++];
      } else {
        utf8(out);
      }
    }
  }

  std::string_view text_;
  size_t at_ = 0;
};

inline Value parse(std::string_view text) { return Reader(text).document(); }

inline void write_string(const std::string& text, std::string& out) {
  static const char* const hex = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\b': out += "\\b"; break;
      case '\f': out += "\\f"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += "\\u00";
          out += hex[(c >> 4) & 15];
          out += hex[c & 15];
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

// Keys sorted, no spaces, UTF-8 as it is: the bytes of Python's json.dumps(v, sort_keys=True, separators=(",", ":"), ensure_ascii=False).
// Real numbers are refused: their text is not canonical.
inline void write_canonical(const Value& value, std::string& out) {
  switch (value.kind) {
    case Value::Kind::null: out += "null"; return;
    case Value::Kind::boolean: out += value.boolean ? "true" : "false"; return;
    case Value::Kind::integer: out += std::to_string(value.integer); return;
    case Value::Kind::real: throw Error("a real number has no canonical text");
    case Value::Kind::string: write_string(value.string, out); return;
    case Value::Kind::array:
      out += '[';
      for (size_t i = 0; i < value.array.size(); ++i) {
        if (i) out += ',';
        write_canonical(value.array[i], out);
      }
      out += ']';
      return;
    case Value::Kind::object: break;
  }
  std::vector<const Value::Member*> sorted;
  for (const Value::Member& member : value.object) sorted.push_back(&member);
  std::sort(sorted.begin(), sorted.end(), [](const Value::Member* a, const Value::Member* b) { return a->first < b->first; });
  out += '{';
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (i) out += ',';
    write_string(sorted[i]->first, out);
    out += ':';
    write_canonical(sorted[i]->second, out);
  }
  out += '}';
}

inline std::string canonical(const Value& value) {
  std::string out;
  write_canonical(value, out);
  return out;
}

}  // namespace dinoml::json
