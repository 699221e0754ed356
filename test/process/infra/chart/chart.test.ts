// Tests that the chart prints the manifests of infra/rbac, and what its values change. Helm renders the chart.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { ROOT } from "../../../e2e/local-cluster.ts";

const [CHART, RBAC] = [join(ROOT, "infra/chart"), join(ROOT, "infra/rbac")];

interface Rendered {
  kind: string;
  metadata: { name: string; namespace?: string; annotations?: Record<string, string> };
}

const helm = (...args: string[]) => spawnSync("helm", args, { encoding: "utf8" });
/** Renders the chart. A Helm that Go has built without flags takes a cluster for one of Kubernetes 1.20. */
const template = (...flags: string[]) => helm("template", "any", CHART, "--kube-version", "1.30.0", ...flags);
const missing = helm("version").error === undefined ? "" : " (skipped: helm is not installed)";

/** Returns the objects of manifests, sorted: Helm has an order of its own. */
function objectsOf(...manifests: string[]): Rendered[] {
  const objects = manifests
    .flatMap((text) => parseAllDocuments(text))
    .map((found) => found.toJSON() as Rendered);
  return objects.toSorted((one, other) => nameOf(one).localeCompare(nameOf(other)));
}
const nameOf = ({ kind, metadata }: Rendered) => `${kind} ${metadata.namespace ?? ""}/${metadata.name}`;
const rbac = (...files: string[]) =>
  objectsOf(...files.map((file) => readFileSync(join(RBAC, file), "utf8")));

function rendered(...values: string[]): Rendered[] {
  const { status, stdout, stderr } = template(...values);
  expect(status, stderr).toBe(0);
  return objectsOf(stdout);
}

it("the chart's files are the manifests of infra/rbac, each of them", () => {
  const files = readdirSync(RBAC);
  expect(readdirSync(join(CHART, "files"))).toEqual(files);
  const text = readFileSync(join(CHART, "templates/objects.yaml"), "utf8");
  for (const file of files) {
    expect(readFileSync(join(CHART, "files", file), "utf8")).toBe(readFileSync(join(RBAC, file), "utf8"));
    expect(text).toContain(`"files/${file}"`);
  }
});

describe.skipIf(missing !== "")(`the chart${missing}`, () => {
  it("is what helm accepts without a warning", () => {
    const { status, stdout } = helm("lint", "--strict", CHART);
    expect(status, stdout).toBe(0);
  });

  it("without values → the objects of rollcall.yaml and flow-control.yaml", () => {
    expect(rendered()).toEqual(rbac("rollcall.yaml", "flow-control.yaml"));
  });

  it("without flow control, with stranded pods and features → other files", () => {
    const flags = ["--set", "flowControl=false,strandedPods=true,nodeFeatures=true"];
    expect(rendered(...flags)).toEqual(rbac("rollcall.yaml", "pods.yaml", "node-features.yaml"));
  });

  it("two deployments → an account and a Secret of each, and nothing else", () => {
    const [one, two] = [rendered(), rendered("--set", "deployments={east,west}")];
    const names = (objects: Rendered[]) => objects.map(nameOf);
    expect(names(two).filter((name) => !names(one).includes(name))).toEqual(
      ["Secret", "ServiceAccount"].flatMap((kind) =>
        ["east", "west"].map((id) => `${kind} rollcall-system/${id}`),
      ),
    );
    expect(names(one).filter((name) => !names(two).includes(name))).toEqual([
      "Secret rollcall-system/rollcall",
      "ServiceAccount rollcall-system/rollcall",
    ]);
    const account = (objects: Rendered[]) => objects.find(({ kind }) => kind === "ServiceAccount");
    expect({ ...account(two), metadata: null }).toEqual({ ...account(one), metadata: null });
  });

  it("annotations → those of the namespace", () => {
    const flags = ["--set-string", "annotations.rollcall\\.dev/max-capacity=cpu=256\\,memory=4Ti"];
    const others = ({ kind }: Rendered) => kind !== "Namespace";
    expect(rendered(...flags).filter(others)).toEqual(rendered().filter(others));
    expect(rendered(...flags).find(({ kind }) => kind === "Namespace")?.metadata).toEqual({
      name: "rollcall-system",
      annotations: { "rollcall.dev/max-capacity": "cpu=256,memory=4Ti" },
    });
  });

  test.each([
    ["no deployment", "deployments=null", "deployments"],
    ["an ID that no account can have", "deployments={East}", "deployments"],
    ["an annotation of others", "annotations.example\\.com/a=b", "example.com/a"],
    ["an unknown value", "flowControll=false", "flowControll"],
  ])("%s → an error that names it", (_, value, named) => {
    const { status, stderr } = template("--set", value);
    expect(status).not.toBe(0);
    expect(stderr).toContain(named);
  });
});
