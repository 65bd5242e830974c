#include "gateway/tools/adoption_record.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "gateway/config/text_file.h"
#include "gateway/tools/client_settings.h"
#include "gateway/tools/file_replacement.h"
#include "gateway/tools/user_gateway.h"

namespace stdgate::tools {

namespace {

namespace fs = std::filesystem;

// A path as the name of a file.
std::string flat_name(const std::string& path) {
  std::string name;
  for (const char c : path) {
    if (c == '/') {
      name += "%2F";
    } else if (c == '%') {
      name += "%25";
    } else {
      name += c;
    }
  }
  return name;
}

}  // namespace

AdoptionRecord::AdoptionRecord(const std::string& gateway_file, const std::string& client_file) {
  const fs::path folder = fs::path(gateway_file).parent_path() / "adopted";
  const std::string name = flat_name(client_file);
  former_ = (folder / (name + ".before")).string();
  adopted_ = (folder / (name + ".after")).string();
}

tl::expected<std::optional<AdoptionRecord::Texts>, std::string> AdoptionRecord::read() const {
  std::error_code unreadable;
  if (!fs::exists(former_, unreadable)) return std::nullopt;
  auto former = config::read_text_file(former_, kMaxClientFile);
  if (!former) return tl::unexpected(former.error());
  // Without it, the file counts as changed since.
  auto adopted = config::read_text_file(adopted_, kMaxClientFile);
  return Texts{*std::move(former), std::move(adopted).value_or("")};
}

tl::expected<void, std::string> AdoptionRecord::write(const Texts& texts) const {
  if (auto made = make_private_folder_of(former_); !made) return made;
  if (auto written = replace_file(adopted_, texts.adopted); !written) return written;
  return replace_file(former_, texts.former);
}

void AdoptionRecord::remove() const {
  ::unlink(former_.c_str());
  ::unlink(adopted_.c_str());
}

}  // namespace stdgate::tools
