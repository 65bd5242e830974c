#include "transports/websocket/kept_messages.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "gateway/base/check.h"

namespace stdgate::websocket {

namespace {
// For this message and others that follow, which are small if they are many.
constexpr size_t kRoom = 64 << 10;
}  // namespace

void KeptMessages::push(std::string_view text, TimePoint arrived) {
  const Head head{text.size(), arrived};
  std::array<char, sizeof(head)> spelled;
  std::memcpy(spelled.data(), &head, sizeof(head));
  const size_t size = spelled.size() + text.size();
  bytes_.make_room(size, std::max(size, kRoom));
  bytes_.append({spelled.data(), spelled.size()});
  bytes_.append(text);
}

KeptMessages::Head KeptMessages::front_head() const {
  Head head;
  STDGATE_CHECK(bytes_.size() >= sizeof(head));
  std::memcpy(&head, bytes_.view().data(), sizeof(head));
  STDGATE_CHECK(head.length <= bytes_.size() - sizeof(head));
  return head;
}

std::span<char> KeptMessages::front() {
  return bytes_.bytes().subspan(sizeof(Head), front_head().length);
}

void KeptMessages::pop() {
  bytes_.consume(sizeof(Head) + front_head().length);
  bytes_.release_if_empty();
}

}  // namespace stdgate::websocket
