/* A program with the runtime linked into it (nvcc's default) has its own copy of every function of the runtime, which
 * talks to NVIDIA's driver by tables that are not documented. Each function that both have is made to jump to ours,
 * before the program's constructors register their fat binaries. A stripped program has no symbols left to find. */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>

static void redirect(unsigned char *from, void *to) {
  uintptr_t page = (uintptr_t)from & ~(uintptr_t)4095;
  if (mprotect((void *)page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC)) return;
#if defined(__x86_64__)
  static const unsigned char jump[] = {0xff, 0x25, 0, 0, 0, 0}; /* jmp *0(%rip) */
  memcpy(from, jump, sizeof jump);
  memcpy(from + sizeof jump, &to, sizeof to);
#elif defined(__aarch64__)
  static const uint32_t jump[] = {0x58000051, 0xd61f0220}; /* ldr x17, 8; br x17 */
  memcpy(from, jump, sizeof jump);
  memcpy(from + sizeof jump, &to, sizeof to);
  __builtin___clear_cache((char *)from, (char *)from + 16);
#else
#error "no jump for this processor"
#endif
  mprotect((void *)page, 8192, PROT_READ | PROT_EXEC);
}
enum { JUMP_BYTES = 16 };

static int first_object(struct dl_phdr_info *info, size_t size UNUSED, void *base) {
  *(uintptr_t *)base = info->dlpi_addr; /* the program comes first */
  return 1;
}

/* Structs have grown since CUDA 11, and nothing in a call says which are meant. */
static int is_too_old(const Elf64_Sym *symbols, size_t count, const char *names) {
  int has_properties = 0;
  for (size_t i = 0; i < count; i++) {
    const char *name = names + symbols[i].st_name;
    if (!strcmp(name, "cudaLibraryLoadData") || !strcmp(name, "cudaGetDeviceProperties_v2")) return 0;
    has_properties |= symbols[i].st_value && !strcmp(name, "cudaGetDeviceProperties");
  }
  return has_properties;
}

static void redirect_symbols(const unsigned char *file, size_t length, uintptr_t base) {
  const Elf64_Ehdr *header = (const void *)file;
  const Elf64_Shdr *sections = (const void *)(file + header->e_shoff);
  for (unsigned at = 0; at < header->e_shnum; at++) {
    if (sections[at].sh_type != SHT_SYMTAB || sections[at].sh_offset + sections[at].sh_size > length) continue;
    const Elf64_Sym *symbols = (const void *)(file + sections[at].sh_offset);
    const char *names = (const char *)file + sections[sections[at].sh_link].sh_offset;
    size_t count = sections[at].sh_size / sizeof *symbols;
    if (is_too_old(symbols, count, names)) {
      sim_refuse("the CUDA runtime in the program, which is older than 12,");
      return;
    }
    for (size_t i = 0; i < count; i++) {
      const char *name = names + symbols[i].st_name;
      if (ELF64_ST_TYPE(symbols[i].st_info) != STT_FUNC || !symbols[i].st_value) continue;
      if (strncmp(name, "cuda", 4) && strncmp(name, "__cuda", 6)) continue;
      if (symbols[i].st_size < JUMP_BYTES && strncmp(name, "__cuda", 6)) continue;
      void *ours = own_symbol(name);
      if (ours) redirect((unsigned char *)base + symbols[i].st_value, ours);
    }
  }
}

__attribute__((constructor)) static void redirect_static_runtime(void) {
  if (!getenv("TILESAT_DRIVER")) return;
  int handle = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  struct stat about;
  if (handle >= 0 && !fstat(handle, &about) && about.st_size > (off_t)sizeof(Elf64_Ehdr)) {
    unsigned char *file = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, handle, 0);
    const Elf64_Ehdr *header = (const void *)file;
    uintptr_t base = 0;
    if (file != MAP_FAILED && !memcmp(file, ELFMAG, SELFMAG) && header->e_ident[EI_CLASS] == ELFCLASS64 &&
        header->e_shoff + (uint64_t)header->e_shnum * sizeof(Elf64_Shdr) <= (uint64_t)about.st_size) {
      dl_iterate_phdr(first_object, &base);
      redirect_symbols(file, (size_t)about.st_size, base);
    }
    if (file != MAP_FAILED) munmap(file, (size_t)about.st_size);
  }
  if (handle >= 0) close(handle);
}
