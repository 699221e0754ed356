// Tests the search for a container runtime without a configured endpoint: the runtime that it finds, the moments
// when a runtime comes and goes, and the sockets that it ignores.
import { existsSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, test } from "vitest";
import { CRI, runtimeClient } from "../../../../node-shim/sources/cri/runtime-client.ts";
import { runtimeMonitor } from "../../../../node-shim/sources/cri/monitor.ts";
import { type RuntimeFinder, runtimeFinder } from "../../../../node-shim/sources/cri/runtime-finder.ts";
import { type GrpcServer, grpcServer, serve } from "../../../../node-shim/wire/grpc/server.ts";
import { success } from "../../../../shared/result.ts";
import { place, type Place } from "../../wire/grpc/socket.ts";
import { eventually } from "../../base/eventually.ts";

let at: Place;
let nowMs: number;
let said: string[];
let flips: number;
/** The names of the runtimes whose status was requested. */
let asked: string[];
let timers: { everyMs: number; dueMs: number; call: () => void }[];

beforeEach(() => {
  at = place();
  nowMs = 1_000_000;
  [said, asked, timers] = [[], [], []];
  flips = 0;
});
afterEach(() => at.end());

const socket = (name: string) => join(dirname(at.socketPath), name);
const condition = (type: string, status = true) => ({ type, status, reason: "", message: "" });

async function listen(name: string, server: GrpcServer): Promise<GrpcServer> {
  rmSync(socket(name), { force: true });
  await server.listen(socket(name));
  at.later(server.close);
  return server;
}

/** Starts a runtime with CRI. The runtime answers a request for its status once `answers` resolves. */
const runtime = (name: string, answers: () => Promise<unknown> = () => Promise.resolve()) =>
  listen(
    name,
    grpcServer([
      serve(CRI.version, () =>
        success({ version: "0.1.0", runtimeName: name, runtimeVersion: "1.2.3", runtimeApiVersion: "v1" }),
      ),
      serve(CRI.status, async () => {
        asked.push(name);
        await answers();
        return success({ status: { conditions: [condition("RuntimeReady"), condition("NetworkReady")] } });
      }),
      serve(CRI.listImages, () => success({ images: [] })),
      serve(CRI.imageFsInfo, () => success({ imageFilesystems: [{ fsId: { mountpoint: "/images" } }] })),
    ]),
  );
/** Starts a gRPC server without CRI, like Docker's own containerd. */
const withoutCri = (name: string) => listen(name, grpcServer([]));

/** Leaves a socket without a listener, as a crash does. */
async function stale(name: string): Promise<void> {
  const server = await runtime("dead");
  renameSync(socket("dead"), socket(name));
  await server.close();
}

function find(...names: string[]): RuntimeFinder {
  const now = () => nowMs;
  const warn = (source: string, message: string) => said.push(`${source}: ${message}`);
  const every = (everyMs: number, call: () => void) => {
    const timer = { everyMs, dueMs: nowMs + everyMs, call };
    timers.push(timer);
    return () => void (timers = timers.filter((other) => other !== timer));
  };
  const finder = runtimeFinder({
    sockets: names.map(socket),
    watch: (socketPath, onFlip) => {
      const client = { socketPath, imageSocketPath: socketPath, deadlineMs: 60_000, nowMs: now, warn };
      return runtimeMonitor({
        client: (onConnect) => runtimeClient({ ...client, onConnect }),
        nodeStatusMaxImages: 50,
        nowMs: now,
        every,
        onFlip,
        warn,
      });
    },
    nowMs: now,
    every,
    onFlip: () => flips++,
    warn,
  });
  at.later(finder.close);
  return finder;
}

/** Lets time pass: calls back the timers, and waits until their work has ended. */
async function pass(finder: RuntimeFinder, ms: number): Promise<void> {
  for (const endMs = nowMs + ms; nowMs < endMs;) {
    nowMs += 1000;
    for (const timer of timers.filter(({ dueMs }) => dueMs <= nowMs)) {
      timer.dueMs += timer.everyMs;
      timer.call();
      // `refresh` joins the work that the timer has started, so awaiting it awaits that work.
      await finder.refresh();
    }
  }
}

const found = (finder: RuntimeFinder) => finder.snapshot()?.runtime?.name ?? null;

describe("at the first search", () => {
  const others = (...names: string[]) => names.map(socket).join(", ");

  test.each<[situation: string, there: () => Promise<unknown>, used: string | null, lines: () => string[]]>([
    ["no socket", async () => undefined, null, () => []],
    ["one socket", () => runtime("b"), "b", () => []],
    [
      "several sockets",
      async () => [await runtime("c"), await runtime("a"), await runtime("b")],
      "a",
      () => [
        `container runtime: ${socket("a")} is used, not ${others("b", "c")}: set containerRuntimeEndpoint to choose`,
      ],
    ],
    [
      "two paths to the same socket",
      async () => {
        await runtime("a");
        symlinkSync(socket("a"), socket("b"));
      },
      "a",
      () => [],
    ],
    ["a file that is no socket", async () => writeFileSync(socket("a"), ""), null, () => []],
    [
      "a server without CRI",
      () => withoutCri("a"),
      null,
      () => [
        `container runtime: ${socket("a")} counts as no container runtime: rpc error: code = Unimplemented desc = `,
      ],
    ],
    [
      "a server without CRI before one with it",
      async () => [await withoutCri("a"), await runtime("b")],
      "b",
      () => [
        `container runtime: ${socket("a")} counts as no container runtime: rpc error: code = Unimplemented desc = `,
      ],
    ],
    [
      "a socket without a listener",
      () => stale("a"),
      null,
      () => [
        `container runtime: ${socket("a")} counts as no container runtime until it answers: ` +
          `rpc error: code = Unavailable desc = connect `,
      ],
    ],
  ])("%s", async (_situation, there, used, lines) => {
    await there();
    const finder = find("a", "b", "c");
    await finder.refresh();
    expect(found(finder)).toBe(used);
    expect(finder.snapshot()?.errors ?? {}).toEqual({});
    expect(said).toEqual(lines().map((line) => expect.stringContaining(line)));
    expect(flips).toBe(used === null ? 0 : 1);
  });
});

describe("later", () => {
  it("a runtime starts → found within ten seconds, and logged", async () => {
    const finder = find("a");
    await finder.refresh();
    await runtime("a");
    await pass(finder, 9000);
    expect(found(finder)).toBeNull();
    await pass(finder, 1000);
    expect([found(finder), flips]).toEqual(["a", 1]);
    expect(said).toEqual([`container runtime: ${socket("a")} is there now, and used`]);
  });

  it("the caller waits for the first Ready and asks all the time → searched once a second", async () => {
    const finder = find("a");
    await finder.refresh();
    await runtime("a");
    nowMs += 999;
    await finder.refresh();
    expect(found(finder)).toBeNull();
    nowMs += 1;
    await finder.refresh();
    expect(found(finder)).toBe("a");
  });

  it("it has not answered for its status → it does not count yet, so that the Node does not become unready", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    await runtime("a", () => promise);
    const finder = find("a");
    const look = finder.refresh();
    await eventually(() => asked).toEqual(["a"]);
    expect([finder.snapshot(), flips]).toEqual([null, 0]);
    resolve();
    await look;
    expect([found(finder), finder.snapshot()?.errors, flips]).toEqual(["a", {}, 1]);
  });

  it("it stops → removed at the moment when it would be down, and logged", async () => {
    const server = await runtime("a");
    const finder = find("a");
    await finder.refresh();
    await server.close();
    await pass(finder, 29_000);
    expect([found(finder), finder.snapshot()?.errors, flips]).toEqual(["a", {}, 1]);
    await pass(finder, 1000);
    expect([finder.snapshot(), flips]).toEqual([null, 2]);
    expect(said).toEqual([expect.stringContaining("start it, or set containerRuntimeEndpoint")]);
  });

  it("it is started again within that time → nothing has changed", async () => {
    const server = await runtime("a");
    const finder = find("a");
    await finder.refresh();
    await server.close();
    await pass(finder, 20_000);
    await runtime("a");
    await pass(finder, 60_000);
    expect([found(finder), flips]).toEqual(["a", 1]);
  });

  it("it stops, and returns → found again; another one starts in its place → that one", async () => {
    const first = await runtime("a");
    const finder = find("a", "b");
    await finder.refresh();
    await first.close();
    await pass(finder, 60_000);
    expect(finder.snapshot()).toBeNull();
    const again = await runtime("a");
    await pass(finder, 10_000);
    expect(found(finder)).toBe("a");
    await again.close();
    await runtime("b");
    await pass(finder, 60_000);
    expect(found(finder)).toBe("b");
  });

  it("it is there and does not answer → down, like a configured one", async () => {
    let answers: Promise<unknown> = Promise.resolve();
    await runtime("a", () => answers);
    const finder = find("a");
    await finder.refresh();
    answers = new Promise(() => undefined);
    void finder.refresh();
    nowMs += 30_000;
    expect(finder.snapshot()?.errors).toEqual({ runtime: ["container runtime is down"] });
  });

  it("a server without CRI → asked once; another one in its place → asked as well", async () => {
    const server = await withoutCri("a");
    const finder = find("a");
    await finder.refresh();
    await pass(finder, 60_000);
    expect(said).toHaveLength(1);
    await server.close();
    const before = existsSync(socket("a")) ? statSync(socket("a")).ctimeMs : 0;
    await eventually(() => Date.now()).toBeGreaterThan(before + 10);
    await runtime("a");
    await pass(finder, 10_000);
    expect(found(finder)).toBe("a");
  });
});

it("closed while a runtime is asked → ends at once, without a log line", async () => {
  await runtime("a", () => new Promise(() => undefined));
  const finder = find("a");
  const look = finder.refresh();
  await eventually(() => asked).toEqual(["a"]);
  finder.close();
  await look;
  expect([finder.snapshot(), flips, said, timers]).toEqual([null, 0, [], []]);
});
