#include "gateway/call/call_index.h"

#include <cstring>
#include <utility>

namespace stdgate::call {

namespace {

__extension__ using Product = unsigned __int128;

// Combines both halves of the product, so that each bit of either factor reaches the low bits.
uint64_t mix(uint64_t a, uint64_t b) {
  const Product product = static_cast<Product>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

template <class Word>
uint64_t word_at(const char* at) {
  Word word;
  std::memcpy(&word, at, sizeof(word));
  return word;
}

// All bytes of a text of at most eight bytes.
uint64_t short_word(std::string_view text) {
  const size_t size = text.size();
  const char* const at = text.data();
  if (size >= 4) return word_at<uint32_t>(at) << 32 | word_at<uint32_t>(at + size - 4);
  if (size == 0) return 0;
  const auto byte = [at](size_t i) { return static_cast<uint64_t>(static_cast<uint8_t>(at[i])); };
  return byte(0) << 16 | byte(size / 2) << 8 | byte(size - 1);
}

}  // namespace

uint64_t CallIndex::hash(session::Caller caller, std::string_view id) const {
  uint64_t hash = key_ ^ (uint64_t{caller.generation} << 32 | caller.index);
  const uint64_t size = id.size();
  for (; id.size() > 8; id.remove_prefix(8)) {
    hash = mix(word_at<uint64_t>(id.data()) ^ more_key_, hash);
  }
  return mix(short_word(id) ^ more_key_, hash ^ size);
}

void CallIndex::add(Call& call) {
  if (size_ == buckets_.size()) grow();
  ++size_;
  call.hash = hash(call.caller, call.id);
  put(call);
}

void CallIndex::put(Call& call) {
  Call** const bucket = &buckets_[call.hash & (buckets_.size() - 1)];
  call.next = *bucket;
  call.link = bucket;
  if (call.next != nullptr) call.next->link = &call.next;
  *bucket = &call;
}

void CallIndex::remove(Call& call) {
  if (call.link == nullptr) return;
  *call.link = call.next;
  if (call.next != nullptr) call.next->link = call.link;
  call.link = nullptr;
  --size_;
}

Call* CallIndex::find(session::Caller caller, std::string_view id) const {
  return find_if(caller, id, [](const Call& call) { return call.place != CallPlace::nowhere; });
}

Call* CallIndex::find_among(session::Caller caller, std::string_view id,
                            const std::function<bool(const Call&)>& accepts) const {
  return find_if(caller, id, accepts);
}

template <class Accepts>
Call* CallIndex::find_if(session::Caller caller, std::string_view id,
                         const Accepts& accepts) const {
  const uint64_t wanted = hash(caller, id);
  Call* call = buckets_[wanted & (buckets_.size() - 1)];
  for (; call != nullptr; call = call->next) {
    const bool is_it = call->hash == wanted && call->caller == caller && call->id == id;
    if (is_it && accepts(*call)) return call;
  }
  return nullptr;
}

void CallIndex::grow() {
  const std::vector<Call*> old = std::exchange(buckets_, std::vector<Call*>(2 * buckets_.size()));
  for (Call* first : old) {
    while (first != nullptr) put(*std::exchange(first, first->next));
  }
}

}  // namespace stdgate::call
