#include "transports/tls/memory_bio.h"

#include <memory>

namespace stdgate::tls {

size_t MemoryBio::read(char* to, size_t size) {
  const size_t from_left = std::min(size, left_.size());
  to = copy_text(to, left_.view().substr(0, from_left));
  left_.consume(from_left);
  const size_t from_fresh = std::min(size - from_left, fresh_.size());
  copy_text(to, fresh_.substr(0, from_fresh));
  fresh_.remove_prefix(from_fresh);
  return from_left + from_fresh;
}

const BIO_METHOD* MemoryBio::method() {
  const auto make = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "stdgate memory");
    if (made == nullptr) return made;
    BIO_meth_set_read_ex(made, [](BIO* bio, char* to, size_t size, size_t* count) {
      BIO_clear_retry_flags(bio);
      *count = static_cast<MemoryBio*>(BIO_get_data(bio))->read(to, size);
      if (*count == 0) BIO_set_retry_read(bio);
      return *count > 0 ? 1 : 0;
    });
    BIO_meth_set_write_ex(made, [](BIO* bio, const char* from, size_t size, size_t* count) {
      static_cast<MemoryBio*>(BIO_get_data(bio))->write({from, size});
      *count = size;
      return 1;
    });
    BIO_meth_set_ctrl(made, [](BIO*, int command, long, void*) -> long {
      return command == BIO_CTRL_FLUSH ? 1 : 0;
    });
    return made;
  };
  struct Free {
    void operator()(BIO_METHOD* made) const { BIO_meth_free(made); }
  };
  static const std::unique_ptr<BIO_METHOD, Free> kMethod(make());
  return kMethod.get();
}

BIO* MemoryBio::make() {
  BIO* bio = method() == nullptr ? nullptr : BIO_new(method());
  if (bio == nullptr) return nullptr;
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  return bio;
}

}  // namespace stdgate::tls
