// Compares the generated tables in the pages with the code.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Command } from "commander";
import { describe, expect, expectTypeOf, it, test } from "vitest";
import type { LogMessage as ShimLine, WarningSource } from "../../node-shim/base/log.ts";
import { machineFlags } from "../../node-shim/cli/flags.ts";
import { MACHINE_FLAGS } from "../../node-shim/machine/flag-table.ts";
import { root } from "./markdown.ts";
import type { LogMessage } from "../../worker/log.ts";
import { COST_PARTS_FILE, costPartsModule, generatedPages, pageWithTables } from "./tables.ts";

test.each(generatedPages)("%s → its tables are those of the code", async (page) => {
  const text = readFileSync(join(root, page), "utf8");
  expect(text, "`npm run generate` writes the tables anew").toBe(await pageWithTables(page));
});

test("the prices of rollcall cost are those of docs/costs.md", async () => {
  expect(readFileSync(join(root, COST_PARTS_FILE), "utf8")).toBe(await costPartsModule());
});

describe("the table of flags", () => {
  const options = machineFlags(new Command()).options;

  it("each flag is known to the command line by its name in the table", () => {
    const names = options.map((option) => option.attributeName());
    expect(names.slice(0, Object.keys(MACHINE_FLAGS).length)).toEqual(Object.keys(MACHINE_FLAGS));
  });
});

// The compiler checks the rows: a log line without a row is an error of `npm run types`.
test("a line of a log → has a row, with values in place of its words in capitals", () => {
  expectTypeOf<"lease not renewed">().toExtend<LogMessage>();
  expectTypeOf<`registration failed: ${string}`>().toExtend<LogMessage>();
  expectTypeOf<"a line of no table: 1">().not.toExtend<LogMessage>();
  expectTypeOf<`device plugin for ${string} registered`>().toExtend<ShimLine>();
  expectTypeOf<`DiskPressure: ${string}`>().toExtend<ShimLine>();
  expectTypeOf<"Anything: else">().not.toExtend<ShimLine>();
  expectTypeOf<`volume ${string}`>().toExtend<WarningSource>();
  expectTypeOf<"a source of no table">().not.toExtend<WarningSource>();
});
