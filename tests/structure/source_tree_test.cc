// The project's own tree keeps its rules.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/structure/rules.h"

namespace stdgate {
namespace {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<fs::path> source_files(const fs::path& root) {
  std::vector<fs::path> files;
  for (const char* folder : {"gateway", "transports", "metrics", "tests"}) {
    for (auto entry = fs::recursive_directory_iterator(root / folder);
         entry != fs::recursive_directory_iterator(); ++entry) {
      if (entry->path().filename() == "node_modules") {
        entry.disable_recursion_pending();
      } else if (entry->path().extension() == ".h" || entry->path().extension() == ".cc") {
        files.push_back(entry->path());
      }
    }
  }
  return files;
}

TEST(SourceTree, FilesKeepTheRules) {
  const fs::path root = STDGATE_SOURCE_DIR;
  const std::vector<fs::path> files = source_files(root);
  ASSERT_GE(files.size(), 40U) << "the tree was not found under " << root;
  for (const fs::path& file : files) {
    for (const std::string& violation :
         violations_of_file(fs::relative(file, root).string(), read_file(file))) {
      ADD_FAILURE() << violation;
    }
  }
}

TEST(SourceTree, TopLevelHoldsOnlyWhatItShould) {
  for (const auto& entry : fs::directory_iterator(STDGATE_SOURCE_DIR)) {
    EXPECT_TRUE(allowed_at_top(entry.path().filename().string())) << entry.path();
  }
}

}  // namespace
}  // namespace stdgate
