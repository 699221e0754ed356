// Tests questions about processes with a played /proc: the order, what is measured, and who has arguments.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished, test } from "vitest";
import { commands, processes, rates } from "../../../node-shim/questions/processes.ts";
import { cleanLine } from "../../../node-shim/questions/redaction.ts";
import { QUESTION_LIMITS } from "../../../shared/protocol/limits.ts";
import { temporaryFolder } from "../base/temporary-folder.ts";
import { heldTimers } from "../base/timers.ts";
import { collected, played } from "./asking.ts";

let root: string;
const write = (path: string, text: string) => {
  mkdirSync(join(root, "proc", path, ".."), { recursive: true });
  writeFileSync(join(root, "proc", path), text);
};

interface Process {
  name: string;
  ticks: number;
  memoryKib: number;
  written?: number;
}

function run(pid: number, { name, ticks, memoryKib, written }: Process): void {
  write(`${pid}/stat`, `${pid} (${name}) S 1 1 1 0 -1 0 0 0 0 0 ${ticks} 0 0 0 20 0 1 0 5 0 0`);
  write(`${pid}/status`, `Name:\tx\nUid:\t1000\t1000\t1000\t1000\nVmRSS:\t  ${memoryKib} kB\n`);
  write(`${pid}/cmdline`, `/usr/bin/${name}\0--password\0hunter2\0`);
  if (written !== undefined) write(`${pid}/io`, `rchar: 9\nread_bytes: 0\nwrite_bytes: ${written}\n`);
}

beforeEach(() => {
  const { path, remove } = temporaryFolder();
  onTestFinished(remove);
  root = path;
  write("loadavg", "1.50 0.70 0.20 1/200 300\n");
  write("meminfo", "MemTotal: 8388608 kB\nMemAvailable: 1048576 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n");
  write(
    "pressure/io",
    "some avg10=9.00 avg60=0.00 avg300=0.00 total=1\nfull avg10=1.00 avg60=0.00 avg300=0.00 total=1\n",
  );
  run(1, { name: "init) R (x", ticks: 1000, memoryKib: 2048, written: 0 });
  run(7, { name: "busy", ticks: 100, memoryKib: 10, written: 5000 });
  run(9, { name: "large", ticks: 5, memoryKib: 4_000_000 });
});

/** Asks, and lets a second pass, after `meanwhile`. Returns the names or commands in the answer's order. */
async function order(lines: AsyncIterable<string>, meanwhile = () => {}): Promise<string[]> {
  const pass = heldTimers();
  const all = collected(lines);
  await new Promise((resolve) => void setImmediate(resolve));
  meanwhile();
  pass(1000);
  return (await all).slice(5).map((line) => line.replace(/^(?:.*?\s)S\s+/, ""));
}
const by = (by: "cpu" | "memory" | "disk", top = 9) => processes({ by, top }, played({}, { root }));

test("the head: load, memory and pressure, as far as the kernel measures it", async () => {
  const pass = heldTimers();
  const all = collected(by("cpu"));
  await new Promise((resolve) => void setImmediate(resolve));
  pass(1000);
  expect((await all).slice(0, 5)).toEqual([
    "load: 1.50 0.70 0.20",
    "memory: 1.0 GiB of 8.0 GiB available; swap: 0 B of 0 B free",
    "pressure of io: some avg10=9.00 avg60=0.00 avg300=0.00 total=1",
    "pressure of io: full avg10=1.00 avg60=0.00 avg300=0.00 total=1",
    "3 processes; those with the most cpu:",
  ]);
});

describe("the order", () => {
  it("by CPU → by its use in the second, and not since the start", async () => {
    const meanwhile = () => run(7, { name: "busy", ticks: 150, memoryKib: 10 });
    expect((await order(by("cpu"), meanwhile)).slice(0, 2)).toEqual(
      ["NAME", "busy"].map((name) => expect.stringContaining(name)),
    );
  });
  it("by memory", async () => {
    expect((await order(by("memory")))[1]).toBe("large");
  });
  it("by disk → also with processes whose use is unknown", async () => {
    const meanwhile = () => run(1, { name: "init", ticks: 1000, memoryKib: 2048, written: 8000 });
    expect((await order(by("disk"), meanwhile))[1]).toBe("init");
  });
  it("at most as many as asked for", async () => {
    expect(await order(by("memory", 1))).toHaveLength(2);
  });
});

it("a name with parentheses → as it is; a process that ends → is left out", async () => {
  const names = await order(by("memory"), () => rmSync(join(root, "proc/9"), { recursive: true }));
  expect(names.slice(1)).toEqual(["init) R (x", "busy"]);
});

it("processes → no arguments; commands → arguments", async () => {
  expect((await order(by("cpu"))).join("\n")).not.toContain("hunter2");
  const all = await order(commands({ by: "memory", top: 1 }, played({}, { root })));
  expect(all[1]).toBe("/usr/bin/large --password hunter2");
});

test.each([
  ["a value with a blank", "sql\0--password\0my hunter2\0-v\0", "sql --password [redacted] -v"],
  ["a value with separators", "sql\0--password=a;b,hunter2\0-v\0", "sql --password=[redacted] -v"],
  ["a value with quotes", `sql\0--token="my" hunter2\0-v\0`, "sql --token=[redacted] -v"],
  ["a script", "sh\0-c\0sql --password hunter2 x\0", 'sh -c "sql --password [redacted] x"'],
  ["arguments of megabytes", "x".repeat(5_000_000), "x".repeat(QUESTION_LIMITS.lineLength)],
])("%s → an argument whose end the redaction knows", async (_, cmdline, expected) => {
  write("9/cmdline", cmdline);
  const all = await order(commands({ by: "memory", top: 1 }, played({}, { root })));
  expect(all[1]!.length < 100 ? cleanLine(all[1]!) : all[1]).toBe(expected);
});

test("thousands of processes → other work of this process goes on meanwhile, and ends the measuring", async () => {
  for (let pid = 100; pid < 300; pid++) run(pid, { name: "x", ticks: 1, memoryKib: 1 });
  const stop = new AbortController();
  const measured = rates(root, stop.signal);
  setImmediate(() => stop.abort());
  await expect(measured).rejects.toThrow("no time to read all of the 203 processes");
});
