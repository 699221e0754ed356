// Gives the test files of the suite one apiserver and one Worker to share. Each test file uses names of its own. No
// test file stops the Worker, changes its variables, or counts all of its machines.
import { get, type IncomingMessage } from "node:http";
import type { KubeConfig } from "@kubernetes/client-node";
import { inject } from "vitest";
import { adminOf } from "./local-cluster.ts";
import { workerAt, type WorkerAccess } from "./own-worker.ts";
import type { SharedAddresses } from "./shared-setup.ts";

export interface SharedPlace extends Omit<SharedAddresses, "url" | "adminSecret"> {
  worker: WorkerAccess;
  /** The kubeconfig of the apiserver's administrator. */
  admin: KubeConfig;
}

/** Returns the shared apiserver and Worker. The first call of the whole suite starts them. */
export async function sharedPlace(): Promise<SharedPlace> {
  const socketPath = inject("sharedPlace");
  if (socketPath === undefined) throw new Error("vitest.config.ts has shared-setup.ts start it");
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get({ socketPath, path: "/" }, resolve).on("error", reject);
  });
  const text = Buffer.concat((await response.toArray()) as Buffer[]).toString();
  if (response.statusCode !== 200) throw new Error(text);
  const { url, adminSecret, ...addresses } = JSON.parse(text) as SharedAddresses;
  return { ...addresses, worker: workerAt(url, adminSecret), admin: adminOf(addresses.folder) };
}
