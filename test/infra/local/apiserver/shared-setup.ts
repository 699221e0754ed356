// Around a whole run: a real etcd and kube-apiserver for all files that only need one, started once a file asks for it.
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import {
  type RealApiserver,
  type RealApiserverOptions,
  startRealApiserver,
} from "../../../../infra/local/real-apiserver.ts";
import { ageEtcd } from "./aged-etcd.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The socket that says where the shared apiserver is. */
    sharedApiserver?: string;
  }
}

/** Returns what ends the run. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = mkdtempSync(join(tmpdir(), "rollcall-shared-"));
  const dir = join(folder, "kube-apiserver");
  let started: Promise<RealApiserver> | undefined;
  const door = createServer((_request, response) => {
    started ??= start({ dir, assets: process.env["KUBEBUILDER_ASSETS"] ?? "" });
    started.then(
      ({ url, caFile, adminToken }) => response.end(JSON.stringify({ url, caFile, adminToken })),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  const socket = join(folder, "socket");
  await new Promise<void>((resolve) => void door.listen(socket, resolve));
  project.provide("sharedApiserver", socket);
  /** What is left of it where it did not start has ended already. */
  const stop = async () => {
    const ending = started;
    started = undefined;
    await ending?.then((apiserver) => apiserver.stop()).catch(() => undefined);
    rmSync(dir, { recursive: true, force: true });
  };
  // Files expect that nothing of theirs is there.
  project.onTestsRerun(stop);
  return async () => {
    door.close();
    await stop();
    rmSync(folder, { recursive: true });
  };
}

async function start(options: RealApiserverOptions): Promise<RealApiserver> {
  await ageEtcd(options);
  return startRealApiserver(options);
}
