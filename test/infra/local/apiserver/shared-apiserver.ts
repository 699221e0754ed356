// The real kube-apiserver that files of a run share, where KUBEBUILDER_ASSETS names its folder: each has names of its own
// there, and neither stops it nor runs controllers on it. No test of its own.
import { get, type IncomingMessage } from "node:http";
import { inject } from "vitest";
import type { RealApiserver } from "../../../../infra/local/real-apiserver.ts";

type SharedApiserver = Pick<RealApiserver, "url" | "caFile" | "adminToken">;

/** Starts it where no file has asked for it. */
export async function sharedApiserver(): Promise<SharedApiserver> {
  const socketPath = inject("sharedApiserver");
  if (socketPath === undefined) throw new Error("vitest.config.ts has shared-setup.ts start it");
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get({ socketPath, path: "/" }, resolve).on("error", reject);
  });
  const text = Buffer.concat((await response.toArray()) as Buffer[]).toString();
  if (response.statusCode !== 200) throw new Error(text);
  return JSON.parse(text) as SharedApiserver;
}
