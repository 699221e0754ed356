// Tests questions about containers with a played runtime, and with one that is missing.
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { containerLogs, LISTS, runtime } from "../../../node-shim/questions/runtime.ts";
import { CRI } from "../../../node-shim/sources/cri/runtime-client.ts";
import { grpcServer, serve } from "../../../node-shim/wire/grpc/server.ts";
import { failure, success } from "../../../shared/result.ts";
import { place, type Place } from "../wire/grpc/socket.ts";
import { collected, played } from "./asking.ts";

let at: Place;
beforeEach(() => {
  at = place();
});
afterEach(() => at.end());

const ID = "c".repeat(64);

/** Starts a runtime with one pod, whose container logs to `logPath`. */
async function asking(logPath = "") {
  const createdAt = 1_795_780_800_000_000_000;
  const server = grpcServer([
    serve(CRI.version, () =>
      success({ version: "0.1.0", runtimeName: "runc", runtimeVersion: "1.2.3", runtimeApiVersion: "v1" }),
    ),
    serve(CRI.status, () =>
      success({
        status: {
          conditions: [{ type: "NetworkReady", status: false, reason: "NoCNI", message: "no plugin" }],
        },
      }),
    ),
    serve(CRI.listImages, () => success({ images: [{ id: "i", repoTags: ["web:1"], size: 2048 }] })),
    serve(LISTS.pods, () =>
      success({ items: [{ id: "p", metadata: { name: "web", namespace: "shop" }, state: 1, createdAt }] }),
    ),
    serve(LISTS.containers, () =>
      success({
        containers: [
          {
            id: ID,
            podSandboxId: "p",
            metadata: { name: "nginx", attempt: 3 },
            image: { image: "web:1" },
            state: 2,
            createdAt,
          },
        ],
      }),
    ),
    serve(LISTS.container, ({ containerId }) =>
      containerId === ID
        ? success({ status: { logPath } })
        : failure({ code: "NotFound", message: `no ${containerId}` }),
    ),
  ]);
  await server.listen(at.socketPath);
  at.later(server.close);
  const sockets = [join(dirname(at.socketPath), "none.sock"), at.socketPath];
  return played({}, { runtime: { isDocker: false, sockets } });
}

test("pods, containers and images → a table each, and the runtime's own conditions", async () => {
  const lines = await collected(runtime({}, await asking()));
  expect(lines.map((line) => line.replaceAll(/\s+/g, " "))).toEqual([
    `runc 1.2.3 at ${at.socketPath}`,
    "NetworkReady: false NoCNI no plugin",
    "POD STATE CREATED ID",
    "shop/web not ready 2026-11-27T12:00:00.000Z p",
    "CONTAINER STATE ATTEMPT CREATED ID IMAGE POD",
    "nginx exited 3 2026-11-27T12:00:00.000Z ccccccccccccc web:1 shop/web",
    "IMAGE SIZE",
    "web:1 2.0 KiB",
  ]);
});

test("a container's log, by the beginning of its ID → its newest lines", async () => {
  const path = join(dirname(at.socketPath), "0.log");
  writeFileSync(path, "one\ntwo\n");
  const lines = containerLogs({ container: "ccc", lines: 1 }, await asking(path));
  expect(await collected(lines)).toEqual(["two"]);
});

test.each([
  ["an unknown container", "x", "code = NotFound desc = no x"],
  ["a container without a log", ID, `${ID} has no log file`],
])("%s → a fault", async (_, container, fault) => {
  await expect(collected(containerLogs({ container, lines: 1 }, await asking()))).rejects.toThrow(fault);
});

test.each([
  ["none is searched for", [], "no container runtime: none is configured"],
  ["none listens", ["/no/such.sock"], "/no/such.sock: rpc error: code = Unavailable"],
])("no runtime: %s → a fault", async (_, sockets, fault) => {
  const lines = runtime({}, played({}, { runtime: { isDocker: false, sockets } }));
  await expect(collected(lines)).rejects.toThrow(fault);
});

test("Docker → its own command, without a shell", async () => {
  const docker = played(
    { "docker ps": "NAMES\nweb\n", "docker image": "web 1\n" },
    { runtime: { isDocker: true, sockets: [] } },
  );
  expect(await collected(runtime({}, docker))).toEqual(["NAMES", "web", "web 1"]);
});
