#include "tilewright/safetensors.hpp"

#include <filesystem>
#include <functional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "checkpoint/safetensors_header.hpp"
#include "core/mapped_file.hpp"
#include "core/system_error.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

constexpr const char* kIndexFile = "model.safetensors.index.json";

// The *.safetensors names of a directory, in name order.
Result<std::set<std::string>> shard_names(const std::string& directory) {
  std::set<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), last; !error && entry != last; entry.increment(error)) {
    if (entry->path().extension() == ".safetensors") names.insert(entry->path().filename().string());
  }
  if (error) return refused_by_system(directory, "list the directory", error.value());
  if (names.empty()) {
    return fail(ErrorCode::not_found, fmt::format("{}: no *.safetensors file in this directory", directory),
                "name a checkpoint directory or a .safetensors file");
  }
  return names;
}

// Every shard that the index names must be among `present`. A directory without an index is as it should be.
Status check_index(const std::string& directory, const std::set<std::string>& present) {
  const std::string path = (fs::path(directory) / kIndexFile).string();
  const auto file = MappedFile::open(path);
  if (!file && file.error().code == ErrorCode::not_found) return {};
  if (!file) return tl::unexpected<Error>(file.error());
  const auto index = nlohmann::json::parse(file->bytes().begin(), file->bytes().end(), nullptr, false);
  const auto map = index.is_object() ? index.find("weight_map") : index.end();
  if (map == index.end() || !map->is_object()) {
    return fail(ErrorCode::corrupt, fmt::format("{}: not a JSON object with a weight_map", path),
                "download the index again, or remove it: the shards are complete without it");
  }
  for (const auto& [tensor, shard] : map->items()) {
    if (!shard.is_string()) {
      return fail(ErrorCode::corrupt, fmt::format("{}: the shard of {} is not a string", path, quote_name(tensor)),
                  "download the index again");
    }
    const auto& name = shard.get_ref<const std::string&>();
    if (present.count(name) == 0) {
      return fail(
          ErrorCode::not_found,
          fmt::format("{}: shard {} is missing, it holds tensor {}", directory, quote_name(name), quote_name(tensor)),
          "download the missing file into the directory");
    }
  }
  return {};
}

}  // namespace

struct TensorFiles::Storage {
  std::vector<MappedFile> files;
};

std::int64_t TensorView::elements() const {
  std::int64_t product = 1;  // the header was refused where this product overflows
  for (const std::int64_t size : shape) product *= size;
  return product;
}

Result<TensorFiles> TensorFiles::open(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return open_files({path});
  TILEWRIGHT_ASSIGN(const auto names, shard_names(path));
  TILEWRIGHT_TRY(check_index(path, names));
  std::vector<std::string> paths;
  paths.reserve(names.size());
  for (const std::string& name : names) paths.push_back((fs::path(path) / name).string());
  return open_files(paths);
}

Result<TensorFiles> TensorFiles::open_files(const std::vector<std::string>& paths) {
  TensorFiles result;
  auto storage = std::make_shared<Storage>();
  for (const std::string& path : paths) {
    TILEWRIGHT_ASSIGN(MappedFile file, MappedFile::open(path));
    file.advise_sequential();
    TILEWRIGHT_TRY(result.add(file.bytes(), path));
    storage->files.push_back(std::move(file));
  }
  result.storage_ = std::move(storage);
  return result;
}

Result<TensorFiles> TensorFiles::parse(std::span<const std::uint8_t> file, const std::string& name) {
  TensorFiles result;
  TILEWRIGHT_TRY(result.add(file, name));
  return result;
}

Status TensorFiles::add(std::span<const std::uint8_t> file, const std::string& name) {
  TILEWRIGHT_ASSIGN(auto header, parse_safetensors_header(file, name));
  const int index = static_cast<int>(paths_.size());
  paths_.push_back(name);
  for (auto& [tensor, entry] : header.tensors) {
    const auto bytes = file.subspan(header.data_offset + entry.begin, entry.end - entry.begin);
    const auto [position, added] =
        tensors_.try_emplace(tensor, TensorView{entry.dtype, std::move(entry.shape), bytes, index});
    if (!added) {
      const std::string& first = paths_[static_cast<std::size_t>(position->second.file)];
      return fail(ErrorCode::mismatch, fmt::format("tensor {} is in {} and in {}", quote_name(tensor), first, name),
                  "remove the file that does not belong to the checkpoint");
    }
  }
  metadata_.merge(header.metadata);
  return {};
}

const TensorView* TensorFiles::find(const std::string& name) const {
  const auto position = tensors_.find(name);
  return position == tensors_.end() ? nullptr : &position->second;
}

void TensorFiles::release(std::span<const std::uint8_t> bytes) const {
  if (!storage_ || bytes.empty()) return;
  const std::less_equal<const std::uint8_t*> not_after;  // a total order over unrelated pointers, unlike <=
  for (const MappedFile& file : storage_->files) {
    const std::uint8_t* first = file.bytes().data();
    const std::uint8_t* last = first + file.bytes().size();
    if (not_after(first, bytes.data()) && not_after(bytes.data() + bytes.size(), last)) return file.release(bytes);
  }
}

}  // namespace tilewright
