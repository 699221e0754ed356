// What a program needs to run, out of the file that its linker made. Pure: bytes in, bytes out.

const MAGIC = Buffer.from([0x7f, 0x45, 0x4c, 0x46]);
const CLASS_64 = 2;
const LITTLE_ENDIAN = 1;
const HEADER_BYTES = 64;
/** Where the fields of a 64-bit ELF header stand, by their names in elf(5). */
const FIELD = {
  e_phoff: 32,
  e_shoff: 40,
  e_phentsize: 54,
  e_phnum: 56,
  e_shnum: 60,
  e_shstrndx: 62,
} as const;
/** And those of a program header. */
const SEGMENT = { p_offset: 8, p_filesz: 32 } as const;

/**
 * The program without its symbols and debugging information, which lie behind what is loaded: an eighth of Node.js. Not
 * by strip(1), whose bytes depend on its version and which knows the builder's architecture alone. Throws where it is not
 * a 64-bit program of Linux.
 */
export function withoutSymbols(program: Buffer): Buffer {
  if (program.length < HEADER_BYTES || !program.subarray(0, 4).equals(MAGIC))
    throw new Error("the runtime is no program");
  if (program[4] !== CLASS_64 || program[5] !== LITTLE_ENDIAN)
    throw new Error("the runtime is not of a 64-bit architecture");
  const loaded = Buffer.from(program.subarray(0, endOfSegments(program)));
  // Section headers are for linkers and debuggers; the kernel and the loader read none.
  loaded.writeBigUInt64LE(0n, FIELD.e_shoff);
  loaded.writeUInt16LE(0, FIELD.e_shnum);
  loaded.writeUInt16LE(0, FIELD.e_shstrndx);
  return loaded;
}

function endOfSegments(program: Buffer): number {
  const table = Number(program.readBigUInt64LE(FIELD.e_phoff));
  const size = program.readUInt16LE(FIELD.e_phentsize);
  const count = program.readUInt16LE(FIELD.e_phnum);
  const ends = Array.from({ length: count }, (_, index) => {
    const at = table + index * size;
    return Number(
      program.readBigUInt64LE(at + SEGMENT.p_offset) + program.readBigUInt64LE(at + SEGMENT.p_filesz),
    );
  });
  const end = Math.max(table + count * size, ...ends);
  if (end > program.length) throw new Error("the runtime is cut off");
  return end;
}
