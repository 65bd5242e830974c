// The project's own files follow the rules.
#include <gmock/gmock.h>
#include <stdio.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
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

Sources sources_under(const fs::path& root) {
  Sources sources;
  for (const fs::path& file : source_files(root)) {
    sources[fs::relative(file, root).string()] = read_file(file);
  }
  return sources;
}

TEST(SourceTree, CompilesWithoutLuck) {
  EXPECT_THAT(integers_by_luck(sources_under(STDGATE_SOURCE_DIR)), testing::IsEmpty());
}

TEST(SourceTree, ClassesHaveABound) {
  EXPECT_THAT(long_classes(sources_under(STDGATE_SOURCE_DIR)), testing::IsEmpty());
}

TEST(SourceTree, HeadersAreDeclarations) {
  EXPECT_THAT(long_bodies(sources_under(STDGATE_SOURCE_DIR)), testing::IsEmpty());
}

// The files that git has or would add, without ignored files. Empty outside of a checkout, as in a
// release's archive, which contains only files that git had.
std::vector<fs::path> committed_files(const fs::path& root) {
  const std::string command = "git -c safe.directory='*' -C '" + root.string() +
                              "' ls-files -z --cached --others --exclude-standard 2>/dev/null";
  std::string names;
  FILE* git = popen(command.c_str(), "r");
  char piece[4096];
  for (size_t size = 1; git != nullptr && size > 0;) {
    size = fread(piece, 1, sizeof piece, git);
    names.append(piece, size);
  }
  if (git != nullptr) {
    pclose(git);
  }
  std::vector<fs::path> files;
  std::istringstream list(names);
  for (std::string name; std::getline(list, name, '\0');) {
    if (fs::is_regular_file(root / name)) {
      files.push_back(root / name);
    }
  }
  return files;
}

TEST(SourceTree, FilesNameNothingOfThisMachine) {
  const fs::path root = STDGATE_SOURCE_DIR;
  std::vector<fs::path> files = committed_files(root);
  if (files.empty()) {
    files = source_files(root);
  }
  ASSERT_GE(files.size(), 40U) << "the tree was not found under " << root;
  for (const fs::path& file : files) {
    for (const std::string& violation :
         machine_names_in_file(fs::relative(file, root).string(), read_file(file), root.string())) {
      ADD_FAILURE() << violation;
    }
  }
}

// All files, without those of a build, npm or git.
Pages pages_under(const fs::path& root) {
  Pages pages;
  for (auto entry = fs::recursive_directory_iterator(root);
       entry != fs::recursive_directory_iterator(); ++entry) {
    const fs::path name = entry->path().filename();
    const fs::path path = fs::relative(entry->path(), root);
    if (name == "node_modules" || path == "build" || path == ".git") {
      entry.disable_recursion_pending();
    } else if (entry->is_regular_file()) {
      pages.files.insert(path.string());
      if (name.extension() == ".md") {
        pages.texts[path.string()] = read_file(entry->path());
      }
    }
  }
  return pages;
}

TEST(SourceTree, PagesKeepTheRules) {
  const Pages pages = pages_under(STDGATE_SOURCE_DIR);
  ASSERT_GE(pages.texts.size(), 10U);
  for (const auto& rule : {broken_links, missing_files, unknown_keys, decision_faults}) {
    for (const std::string& violation : rule(pages)) {
      ADD_FAILURE() << violation;
    }
  }
}

TEST(SourceTree, PagesNameWhatSourcesDefine) {
  const fs::path root = STDGATE_SOURCE_DIR;
  Sources sources = sources_under(root);
  std::erase_if(sources, [](const auto& source) { return source.first.starts_with("tests/"); });
  const std::string limits = read_file(root / "docs/limits.md");
  ASSERT_GT(limits.size(), 1000U);
  EXPECT_THAT(limit_faults(limits, sources), testing::IsEmpty());
  for (const char* page : {"ARCHITECTURE.md", "docs/glossary.md"}) {
    EXPECT_THAT(unknown_types(read_file(root / page), sources), testing::IsEmpty()) << page;
  }
}

TEST(SourceTree, TopLevelHoldsOnlyWhatItShould) {
  for (const auto& entry : fs::directory_iterator(STDGATE_SOURCE_DIR)) {
    EXPECT_TRUE(allowed_at_top(entry.path().filename().string())) << entry.path();
  }
}

}  // namespace
}  // namespace stdgate
