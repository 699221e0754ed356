// Tests Docker as the container runtime: a daemon that answers like Docker 20.10, and is then absent or broken.
import { createServer, type Server, type Socket } from "node:net";
import { afterAll, afterEach, beforeEach, expect, test } from "vitest";
import type { RuntimeMonitor } from "../../../../node-shim/sources/cri/monitor.ts";
import { DOCKER, dockerMonitor, makeFolder } from "./place.ts";

interface DockerImage {
  Id: string;
  Size: number;
  RepoTags: string[];
  RepoDigests: string[];
}

const IMAGES: DockerImage[] = [
  { Id: "sha256:1a", Size: 7, RepoTags: ["small:1"], RepoDigests: [] },
  { Id: "sha256:2b", Size: 900, RepoTags: ["large:1", "large:2"], RepoDigests: ["large@sha256:5c"] },
  { Id: "sha256:3c", Size: 8, RepoTags: [], RepoDigests: [] },
];
const WELL = {
  info: { ServerVersion: "20.10.24+dfsg1", DockerRootDir: "/var/lib/docker", Images: 3 } as object,
  images: IMAGES,
  /** The ID of an image that is listed, and removed before its details are read. */
  removed: "",
  /** The paths that the daemon answers with 500. */
  broken: [] as string[],
};

let docker: typeof WELL;
let nowMs: number;
let said: string[];
let monitor: RuntimeMonitor;

beforeEach(() => {
  docker = structuredClone(WELL);
  nowMs = 1_000_000;
  said = [];
  monitor = dockerMonitor(said, () => nowMs);
});
afterEach(() => stop());
afterAll(makeFolder());

let server: Server | null = null;
const sockets = new Set<Socket>();

/**
 * Starts a daemon with Engine API 1.41: /info, /images/json and /images/ID/json. Uses node:net, since node:http
 * refuses "GET http:/info".
 */
async function start(): Promise<void> {
  const started = createServer((socket) => {
    sockets.add(socket.on("error", () => undefined));
    socket.on("data", (request) => {
      const path = /^GET http:([^ ?]+)/.exec(request.toString())?.[1] ?? "";
      const listed = docker.images.find(({ Id }) => path === `/images/${Id}/json` && Id !== docker.removed);
      const answer = { "/info": docker.info, "/images/json": docker.images }[path] ?? listed;
      const status = docker.broken.includes(path) ? 500 : answer ? 200 : 404;
      const body = JSON.stringify(status === 200 ? answer : { message: "no" });
      socket.end(`HTTP/1.0 ${status} So\r\nContent-Type: application/json\r\n\r\n${body}`);
    });
  });
  server = started;
  await new Promise<void>((resolve) => void started.listen(DOCKER.socketPath, resolve));
}

async function stop(): Promise<void> {
  const stopping = server;
  server = null;
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  await new Promise<void>((resolve) => void (stopping ? stopping.close(() => resolve()) : resolve()));
}

const look = async (laterMs = 0) => {
  nowMs += laterMs;
  await monitor.refresh();
};
const NO_ANSWER = `container runtime: ${DOCKER.socketPath}: Docker does not answer: start it, or set --docker-endpoint`;
const LISTED = [
  { repoDigests: ["large@sha256:5c"], repoTags: ["large:1", "large:2"], sizeBytes: 900 },
  { repoDigests: [], repoTags: [], sizeBytes: 8 },
  { repoDigests: [], repoTags: ["small:1"], sizeBytes: 7 },
];

test("well → version, images and their disk; ready, and so is its network", async () => {
  await start();
  await look();
  expect(monitor.snapshot()).toEqual({
    runtime: { name: "docker", version: "20.10.24+dfsg1" },
    images: LISTED,
    imageFsPath: "/var/lib/docker",
    handlers: [],
    errors: {},
  });
  expect(said).toEqual([]);
});

test("never there → no version, and the kubelet's words for a runtime that has not answered", async () => {
  await look();
  await look(60_000);
  expect(monitor.snapshot()).toEqual({
    errors: {
      runtime: ["container runtime status check may not have completed yet"],
      network: ["network state unknown"],
    },
  });
  expect(said).toEqual([NO_ANSWER]);
});

const allBroken = () => (docker.broken = ["/info", "/images/json"]);

test.each<[situation: string, change: () => unknown]>([
  ["stopped", stop],
  ["answers with errors", allBroken],
])("%s → well for 30 s, then down, its images kept; logged once; back → well", async (_situation, change) => {
  await start();
  await look();
  await change();
  await look(20_000);
  await look(9_999);
  expect(monitor.snapshot()).toMatchObject({ runtime: { version: "Unknown" }, errors: {}, images: LISTED });
  await look(1);
  expect(monitor.snapshot()).toMatchObject({
    errors: { runtime: ["container runtime is down"] },
    images: LISTED,
  });
  expect(said).toEqual([NO_ANSWER]);
  await stop();
  docker = structuredClone(WELL);
  await start();
  await look(5000);
  await look(5000);
  expect(monitor.snapshot()).toMatchObject({ runtime: { version: "20.10.24+dfsg1" }, errors: {} });
});

test.each<[situation: string, change: () => unknown, images: object[]]>([
  ["images that cannot be listed → the last ones", () => (docker.broken = ["/images/json"]), LISTED],
  [
    "all images removed → none",
    () => (docker = { ...docker, images: [], info: { ...docker.info, Images: 0 } }),
    [],
  ],
  [
    "an image that is removed meanwhile → the others",
    () => (docker.removed = "sha256:3c"),
    [LISTED[0]!, LISTED[2]!],
  ],
])("%s", async (_situation, change, images) => {
  await start();
  await look();
  change();
  await look(30_000);
  expect(monitor.snapshot()).toMatchObject({ images, errors: {} });
});

test("another version after an unnoticed restart → reported with the next observation", async () => {
  await start();
  await look();
  docker.info = { ...docker.info, ServerVersion: "26.1.5", DockerRootDir: "/srv/docker" };
  await look(5000);
  await look(5000);
  expect(monitor.snapshot()).toMatchObject({ runtime: { version: "26.1.5" }, imageFsPath: "/srv/docker" });
});
