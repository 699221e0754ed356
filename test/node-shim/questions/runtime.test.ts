// Tests questions about containers with a played runtime, and with one that is missing.
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
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

const DOCKER = { isDocker: true, sockets: ["/srv/docker.sock"] };

test("Docker → its own command, without a shell, at the socket of --docker-endpoint", async () => {
  const docker = played({ " ps ": "NAMES\nweb\n", " image ": "web 1\n" }, { runtime: DOCKER });
  expect(await collected(runtime({}, docker))).toEqual(["NAMES", "web", "web 1"]);
  for (const line of docker.ran) expect(line).toMatch(/^docker --host=unix:\/\/\/srv\/docker\.sock /);
});

/** Writes a container's log where Docker has it. Returns its path. */
function dockersLog(id = ID): string {
  const folder = join(dirname(at.socketPath), "containers", id);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${id}-json.log`), '{"log":"one"}\n{"log":"two"}\n');
  return join(folder, `${id}-json.log`);
}

test("a container of Docker → the newest lines of its log file", async () => {
  const docker = played({ inspect: `${ID} ${dockersLog()}\n` }, { runtime: DOCKER });
  expect(await collected(containerLogs({ container: "ccc", lines: 1 }, docker))).toEqual(['{"log":"two"}']);
});

test.each([
  ["with another log driver", `${ID} \n`],
  ["whose daemon names another file", `${ID} /etc/shadow\n`],
  ["whose daemon names a path with ..", `${ID} /x/../containers/${ID}/${ID}-json.log\n`],
])("a container of Docker %s → a fault", async (_, inspect) => {
  const lines = containerLogs({ container: "ccc", lines: 1 }, played({ inspect }, { runtime: DOCKER }));
  await expect(collected(lines)).rejects.toThrow("ccc has no log file");
});

test.each([
  ["Docker's log of it, as cri-dockerd makes one", () => dockersLog(), ['{"log":"two"}']],
  [
    "the log of another container",
    () => dockersLog("d".repeat(64)),
    "is a link to another file than its log",
  ],
  ["another file", () => "/etc/passwd", "is a link to another file than its log"],
])("a log that is a link to %s", async (_, target, expected) => {
  const path = join(dirname(at.socketPath), "0.log");
  symlinkSync(target(), path);
  const lines = collected(containerLogs({ container: ID, lines: 1 }, await asking(path)));
  if (typeof expected === "string") await expect(lines).rejects.toThrow(expected);
  else expect(await lines).toEqual(expected);
});
