// `stdgate doctor`: its arguments, and the run of a Doctor.
#pragma once

#include "gateway/tools/tool.h"

namespace stdgate::tools {

extern const Tool kDoctorTool;

}  // namespace stdgate::tools
