# The commit and the platform (by Debian's names), which `stdgate --version` prints after the version.
#
# A release is built outside of the repository, so deploy/release sets the commit. Other builds ask git, again after
# each commit.
set(STDGATE_COMMIT "$ENV{STDGATE_COMMIT}" CACHE STRING "The commit that is built; empty: git is asked")
set(STDGATE_COMMIT_TEXT "${STDGATE_COMMIT}")
if(NOT STDGATE_COMMIT_TEXT AND EXISTS ${PROJECT_SOURCE_DIR}/.git)
  execute_process(COMMAND git rev-parse HEAD WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    OUTPUT_VARIABLE STDGATE_COMMIT_TEXT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND git rev-parse --path-format=absolute --git-path logs/HEAD
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    OUTPUT_VARIABLE STDGATE_COMMIT_LOG OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(EXISTS "${STDGATE_COMMIT_LOG}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${STDGATE_COMMIT_LOG})
  endif()
endif()
string(SUBSTRING "${STDGATE_COMMIT_TEXT}" 0 12 STDGATE_COMMIT_TEXT)

string(TOLOWER "${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}" STDGATE_PLATFORM)
string(REPLACE x86_64 amd64 STDGATE_PLATFORM "${STDGATE_PLATFORM}")
string(REPLACE aarch64 arm64 STDGATE_PLATFORM "${STDGATE_PLATFORM}")
