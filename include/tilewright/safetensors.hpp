// safetensors: reading a checkpoint's tensors as views of mapped files, and writing a file atomically.
//
// A file is an 8-byte little-endian header length, a JSON header {name: {dtype, shape, data_offsets}}, then the bytes.
// The reader trusts nothing: every length, offset, shape and dtype is checked against the file before a view exists.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tilewright/result.hpp"

namespace tilewright {

enum class DType {
  f64,
  f32,
  f16,
  bf16,
  i64,
  i32,
  i16,
  i8,
  u8,
  u16,
  u32,
  u64,
  boolean,
  f8_e4m3,
  f8_e5m2,
  f8_e8m0,
  other
};
const char* to_string(DType dtype);  ///< as safetensors spells it: "F32", "U8", "F8_E4M3", ...
int size_of(DType dtype);            ///< bytes an element; 0 for `other`

/// One tensor of a mapped file; valid as long as the TensorFiles (or its `storage()`) lives.
/// `bytes` fit dtype and shape, except for `other`, and have no alignment: read elements with memcpy.
struct TensorView {
  DType dtype = DType::other;
  std::vector<std::int64_t> shape;
  std::span<const std::uint8_t> bytes;
  int file = 0;  ///< index into TensorFiles::paths()

  [[nodiscard]] std::int64_t elements() const;
};

/// The tensors of one .safetensors file, or of all shards of a directory.
class TensorFiles {
 public:
  /// Opens a file, or a directory: every *.safetensors in it, headers unioned. The index file is used to check that
  /// all shards are there (a missing shard is an error that names it), never as the list of tensors: some exporters
  /// leave scale tensors out of it. A tensor in two shards is an error that names both. Where shards disagree on a
  /// metadata key, the first one in name order wins.
  static Result<TensorFiles> open(const std::string& path);

  /// Parses one file already in memory (tests, fuzzing). The bytes must outlive the result.
  static Result<TensorFiles> parse(std::span<const std::uint8_t> file, const std::string& name);

  [[nodiscard]] const TensorView* find(const std::string& name) const;
  [[nodiscard]] const std::map<std::string, TensorView>& tensors() const { return tensors_; }
  [[nodiscard]] const std::vector<std::string>& paths() const { return paths_; }
  [[nodiscard]] const std::map<std::string, std::string>& metadata() const { return metadata_; }
  [[nodiscard]] std::shared_ptr<const void> storage() const { return storage_; }

  /// Gives back the memory behind `bytes`, a range of one tensor: whole pages only, and a later read brings them in
  /// again. Does nothing for bytes that are not in a mapped file.
  void release(std::span<const std::uint8_t> bytes) const;

 private:
  struct Storage;

  static Result<TensorFiles> open_files(const std::vector<std::string>& paths);
  Status add(std::span<const std::uint8_t> file, const std::string& name);

  std::map<std::string, TensorView> tensors_;
  std::vector<std::string> paths_;
  std::map<std::string, std::string> metadata_;
  std::shared_ptr<const Storage> storage_;
};

/// A tensor to write.
struct TensorData {
  std::string name;
  DType dtype = DType::u8;
  std::vector<std::int64_t> shape;
  std::span<const std::uint8_t> bytes;
};

/// Writes `tensors` to `path` through a temporary file beside it that is renamed when complete and removed on failure.
/// Data starts 8-byte aligned and tensors of wider elements come first, so that every tensor is aligned to its element.
/// A name that repeats, a negative size, a dtype `other` or bytes that do not fit dtype and shape are refused before
/// anything is written.
Status write_safetensors(const std::string& path, const std::vector<TensorData>& tensors,
                         const std::map<std::string, std::string>& metadata = {});

}  // namespace tilewright
