// Tests the status file of a running shim: written after each report, atomically, readable for all users. A fault of
// the file does not disturb the shim.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, test } from "vitest";
import type { Reported } from "../../../node-shim/loop/loop.ts";
import { notedOf, statusBoard } from "../../../node-shim/status/board.ts";
import { MAX_STATUS_BYTES, readStatus, sparePath } from "../../../node-shim/status/status-file.ts";
import { isAlive } from "../../../node-shim/base/process-id.ts";
import { defaultConfiguration } from "../../../node-shim/config/config.ts";
import { DROP_IN_LIMITS, LIMITS } from "../../../shared/protocol/limits.ts";
import type { Facts } from "../../../shared/protocol/facts.ts";
import { temporaryFolder } from "../base/temporary-folder.ts";
import { failed, ok, refused, ROOMY, TIGHT } from "../loop/machine.ts";
import { at, NOW_MS } from "./status.ts";

let folder: { path: string; remove: () => void };
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder.remove());

const FACTS: Facts = {
  settings: { hostname: "edge-7", ...defaultConfiguration() },
  platform: { os: "linux", architecture: "amd64" },
  runtime: { name: "containerd", version: "2.1.4" },
};
const reportOf = (changes: Partial<Reported> = {}): Reported => ({
  facts: FACTS,
  vitals: { signals: ROOMY },
  outcome: ok(),
  nextInMs: 9600,
  ...changes,
});

function board(environment: NodeJS.ProcessEnv = {}, nowMs = () => NOW_MS) {
  const lines: string[] = [];
  const options = {
    name: "edge-7",
    origin: "https://a.example",
    state: folder.path,
    bootID: "b",
    environment,
  };
  const made = statusBoard({
    ...options,
    nowMs,
    root: folder.path,
    log: (level, line) => lines.push(`${level} ${line}`),
  });
  const read = () => readStatus(folder.path, { root: folder.path, environment, isAlive, bootID: "b" });
  return { ...made, lines, read };
}

it("the transport of reports → written with its start, and with the time of the next attempt for a socket", () => {
  const { transport, file } = board();
  transport({ via: "http", choice: "auto", fault: null, againInMs: null });
  expect(file().transport).toEqual({ via: "http", since: at(0), choice: "auto" });
  transport({ via: "http", choice: "auto", fault: "HTTP 403", againInMs: 600_000 });
  expect(file().transport).toEqual({
    via: "http",
    since: at(0),
    choice: "auto",
    fault: "HTTP 403",
    againAt: at(600),
  });
});

it("signals below their thresholds → the pressures, until the period after the last one", () => {
  let nowMs = NOW_MS;
  const { reported, file } = board({}, () => nowMs);
  const pressuresAfter = (signals: Reported["vitals"]["signals"], ms: number) => {
    nowMs += ms;
    reported(reportOf({ vitals: { signals } }));
    return file().pressures;
  };
  expect(pressuresAfter(ROOMY, 0)).toBeUndefined();
  expect(pressuresAfter(TIGHT, 10_000)).toEqual(["MemoryPressure"]);
  expect(pressuresAfter(ROOMY, 299_999)).toEqual(["MemoryPressure"]);
  expect(pressuresAfter(ROOMY, 1)).toBeUndefined();
});

describe("a report → the written status", () => {
  const BEFORE = { name: "edge-7", answer: undefined };
  test.each<[situation: string, report: Partial<Reported>, noted: object]>([
    [
      "taken",
      {},
      {
        report: { at: at(0) },
        answer: { at: at(0), phase: "registered", ready: true },
        nextReportAt: at(9.6),
        notReady: undefined,
        runtime: "containerd://2.1.4",
      },
    ],
    [
      "no answer",
      { outcome: failed("connect ECONNREFUSED"), nextInMs: 500 },
      {
        report: { at: at(0), fault: { reason: "failed", message: "connect ECONNREFUSED" } },
        nextReportAt: at(0.5),
      },
    ],
    [
      "refused",
      { outcome: refused(401) },
      { report: { at: at(0), fault: { reason: "unauthenticated", message: "Refused. Do this." } } },
    ],
    ["no runtime", { facts: { ...FACTS, runtime: null } }, { runtime: null }],
    [
      "not Ready: the runtime's errors",
      {
        outcome: ok({ ready: false }),
        vitals: { signals: ROOMY, errors: { runtime: ["container runtime is down"] } },
      },
      { notReady: { source: "runtime", message: expect.stringContaining("container runtime is down") } },
    ],
    [
      "not Ready: the machine shuts down",
      { outcome: ok({ ready: false }), vitals: { signals: ROOMY, shuttingDown: true } },
      { notReady: { source: "shutdown", message: expect.stringContaining("node is shutting down") } },
    ],
    [
      "not Ready: facts are missing",
      { outcome: ok({ ready: false }) },
      {
        notReady: {
          source: "facts",
          message: expect.stringMatching(/^missing node capacity for resources: /),
        },
      },
    ],
  ])("%s", (_situation, report, noted) => {
    expect(notedOf(reportOf(report), BEFORE, NOW_MS)).toMatchObject(noted);
  });

  it("no answer to the last report → the former answer stays", () => {
    const { reported, file } = board();
    reported(reportOf());
    reported(reportOf({ outcome: failed() }));
    expect(file()).toMatchObject({
      report: { fault: { reason: "failed" } },
      answer: { phase: "registered" },
    });
  });
});

describe("the file", () => {
  it("its folder is missing → written in memory, and removed there once the folder can be written", async () => {
    const gone = { RUNTIME_DIRECTORY: join(folder.path, "gone") };
    const { reported, written, read, lines } = board(gone);
    const spare = sparePath(folder.path, folder.path);
    reported(reportOf());
    reported(reportOf());
    await written();
    expect(read()).toMatchObject({ isRunning: true, file: { answer: { ready: true } } });
    expect(lines).toEqual([
      `warn status: ${gone.RUNTIME_DIRECTORY}/status.json cannot be written (ENOENT); ${spare} has the status until the fault is over`,
    ]);
    mkdirSync(gone.RUNTIME_DIRECTORY);
    reported(reportOf());
    await written();
    expect([existsSync(spare), read()?.isRunning]).toEqual([false, true]);
  });

  it("there after a report, without a half-written file, readable for all with any umask, its process runs", async () => {
    const umask = process.umask(0o077);
    try {
      const { note, reported, written, read } = board();
      note({ thumbprint: "T", waiting: "waiting for an operator" });
      reported(reportOf());
      await written();
      expect(readdirSync(folder.path)).toEqual(["status.json"]);
      expect(statSync(join(folder.path, "status.json")).mode & 0o777).toBe(0o644);
      expect(read()).toMatchObject({ isRunning: true, file: { thumbprint: "T", answer: { ready: true } } });
      expect(read()?.file.waiting).toBeUndefined();
    } finally {
      process.umask(umask);
    }
  });

  it("contains nothing that other users must not know", async () => {
    const { reported, written } = board();
    reported(reportOf({ outcome: ok({ ticket: "the-ticket" }) }));
    await written();
    expect(readFileSync(join(folder.path, "status.json"), "utf8")).not.toMatch(/ticket|startId|kid/);
  });

  it("texts of others → without control characters, and the file always stays within the size limit", async () => {
    const long = "\u{1B}€".repeat(LIMITS.textLength);
    const failures = Array.from({ length: DROP_IN_LIMITS.dropIns }, () => ({
      name: "€".repeat(DROP_IN_LIMITS.nameLength),
      error: "€".repeat(DROP_IN_LIMITS.messageLength),
    }));
    const dropIns = { resources: {}, labels: {}, conditions: [], working: 0, failures };
    const factsRefused = { path: long, message: long };
    const { reported, written, read } = board();
    reported(reportOf({ facts: { ...FACTS, dropIns }, outcome: ok({ message: long, factsRefused }) }));
    await written();
    expect(statSync(join(folder.path, "status.json")).size).toBeLessThanOrEqual(MAX_STATUS_BYTES);
    expect(read()?.file.answer?.message).toHaveLength(LIMITS.textLength);
    expect(read()?.file.answer?.message).not.toContain("\u{1B}");
  });
});

describe("cannot be written → one line, and reports continue; once it can, it is there again", () => {
  it("its folder is removed, and made again", async () => {
    const place = join(folder.path, "place");
    const { reported, written, lines, read } = board({ RUNTIME_DIRECTORY: place });
    for (let report = 0; report < 3; report++) {
      reported(reportOf());
      await written();
    }
    expect(lines).toEqual([
      expect.stringMatching(
        /^warn status: .*\/place\/status.json cannot be written \(ENOENT\); .* has the status/,
      ),
    ]);
    mkdirSync(place);
    reported(reportOf());
    await written();
    expect(read()).not.toBeNull();
    rmSync(place, { recursive: true });
    reported(reportOf());
    await written();
    expect(lines).toHaveLength(2);
  });

  it("no place can be written → one line, which says that the status shows less", async () => {
    const place = join(folder.path, "place");
    writeFileSync(join(folder.path, "run"), "no folder");
    const { reported, written, lines } = board({ RUNTIME_DIRECTORY: place });
    for (let report = 0; report < 3; report++) {
      reported(reportOf());
      await written();
    }
    expect(lines).toEqual([
      `warn status: ${place}/status.json cannot be written (ENOENT); reports go on, and \`node-shim status\` shows less`,
    ]);
  });

  it("a folder that others can write → no file is written there", async () => {
    const place = join(folder.path, "place");
    mkdirSync(place);
    chmodSync(place, 0o777);
    const { reported, written, lines } = board({ RUNTIME_DIRECTORY: place });
    reported(reportOf());
    await written();
    expect(lines).toEqual([expect.stringMatching(/place can be written by others \(mode 777\): chmod go-w/)]);
    expect(readdirSync(place)).toEqual([]);
  });
});
