// StallWatch: since when a peer has taken nothing of what a stream has for it.
//
// Looked at by its owner's timer, not with each write. Owner: the connection of the stream.
#pragma once

#include <cstdint>

#include "gateway/base/time.h"
#include "transports/net/byte_stream.h"

namespace stdgate {

class StallWatch {
 public:
  // What the stream has from now on is what is waited for.
  void start(const ByteStream& stream, TimePoint now) {
    since_ = now;
    written_ = stream.bytes_written();
  }
  // When to look again; TimePoint::max() while nothing is unsent.
  [[nodiscard]] TimePoint due(const ByteStream& stream, Duration patience) const {
    return stream.unsent_bytes() == 0 ? TimePoint::max() : since_ + patience;
  }
  // Whether nothing has been taken for so long. What has been starts the time anew.
  bool has_stalled(const ByteStream& stream, TimePoint now, Duration patience) {
    if (stream.unsent_bytes() == 0) return false;
    if (stream.bytes_written() == written_) return now >= since_ + patience;
    start(stream, now);
    return false;
  }

 private:
  TimePoint since_{};
  uint64_t written_ = 0;  // bytes, at since_
};

}  // namespace stdgate
