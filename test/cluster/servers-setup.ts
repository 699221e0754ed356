// Prepares a run of the suite `cluster`: two real etcds and kube-apiservers, each started when a test file first
// requests it. All files share one server; only one file at a time uses the other server and may break it. This
// process starts all programs.
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import type { TestProject } from "vitest/node";
import { ageEtcd } from "./aged-etcd.ts";
import { type Controllers, RunningServer } from "./running-server.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The path of the socket where test files request a server. */
    clusterServers?: string;
  }
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Prepares the run. Returns a function that ends the run. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const assets = process.env["KUBEBUILDER_ASSETS"];
  if (!assets) {
    console.log("cluster: skipped, for KUBEBUILDER_ASSETS names no folder with etcd and kube-apiserver");
    return () => Promise.resolve();
  }
  const folder = mkdtempSync(join(tmpdir(), "rollcall-cluster-"));
  const shared = new RunningServer({ dir: join(folder, "shared"), assets }, ageEtcd);
  const breakable = new RunningServer({ dir: join(folder, "breakable"), assets });
  const servers = [shared, breakable];
  const door = createServer(doorTo({ shared, breakable }));
  const socket = join(folder, "socket");
  await new Promise<void>((resolve) => void door.listen(socket, resolve));
  project.provide("clusterServers", socket);

  const kill = () => {
    for (const server of servers) server.kill();
    rmSync(folder, { recursive: true, force: true });
  };
  for (const signal of SIGNALS) process.prependOnceListener(signal, kill);
  return async () => {
    for (const signal of SIGNALS) process.off(signal, kill);
    door.close();
    door.closeAllConnections();
    await Promise.all(servers.map((server) => server.stop()));
    rmSync(folder, { recursive: true });
  };
}

/**
 * Serves the servers' addresses at `GET /NAME`. `GET /NAME/turn` also gives the caller a turn: no other file has a
 * turn with the server while the connection lasts.
 */
function doorTo(servers: Record<string, RunningServer>) {
  const turns = new Map<string, Promise<void>>();
  /** Gives the caller a turn until its connection closes, which includes a crash of the caller. */
  async function lend(name: string, server: RunningServer, response: ServerResponse): Promise<void> {
    const over = new Promise<void>((done) => response.once("close", done));
    const before = turns.get(name) ?? Promise.resolve();
    const mine = before.then(() => over).then(() => server.stopControllers());
    turns.set(
      name,
      mine.catch(() => undefined),
    );
    await before;
    response.write(`${JSON.stringify(await server.start())}\n`);
  }
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, name = "", what = ""] = request.url?.split("/") ?? [];
    const server = servers[name];
    const end = (body: object) => void response.end(JSON.stringify(body));
    switch (server && `${request.method} ${what}`) {
      case "GET ":
      case "POST start":
        return end(await server!.start());
      case "GET turn":
        return lend(name, server!, response);
      case "POST stop":
        await server!.stop();
        return end({});
      case "POST controllers":
        server!.startControllers((await json(request)) as Controllers);
        return end({});
      default:
        response.writeHead(404).end();
    }
  }
  return (request: IncomingMessage, response: ServerResponse) =>
    void answer(request, response).catch((error: unknown) => {
      if (!response.headersSent) response.writeHead(500);
      response.end(String(error));
    });
}
