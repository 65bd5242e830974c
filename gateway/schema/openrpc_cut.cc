#include "gateway/schema/openrpc_cut.h"

#include <algorithm>
#include <iterator>
#include <unordered_set>
#include <vector>

#include "gateway/schema/json_tree.h"
#include "gateway/schema/schema_reference.h"

namespace stdgate::schema {

namespace {

class Cut {
 public:
  Cut(const JsonTree& tree, const std::function<bool(std::string_view)>& keeps)
      : tree_(tree), keeps_(keeps) {}

  std::optional<std::string> run() {
    const auto methods = tree_.find(0, "methods");
    if (!methods || tree_.kind(*methods) != JsonKind::array) return std::nullopt;
    methods_ = *methods;
    note_components();
    for (ValueId at = methods_ + 1; at < tree_.next(methods_); at = tree_.next(at)) {
      const std::string_view name = name_of(at);
      if (!name.empty() && keeps_(name)) keep(at);
    }
    for (ValueId key = 1; key < tree_.next(0); key = tree_.next(key + 1)) {
      const ValueId value = key + 1;
      if (value != methods_ && value != components_) keep(value);
    }
    while (!unread_.empty()) {
      const ValueId value = unread_.back();
      unread_.pop_back();
      follow_references(value);
    }
    std::string out;
    append(out, 0);
    return out;
  }

 private:
  static constexpr ValueId kNone = UINT32_MAX;

  // The components, by their places: what refers to a part of one needs the whole.
  void note_components() {
    const auto components = tree_.find(0, "components");
    if (!components || tree_.kind(*components) != JsonKind::object) return;
    components_ = *components;
    const auto each = [this](ValueId object, auto&& visit) {
      if (tree_.kind(object) != JsonKind::object) return;
      for (ValueId key = object + 1; key < tree_.next(object); key = tree_.next(key + 1)) {
        visit(key + 1);
      }
    };
    each(components_, [&](ValueId kind) {
      each(kind, [&](ValueId component) { parts_.push_back(component); });
    });
  }

  std::string_view name_of(ValueId method) {
    // A reference may lead to another one. The bound ends a circle of them.
    for (int step = 0; step < 16; ++step) {
      const auto name = tree_.find(method, "name");
      if (name && tree_.kind(*name) == JsonKind::string) return tree_.string(*name, name_);
      const auto target = target_of(method);
      if (!target) break;
      method = *target;
    }
    return {};
  }
  std::optional<ValueId> target_of(ValueId value) {
    const auto reference = tree_.find(value, "$ref");
    if (!reference || tree_.kind(*reference) != JsonKind::string) return std::nullopt;
    std::string scratch;
    const Reference to = resolve_reference("", tree_.string(*reference, scratch));
    return to.uri.empty() ? pointers_.follow(0, to.fragment) : std::nullopt;
  }

  void keep(ValueId value) {
    if (kept_.insert(value).second) unread_.push_back(value);
  }
  void follow_references(ValueId value) {
    const ValueId end = tree_.next(value);
    for (ValueId at = value; at < end; ++at) {
      const auto target = tree_.kind(at) == JsonKind::object ? target_of(at) : std::nullopt;
      if (!target) continue;
      // The last component that begins at or before it.
      const auto behind = std::ranges::upper_bound(parts_, *target);
      if (behind == parts_.begin()) continue;
      const ValueId part = *std::prev(behind);
      if (*target < tree_.next(part)) keep(part);
    }
  }

  // Members or elements that stay, with commas between them.
  void append(std::string& out, ValueId value) {
    const bool is_object = tree_.kind(value) == JsonKind::object;
    out += is_object ? '{' : '[';
    const size_t begin = out.size();
    const ValueId end = tree_.next(value);
    for (ValueId at = value + 1; at < end;) {
      const ValueId item = is_object ? at + 1 : at;
      if (stays(item)) {
        if (out.size() > begin) out += ',';
        if (is_object) out.append(tree_.raw(at)).append(":");
        if (has_cuts(item)) {
          append(out, item);
        } else {
          out += tree_.raw(item);
        }
      }
      at = tree_.next(item);
    }
    out += is_object ? '}' : ']';
  }
  [[nodiscard]] bool stays(ValueId item) const { return kept_.contains(item) || has_cuts(item); }
  // Whether parts of this list are removed: the list of all methods, of all components, or of the
  // components of a kind.
  [[nodiscard]] bool has_cuts(ValueId item) const {
    if (item == methods_ || item == components_) return true;
    return components_ != kNone && item > components_ && item < tree_.next(components_) &&
           tree_.kind(item) == JsonKind::object && !std::ranges::binary_search(parts_, item) &&
           !is_inside_of_part(item);
  }
  [[nodiscard]] bool is_inside_of_part(ValueId item) const {
    const auto behind = std::ranges::upper_bound(parts_, item);
    return behind != parts_.begin() && item < tree_.next(*std::prev(behind));
  }

  const JsonTree& tree_;
  PointerIndex pointers_{tree_};
  const std::function<bool(std::string_view)>& keeps_;
  ValueId methods_ = kNone;
  ValueId components_ = kNone;
  std::vector<ValueId> parts_;
  std::unordered_set<ValueId> kept_;
  std::vector<ValueId> unread_;
  std::string name_;
};

}  // namespace

std::optional<std::string> cut_openrpc(std::string_view text,
                                       const std::function<bool(std::string_view)>& keeps) {
  JsonTree tree;
  if (!tree.read(text)) return "{}";
  return Cut(tree, keeps).run();
}

}  // namespace stdgate::schema
