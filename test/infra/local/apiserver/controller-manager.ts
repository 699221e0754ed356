// A real kube-controller-manager beside a real apiserver, for tests. Knows nothing of the embedded controllers.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type RealApiserver, startProgram, stopProgram } from "../../../../infra/local/real-apiserver.ts";

export interface ControllerManagerOptions {
  /** Holds the kubeconfig and the log. */
  dir: string;
  /** Folder of `kube-controller-manager`; typically $KUBEBUILDER_ASSETS. */
  assets: string;
  controllers: string[];
  flags: string[];
}

function kubeconfig({ url, caFile, adminToken }: RealApiserver): object {
  return {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "real", cluster: { server: url, "certificate-authority": caFile } }],
    users: [{ name: "admin", user: { token: adminToken } }],
    contexts: [{ name: "real", context: { cluster: "real", user: "admin" } }],
    "current-context": "real",
  };
}

/** It is not waited for: it works once it has seen what there is. */
export function startControllerManager(
  apiserver: RealApiserver,
  { dir, assets, controllers, flags }: ControllerManagerOptions,
): { stop: () => Promise<void> } {
  const file = join(dir, "controller-manager.kubeconfig");
  writeFileSync(file, JSON.stringify(kubeconfig(apiserver)), { mode: 0o600 });
  const name = "kube-controller-manager";
  const args = [
    `--kubeconfig=${file}`,
    `--controllers=${controllers.join(",")}`,
    "--use-service-account-credentials=false",
    "--leader-elect=false",
    "--secure-port=0",
    ...flags,
  ];
  const child = startProgram({ name, program: join(assets, name), args }, join(dir, `${name}.log`));
  return { stop: () => stopProgram(child) };
}
