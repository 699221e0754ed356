// Tests a Docker that accepts connections and never answers. A library's own timer is the deadline; no test can
// replace that timer. test/node-shim/sources/docker tests how the Node shows such a runtime.
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import {
  DOCKER,
  dockerMonitor,
  makeFolder,
  SHORT_DEADLINE_MS,
} from "../../../../node-shim/sources/docker/place.ts";

test("hung → each request is given up at its deadline, logged once", async () => {
  onTestFinished(makeFolder());
  const sockets = new Set<Socket>();
  const server = createServer((socket) => void sockets.add(socket.on("error", () => undefined)));
  await once(server.listen(DOCKER.socketPath), "listening");
  const said: string[] = [];
  const monitor = dockerMonitor(said, () => 1_000_000, SHORT_DEADLINE_MS);
  onTestFinished(() => {
    monitor.close();
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  await monitor.refresh();
  expect(monitor.snapshot().errors).toMatchObject({
    runtime: ["container runtime status check may not have completed yet"],
  });
  expect(said).toEqual([
    expect.stringMatching(/: Docker does not answer: start it, or set --docker-endpoint$/),
  ]);
});
