# The target `llhttp`: a system library where there is one, else built from the sources that Debian's
# node-llhttp ships. Either way `#include <llhttp.h>` works.
find_package(llhttp CONFIG QUIET)
if(NOT llhttp_FOUND)
  pkg_check_modules(llhttp_system QUIET IMPORTED_TARGET libllhttp)
endif()

if(TARGET llhttp::llhttp_shared)
  add_library(llhttp INTERFACE)
  target_link_libraries(llhttp INTERFACE llhttp::llhttp_shared)
elseif(TARGET llhttp::llhttp_static)
  add_library(llhttp INTERFACE)
  target_link_libraries(llhttp INTERFACE llhttp::llhttp_static)
elseif(TARGET PkgConfig::llhttp_system)
  add_library(llhttp INTERFACE)
  target_link_libraries(llhttp INTERFACE PkgConfig::llhttp_system)
else()
  find_path(LLHTTP_SOURCE_DIR llhttp.c PATHS /usr/share/llhttp NO_DEFAULT_PATH)
  find_path(LLHTTP_INCLUDE_DIR llhttp.h PATHS /usr/share/include/llhttp NO_DEFAULT_PATH)
  if(NOT LLHTTP_SOURCE_DIR OR NOT LLHTTP_INCLUDE_DIR)
    message(FATAL_ERROR "llhttp not found: install libllhttp-dev, or node-llhttp where that "
                        "package does not exist (Debian 12: apt-get install node-llhttp)")
  endif()
  add_library(llhttp STATIC
    ${LLHTTP_SOURCE_DIR}/api.c ${LLHTTP_SOURCE_DIR}/http.c ${LLHTTP_SOURCE_DIR}/llhttp.c)
  target_include_directories(llhttp SYSTEM PUBLIC ${LLHTTP_INCLUDE_DIR})
  target_compile_definitions(llhttp PUBLIC LLHTTP_STRICT_MODE=1)
  target_compile_options(llhttp PRIVATE -w)
endif()
