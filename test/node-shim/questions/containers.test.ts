// Tests what containers use, with a played runtime.
import { afterEach, beforeEach, expect, test } from "vitest";
import { containers, STATS } from "../../../node-shim/questions/containers.ts";
import { LISTS } from "../../../node-shim/questions/runtime.ts";
import { CRI } from "../../../node-shim/sources/cri/runtime-client.ts";
import { grpcServer, serve } from "../../../node-shim/wire/grpc/server.ts";
import { success } from "../../../shared/result.ts";
import { place, type Place } from "../wire/grpc/socket.ts";
import { collected, played } from "./asking.ts";

let at: Place;
beforeEach(() => {
  at = place();
});
afterEach(() => at.end());

const SECOND = 1e9;

/** Starts a runtime whose container `web` uses half a CPU; `new` starts between two measurements, and `idle` uses none. */
async function asking() {
  let asked = 0;
  const stats = (id: string, cpuSeconds: number, mib: number) => ({
    attributes: { id, metadata: { name: id } },
    cpu: { timestamp: asked * SECOND, usageCoreNanoSeconds: { value: cpuSeconds * SECOND } },
    memory: { workingSetBytes: { value: mib * 2 ** 20 } },
  });
  const server = grpcServer([
    serve(CRI.version, () =>
      success({ version: "0.1.0", runtimeName: "runc", runtimeVersion: "1.2.3", runtimeApiVersion: "v1" }),
    ),
    serve(STATS, () => {
      asked++;
      const all = [stats("idle", 7, 300), stats("web", 3 + asked / 2, 100)];
      return success({ stats: asked === 1 ? all : [...all, stats("new", 1, 200)] });
    }),
    serve(LISTS.pods, () => success({ items: [{ id: "p", metadata: { name: "web", namespace: "shop" } }] })),
    serve(LISTS.containers, () => success({ containers: [{ id: "web", podSandboxId: "p" }] })),
  ]);
  await server.listen(at.socketPath);
  at.later(server.close);
  return played({}, { runtime: { isDocker: false, sockets: [at.socketPath] } });
}

test.each<[by: "cpu" | "memory", top: number, lines: string[]]>([
  [
    "cpu",
    20,
    [
      "3 containers; those with the most cpu:",
      "CONTAINER CPU MEMORY ID POD",
      "web 500m 100 MiB web shop/web",
      "idle 0m 300 MiB idle",
      "new 200 MiB new",
    ],
  ],
  [
    "memory",
    1,
    ["3 containers; those with the most memory:", "CONTAINER CPU MEMORY ID POD", "idle 0m 300 MiB idle"],
  ],
])("by %s, at most %d", async (by, top, lines) => {
  const found = await collected(containers({ by, top }, await asking()));
  expect(found.map((line) => line.replaceAll(/ +/g, " "))).toEqual(lines);
});

test("Docker → its own command", async () => {
  const docker = played(
    { " stats ": "NAME CPU\nweb 1%\n" },
    { runtime: { isDocker: true, sockets: ["/d.sock"] } },
  );
  expect(await collected(containers({ by: "cpu", top: 20 }, docker))).toEqual(["NAME CPU", "web 1%"]);
});
