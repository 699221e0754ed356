// Tests the files that an operator applies on the way to an apiserver: the paths that the proxies pass on, and that
// Access allows machines. test/cluster/rollcall-way.test.ts applies the manifests.
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { DESCRIBED } from "../../../infra/openapi/document.ts";

const FOLDER = resolve(import.meta.dirname, "../../../infra/cloudflare");
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
    ["/apis/nfd.k8s-sigs.io/v1alpha1/namespaces/nfd/nodefeatures/edge-1", true],
    ["/apis/nfd.k8s-sigs.io/v1alpha1/namespaces/nfd/nodefeatures", false],
    ["/apis/nfd.k8s-sigs.io/v1alpha1/nodefeaturerules/gpu", false],
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
  /**
   * Returns whether Access lets a path through. As at Cloudflare, a pattern covers every path that starts with it,
   * and an asterisk matches any text, also slashes.
   */
  const isLetThrough = (path: string) =>
    letThrough.some((each) =>
      new RegExp(`^${each.replaceAll(/[.]/g, "\\$&").replaceAll("*", ".+")}(/|$)`).test(path),
    );

  test.each(DESCRIBED.map(({ method, path, who }) => [`${method} ${path}`, path, who] as const))(
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
