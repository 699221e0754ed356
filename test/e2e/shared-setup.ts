// Runs around all tests of the suite, and gives their files one embedded apiserver and one Worker in workerd. The
// first request of a file starts both.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { startApiserver } from "../../infra/local/apiserver/serve.ts";
import { applyFile, workerToken, writeKubeconfig } from "../../infra/local/kubernetes.ts";
import { type RunRecord, runRecord } from "./leaks.ts";
import { ROOT } from "./local-cluster.ts";
import { localWorker, randomSecret, sha256 } from "./local-worker.ts";

/** The addresses of the shared Worker and its apiserver. */
export interface SharedAddresses {
  /**
   * The folder with the kubeconfig of the apiserver's administrator, and with the apiserver's files in `cluster`.
   */
  folder: string;
  url: string;
  /** A second origin that the Worker accepts. */
  otherOrigin: string;
  adminSecret: string;
}

declare module "vitest" {
  interface ProvidedContext {
    /** The path of the socket that returns the addresses as JSON. */
    sharedPlace?: string;
  }
}

/** Serves the addresses to the test files. Returns a function that ends the apiserver and the Worker. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = mkdtempSync(join(tmpdir(), "rollcall-e2e-"));
  const { runRecord: recordFolder } = project.getProvidedContext();
  if (recordFolder === undefined) throw new Error("vitest.config.ts has leaks-setup.ts run before this");
  const record = runRecord(recordFolder);
  let started: ReturnType<typeof start> | undefined;
  const door = createServer((_request, response) => {
    started ??= start(folder, record);
    started.then(
      ({ addresses }) => response.end(JSON.stringify(addresses)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  const socket = join(folder, "socket");
  await new Promise<void>((resolve) => void door.listen(socket, resolve));
  project.provide("sharedPlace", socket);
  return async () => {
    door.close();
    const place = await started?.catch(() => undefined);
    await place?.stop();
    record.folder(folder);
    rmSync(folder, { recursive: true });
  };
}

async function start(
  folder: string,
  record: RunRecord,
): Promise<{ addresses: SharedAddresses; stop: () => Promise<void> }> {
  const apiserver = await startApiserver({ dir: join(folder, "cluster"), port: 0 });
  const kubeCa = readFileSync(apiserver.caFile, "utf8");
  const kubeconfig = join(folder, "kubeconfig");
  const cluster = writeKubeconfig(kubeconfig, apiserver.url, kubeCa, apiserver.adminToken);
  await applyFile(cluster, join(ROOT, "infra/rbac/rollcall.yaml"));
  const { url, deploy, stop } = await localWorker(folder, record);
  const otherOrigin = url.replace("127.0.0.1", "localhost");
  const adminSecret = randomSecret(record);
  await deploy({
    kubeUrl: apiserver.url,
    kubeCa,
    kubeToken: await workerToken(cluster.admin),
    macKeys: `1:${randomSecret(record)}`,
    adminSecretSha256: sha256(adminSecret),
    variables: { ORIGINS: `${url} ${otherOrigin}` },
  });
  return {
    addresses: { folder, url, otherOrigin, adminSecret },
    async stop() {
      await stop();
      await apiserver.stop();
    },
  };
}
