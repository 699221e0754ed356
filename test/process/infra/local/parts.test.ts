// Tests what happens to the parts of a local cluster when their program is killed.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, expect, test, vi } from "vitest";
import { localParts } from "../../../../infra/local/parts.ts";
import { ROOT, temporaryFolder } from "../../../e2e/local-cluster.ts";

const folder = temporaryFolder();
afterAll(() => folder.remove());

/** Starts three parts, of which the second ends by itself. Prints the process IDs of the two others. */
const PROGRAM = `
import { localParts } from ${JSON.stringify(join(ROOT, "infra/local/parts.ts"))};
const parts = localParts(() => {});
const start = (command) => parts.start("part", command, ${JSON.stringify(join(folder.path, "log"))});
const first = start(["sleep", "600"]);
const second = start(["true"]);
const third = start(["sleep", "600"]);
await second.ended;
console.log(first.process.pid, third.process.pid);
setInterval(() => {}, 60_000);
`;

/** The program of a part that ignores SIGTERM. */
const IGNORING = "process.on('SIGTERM', () => {}); console.log('ignored'); setInterval(() => {}, 60_000)";

/** Starts a part that ignores SIGTERM, and waits until the part does so. */
const STUBBORN = `
import { readFileSync } from "node:fs";
import { localParts } from ${JSON.stringify(join(ROOT, "infra/local/parts.ts"))};
const log = ${JSON.stringify(join(folder.path, "stubborn"))};
const parts = localParts(() => {}, true, 10);
const part = parts.start("part", [process.execPath, "-e", ${JSON.stringify(IGNORING)}], log);
while (readFileSync(log, "utf8") === "") await new Promise((turn) => setImmediate(turn));
console.log(part.process.pid);
setInterval(() => {}, 60_000);
`;

const runs = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

test("stopped, and a part with a short time of its own ignores SIGTERM → killed after that time", async () => {
  const log = join(folder.path, "short");
  const parts = localParts(() => {}, true, 3_600_000);
  const part = parts.start("part", [process.execPath, "-e", IGNORING], log, 10);
  await vi.waitFor(() => expect(readFileSync(log, "utf8")).not.toBe(""), { timeout: 60_000, interval: 20 });
  await parts.stop();
  expect(part.process.signalCode).toBe("SIGKILL");
});

test("the program is killed, and a part ignores SIGTERM → the part is killed as well", async () => {
  const program = spawn(process.execPath, ["--input-type=module", "-e", STUBBORN], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(createInterface(program.stdout), "line")) as [string];
  program.kill("SIGKILL");
  await vi.waitFor(() => expect(runs(Number(line))).toBe(false), { timeout: 10_000, interval: 20 });
});

test("the program is killed → its parts end, though nothing of it could stop them", async () => {
  const program = spawn(process.execPath, ["--input-type=module", "-e", PROGRAM], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(createInterface(program.stdout), "line")) as [string];
  const pids = line.split(" ").map(Number);
  expect(pids.map(runs)).toEqual([true, true]);
  program.kill("SIGKILL");
  await vi.waitFor(() => expect(pids.map(runs)).toEqual([false, false]), { timeout: 10_000, interval: 20 });
});
