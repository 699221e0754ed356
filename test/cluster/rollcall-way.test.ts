// Tests infra/cloudflare on a real apiserver: the apiserver accepts the manifests, and uninstalling finds their
// objects by label. Objects of others stay. No namespace is removed, which would need a controller.
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { loadCredentials } from "../../infra/local/apiserver/certificates.ts";
import { freePort } from "../../infra/local/ports.ts";
import { findWay } from "../../infra/operator/uninstall/cluster-objects.ts";
import { failure, success } from "../../shared/result.ts";
import { eventually, ROOT } from "../e2e/local-cluster.ts";
import { type Cluster, clusterAt, kubectl } from "./kubectl.ts";
import { assets, breakableServer, KUBECTL, type ServerInTurn, TURN_MS } from "./servers.ts";

const FOLDER = join(ROOT, "infra/cloudflare");
const WAYS = ["tunnel", "vpc", "public"] as const;
const documented = readFileSync(join(ROOT, "docs/apiserver.md"), "utf8");
const text = (file: string) => readFileSync(join(FOLDER, file), "utf8");
const has = (program: string, ...args: string[]) => spawnSync(program, args).status === 0;

interface Rendered {
  kind: string;
  metadata: { name: string; namespace?: string; labels?: Record<string, string> };
  spec?: { template?: { spec: object } };
}

describe.skipIf(assets === "")("rollcall-way on a real apiserver", () => {
  const folder = mkdtempSync(join(tmpdir(), "rollcall-way-"));
  let server: ServerInTurn;
  let cluster: Cluster;
  beforeAll(async () => {
    server = await breakableServer();
    cluster = clusterAt(server);
  }, TURN_MS);
  afterAll(async () => {
    await cluster?.stop();
    server?.release();
    rmSync(folder, { recursive: true, force: true });
  });

  const ran = (args: readonly string[], input = "") => kubectl(KUBECTL, cluster, { args: [...args], input });
  const run = async (args: readonly string[], input?: string) => {
    const { code, stdout, stderr } = await ran(args, input);
    return code === 0 ? success(stdout) : failure(stderr);
  };
  const make = (...args: string[]) => run(["create", ...args, "-n", "rollcall-way"]);
  const render = (way: string) =>
    execFileSync(KUBECTL, ["kustomize", join(FOLDER, way)], { encoding: "utf8" });

  it("no object → nothing; with the Secrets → each object; with a Secret of others → the namespace stays", async () => {
    expect(await findWay(run, [])).toEqual(success({ groups: [], stays: null }));

    expect(await run(["apply", "--server-side", "-f", "-"], render("vpc"))).toMatchObject({ ok: true });
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
    expect(await run(["delete", ...(inside?.names ?? []), "-n", "rollcall-way"])).toMatchObject({ ok: true });
    expect(await findWay(run, [])).toMatchObject({ value: { groups: [] } });
  });

  it.each(WAYS)(
    "%s is applied without a warning, twice, and its pods have the strictest confinement",
    async (way) => {
      const rendered = render(way);
      const apply = ["apply", "--server-side", "--validate=strict", "-f", "-"];
      expect(await ran(apply, rendered)).toMatchObject({ code: 0, stderr: "" });
      const again = await ran([...apply, "--dry-run=server"], rendered);
      expect(again).toMatchObject({ code: 0, stderr: "" });
      const objects = parseAllDocuments(rendered).map((found) => found.toJSON() as Rendered);
      const deployments = objects.filter(({ kind }) => kind === "Deployment");
      expect(deployments.length).toBeGreaterThan(0);
      for (const { metadata, spec } of deployments) {
        const { name, namespace } = metadata;
        const pod = {
          apiVersion: "v1",
          kind: "Pod",
          metadata: { name, namespace },
          spec: spec?.template?.spec,
        };
        const admitted = await ran(["create", "--dry-run=server", "-f", "-"], JSON.stringify(pod));
        expect(admitted).toMatchObject({ code: 0, stderr: "" });
      }
      expect(objects.some(({ metadata }) => metadata.namespace === "rollcall-system")).toBe(false);
      const labels = objects.map(({ metadata }) => metadata.labels?.["app.kubernetes.io/part-of"]);
      expect([...new Set(labels)]).toEqual(["rollcall"]);
    },
  );

  it.skipIf(!has("haproxy", "-v"))(
    "HAProxy ends TLS, opens it again with the cluster's authority, and passes on no other path",
    async () => {
      const { certificate, key } = await loadCredentials(join(folder, "public"));
      const authority = readFileSync(join(folder, "public/ca.crt"), "utf8");
      const [port, health] = [await freePort(), await freePort()];
      writeFileSync(join(folder, "tls.pem"), `${certificate}\n${key}`);
      const { host } = new URL(server.url);
      const config = text("proxy/haproxy.cfg")
        .replace("bind :8443 ", `bind 127.0.0.1:${port} `)
        .replace("bind :8081", `bind 127.0.0.1:${health}`)
        .replace("/run/proxy/tls.pem", join(folder, "tls.pem"))
        .replace("/etc/haproxy/cluster-ca/ca.crt", server.caFile)
        .replace("server kubernetes kubernetes.default.svc:443", `server kubernetes ${host}`);
      writeFileSync(join(folder, "haproxy.cfg"), config);
      const haproxy = spawn("haproxy", ["-db", "-f", join(folder, "haproxy.cfg")], { stdio: "ignore" });
      try {
        const ask = (path: string) =>
          statusOf(`https://127.0.0.1:${port}${path}`, authority, server.adminToken);
        await eventually(async () => (await ask("/api/v1/nodes").catch(() => 0)) === 200);
        expect(await ask("/api/v1/nodes/edge-1")).toBe(404);
        expect(await ask("/api/v1/namespaces/default/events")).toBe(200);
        expect(await ask("/api/v1/namespaces/rollcall-way/configmaps")).toBe(404);
        expect(await ask("/version")).toBe(404);
        expect(await ask("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases")).toBe(200);
      } finally {
        haproxy.kill("SIGKILL");
      }
    },
  );

  it("a folder of one's own replaces the Tunnel's configuration and names an image by its digest", () => {
    const own = join(folder, "own");
    const shown = /```yaml\n(# kustomization.yaml\n[^`]+)```/.exec(documented)?.[1] ?? "";
    mkdirSync(own);
    writeFileSync(join(own, "config.yaml"), "tunnel: mine\n");
    const from = shown
      .replace("../rollcall/infra/cloudflare", relative(realpathSync(own), FOLDER))
      .replace("sha256:…", `sha256:${"a".repeat(64)}`);
    writeFileSync(join(own, "kustomization.yaml"), from);
    const rendered = execFileSync(KUBECTL, ["kustomize", own], { encoding: "utf8" });
    expect(rendered).toContain("tunnel: mine");
    expect(rendered).not.toContain("kube.example.com");
    const ofOwn = parseAllDocuments(rendered)
      .map((found) => found.toJSON() as Rendered)
      .find(({ kind }) => kind === "ConfigMap");
    expect(ofOwn?.metadata.labels).toEqual({ "app.kubernetes.io/part-of": "rollcall" });
    expect(rendered).toMatch(/image: cloudflare\/cloudflared(:[\w.]+)?@sha256:a{64}/);
  });

  it("in vpc nobody but cloudflared reaches the proxy, in public a load balancer does", () => {
    const [vpc, open] = [render("vpc"), render("public")].map((rendered) =>
      parseAllDocuments(rendered).map((found) => found.toJSON() as Rendered),
    );
    const specOf = (objects: Rendered[] | undefined, kind: string) =>
      objects?.find((each) => each.kind === kind && each.metadata.name === "apiserver-proxy")?.spec;
    const from = [{ podSelector: { matchLabels: { "app.kubernetes.io/name": "cloudflared" } } }];
    expect(specOf(vpc, "NetworkPolicy")).toMatchObject({ ingress: [{ from }] });
    expect(specOf(vpc, "Service")).not.toHaveProperty("type");
    expect(specOf(open, "Service")).toHaveProperty("type", "LoadBalancer");
  });
});

function statusOf(url: string, ca: string, token: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}` };
  return new Promise((answered, failed) => {
    request(url, { ca, headers, agent: false }, (response) => {
      response.resume();
      answered(response.statusCode ?? 0);
    })
      .on("error", failed)
      .end();
  });
}
