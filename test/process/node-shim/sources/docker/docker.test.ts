// Tests Docker as the container runtime: a real daemon with its own root, state and socket is stopped, continued
// and ended.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RuntimeMonitor } from "../../../../../node-shim/sources/cri/monitor.ts";
import { fileTar } from "../../../../node-shim/sources/cri/image-archive.ts";
import {
  DOCKER,
  dockerMonitor,
  FOLDER,
  makeFolder,
  SHORT_DEADLINE_MS,
} from "../../../../node-shim/sources/docker/place.ts";

const isMissing = process.getuid?.() !== 0 || spawnSync("dockerd", ["--version"]).error !== undefined;

describe.skipIf(isMissing)(`dockerd${isMissing ? " (skipped: needs root and docker.io)" : ""}`, () => {
  let remove: () => void;
  let daemon: ChildProcess;
  let nowMs = 1_000_000;
  let monitor: RuntimeMonitor;
  const said: string[] = [];

  beforeAll(async () => {
    remove = makeFolder();
    await start();
    await importImage("small", 10);
    await importImage("large", 100_000);
    monitor = dockerMonitor(said, () => nowMs, SHORT_DEADLINE_MS);
  });
  afterAll(async () => {
    monitor.close();
    daemon.kill("SIGCONT");
    await end();
    remove();
  });

  const post = (path: string, body?: Buffer) =>
    new Promise<number>((resolve, reject) => {
      const sent = request(
        { socketPath: DOCKER.socketPath, path, method: body ? "POST" : "GET" },
        (response) => {
          response.resume().on("end", () => resolve(response.statusCode ?? 0));
        },
      );
      sent.on("error", reject).end(body);
    });

  async function importImage(name: string, bytes: number): Promise<void> {
    const layer = fileTar([["hello", Buffer.alloc(bytes)]]);
    expect(await post(`/images/create?fromSrc=-&repo=${name}&tag=1`, layer)).toBe(200);
  }

  /** Starts the daemon without a network, so that it changes nothing of the computer's own. */
  async function start(): Promise<void> {
    const own = ["--data-root", "--exec-root", "--pidfile"].map((flag) => `${flag}=${join(FOLDER, flag)}`);
    const off = ["--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-masq=false"];
    const flags = [
      ...own,
      ...off,
      "--ip-forward=false",
      "--storage-driver=vfs",
      `--host=unix://${DOCKER.socketPath}`,
    ];
    daemon = spawn("dockerd", flags, { stdio: "ignore" });
    while ((await post("/_ping").catch(() => 0)) !== 200) {
      if (daemon.exitCode !== null) throw new Error(`dockerd has ended with ${daemon.exitCode}`);
      await wait(50);
    }
  }

  async function end(): Promise<void> {
    const ended = new Promise((resolve) => void daemon.once("exit", resolve));
    daemon.kill("SIGTERM");
    await ended;
  }

  const look = async (laterMs = 0) => {
    nowMs += laterMs;
    await monitor.refresh();
  };

  test("well → version, images and root as the daemon has them", async () => {
    await look();
    const { stdout } = spawnSync("dockerd", ["--version"], { encoding: "utf8" });
    const { runtime, images, imageFsPath, errors } = monitor.snapshot();
    expect(stdout).toContain(runtime?.version);
    expect(runtime?.name).toBe("docker");
    expect(images?.map(({ repoTags }) => repoTags)).toEqual([["large:1"], ["small:1"]]);
    expect(images?.map(({ sizeBytes }) => sizeBytes)).toEqual([100_000, 10]);
    expect(imageFsPath).toBe(join(FOLDER, "--data-root"));
    expect([errors, said]).toEqual([{}, []]);
  });

  test("SIGSTOP → down after 30 s, logged once; SIGCONT → well; ended and started again → well", async () => {
    daemon.kill("SIGSTOP");
    while (!readFileSync(`/proc/${daemon.pid}/stat`, "utf8").includes(") T ")) await wait(5);
    await look(30_000);
    expect(monitor.snapshot()).toMatchObject({ errors: { runtime: ["container runtime is down"] } });
    expect(said).toHaveLength(1);
    daemon.kill("SIGCONT");
    await look(5000);
    expect(monitor.snapshot().errors).toEqual({});
    await end();
    await look(30_000);
    expect(monitor.snapshot()).toMatchObject({ errors: { runtime: ["container runtime is down"] } });
    await start();
    await look(5000);
    expect(monitor.snapshot()).toMatchObject({ errors: {}, images: [{ sizeBytes: 100_000 }, {}] });
  });
});
