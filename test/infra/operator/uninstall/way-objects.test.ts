// What a real apiserver has of infra/cloudflare once that is applied: all of it is found by its label, and what others have put
// there is not. Removes no namespace, which needs a controller.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findWay } from "../../../../infra/operator/uninstall/way-objects.ts";
import { failure, success } from "../../../../shared/result.ts";
import { ROOT } from "../../../e2e/local-cluster.ts";
import { type Cluster, kubectl, sharedCluster } from "../../../e2e/kubectl.ts";

const assets = process.env["KUBEBUILDER_ASSETS"] ?? "";
const program = join(assets, "kubectl");

describe.skipIf(assets === "")("rollcall-way on a real apiserver", () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await sharedCluster();
  });
  afterAll(() => cluster?.stop());

  const run = async (args: readonly string[], input?: string) => {
    const { code, stdout, stderr } = await kubectl(program, cluster, {
      args: [...args],
      ...(input === undefined ? {} : { input }),
    });
    return code === 0 ? success(stdout) : failure(stderr);
  };
  const make = (...args: string[]) => run(["create", ...args, "-n", "rollcall-way"]);

  it("none → nothing; with the Secrets → each object; with a Secret of others → the namespace stays", async () => {
    expect(await findWay(run, [])).toEqual(success({ groups: [], stays: null }));

    const { stdout: rendered } = spawnSync(program, ["kustomize", join(ROOT, "infra/cloudflare/vpc")], {
      encoding: "utf8",
    });
    expect(await run(["apply", "--server-side", "-f", "-"], rendered)).toMatchObject({ ok: true });
    for (const name of ["cloudflared-credentials", "apiserver-proxy-tls"])
      expect(await make("secret", "generic", name)).toMatchObject({ ok: true });
    const found = await findWay(run, []);
    const [inside, namespace] = found.ok ? found.value.groups : [];
    const names = inside?.names.map((name) => name.replace(/(configmap\/[a-z-]+)-\w{10}$/, "$1-HASH"));
    expect(names?.toSorted()).toEqual([
      "configmap/apiserver-proxy-HASH",
      "configmap/cloudflared-HASH",
      "deployment.apps/apiserver-proxy",
      "deployment.apps/cloudflared",
      "networkpolicy.networking.k8s.io/apiserver-proxy",
      "networkpolicy.networking.k8s.io/cloudflared",
      "poddisruptionbudget.policy/apiserver-proxy",
      "poddisruptionbudget.policy/cloudflared",
      "secret/apiserver-proxy-tls",
      "secret/cloudflared-credentials",
      "service/apiserver-proxy",
      "serviceaccount/apiserver-proxy",
      "serviceaccount/cloudflared",
    ]);
    expect(namespace).toEqual({ namespace: null, names: ["namespace/rollcall-way"] });

    await make("secret", "generic", "theirs");
    expect(await findWay(run, [])).toMatchObject({
      value: {
        groups: [{ namespace: "rollcall-way" }],
        stays: "namespace/rollcall-way stays: not rollcall's are secret/theirs",
      },
    });
    for (const name of inside?.names ?? [])
      expect(await run(["delete", name, "-n", "rollcall-way"])).toMatchObject({ ok: true });
    expect(await findWay(run, [])).toMatchObject({ value: { groups: [] } });
  });
});
