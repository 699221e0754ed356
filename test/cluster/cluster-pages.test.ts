// Tests the commands that the pages give to a cluster's administrator: runs them unchanged on a real apiserver to
// which a Worker writes. Needs a folder with kubectl in KUBEBUILDER_ASSETS.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import selfsigned from "selfsigned";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import { parsePage } from "../house/markdown.ts";
import { eventually, ROOT } from "../e2e/local-cluster.ts";
import { type PageReader, pageReader } from "../e2e/page-reader.ts";
import { thisRun } from "../e2e/run-record.ts";
import { type RealDeployment, startDeployment } from "./deployment.ts";
import { assets, hasControllerManager, KUBECTL, TURN_MS } from "./servers.ts";

const noJq = spawnSync("jq", ["--version"]).error === undefined ? "" : " (skipped: jq is not installed)";
const PAGE = "docs/cluster.md";

describe.skipIf(assets === "")("an administrator who follows the pages", () => {
  let deployment: RealDeployment;
  let reader: PageReader;
  const run: PageReader["run"] = (...asked) => reader.run(...asked);
  /** Runs a kubectl command that no page contains, with an object on its standard input. */
  const kubectl = (args: string[], input?: object) => {
    const env = { ...process.env, KUBECONFIG: deployment.kubeconfig, HOME: reader.home };
    const { status, stdout, stderr } = spawnSync(KUBECTL, args, {
      encoding: "utf8",
      env,
      ...(input && { input: JSON.stringify(input) }),
    });
    expect(status, stderr).toBe(0);
    return stdout;
  };

  beforeAll(async () => {
    deployment = await startDeployment();
    const credentials = `printf '{"TunnelID":"x"}'`;
    reader = pageReader(
      deployment.worker,
      { assets, kubeconfig: deployment.kubeconfig },
      { terraform: credentials },
    );
  }, TURN_MS);
  afterAll(async () => {
    reader?.remove();
    await deployment?.stop();
  });

  it("applies the roles, and gets a token", async () => {
    const token = (await run(PAGE, "The cluster")).trim().split("\n").at(-1) ?? "";
    thisRun().secret("cluster token", token);
    expect(await run("docs/upgrading.md", "Order", { nth: 2 })).toMatch(/ (unchanged|configured)$/m);
    expect(token).toMatch(/^eyJ[\w-]+\.[\w-]+\.[\w-]+$/);
  });

  it("makes another account", async () => {
    expect(await run(PAGE, "One account, one deployment")).toBe(
      "serviceaccount/east created\nsecret/east created\n",
    );
  });

  it("reads a token that does not expire", async () => {
    const { blocks } = parsePage(PAGE, readFileSync(join(ROOT, PAGE), "utf8"));
    const shown = blocks.find(({ text }) => text.includes("name: rollcall-without-end"))?.text ?? "";
    const file = join(reader.home, "secret.yaml");
    writeFileSync(file, shown);
    kubectl(["apply", "-f", file]);
    // No server here runs the controller that writes the token into a Secret, so the test writes the token itself.
    kubectl([
      "patch",
      "secret",
      "rollcall-without-end",
      "-n",
      "rollcall-system",
      "-p",
      '{"stringData":{"token":"a.b.c"}}',
    ]);
    expect(await run(PAGE, "The token and its end")).toBe("a.b.c");
  });

  it("sets the decisions of the cluster's operator", async () => {
    const annotated = "namespace/rollcall-system annotated\n";
    expect(await run(PAGE, "The token and its end", { nth: 1 })).toBe(annotated);
    const names = [
      "without-facts-only-taint",
      "max-capacity",
      "api-audiences",
      "bystanders",
      "passed-over-by-hints",
      "rule-taints",
    ];
    expect(await run(PAGE, "What your cluster decides")).toBe(annotated.repeat(names.length));
    kubectl(["annotate", "namespace", "rollcall-system", ...names.map((name) => `rollcall.dev/${name}-`)]);
  });

  it("has a Node created again", async () => {
    const { report, name } = await deployment.machine(1);
    expect(await report()).toBe("registered");
    const before = await deployment.uidOf(name);
    // The Worker must notice the deletion before `node register`: otherwise it would treat the deletion as later
    // than the command.
    const register = "npm run --silent rollcall -- node register";
    const noticed = `for _ in $(seq 30); do npm run --silent rollcall -- node ${name} | grep 'node deleted' >&2 && break; done`;
    const own = { [register]: `${noticed}\n${register}`, "edge-7": name };
    await run(PAGE, "What of a Node is rollcall's", { own });
    await eventually(
      async () => (await report()) === "registered" && (await deployment.uidOf(name)) !== before,
    );
  });

  it("reads the impact of more Nodes, and selects by the labels of bystanders", async () => {
    const page = "docs/kubelet-less.md";
    expect(await run(page, "Before you begin")).toMatch(/^300 more Nodes of rollcall's in a cluster with/);
    const own = { "rollcall.dev/zone=oslo": "rollcall.dev/os=linux" };
    expect(await run(page, "Labels", { own })).toMatch(/ARCH\n(.*\n)*sim-\d .*amd64$/m);
  });

  it("moves a Node to another deployment", async () => {
    const metadata = { name: "sim-2" };
    kubectl(["create", "-f", "-"], { apiVersion: "v1", kind: "Node", metadata });
    const lease = {
      metadata: { ...metadata, namespace: "kube-node-lease" },
      spec: { holderIdentity: "sim-2" },
    };
    kubectl(["create", "-f", "-"], { apiVersion: "coordination.k8s.io/v1", kind: "Lease", ...lease });
    const before = await deployment.uidOf("sim-2");
    const { report, name } = await deployment.machine(2);
    await run(PAGE, "Handing a Node over", { own: { "edge-7": name } });
    expect(await report()).toBe("registered");
    expect(await deployment.uidOf(name)).toBe(before);
  });

  it("checks the deployment's share of the apiserver", async () => {
    const printed = await run(PAGE, "Their share of the apiserver");
    for (const level of ["rollcall", "rollcall-leases"])
      expect(printed).toContain(`apiserver_flowcontrol_nominal_limit_seats{priority_level="${level}"}`);
  });

  test.skipIf(noJq !== "")(
    `finds DaemonSets that tolerate everything, and who may call Nodes${noJq}`,
    async () => {
      const set = (name: string, tolerations: object[]) => {
        const metadata = { name, labels: { app: name } };
        const spec = { tolerations, containers: [{ name, image: name }] };
        const selector = { matchLabels: { app: name } };
        kubectl(["create", "-n", "kube-system", "-f", "-"], {
          apiVersion: "apps/v1",
          kind: "DaemonSet",
          metadata,
          spec: { selector, template: { metadata, spec } },
        });
      };
      set("proxy", [{ operator: "Exists" }]);
      set("modest", [{ operator: "Exists", key: "a" }]);
      expect(await run(PAGE, "DaemonSets", { nth: 1 })).toBe("kube-system/proxy\n");
      expect((await run(PAGE, "Who calls Nodes")).split("\n")).toEqual(
        expect.arrayContaining(["cluster-admin", "system:kubelet-api-admin"]),
      );
    },
  );

  it("applies the ways to the apiserver, except for what only Cloudflare has", async () => {
    const { private: key, cert } = await selfsigned.generate([
      { name: "commonName", value: "kube.example.com" },
    ]);
    for (const name of ["origin", "public"]) {
      writeFileSync(join(reader.home, `${name}.key`), key);
      writeFileSync(join(reader.home, `${name}.pem`), cert);
    }
    const own = (name: string) =>
      Object.fromEntries([`${name}.pem`, `${name}.key`].map((file) => [file, join(reader.home, file)]));
    expect(await run("docs/apiserver.md", "A public apiserver", { own: own("public") })).toMatch(
      /^service\/apiserver-proxy created$[^]*^apiserver-proxy +LoadBalancer/m,
    );
    kubectl(["delete", "secret", "apiserver-proxy-tls", "-n", "rollcall-way"]);
    expect(await run("docs/apiserver.md", "A Workers VPC service", { nth: 1, own: own("origin") })).toMatch(
      /^secret\/cloudflared-credentials created$[^]*^deployment.apps\/cloudflared created$/m,
    );
  });

  // Only kube-controller-manager deletes the objects of a namespace, and some folders lack that program.
  it.skipIf(!hasControllerManager)("removes everything by hand", async () => {
    await run("docs/removing.md", "The cluster", { nth: 1, own: { ID: "rollcall" } });
    expect(
      kubectl(["get", "nodes,clusterroles,validatingadmissionpolicies,namespaces,flowschemas", "-o", "name"]),
    ).not.toMatch(/rollcall|sim-/);
  });
});
