// Tests which lines the sources of logs yield: of a file that grows, is replaced or truncated, of the journal and the kernel.
import { appendFileSync, mkdirSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, test, vi } from "vitest";
import { parseMonitor } from "../../../../node-shim/sources/problems/config.ts";
import { logSource, type SourceOptions } from "../../../../node-shim/sources/problems/log-source.ts";
import { temporaryFolder } from "../../base/temporary-folder.ts";

let temporary: { path: string; remove: () => void };
let path: string;
beforeEach(() => {
  temporary = temporaryFolder();
  path = join(temporary.path, "kern.log");
});
afterEach(async () => {
  for (const end of ending.splice(0)) await end();
  temporary.remove();
});
const ending: (() => Promise<unknown>)[] = [];

const NOW = Date.UTC(2026, 0, 2, 12);

function sourceOf(file: object, options: Partial<SourceOptions> = {}) {
  const config = parseMonitor(JSON.stringify(file));
  if (!config.ok || config.value.plugin === "custom") throw new Error("is no monitor of a log");
  return logSource(config.value, {
    sinceMs: 0,
    wallMs: () => NOW,
    uptimeMs: () => 3_600_000,
    firstProcessMs: () => 0,
    turn: () => Promise.resolve(),
    pause: () => Promise.resolve(),
    warn: () => undefined,
    run: () => {
      throw new Error("runs no program");
    },
    ...options,
  });
}

const fileOf = (logPath: string, pluginConfig = {}) => ({
  plugin: "filelog",
  logPath,
  pluginConfig: {
    timestamp: "^\\S+",
    message: "kernel: (.*)",
    timestampFormat: "2006-01-02T15:04:05Z07:00",
    ...pluginConfig,
  },
  skipList: [" audit: "],
});

/** Returns a function that returns the next turn's lines. */
function reading(file: object, options?: Partial<SourceOptions>) {
  const source = sourceOf(file, options);
  if (!source.ok) throw new Error(source.error);
  const lines = source.value.read(new AbortController().signal)[Symbol.asyncIterator]();
  ending.push(async () => lines.return?.());
  return async () => {
    const { value } = (await lines.next()) as { value?: string };
    return value?.split("\n").slice(0, -1);
  };
}

describe("a file", () => {
  it("grows, is replaced, is truncated → each line once", async () => {
    writeFileSync(path, "one\ntw");
    const next = reading(fileOf(path));
    expect(await next()).toEqual(["one"]);
    appendFileSync(path, "o\nthree\n");
    expect(await next()).toEqual(["two", "three"]);
    renameSync(path, `${path}.1`);
    appendFileSync(`${path}.1`, "last\n");
    expect(await next()).toEqual(["last"]);
    writeFileSync(path, "new\n");
    expect([await next(), await next()]).toContainEqual(["new"]);
    writeFileSync(path, "a\n");
    expect([await next(), await next()]).toContainEqual(["a"]);
  });

  it("is replaced after lines that were not read → no line is lost", async () => {
    writeFileSync(path, "");
    const next = reading(fileOf(path));
    await next();
    appendFileSync(path, "last\n");
    renameSync(path, `${path}.1`);
    writeFileSync(path, "new\n");
    expect([...(await next())!, ...(await next())!]).toEqual(["last", "new"]);
  });

  it("is replaced after more lines than a read takes → all of them, then those of the new file", async () => {
    writeFileSync(path, "");
    const next = reading(fileOf(path));
    await next();
    const numbers = Array.from({ length: 60 }, (_, index) => String(index));
    appendFileSync(path, numbers.map((number) => `${number} ${"x".repeat(60_000)}\n`).join(""));
    renameSync(path, `${path}.1`);
    writeFileSync(path, "new\n");
    const found: string[] = [];
    for (let turns = 0; turns < 6; turns++) found.push(...(await next())!);
    expect(found.map((line) => line.split(" ")[0])).toEqual([...numbers, "new"]);
  });

  it("is truncated, and is longer than before at the next read → its lines, and not a part of one", async () => {
    writeFileSync(path, "one\ntwo\n");
    const next = reading(fileOf(path));
    expect(await next()).toEqual(["one", "two"]);
    writeFileSync(path, "three\nfour\nfive\n");
    expect(await next()).toEqual(["three", "four", "five"]);
    appendFileSync(path, "six\n");
    expect(await next()).toEqual(["six"]);
  });

  it("is truncated while a program writes at its earlier place → the lines after the hole", async () => {
    writeFileSync(path, "x".repeat(100_000) + "\n");
    const next = reading(fileOf(path));
    await next();
    truncateSync(path);
    truncateSync(path, 200_000);
    appendFileSync(path, "one\n");
    expect(await next()).toEqual(["one"]);
  });

  it("grows faster than it can be read → its last lines, and the loss is named", async () => {
    writeFileSync(path, "one\n");
    const warnings: string[] = [];
    const next = reading(fileOf(path), { warn: (message) => warnings.push(message) });
    await next();
    truncateSync(path, 100 * 1024 * 1024);
    appendFileSync(path, "part\ntwo\n");
    await next();
    expect(await next()).toEqual([]);
    expect(warnings).toEqual([
      expect.stringMatching(/ grows faster than it can be read: \d+ bytes were skipped$/),
    ]);
    const later = [];
    for (let turns = 0; turns < 6; turns++) later.push(await next());
    expect(later.flat()).toEqual(["two"]);
  });

  it("is missing for longer than a rotation takes → a fault", async () => {
    writeFileSync(path, "");
    const next = reading(fileOf(path));
    await next();
    rmSync(path);
    const turns = async () => {
      for (let turn = 0; turn < 7; turn++) await next();
    };
    await expect(turns()).rejects.toThrow("is missing");
  });

  it.each([
    ["missing", () => undefined, "cannot be read (ENOENT)"],
    ["a folder", () => mkdirSync(path), "is not a file"],
  ])("is %s at the start → a fault", async (_, make, fault) => {
    make();
    await expect(reading(fileOf(path))()).rejects.toThrow(fault);
  });

  test.each([
    ["a line", "2026-01-02T11:00:00Z host kernel: oops é", { atMs: NOW - 3_600_000, message: "oops é" }],
    ["another program's line", "2026-01-02T11:00:00Z host cron: oops", null],
    ["a line of the skip list", "2026-01-02T11:00:00Z audit: kernel: oops", null],
    ["a line before the first that counts", "2026-01-02T09:00:00Z host kernel: oops", null],
    ["a line without a time", "yesterday host kernel: oops", null],
  ])("%s → %j", (_, line, expected) => {
    const source = sourceOf(fileOf(path), { sinceMs: NOW - 2 * 3_600_000 });
    expect(source.ok && source.value.lineOf(Buffer.from(line).toString("latin1"))).toEqual(expected);
  });

  it("a time without a year that would be in the future → last year's", () => {
    const source = sourceOf(fileOf(path, { timestamp: "^.{15}", timestampFormat: "Jan _2 15:04:05" }));
    const atMs = source.ok ? source.value.lineOf("Dec 31 23:00:00 kernel: x")?.atMs : undefined;
    expect(atMs).toBe(new Date(2025, 11, 31, 23).getTime());
  });

  it.each([
    ["timestamp", ""],
    ["message", "("],
    ["timestampFormat", ""],
  ])("the field %s is %j → refused by name", (field, value) => {
    const source = sourceOf(fileOf(path, { [field]: value }));
    expect(!source.ok && source.error).toContain(`/pluginConfig/${field}: `);
  });
});

describe("the journal", () => {
  const entry = (message: unknown, cursor = "c1") =>
    JSON.stringify({ __REALTIME_TIMESTAMP: String(NOW * 1000), __CURSOR: cursor, MESSAGE: message });

  it("is followed from the first line that counts, and after a fault from the last line", async () => {
    const calls: (readonly string[])[] = [];
    const source = sourceOf(
      { plugin: "journald", pluginConfig: { source: "dockerd" }, logPath: "/var/log/journal" },
      {
        sinceMs: 5000,
        async *run(_program, args) {
          if (!args.includes("--boot")) calls.push(args);
          yield `${entry("a")}\n`;
        },
      },
    );
    if (!source.ok) throw new Error(source.error);
    for (const __ of [1, 2])
      for await (const lines of source.value.read(new AbortController().signal))
        if (lines !== "") expect(lines).toBe(`${entry("a")}\n`);
    expect(calls.map((args) => args.slice(-2))).toEqual([
      ["--since=@5", "SYSLOG_IDENTIFIER=dockerd"],
      ["--after-cursor=c1", "SYSLOG_IDENTIFIER=dockerd"],
    ]);
    expect(source.value.lineOf(entry("  died \n"))).toEqual({ atMs: NOW, message: "died" });
    expect(source.value.lineOf(entry([1, 2]))).toBeNull();
    expect(source.value.lineOf("{")).toBeNull();
    expect(source.value.asWritten('say "x"')).toBe(String.raw`say \"x\"`);
  });

  it("of the kernel → none of the lines that other programs write in its name", async () => {
    let matches: readonly string[] = [];
    const next = reading(
      { plugin: "journald", pluginConfig: { source: "kernel" } },
      {
        async *run(_program, args) {
          matches = args.slice(-2);
          yield `${entry("a")}\n`;
        },
      },
    );
    await next();
    expect(matches).toEqual(["SYSLOG_IDENTIFIER=kernel", "_TRANSPORT=kernel"]);
  });

  const MINUTE_US = 60_000_000;
  test.each<
    [situation: string, source: string, oldestUs: number | null, kernelUs: number | null, fault?: string]
  >([
    ["lines of the kernel", "kernel", 0, 0],
    ["all lines since the boot, and none of the kernel", "kernel", MINUTE_US, null, "no lines of the kernel"],
    ["lost its oldest lines, and has none of the kernel", "kernel", 60 * MINUTE_US, null],
    ["no lines", "kernel", null, null, "no lines since the boot"],
    ["no lines", "dockerd", null, null, "no lines since the boot"],
    ["lines, but none of the program", "dockerd", 60 * MINUTE_US, null],
  ])("has %s: of %s → read, or a fault", async (_, source, oldestUs, kernelUs, fault) => {
    const next = reading(
      { plugin: "journald", pluginConfig: { source } },
      {
        async *run(_program, args) {
          if (!args.includes("--boot")) return;
          const us = args.includes("_TRANSPORT=kernel") ? kernelUs : oldestUs;
          if (us !== null) yield `${JSON.stringify({ __MONOTONIC_TIMESTAMP: String(us) })}\n`;
        },
      },
    );
    if (fault === undefined) expect(await next()).toEqual([]);
    else await expect(next()).rejects.toThrow(fault);
  });

  it("in a container that started later than the kernel, without lines of the kernel → a fault", async () => {
    const next = reading(
      { plugin: "journald", pluginConfig: { source: "kernel" } },
      {
        firstProcessMs: () => 3_600_000,
        async *run(_program, args) {
          const isOldest = args.includes("--boot") && !args.includes("_TRANSPORT=kernel");
          if (isOldest) yield `${JSON.stringify({ __MONOTONIC_TIMESTAMP: String(61 * MINUTE_US) })}\n`;
        },
      },
    );
    await expect(next()).rejects.toThrow("node-shim install-service --kmsg");
  });

  it("writes nothing in a hundred turns → no turn leaves anything behind in the memory", async () => {
    const pending = new Promise<IteratorResult<string>>(() => undefined);
    const reactions = vi.spyOn(pending, "then");
    const source = sourceOf(
      { plugin: "journald", pluginConfig: { source: "dockerd" }, logPath: "/var/log/other" },
      { run: () => ({ [Symbol.asyncIterator]: () => ({ next: () => pending }) }) as never },
    );
    if (!source.ok) throw new Error(source.error);
    const texts = source.value.read(new AbortController().signal)[Symbol.asyncIterator]();
    for (let turns = 0; turns < 100; turns++) expect((await texts.next()).value).toBe("");
    expect(reactions).toHaveBeenCalledTimes(1);
  });

  it("without a program's name → refused", () => {
    const source = sourceOf({ plugin: "journald" });
    expect(!source.ok && source.error).toBe("/pluginConfig/source: must name the log's program");
  });
});
