// The examples work as they are: the shim reads the drop-ins and the configuration. The setter has its own test in
// test/shared/setters/custom.test.ts.
import { chmodSync, copyFileSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { readConfiguration } from "../../node-shim/config/config.ts";
import { dropInFolder } from "../../node-shim/sources/drop-ins/drop-ins.ts";
import { temporaryFolder } from "../e2e/local-cluster.ts";

const examples = fileURLToPath(new URL("../../examples/", import.meta.url));

test("the drop-ins, copied as their page says → both work", async () => {
  const temporary = temporaryFolder();
  const folder = join(temporary.path, "facts.d");
  mkdirSync(folder, { mode: 0o755 });
  const from = join(examples, "facts.d");
  for (const name of readdirSync(from)) {
    copyFileSync(join(from, name), join(folder, name));
    chmodSync(join(folder, name), statSync(join(from, name)).mode & 0o111 ? 0o755 : 0o644);
  }
  const nowMs = () => Date.now();
  const read = dropInFolder({
    folder,
    deadlineMs: 60_000,
    uid: process.getuid?.() ?? 0,
    wallMs: nowMs,
    nowMs,
  });
  const { dropIns } = await read(true);
  temporary.remove();
  expect(dropIns).toMatchObject({
    failures: [],
    working: 2,
    labels: { "example.com/rack": "b7" },
    resources: { "example.com/fpga": 2 },
    conditions: [{ type: "RaidDegraded", message: "as /proc/mdstat says", expiresInSeconds: 300 }],
  });
});

test("the configuration → every field of it means something", () => {
  const { ignored, configuration } = readConfiguration(join(examples, "kubelet.yaml"), {});
  expect(ignored).toEqual([]);
  expect(configuration).toMatchObject({
    nodeStatusUpdateFrequencyMs: 10_000,
    nodeLeaseDurationSeconds: 40,
    evictionHard: { "memory.available": "200Mi" },
    registerWithTaints: [{ key: "example.com/appliance", effect: "NoSchedule" }],
  });
});
