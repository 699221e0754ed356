// Tests that withoutSymbols keeps the parts of an ELF program that the kernel loads, and removes the rest.
import { describe, expect, it, test } from "vitest";
import { withoutSymbols } from "../../../../infra/deb/runtime.ts";

const HEADER = 64;
const SEGMENT_HEADER = 56;

/**
 * Returns an ELF program of `size` bytes with the given segments, and bytes after them that belong to no segment.
 */
function program(segments: readonly [offset: number, bytes: number][], size: number): Buffer {
  const elf = Buffer.alloc(size, 0xaa);
  elf.fill(0, 0, HEADER + segments.length * SEGMENT_HEADER);
  elf.write("\x7fELF\x02\x01\x01", "latin1");
  elf.writeBigUInt64LE(BigInt(HEADER), 32);
  elf.writeBigUInt64LE(BigInt(size - 64), 40);
  elf.writeUInt16LE(SEGMENT_HEADER, 54);
  elf.writeUInt16LE(segments.length, 56);
  elf.writeUInt16LE(42, 60);
  elf.writeUInt16LE(41, 62);
  for (const [index, [offset, bytes]] of segments.entries()) {
    elf.writeBigUInt64LE(BigInt(offset), HEADER + index * SEGMENT_HEADER + 8);
    elf.writeBigUInt64LE(BigInt(bytes), HEADER + index * SEGMENT_HEADER + 32);
  }
  return elf;
}

describe("a program", () => {
  it("with symbols behind its segments → up to the last segment's end, and no section headers", () => {
    const original = program(
      [
        [0, 400],
        [500, 300],
        [520, 16],
      ],
      1000,
    );
    const stripped = withoutSymbols(original);
    expect(stripped.length).toBe(800);
    expect(stripped.subarray(HEADER)).toEqual(original.subarray(HEADER, 800));
    expect([stripped.readBigUInt64LE(40), stripped.readUInt16LE(60), stripped.readUInt16LE(62)]).toEqual([
      0n,
      0,
      0,
    ]);
    expect(original.readUInt16LE(60), "the original").toBe(42);
  });

  it("without any → as long as it was", () => {
    expect(withoutSymbols(program([[0, 1000]], 1000)).length).toBe(1000);
  });
});

test.each<[situation: string, bytes: Buffer, fault: string]>([
  ["a script", Buffer.from(`#!/bin/sh\n${" ".repeat(HEADER)}`), "the runtime is no program"],
  ["an empty file", Buffer.alloc(0), "the runtime is no program"],
  [
    "a program of 32 bits",
    Buffer.from(program([], 100)).fill(1, 4, 5),
    "the runtime is not of a 64-bit architecture",
  ],
  [
    "a big-endian one",
    Buffer.from(program([], 100)).fill(2, 5, 6),
    "the runtime is not of a 64-bit architecture",
  ],
  ["half of one", program([[0, 1001]], 1000), "the runtime is cut off"],
])("%s → refused", (_situation, bytes, fault) => {
  expect(() => withoutSymbols(bytes)).toThrow(fault);
});
