// Tests rollcall top: its requests, its orders, and its output.
import { afterAll, afterEach, beforeAll, describe, expect, it, test } from "vitest";
import type { MachineUsage } from "../../../../shared/protocol/fleet-answers.ts";
import { shownUsage, USAGE, usageOf } from "../../../../shared/protocol/usage.ts";
import { type Answered, type FakeWorker, fakeWorker, play, type Played } from "../played.ts";

const machine = (name: string, usage: Partial<MachineUsage> = {}): MachineUsage => ({
  name,
  at: "2026-01-01T11:59:30.000Z",
  ...shownUsage(usageOf(USAGE.map(() => null)), null),
  ...usage,
});
const MACHINES = [
  machine("edge-7", {
    cpus: 8,
    cpuUsed: 0.534,
    load1: 0.5,
    memoryWorkingSetBytes: 15.2 * 2 ** 30,
    memoryCapacityBytes: 16 * 2 ** 30,
    diskReadBytesPerSecond: 0,
    diskWrittenBytesPerSecond: 1_500_000,
    networkReceivedBytesPerSecond: 2048,
    networkSentBytesPerSecond: 900,
    cpuPressure: 0.004,
    memoryPressure: 0.31,
    ioPressure: 0.02,
    temperatureCelsius: 51.5,
  }),
  machine("edge-8", {
    cpus: 2,
    cpuUsed: 1.5,
    load1: 3.25,
    memoryWorkingSetBytes: 512 * 2 ** 20,
    memoryCapacityBytes: 2 ** 30,
  }),
  machine("edge-9"),
];

let worker: FakeWorker;
let usage: Answered = { body: {} };
beforeAll(async () => {
  worker = await fakeWorker(({ path, query }) => {
    if (path === "/v1/usage") return usage;
    const names = "selector" in query ? ["edge-7", "edge-5"] : ["edge-1"];
    const counts = { matching: { ready: "selector" in query ? 2 : 1000 }, fleet: { ready: 1000 } };
    return { body: { machines: names.map((name) => ({ name, state: "ready" })), counts, cursor: null } };
  });
});
afterAll(() => worker.close());
const whole = () => ({ body: { machines: MACHINES, isComplete: true } });
usage = whole();
afterEach(() => {
  usage = whole();
  worker.asked.length = 0;
});
const top = (args: string[] = [], played: Played = {}) =>
  play(["top", ...args], { url: worker.url, ...played });
const namesIn = (stdout: string) => stdout.match(/edge-\d/g);

const HEAD = "3 of 1000 machines send their usage";
test.each<[columns: number | undefined, lines: string[]]>([
  [
    undefined,
    [
      HEAD,
      "NAME     CPU     CPU%   LOAD   MEMORY   MEMORY%   READ/S   WRITE/S   IN/S    OUT/S   PSI-CPU   PSI-MEM   PSI-IO   TEMP   AGE",
      "edge-8   1500m   75%    3.25   512Mi    50%                                                                              30s",
      "edge-7   534m    7%     0.50   15Gi     95%       0        1.4Mi     2.0Ki   900     0%        31%       2%       52°C   30s",
      "edge-9                                                                                                                   30s",
    ],
  ],
  [
    40,
    [
      HEAD,
      "NAME    CPU    CPU%  MEMORY  MEMORY%",
      "edge-8  1500m  75%   512Mi   50%",
      "edge-7  534m   7%    15Gi    95%",
      "edge-9",
    ],
  ],
])("%s columns", async (columns, lines) => {
  const { code, stdout } = await top(["nodes"], columns === undefined ? {} : { columns });
  expect([code, stdout.split("\n")]).toEqual([0, [...lines, ""]]);
});

test.each([
  [[], ["edge-8", "edge-7", "edge-9"]],
  [
    ["nodes", "--sort", "memory"],
    ["edge-7", "edge-8", "edge-9"],
  ],
  [
    ["--sort", "load"],
    ["edge-8", "edge-7", "edge-9"],
  ],
  [
    ["--sort", "pressure"],
    ["edge-7", "edge-8", "edge-9"],
  ],
  [
    ["--sort", "temperature"],
    ["edge-7", "edge-8", "edge-9"],
  ],
  [
    ["--sort", "disk"],
    ["edge-7", "edge-8", "edge-9"],
  ],
  [
    ["--sort", "network"],
    ["edge-7", "edge-8", "edge-9"],
  ],
  [
    ["--sort", "name"],
    ["edge-7", "edge-8", "edge-9"],
  ],
  [["-l", "site=b"], ["edge-7"]],
])("top %j → %j", async (args, names) => {
  const { stdout } = await top([...args, "-o", "name"]);
  expect(namesIn(stdout)).toEqual(names);
});

describe("requests", () => {
  it("without a filter → the number of machines, and none of them", async () => {
    await top();
    expect(worker.asked).toMatchObject([
      { path: "/v1/usage" },
      { path: "/v1/machines", query: { limit: "1" } },
    ]);
  });

  it("with a filter → the names of the machines that match", async () => {
    const { stdout } = await top(["-l", "site=b"]);
    expect(worker.asked[1]).toMatchObject({ query: { selector: "site=b", fields: "name,state" } });
    expect(stdout).toMatch(/^1 of 2 machines send their usage\n/);
  });
});

test.each<[situation: string, answer: Answered, code: number, output: RegExp]>([
  ["no machine", { body: { machines: [], isComplete: true } }, 0, /^0 of 1000 machines[^]*--send-usage\.\n$/],
  [
    "a gateway did not answer",
    { body: { machines: MACHINES, isComplete: false } },
    0,
    /\nA gateway did not answer, so that machines are missing\.\nNAME/,
  ],
  [
    "an earlier Worker",
    { status: 404, body: { reason: "not-found", title: "Not found", status: 404 } },
    3,
    /takes no usage/,
  ],
])("%s", async (_, answer, code, output) => {
  usage = answer;
  const ended = await top();
  expect([ended.code, ended.stdout + ended.stderr]).toEqual([code, expect.stringMatching(output)]);
});

it("CSV has the numbers themselves, and JSON the machines that match", async () => {
  const { stdout } = await top(["-o", "csv", "-l", "site=b"]);
  expect(stdout.split("\n")[1]).toBe(
    "edge-7,0.534,0.06675,0.5,16320875724.8,0.95,0,1500000,2048,900,0.004,0.31,0.02,51.5,2026-01-01T11:59:30.000Z",
  );
  const json = await top(["-o", "json", "-l", "site=b"]);
  expect(JSON.parse(json.stdout)).toEqual({ machines: [MACHINES[0]], isComplete: true });
});

it("anything but nodes → refused", async () => {
  expect(await top(["pods"])).toMatchObject({ code: 2, stderr: expect.stringContaining("nodes") });
});
