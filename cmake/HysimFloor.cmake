# hysim_floor(name [COLD] [DEPENDS floors...] [PRIVATE libs...])   one library a floor
# hysim_test(floor)                                         one test executable a floor
# hysim_test_executable(name sources... LIBS libs...)       the same for any other group of tests

option(HYSIM_WERROR "Warnings are errors" ${PROJECT_IS_TOP_LEVEL})
set(HYSIM_PRECOMPILE ${PROJECT_IS_TOP_LEVEL} CACHE STRING
    "Precompile GoogleTest's and CLI11's headers; all: the standard library's for the floors, too")
option(HYSIM_FUZZ "Build tests/fuzz; needs clang" OFF)
set(HYSIM_SANITIZE "" CACHE STRING "Sanitizers for everything, such as address,undefined")

# Same binary, same bytes: no fused multiply-add the source does not name.
add_compile_options(-ffp-contract=off)
if(HYSIM_SANITIZE)
  add_compile_options(-fsanitize=${HYSIM_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${HYSIM_SANITIZE})
endif()

set(HYSIM_WARNINGS -Wall -Wextra -Wpedantic -Wshadow)
if(HYSIM_WERROR)
  list(APPEND HYSIM_WARNINGS -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND HYSIM_WARNINGS -Wno-restrict)  # GCC 12 reports "text" + std::string
  if(HYSIM_SANITIZE)
    list(APPEND HYSIM_WARNINGS -Wno-maybe-uninitialized)  # false where ASan instruments optional
  endif()
endif()
set(HYSIM_FLOOR_WARNINGS ${HYSIM_WARNINGS} -Wconversion -Wsign-conversion)

function(hysim_floor name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "COLD" "" "DEPENDS;PRIVATE")
  set(folder ${PROJECT_SOURCE_DIR}/src/${name})
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cpp ${folder}/*/*.cpp)
  if(name STREQUAL "cli")
    list(FILTER sources EXCLUDE REGEX "^${folder}/main/")
  endif()
  list(TRANSFORM arg_DEPENDS PREPEND hysim_)

  set(scope PUBLIC)
  if(sources)
    add_library(hysim_${name} STATIC ${sources})
    target_compile_options(hysim_${name} PRIVATE ${HYSIM_FLOOR_WARNINGS})
    set_target_properties(hysim_${name} PROPERTIES CXX_EXTENSIONS OFF)
    target_link_libraries(hysim_${name} PRIVATE ${arg_PRIVATE})
    if(arg_COLD)  # slow to optimize, and never what a user waits for
      target_compile_options(hysim_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
    elseif(HYSIM_PRECOMPILE STREQUAL "all")
      hysim_precompile(hysim_${name} <algorithm> <array> <cmath> <cstdint> <functional> <map>
                       <memory> <optional> <set> <string> <string_view> <utility> <vector>)
    endif()
  else()  # headers only
    set(scope INTERFACE)
    add_library(hysim_${name} INTERFACE)
  endif()
  target_compile_features(hysim_${name} ${scope} cxx_std_20)
  target_include_directories(hysim_${name} ${scope}
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
  target_link_libraries(hysim_${name} ${scope} ${arg_DEPENDS})
endfunction()

# Precompiles headers of other projects, most of what such a source takes to compile: for the first
# target that asks for a set of headers, and shared by all that follow with the same options.
function(hysim_precompile target)
  if(NOT HYSIM_PRECOMPILE)
    return()
  endif()
  get_property(owner GLOBAL PROPERTY "hysim_precompiled ${ARGN}")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # ccache sees their use
    target_compile_options(${target} PRIVATE -fpch-preprocess)
  endif()
  if(owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  else()
    target_precompile_headers(${target} PRIVATE ${ARGN})
    set_property(GLOBAL PROPERTY "hysim_precompiled ${ARGN}" ${target})
  endif()
endfunction()

# hysim_test_<name>, linked with GoogleTest. Tests find their data under HYSIM_TEST_DATA and the
# program at HYSIM_BINARY by including "test_paths.h"; the paths are in no command line, so that a
# compiler cache serves every checkout. Each case is a ctest test labelled <name>.
function(hysim_test_executable name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LIBS")
  set(target hysim_test_${name})
  add_executable(${target} ${arg_UNPARSED_ARGUMENTS})
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  target_compile_features(${target} PRIVATE cxx_std_20)
  # What is tested is optimized; a test's own code only has to compile soon.
  target_compile_options(${target} PRIVATE ${HYSIM_WARNINGS} -O0)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests
                                               ${PROJECT_BINARY_DIR}/tests/paths)
  target_link_libraries(${target} PRIVATE ${arg_LIBS} GTest::gtest_main GTest::gmock)
  hysim_precompile(${target} <gmock/gmock.h> <gtest/gtest.h>)
  gtest_discover_tests(${target} DISCOVERY_MODE PRE_TEST TEST_PREFIX ${name}.
    PROPERTIES TIMEOUT 120 LABELS ${name})
endfunction()

function(hysim_test floor)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/unit/${floor}/*.cpp)
  if(sources)
    hysim_test_executable(${floor} ${sources} LIBS hysim_${floor})
  endif()
endfunction()
