// Tests that the command of `npm run deploy` that makes the Worker's cluster token works with a real kubectl. Needs
// a folder with etcd, kube-apiserver and kubectl in KUBEBUILDER_ASSETS.
import { decodeJwt } from "jose";
import { expect, onTestFinished, test, vi } from "vitest";
import { kubectl as operatorsKubectl } from "../../infra/operator/kubectl.ts";
import { tokenCommand } from "../../infra/deploy/plan.ts";
import { readSettings } from "../../infra/deploy/settings-file.ts";
import { clusterAt, kubectl } from "./kubectl.ts";
import { assets, breakableServer, KUBECTL, TURN_MS } from "./servers.ts";

const NAME = "token-command";
const HOME = "rollcall-system";
const TURN = { timeout: TURN_MS };

/** The objects that infra/rbac contains. */
const OBJECTS = [
  { apiVersion: "v1", kind: "Namespace", metadata: { name: HOME } },
  { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: NAME, namespace: HOME } },
  { apiVersion: "v1", kind: "Secret", metadata: { name: NAME, namespace: HOME } },
];

test.skipIf(assets === "")(
  "the token → of that ServiceAccount for a year, bound to its Secret",
  TURN,
  async () => {
    const server = await breakableServer();
    const cluster = clusterAt(server);
    onTestFinished(async () => {
      vi.unstubAllEnvs();
      await cluster.stop();
      server.release();
    });
    const input = JSON.stringify({ apiVersion: "v1", kind: "List", items: OBJECTS });
    expect(await kubectl(KUBECTL, cluster, { args: ["apply", "-f", "-"], input })).toMatchObject({ code: 0 });
    const text = `origin: https://a.test\napiserver: https://kube.test\ndeployment: ${NAME}\n`;
    const settings = readSettings(text, "/rollcall.yaml", null);
    if (!settings.ok) throw new Error(settings.error.join("\n"));
    vi.stubEnv("PATH", assets);
    vi.stubEnv("HOME", cluster.home);
    vi.stubEnv("KUBECONFIG", cluster.kubeconfig);
    const printed = await operatorsKubectl(tokenCommand(settings.value));
    if (!printed.ok) throw new Error(printed.error);
    const { sub, exp = 0, iat = 0, "kubernetes.io": bound } = decodeJwt(printed.value.trim());
    expect(sub).toBe(`system:serviceaccount:${HOME}:${NAME}`);
    expect(exp - iat).toBe(8760 * 3600);
    expect(bound).toMatchObject({ secret: { name: NAME } });
  },
);
