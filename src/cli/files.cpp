#include "cli/files.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/errors.h"
#include "hysim/errors.h"
#include "report/table.h"

namespace hysim::cli {

namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& message) {
  throw InputError({Diagnostic{path, 0, 0, "", message}});
}

std::string reason(int error) { return std::generic_category().message(error); }

/// Closes on every way out.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  /// False when data could not be written after all.
  bool close() {
    const int fd = fd_;
    fd_ = -1;
    return ::close(fd) == 0;
  }

 private:
  int fd_;
};

/// 0, or the error.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

[[noreturn]] void cannot_write(const std::string& path, int error) {
  throw WriteError("cannot write " + path + ": " + reason(error));
}

/// Interrupts do nothing until a file is in place, so that no temporary stays behind. For the
/// whole process: worker threads receive signals, too.
class UninterruptedWhile {
 public:
  UninterruptedWhile() {
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGINT, &ignore, &interrupt_);
    ::sigaction(SIGTERM, &ignore, &terminate_);
  }
  ~UninterruptedWhile() {
    ::sigaction(SIGINT, &interrupt_, nullptr);
    ::sigaction(SIGTERM, &terminate_, nullptr);
  }
  UninterruptedWhile(const UninterruptedWhile&) = delete;
  UninterruptedWhile& operator=(const UninterruptedWhile&) = delete;

 private:
  struct sigaction interrupt_ {};
  struct sigaction terminate_ {};
};

}  // namespace

bool names_file(std::string_view argument) {
  return argument.find('/') != std::string_view::npos || argument.ends_with(".json");
}

std::string stem_of(std::string_view path) {
  path.remove_prefix(path.rfind('/') + 1);  // npos + 1 is 0
  constexpr std::string_view kSuffix = ".json";
  if (path.size() > kSuffix.size() && path.ends_with(kSuffix)) path.remove_suffix(kSuffix.size());
  return std::string(path);
}

bool file_exists(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0;
}

std::string read_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) {
    if (errno == ENOENT) refuse(path, "no such file");
    refuse(path, "cannot be read: " + reason(errno));
  }
  struct stat status {};
  if (::fstat(file.get(), &status) == 0 && S_ISDIR(status.st_mode)) {
    refuse(path, "is a folder, not a file");
  }
  std::string text;
  std::vector<char> buffer(1U << 16U);
  while (true) {
    const ssize_t count = ::read(file.get(), buffer.data(), buffer.size());
    if (count < 0) {
      if (errno == EINTR) continue;
      refuse(path, "cannot be read: " + reason(errno));
    }
    if (count == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
    if (text.size() > kMaxFileSize) refuse(path, "is larger than 64 MB");
  }
}

void write_file(const std::string& path, std::string_view text) {
  struct stat status {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) cannot_write(path, EISDIR);
  if (exists && !S_ISREG(status.st_mode)) {
    const Descriptor device(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (device.get() < 0) cannot_write(path, errno);
    const int error = write_all(device.get(), text);
    if (error != 0 && error != EPIPE) cannot_write(path, error);
    return;
  }
  if (exists && ::access(path.c_str(), W_OK) != 0) cannot_write(path, errno);

  // A link stays a link: what it points to is replaced.
  std::string target = path;
  if (exists) {
    std::error_code failed;
    const auto resolved = std::filesystem::canonical(path, failed);
    if (!failed) target = resolved.string();
  }
  const std::size_t slash = target.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : target.substr(0, slash + 1);
  std::string name = folder + ".hysim-XXXXXX";

  const UninterruptedWhile writing;
  Descriptor file(::mkstemp(name.data()));
  if (file.get() < 0) cannot_write(path, errno);
  const auto give_up = [&](int error) {
    ::unlink(name.c_str());
    cannot_write(path, error);
  };
  const mode_t mask = ::umask(0);
  ::umask(mask);
  const mode_t mode = exists ? status.st_mode & 0777U : 0666U & ~mask;
  if (::fchmod(file.get(), mode) != 0) give_up(errno);
  if (const int error = write_all(file.get(), text)) give_up(error);
  if (::fsync(file.get()) != 0 && errno != EINVAL) give_up(errno);
  if (!file.close()) give_up(errno);
  if (::rename(name.c_str(), target.c_str()) != 0) give_up(errno);
}

void write_stdout(std::string_view text) {
  const int error = write_all(STDOUT_FILENO, text);
  if (error != 0 && error != EPIPE) cannot_write("standard output", error);
}

void write_stderr_line(std::string_view text) {
  write_all(STDERR_FILENO, report::printable(text) + "\n");
}

}  // namespace hysim::cli
