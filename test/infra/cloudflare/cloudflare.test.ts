// What an operator applies on the way to an apiserver: the manifests on a real apiserver, what the proxies pass on, and which
// paths Access lets machines through.
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { loadCredentials } from "../../../infra/local/apiserver/certificates.ts";
import { writeKubeconfig } from "../../../infra/local/kubernetes.ts";
import { freePort } from "../../../infra/local/ports.ts";
import { type RealApiserver, startRealApiserver } from "../../../infra/local/real-apiserver.ts";
import { ROUTES } from "../../../infra/openapi/routes.ts";
import { eventually } from "../../e2e/local-cluster.ts";

const FOLDER = resolve(import.meta.dirname, "../../../infra/cloudflare");
const WAYS = ["tunnel", "vpc", "public"] as const;
const assets = process.env["KUBEBUILDER_ASSETS"] ?? "";
const documented = readFileSync(join(FOLDER, "../../docs/apiserver.md"), "utf8");
const text = (file: string) => readFileSync(join(FOLDER, file), "utf8");

const ofCloudflared = (
  parse(text("tunnel/config.yaml")) as { ingress: { path?: string; service: string }[] }
).ingress.flatMap(({ path }) => path ?? []);
const ofHaproxy = [...text("proxy/haproxy.cfg").matchAll(/^ +acl \S+ +path_reg (\S+)$/gm)].map(
  ([, path]) => path,
);

describe("what is passed on to the apiserver", () => {
  it("cloudflared and HAProxy pass on the same", () => {
    expect(ofCloudflared).toEqual(ofHaproxy);
    expect(ofCloudflared.length).toBeGreaterThan(0);
  });

  it("whatever is not named is answered 404", () => {
    const { ingress } = parse(text("tunnel/config.yaml")) as { ingress: unknown[] };
    expect(ingress.at(-1)).toEqual({ service: "http_status:404" });
    expect(text("proxy/haproxy.cfg")).toContain("http-request deny deny_status 404 unless");
  });

  test.each([
    ["/api/v1/nodes", true],
    ["/api/v1/nodes/edge-1", true],
    ["/api/v1/nodes/edge-1/status", true],
    ["/api/v1/nodes/edge-1/proxy", false],
    ["/api/v1/nodes/edge-1/proxy/exec", false],
    ["/api/v1/nodes/../secrets", false],
    ["/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases", true],
    ["/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/edge-1", true],
    ["/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler", false],
    ["/apis/coordinationxk8s.io/v1/namespaces/kube-node-lease/leases", false],
    ["/api/v1/namespaces/default/events", true],
    ["/api/v1/namespaces/default/events/edge-1.17", true],
    ["/api/v1/namespaces/rollcall-system/events", true],
    ["/api/v1/namespaces/kube-system/events", false],
    ["/api/v1/namespaces/rollcall-system/serviceaccounts/rollcall/token", true],
    ["/api/v1/namespaces/rollcall-system/serviceaccounts/rollcall", false],
    ["/api/v1/namespaces/rollcall-system/secrets/rollcall", false],
    ["/api/v1/pods", false],
    ["/api", false],
    ["/readyz", false],
    ["/", false],
  ])("%s → %s", (path, isPassedOn) => {
    expect(ofCloudflared.some((each) => new RegExp(each).test(path))).toBe(isPassedOn);
  });
});

describe("machines without Access, operators with it", () => {
  const letThrough = JSON.parse(text("terraform/machine-paths.json")) as string[];
  /** As Cloudflare reads a path: what begins with it is below it; an asterisk is anything, slashes too. */
  const isLetThrough = (path: string) =>
    letThrough.some((each) =>
      new RegExp(`^${each.replaceAll(/[.]/g, "\\$&").replaceAll("*", ".+")}(/|$)`).test(path),
    );

  test.each(ROUTES.map(({ method, path, who }) => [`${method} ${path}`, path, who] as const))(
    "%s is let through if it is a machine's",
    (_, path, who) => {
      const filled = path.replaceAll(/\{[^}]+\}/g, "x");
      expect(isLetThrough(filled)).toBe(who === "machine" || path === "/livez");
    },
  );

  it("the page is not", () => {
    expect(["/", "/openapi.json", "/machines/report"].filter(isLetThrough)).toEqual([]);
  });
});

describe("secrets", () => {
  it("none is in the manifests, and none has a place there", () => {
    const applied = ["namespace/namespace.yaml", "cloudflared/cloudflared.yaml", "proxy/proxy.yaml"];
    const kinds = applied.flatMap((file) =>
      parseAllDocuments(text(file)).map((found) => (found.toJSON() as { kind: string }).kind),
    );
    expect(kinds).not.toContain("Secret");
    expect(kinds).not.toContain("ClusterRoleBinding");
  });
});

const has = (program: string, ...args: string[]) => spawnSync(program, args).status === 0;

interface Rendered {
  kind: string;
  metadata: { name: string; namespace?: string; labels?: Record<string, string> };
  spec?: { template?: { spec: object } };
}

describe.skipIf(assets === "")("on a real apiserver", () => {
  const folder = mkdtempSync(join(tmpdir(), "rollcall-way-"));
  const kubeconfig = join(folder, "kubeconfig");
  let apiserver: RealApiserver;

  beforeAll(async () => {
    apiserver = await startRealApiserver({ dir: join(folder, "kube-apiserver"), assets });
    const ca = readFileSync(apiserver.caFile, "utf8");
    writeKubeconfig(kubeconfig, apiserver.url, ca, apiserver.adminToken);
  });
  afterAll(async () => {
    await apiserver?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const kubectl = (args: string[], input = "") => {
    const environment = { ...process.env, KUBECONFIG: kubeconfig };
    const { status, stdout, stderr } = spawnSync(join(assets, "kubectl"), args, {
      encoding: "utf8",
      input,
      env: environment,
    });
    return { status, stdout, stderr };
  };
  const render = (way: string) =>
    execFileSync(join(assets, "kubectl"), ["kustomize", join(FOLDER, way)], { encoding: "utf8" });

  it.each(WAYS)("%s is taken without a warning, twice, and its pods are as confined as can be", (way) => {
    const rendered = render(way);
    const apply = ["apply", "--server-side", "--validate=strict", "-f", "-"];
    expect(kubectl(apply, rendered)).toMatchObject({ status: 0, stderr: "" });
    const again = kubectl([...apply, "--dry-run=server"], rendered);
    expect(again).toMatchObject({ status: 0, stderr: "" });
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
      const admitted = kubectl(["create", "--dry-run=server", "-f", "-"], JSON.stringify(pod));
      expect(admitted).toMatchObject({ status: 0, stderr: "" });
    }
    expect(objects.some(({ metadata }) => metadata.namespace === "rollcall-system")).toBe(false);
    const labels = objects.map(({ metadata }) => metadata.labels?.["app.kubernetes.io/part-of"]);
    expect([...new Set(labels)]).toEqual(["rollcall"]);
  });

  it.skipIf(!has("haproxy", "-v"))(
    "HAProxy ends TLS, begins it again by the cluster's authority, and passes on no other path",
    async () => {
      const { certificate, key } = await loadCredentials(join(folder, "public"));
      const authority = readFileSync(join(folder, "public/ca.crt"), "utf8");
      const [port, health] = [
        await freePort("", undefined, undefined),
        await freePort("", undefined, undefined),
      ];
      writeFileSync(join(folder, "tls.pem"), `${certificate}\n${key}`);
      const { host } = new URL(apiserver.url);
      const config = text("proxy/haproxy.cfg")
        .replace("bind :8443 ", `bind 127.0.0.1:${port} `)
        .replace("bind :8081", `bind 127.0.0.1:${health}`)
        .replace("/run/proxy/tls.pem", join(folder, "tls.pem"))
        .replace("/etc/haproxy/cluster-ca/ca.crt", apiserver.caFile)
        .replace("server kubernetes kubernetes.default.svc:443", `server kubernetes ${host}`);
      writeFileSync(join(folder, "haproxy.cfg"), config);
      const haproxy = spawn("haproxy", ["-db", "-f", join(folder, "haproxy.cfg")], { stdio: "ignore" });
      try {
        const ask = (path: string) =>
          statusOf(`https://127.0.0.1:${port}${path}`, authority, apiserver.adminToken);
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
    const rendered = execFileSync(join(assets, "kubectl"), ["kustomize", own], { encoding: "utf8" });
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
