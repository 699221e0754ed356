// Gives test files access to the two real kube-apiservers of this suite. KUBEBUILDER_ASSETS names the folder of the
// programs. Contains no test.
import { existsSync, readFileSync } from "node:fs";
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { inject } from "vitest";
import { createHttpsClient } from "../infra/local/https-fetch.ts";
import { tokenAdmin } from "../../infra/local/kube-admin.ts";
import type { TestServer } from "../infra/local/apiserver/test-server.ts";
import type { Controllers, ServerAddress } from "./running-server.ts";

/** The folder of the programs; "" if KUBEBUILDER_ASSETS is not set, in which case no test of this suite runs. */
export const assets = process.env["KUBEBUILDER_ASSETS"] ?? "";
/** The kubectl in the folder of the programs. */
export const KUBECTL = join(assets, "kubectl");
/** true if the folder has kube-controller-manager, which folders of setup-envtest lack. */
export const hasControllerManager = assets !== "" && existsSync(join(assets, "kube-controller-manager"));

/** The timeout of a hook that waits for a turn: other files' turns take minutes. */
export const TURN_MS = 900_000;

/**
 * Returns the server that files share. The calling file must use unique names, must not stop the server and must
 * not run controllers.
 */
export async function sharedServer(): Promise<ServerAddress> {
  return JSON.parse(await asked("GET", "/shared")) as ServerAddress;
}

/** A server during the calling file's turn. */
export interface ServerInTurn extends ServerAddress {
  /**
   * Starts kube-controller-manager, which ends with the turn. Its controllers work once it has read the existing
   * objects.
   */
  startControllers: (wanted: Controllers) => Promise<void>;
  /**
   * Stops the server, runs `meanwhile`, and starts the server again with its data. etcd's address and the pids
   * change.
   */
  restart: (meanwhile?: () => void) => Promise<void>;
  /** Ends the calling file's turn on the server. */
  release: () => void;
}

/**
 * Waits for a turn on the server that a file may break, or whose controllers act on all Nodes. The server then has
 * no Nodes and leases.
 */
export const breakableServer = (): Promise<ServerInTurn> => takeTurn("breakable", () => true);

/**
 * Waits for a turn on the shared server for machines `sim-…`, of which none exist at the start. Other files use the
 * server at the same time.
 */
export const sharedServerInTurn = (): Promise<ServerInTurn> =>
  takeTurn("shared", (name) => name.startsWith("sim-"));

async function takeTurn(name: string, isForgotten: (name: string) => boolean): Promise<ServerInTurn> {
  const { opened, response } = await open("GET", `/${name}/turn`);
  const address = JSON.parse(await firstLine(response)) as ServerAddress;
  await forget(address, isForgotten);
  const server: ServerInTurn = {
    ...address,
    startControllers: async (wanted) => void (await asked("POST", `/${name}/controllers`, wanted)),
    async restart(meanwhile) {
      await asked("POST", `/${name}/stop`);
      meanwhile?.();
      Object.assign(server, JSON.parse(await asked("POST", `/${name}/start`)));
    },
    release: () => void opened.destroy(),
  };
  return server;
}

/** Adapts a server for tests of requests and answers. `stop` also ends the caller's turn with the server. */
export function testServer({ url, caFile, adminToken, ...turn }: ServerAddress | ServerInTurn) {
  const { fetch, close } = createHttpsClient(caFile);
  const server: TestServer = { url, token: adminToken, fetch };
  const stop = () => {
    close();
    if ("release" in turn) turn.release();
    return Promise.resolve();
  };
  return { server, stop };
}

/** Deletes the Nodes and the leases whose name `isForgotten` accepts. */
async function forget(
  { url, caFile, adminToken }: ServerAddress,
  isForgotten: (name: string) => boolean,
): Promise<void> {
  const admin = tokenAdmin(url, readFileSync(caFile, "utf8"), adminToken);
  for (const path of ["/api/v1/nodes", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"]) {
    const { items } = (await admin({ method: "GET", path })) as { items: { metadata: { name: string } }[] };
    for (const { metadata } of items)
      if (isForgotten(metadata.name)) await admin({ method: "DELETE", path: `${path}/${metadata.name}` });
  }
}

async function open(method: string, path: string, body?: object) {
  const socketPath = inject("clusterServers");
  if (socketPath === undefined) throw new Error("vitest.config.ts has servers-setup.ts start them");
  const opened: ClientRequest = request({ socketPath, path, method });
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    opened.on("response", resolve).on("error", reject);
    opened.end(body && JSON.stringify(body));
  });
  if (response.statusCode !== 200) throw new Error(await text(response));
  return { opened, response };
}

async function asked(method: string, path: string, body?: object): Promise<string> {
  return text((await open(method, path, body)).response);
}

function firstLine(response: IncomingMessage): Promise<string> {
  let line = "";
  return new Promise((resolve, reject) => {
    response.setEncoding("utf8").on("data", (chunk: string) => {
      line += chunk;
      if (line.includes("\n")) resolve(line);
    });
    response.once("close", () => reject(new Error(`no server: ${line}`)));
  });
}
